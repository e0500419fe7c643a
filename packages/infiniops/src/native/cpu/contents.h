// What tasks throw about the elements that they find: defined once, outside the instruction sets.
#ifndef INFINI_OPS_NATIVE_CPU_CONTENTS_H_
#define INFINI_OPS_NATIVE_CPU_CONTENTS_H_

namespace infini::ops::cpu {

/// Throws `Error` (invalid argument): an integer divisor is zero.
[[noreturn]] void ThrowZeroDivisor(const char* op);

}  // namespace infini::ops::cpu

#endif  // INFINI_OPS_NATIVE_CPU_CONTENTS_H_

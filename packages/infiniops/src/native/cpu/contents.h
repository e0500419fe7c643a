// What tasks throw about the elements that they find: defined once, outside the instruction sets.
#ifndef INFINI_OPS_NATIVE_CPU_CONTENTS_H_
#define INFINI_OPS_NATIVE_CPU_CONTENTS_H_

#include <cstdint>

namespace infini::ops::cpu {

/// Throws `Error` (invalid argument): an integer divisor is zero.
[[noreturn]] void ThrowZeroDivisor(const char* op);

/// Throws `Error` (invalid argument): element `position` of `name`, in row-major order, is `value`
/// and lies outside the `size` elements of dimension `dim` of `of`.
[[noreturn]] void ThrowIndexOutside(const char* op, const char* name, std::int64_t position,
                                    std::int64_t value, const char* of, std::int64_t dim,
                                    std::int64_t size);

}  // namespace infini::ops::cpu

#endif  // INFINI_OPS_NATIVE_CPU_CONTENTS_H_

// What of the processor, beside its instruction set, decides how kernels read memory.
#ifndef INFINI_OPS_NATIVE_CPU_PROCESSOR_H_
#define INFINI_OPS_NATIVE_CPU_PROCESSOR_H_

namespace infini::ops::cpu {

/// Whether memory is read fastest as one stream, which the processor fetches ahead by itself, and
/// not as several that ask for what they need. INFINI_OPS_CPU_STREAMS ("one", "several") decides
/// where it is set. Throws `Error` when it is neither.
bool ReadsOneStream();

}  // namespace infini::ops::cpu

#endif  // INFINI_OPS_NATIVE_CPU_PROCESSOR_H_

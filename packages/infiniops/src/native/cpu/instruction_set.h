// Which instruction set the CPU kernels use.
#ifndef INFINI_OPS_NATIVE_CPU_INSTRUCTION_SET_H_
#define INFINI_OPS_NATIVE_CPU_INSTRUCTION_SET_H_

namespace infini::ops::cpu {

/// Instruction sets that kernels are compiled for; each includes those before
/// it on its architecture.
enum class InstructionSet { kBaseline, kAvx2, kAvx512, kAvx512Bf16, kNeon };

/// Returns the best set of this machine, or the one that INFINI_OPS_CPU_ISA
/// names ("baseline", "avx2", "avx512", "avx512_bf16", "neon"). Throws `Error`
/// when that is unknown, not compiled, or lacked by the machine.
InstructionSet ActiveInstructionSet();

/// Returns the name of `set`.
const char* InstructionSetName(InstructionSet set) noexcept;

/// Returns whether this build has kernels for `set` and the machine runs them.
bool IsUsable(InstructionSet set) noexcept;

}  // namespace infini::ops::cpu

#endif  // INFINI_OPS_NATIVE_CPU_INSTRUCTION_SET_H_

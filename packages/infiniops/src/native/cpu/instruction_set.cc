#include "native/cpu/instruction_set.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "infini/ops/context.h"

namespace infini::ops::cpu {
namespace {

constexpr char kVariable[] = "INFINI_OPS_CPU_ISA";

// Best first.
constexpr InstructionSet kSets[] = {InstructionSet::kAvx512Bf16, InstructionSet::kAvx512,
                                    InstructionSet::kAvx2, InstructionSet::kNeon,
                                    InstructionSet::kBaseline};

InstructionSet Select() {
  const char* wanted = std::getenv(kVariable);
  std::string usable;
  for (const InstructionSet set : kSets) {
    if (!IsUsable(set)) continue;
    if (wanted == nullptr || *wanted == '\0') return set;
    if (std::string_view(wanted) == InstructionSetName(set)) return set;
    if (!usable.empty()) usable += ", ";
    usable += InstructionSetName(set);
  }
  throw Error(ErrorCode::kInvalidArgument, kVariable, "cpu",
              "`" + std::string(wanted) +
                  "` is no instruction set of this build and machine; "
                  "usable: " +
                  usable);
}

}  // namespace

const char* InstructionSetName(InstructionSet set) noexcept {
  switch (set) {
    case InstructionSet::kAvx2:
      return "avx2";
    case InstructionSet::kAvx512:
      return "avx512";
    case InstructionSet::kAvx512Bf16:
      return "avx512_bf16";
    case InstructionSet::kNeon:
      return "neon";
    default:
      return "baseline";
  }
}

bool IsUsable(InstructionSet set) noexcept {
  switch (set) {
    case InstructionSet::kBaseline:
      return true;
#if defined(__x86_64__)
    case InstructionSet::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             __builtin_cpu_supports("f16c");
    case InstructionSet::kAvx512:
      return IsUsable(InstructionSet::kAvx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
    case InstructionSet::kAvx512Bf16:
      return IsUsable(InstructionSet::kAvx512) && __builtin_cpu_supports("avx512bf16") &&
             __builtin_cpu_supports("avx512vnni");
#elif defined(__aarch64__)
    case InstructionSet::kNeon:
      return true;  // part of the architecture
#endif
    default:
      return false;
  }
}

InstructionSet ActiveInstructionSet() {
  static const InstructionSet set = Select();
  return set;
}

}  // namespace infini::ops::cpu

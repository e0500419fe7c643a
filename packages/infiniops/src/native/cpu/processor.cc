#include "native/cpu/processor.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "infini/ops/context.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace infini::ops::cpu {
namespace {

constexpr char kVariable[] = "INFINI_OPS_CPU_STREAMS";

/// Whether this is a processor that was measured to read one stream faster: AMD's from Zen 5 on.
bool IsMeasuredSo() {
#if defined(__x86_64__)
  constexpr unsigned kZen5Family = 0x1a;
  if (!__builtin_cpu_is("amd")) return false;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return false;
  const unsigned family = a >> 8 & 0xf;
  return family == 0xf && family + (a >> 20 & 0xff) >= kZen5Family;
#else
  return false;
#endif
}

bool Select() {
  const char* wanted = std::getenv(kVariable);
  if (wanted == nullptr || *wanted == '\0') return IsMeasuredSo();
  const std::string_view value = wanted;
  if (value == "one") return true;
  if (value == "several") return false;
  throw Error(ErrorCode::kInvalidArgument, kVariable, "cpu",
              "`" + std::string(value) + "` is no way to read memory; expected one or several");
}

}  // namespace

bool ReadsOneStream() {
  static const bool one = Select();
  return one;
}

}  // namespace infini::ops::cpu

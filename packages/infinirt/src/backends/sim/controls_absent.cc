// The controls of the simulated accelerator in a build without it.
#include "infini/rt/error.h"
#include "infini/rt/sim.h"

namespace infini::rt::sim {
namespace {

[[noreturn]] void FailAbsent(const char* function) {
  throw Error(
      ErrorCode::kNotSupported, function, "sim",
      "this build of InfiniRT does not have the sim backend; configure it with -DWITH_SIM=ON");
}

}  // namespace

void SetTaskDelay(std::int64_t) { FailAbsent("SetTaskDelay"); }
void SetFaultPlan(std::string_view) { FailAbsent("SetFaultPlan"); }
std::vector<std::string_view> FaultPoints() { FailAbsent("FaultPoints"); }
std::vector<std::uint64_t> CallCounts() { FailAbsent("CallCounts"); }

}  // namespace infini::rt::sim

// Controls of the simulated accelerator, for tests of everything that stands on the runtime.
#ifndef INFINI_RT_SIM_H_
#define INFINI_RT_SIM_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "infini/rt/abi.h"

namespace infini::rt::sim {

/// Makes every task of every sim stream wait `microseconds` before it runs. INFINI_RT_SIM_DELAY
/// sets the first value. Throws `Error` when the number is negative, or (not supported) in a build
/// without sim, as all functions here do.
INFINI_RT_EXPORT void SetTaskDelay(std::int64_t microseconds);

/// Replaces the fault plan: "malloc:3" makes the third call of `Malloc` from now on fail once, a
/// comma joins several. The names are those of the runtime functions in snake case; an empty plan
/// removes all faults. INFINI_RT_SIM_FAULT sets the first plan. Throws `Error` for an unknown name
/// or a bad number.
INFINI_RT_EXPORT void SetFaultPlan(std::string_view plan);

/// Returns the names that a fault plan may use.
INFINI_RT_EXPORT std::vector<std::string_view> FaultPoints();

/// How often each runtime function that reaches the sim backend was called, in the order of
/// `FaultPoints()`.
INFINI_RT_EXPORT std::vector<std::uint64_t> CallCounts();

}  // namespace infini::rt::sim

#endif  // INFINI_RT_SIM_H_

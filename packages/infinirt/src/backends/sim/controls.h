// Delay, faults and call counts of the simulated accelerator.
#ifndef INFINI_RT_BACKENDS_SIM_CONTROLS_H_
#define INFINI_RT_BACKENDS_SIM_CONTROLS_H_

#include <chrono>
#include <cstddef>

#include "core/function.h"

namespace infini::rt::sim {

/// Returns how long a task waits before it runs.
std::chrono::microseconds TaskDelay() noexcept;

/// Counts a call of `function` and throws `infini::rt::Error` if the fault plan says that it fails.
void OnCall(Function function);

/// Returns the number of devices that INFINI_RT_SIM_DEVICES asks for, 0 when it is unset. Throws
/// `infini::rt::Error` when it is not a number from 0 to 64.
int DeviceCountFromEnvironment();

/// Returns the bytes of memory that each device has: INFINI_RT_SIM_MEMORY, or 4 GiB when it is
/// unset. Throws `infini::rt::Error` when it is not a number from 4096 to 2^40.
std::size_t MemoryFromEnvironment();

}  // namespace infini::rt::sim

#endif  // INFINI_RT_BACKENDS_SIM_CONTROLS_H_

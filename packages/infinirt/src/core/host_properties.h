// What the operating system says about the host.
#ifndef INFINI_RT_CORE_HOST_PROPERTIES_H_
#define INFINI_RT_CORE_HOST_PROPERTIES_H_

#include "infini/rt/runtime.h"

namespace infini::rt {

/// Returns the processor's name, its memory and the number of cores that this process may use.
DeviceProperties GetHostProperties();

/// Returns the memory that the host has and that a new allocation could get.
MemoryInfo GetHostMemoryInfo();

}  // namespace infini::rt

#endif  // INFINI_RT_CORE_HOST_PROPERTIES_H_

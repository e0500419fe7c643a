// The caching allocator of device memory.
//
// A freed block is reused at once by work on the stream it was allocated for,
// because that work is ordered behind whatever used it. A block that other
// streams used (`record_stream`) waits for events on those streams first. No
// steady-state call synchronises, asks the device or allocates host memory.
#ifndef TORCH_INFINI_RUNTIME_ALLOCATOR_H_
#define TORCH_INFINI_RUNTIME_ALLOCATOR_H_

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Stream.h>

#include <cstddef>
#include <optional>
#include <utility>

#include "runtime/device.h"

namespace torch_infini {

/// The allocator of every infini device; lives as long as the process.
c10::DeviceAllocator& Allocator();

/// Allocates `bytes` on `device` for the calling thread's current stream there.
c10::DataPtr Allocate(std::size_t bytes, c10::DeviceIndex device);

/// Whether `data` is memory of this allocator, whose lifetime can be tracked.
bool IsTracked(const c10::DataPtr& data);

/// The device of the allocation that holds `data`, if it is one of ours.
std::optional<c10::DeviceIndex> DeviceOf(const void* data);

/// Free and total bytes of `device`, as its runtime tells.
std::pair<std::size_t, std::size_t> DeviceMemory(c10::DeviceIndex device);

}  // namespace torch_infini

#endif  // TORCH_INFINI_RUNTIME_ALLOCATOR_H_

// The caching allocator of pinned host memory.
#ifndef TORCH_INFINI_RUNTIME_HOST_ALLOCATOR_H_
#define TORCH_INFINI_RUNTIME_HOST_ALLOCATOR_H_

#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>

namespace at {
struct HostAllocator;
}

namespace torch_infini {

/// The allocator behind `pin_memory("infini")`; lives as long as the process.
at::HostAllocator& PinnedAllocator();

/// Whether `data` points into pinned memory of this allocator, at its start or
/// anywhere inside.
bool IsPinned(const void* data);

/// Keeps the pinned block of `data` from being reused before the work queued on
/// `stream` so far is done. Returns false when `data` is other memory.
bool RecordPinnedUse(const c10::DataPtr& data, c10::Stream stream);

}  // namespace torch_infini

#endif  // TORCH_INFINI_RUNTIME_HOST_ALLOCATOR_H_

// Memory, copies and fills.
#include <cstdlib>
#include <cstring>

#include "state.h"

namespace standin {
namespace {

constexpr std::size_t kAlignment = 256;

std::size_t UsedBytes(const State& state, int device) {
  std::size_t used = 0;
  for (const auto& [address, memory] : state.device_memory) {
    if (memory.device == device) used += memory.bytes;
  }
  return used;
}

void* Allocate(std::size_t bytes) {
  if (bytes > SIZE_MAX - kAlignment) return nullptr;
  return std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
}

Status AllocateOnDevice(State& state, const DeviceMemory& wanted, void** data) {
  const std::size_t bytes = wanted.bytes;
  if (data == nullptr || bytes == 0) return kInvalidValue;
  const std::size_t left = state.memory_per_device - UsedBytes(state, wanted.device);
  if (bytes > left) return SDK(ErrorMemoryAllocation);
  void* const memory = Allocate(bytes);
  if (memory == nullptr) return SDK(ErrorMemoryAllocation);
  state.device_memory.emplace(reinterpret_cast<std::uintptr_t>(memory), wanted);
  *data = memory;
  return kSuccess;
}

Status FreeOnDevice(State& state, void* data) {
  if (state.device_memory.erase(reinterpret_cast<std::uintptr_t>(data)) == 0) return kInvalidValue;
  std::free(data);
  return kSuccess;
}

bool IsRangeOn(const State& state, bool on_device, const void* data, std::size_t bytes) {
  // Host memory is anybody's, but no address of a device.
  return data != nullptr &&
         (on_device ? IsDeviceRange(state, data, bytes) : !IsDeviceRange(state, data, 1));
}

Status CheckCopy(const State& state, void* target, const void* source, std::size_t bytes,
                 SDK(MemcpyKind) kind) {
  const bool to_device = kind == SDK(MemcpyHostToDevice) || kind == SDK(MemcpyDeviceToDevice);
  const bool from_device = kind == SDK(MemcpyDeviceToHost) || kind == SDK(MemcpyDeviceToDevice);
  const bool is_right =
      IsRangeOn(state, to_device, target, bytes) && IsRangeOn(state, from_device, source, bytes);
  return is_right ? kSuccess : kInvalidValue;
}

}  // namespace
}  // namespace standin

using namespace standin;  // NOLINT(google-build-using-namespace): the functions below are its C
                          // face

Status SDK(MemGetInfo)(std::size_t* free_bytes, std::size_t* total_bytes) {
  return Call(SDK_NAME(MemGetInfo), [&](State& state) -> Outcome {
    if (free_bytes == nullptr || total_bytes == nullptr) return kInvalidValue;
    *total_bytes = state.memory_per_device;
    *free_bytes = state.memory_per_device - UsedBytes(state, GetThreadState().device);
    return kSuccess;
  });
}

Status SDK(Malloc)(void** data, std::size_t bytes) {
  return Call(SDK_NAME(Malloc), [&](State& state) -> Outcome {
    if (const Status status = CheckMayWait(state); status != kSuccess) return status;
    return AllocateOnDevice(state, {GetThreadState().device, bytes, false}, data);
  });
}

Status SDK(Free)(void* data) {
  return Call(SDK_NAME(Free), [&](State& state) -> Outcome {
    if (const Status status = CheckMayWait(state); status != kSuccess) return status;
    const auto found = state.device_memory.find(reinterpret_cast<std::uintptr_t>(data));
    if (found == state.device_memory.end()) return kInvalidValue;
    // As with the real SDKs: work that uses memory of the pool is not waited for.
    if (found->second.is_from_pool) return FreeOnDevice(state, data);
    return Work([device = found->second.device, data] {
      const Status status = RunDevice(device);
      if (status != kSuccess) return status;
      const std::scoped_lock lock(GetState().mutex);
      return FreeOnDevice(GetState(), data);
    });
  });
}

Status SDK(MallocHost)(void** data, std::size_t bytes) {
  return Call(SDK_NAME(MallocHost), [&](State& state) -> Outcome {
    if (const Status status = CheckMayWait(state); status != kSuccess) return status;
    if (data == nullptr || bytes == 0) return kInvalidValue;
    void* const memory = Allocate(bytes);
    if (memory == nullptr) return SDK(ErrorMemoryAllocation);
    state.host_memory.insert(memory);
    *data = memory;
    return kSuccess;
  });
}

Status SDK(FreeHost)(void* data) {
  return Call(SDK_NAME(FreeHost), [&](State& state) -> Outcome {
    if (const Status status = CheckMayWait(state); status != kSuccess) return status;
    if (state.host_memory.erase(data) == 0) return kInvalidValue;
    std::free(data);
    return kSuccess;
  });
}

#ifdef STANDIN_HAS_MEMORY_POOL
Status SDK(MallocAsync)(void** data, std::size_t bytes, SDK(Stream_t) stream) {
  return Call(SDK_NAME(MallocAsync), [&](State& state) -> Outcome {
    if (const Status status = CheckNotCaptured(state, stream); status != kSuccess) return status;
    return AllocateOnDevice(state, {QueueOf(state, stream)->device, bytes, true}, data);
  });
}

Status SDK(FreeAsync)(void* data, SDK(Stream_t) stream) {
  return Call(SDK_NAME(FreeAsync), [&](State& state) -> Outcome {
    if (const Status status = CheckNotCaptured(state, stream); status != kSuccess) return status;
    if (!IsDeviceRange(state, data, 1)) return kInvalidValue;
    return Submit(state, stream, [data] {
      const std::scoped_lock lock(GetState().mutex);
      return FreeOnDevice(GetState(), data);
    });
  });
}
#endif

Status SDK(MemcpyAsync)(void* target, const void* source, std::size_t bytes, SDK(MemcpyKind) kind,
                        SDK(Stream_t) stream) {
  return Call(SDK_NAME(MemcpyAsync), [=](State& state) -> Outcome {
    if (const Status status = CheckCopy(state, target, source, bytes, kind); status != kSuccess) {
      return status;
    }
    return Submit(state, stream, [=] {
      State& now = GetState();
      {
        const std::scoped_lock lock(now.mutex);  // a replay may come after the memory was freed
        if (const Status status = CheckCopy(now, target, source, bytes, kind); status != kSuccess) {
          return status;
        }
      }
      std::memcpy(target, source, bytes);
      return kSuccess;
    });
  });
}

Status SDK(MemsetAsync)(void* data, int value, std::size_t bytes, SDK(Stream_t) stream) {
  return Call(SDK_NAME(MemsetAsync), [=](State& state) -> Outcome {
    if (!IsDeviceRange(state, data, bytes)) return kInvalidValue;
    return Submit(state, stream, [=] {
      State& now = GetState();
      {
        const std::scoped_lock lock(now.mutex);
        if (!IsDeviceRange(now, data, bytes)) return kInvalidValue;
      }
      std::memset(data, value, bytes);
      return kSuccess;
    });
  });
}

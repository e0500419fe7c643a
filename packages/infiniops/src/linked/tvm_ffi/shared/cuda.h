// What a TVM FFI provider needs to work on a CUDA device: the stream, the device, and memory for
// the time of a call.
#ifndef INFINI_OPS_LINKED_TVM_FFI_SHARED_CUDA_H_
#define INFINI_OPS_LINKED_TVM_FFI_SHARED_CUDA_H_

#include <tvm/ffi/extra/c_env_api.h>

#include <array>
#include <cstddef>

#include "linked/tvm_ffi/shared/call.h"

namespace infini::ops::linked {

inline DLDevice CudaDevice(const Context& context) {
  return {kDLCUDA, static_cast<int32_t>(context.device.index())};
}

/// Makes the stream of a call the one that providers on its device take, until the scope ends.
class FfiStreamGuard {
 public:
  /// Throws `Error` when TVM FFI refuses the stream.
  explicit FfiStreamGuard(const Context& context) : device_(CudaDevice(context)) {
    void* native = rt::runtime::StreamNativeHandle(context.stream);
    if (TVMFFIEnvSetStream(device_.device_type, device_.device_id, native, &previous_) != 0) {
      throw Error(ErrorCode::kDeviceFailure, "TVMFFIEnvSetStream", context.device.ToString(),
                  "TVM FFI does not take the stream of the call");
    }
  }
  ~FfiStreamGuard() {
    TVMFFIEnvSetStream(device_.device_type, device_.device_id, previous_, nullptr);
  }
  FfiStreamGuard(const FfiStreamGuard&) = delete;
  FfiStreamGuard& operator=(const FfiStreamGuard&) = delete;

 private:
  DLDevice device_;
  TVMFFIStreamHandle previous_ = nullptr;
};

/// Device memory for work on the stream of a call; given back behind that work.
class StreamMemory {
 public:
  StreamMemory(const Context& context, std::int64_t bytes)
      : stream_(context.stream),
        data_(rt::runtime::MallocAsync(static_cast<std::size_t>(bytes), stream_)) {}
  ~StreamMemory() {
    if (data_ != nullptr) rt::runtime::FreeAsync(data_, stream_);
  }
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;

  void* data() const noexcept { return data_; }

 private:
  rt::Stream stream_;
  void* data_;
};

/// Describes `view` for code that queues work on its device.
inline Operand MakeDeviceOperand(const TensorView& view) {
  return cpu::MakeOperand(view, view.data());
}

/// Describes a contiguous tensor at `data`.
template <std::size_t rank>
Operand MakeOperand(void* data, DataType dtype, const std::array<std::int64_t, rank>& sizes) {
  static_assert(rank <= cpu::kMaxOperandRank);
  Operand operand{};
  operand.data = data;
  operand.rank = static_cast<int>(rank);
  operand.dtype = dtype;
  std::int64_t stride = 1;
  for (std::size_t i = rank; i-- > 0;) {
    operand.sizes[i] = sizes[i];
    operand.strides[i] = stride;
    stride *= sizes[i];
  }
  return operand;
}

}  // namespace infini::ops::linked

#endif  // INFINI_OPS_LINKED_TVM_FFI_SHARED_CUDA_H_

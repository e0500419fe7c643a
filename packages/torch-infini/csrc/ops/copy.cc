#include "ops/copy.h"

#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/ScalarOps.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <infini/rt/runtime.h>

#include <cstring>

#include "ops/element.h"
#include "ops/empty.h"
#include "ops/operator_table.h"
#include "ops/strided_runs.h"
#include "ops/tensor_view.h"
#include "runtime/allocator.h"
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/event.h"
#include "runtime/host_allocator.h"
#include "runtime/stream.h"

#include <ATen/core/CachingHostAllocator.h>

namespace torch_infini {
namespace {

namespace rt = infini::rt;

// With more runs than this, one copy of everything and a host pass are faster
// than a copy for each run.
constexpr std::int64_t kMostDirectRuns = 256;

bool OnInfini(const at::Tensor& tensor) { return tensor.device().type() == kDeviceType; }

c10::DeviceIndex IndexOf(const at::Tensor& tensor) { return tensor.device().index(); }

rt::MemcpyKind KindOf(const at::Tensor& source, const at::Tensor& target) {
  if (!OnInfini(source)) return rt::MemcpyKind::kHostToDevice;
  return OnInfini(target) ? rt::MemcpyKind::kDeviceToDevice : rt::MemcpyKind::kDeviceToHost;
}

std::size_t ByteCount(const at::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.numel()) * tensor.itemsize();
}

void Enqueue(void* target, const void* source, std::size_t bytes, rt::MemcpyKind kind,
             c10::Stream stream) {
  BoundThread();
  WithTorchErrors(
      [&] { rt::runtime::MemcpyAsync(target, source, bytes, kind, RuntimeStream(stream)); });
}

/// Keeps the memory of an infini tensor alive for the work queued on `stream`.
/// Returns false when somebody else owns the memory.
bool KeepDeviceMemory(const at::Tensor& tensor, c10::Stream stream) {
  const c10::DataPtr& data = tensor.storage().data_ptr();
  if (!IsTracked(data)) return false;
  Allocator().recordStream(data, stream);
  return true;
}

/// Whether the copy may still run when the call returns. Then both memories are
/// kept until it is done.
bool MayReturnEarly(const at::Tensor& host, const at::Tensor& device, c10::Stream stream) {
  return GetBackend().Has(rt::Capability::kAsyncMemcpy) &&
         GetBackend().Has(rt::Capability::kPinnedHost) && IsTracked(device.storage().data_ptr()) &&
         RecordPinnedUse(host.storage().data_ptr(), stream) && KeepDeviceMemory(device, stream);
}

bool SameLayout(const at::Tensor& a, const at::Tensor& b) {
  return (a.is_contiguous() && b.is_contiguous()) ||
         (a.strides() == b.strides() && a.is_non_overlapping_and_dense());
}

bool SameElements(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.is_conj() == b.is_conj() &&
         a.is_neg() == b.is_neg();
}

void CopyBetweenHostAndDevice(const at::Tensor& source, const at::Tensor& target,
                              bool non_blocking) {
  const bool upload = OnInfini(target);
  const at::Tensor& device = upload ? target : source;
  const at::Tensor& host = upload ? source : target;
  const c10::Stream stream = CurrentStream(IndexOf(device));
  void* const host_data = static_cast<std::byte*>(host.storage().data_ptr().get()) +
                          host.storage_offset() * static_cast<std::int64_t>(host.itemsize());
  void* const device_data = DataOf(device);
  Enqueue(upload ? device_data : host_data, upload ? host_data : device_data, ByteCount(device),
          KindOf(source, target), stream);
  if (non_blocking && MayReturnEarly(host, device, stream)) return;
  SynchronizeStream(stream);
}

/// Runs `enqueue(stream)`, which copies from device to device, in the order of
/// the current streams of both devices.
template <typename Function>
void InOrderOfBothDevices(const at::Tensor& source, const at::Tensor& target, Function&& enqueue) {
  const c10::Stream stream = CurrentStream(IndexOf(source));
  const c10::Stream target_stream = CurrentStream(IndexOf(target));
  const bool across = stream.device() != target_stream.device();
  if (across) PooledEvent(target_stream).Block(stream);
  enqueue(stream);
  if (across) PooledEvent(stream).Block(target_stream);
  const bool kept = KeepDeviceMemory(source, stream) && KeepDeviceMemory(target, target_stream);
  if (!kept) SynchronizeStream(stream);
}

void CopyBetweenDevices(const at::Tensor& source, const at::Tensor& target) {
  InOrderOfBothDevices(source, target, [&](c10::Stream stream) {
    Enqueue(DataOf(target), DataOf(source), ByteCount(target), rt::MemcpyKind::kDeviceToDevice,
            stream);
  });
}

void CopyRuns(const StridedRuns& runs, std::byte* target, const std::byte* source,
              std::size_t itemsize, rt::MemcpyKind kind, c10::Stream stream) {
  const auto bytes = static_cast<std::size_t>(runs.length()) * itemsize;
  runs.ForEach([&](std::int64_t to, std::int64_t from) {
    Enqueue(target + to * static_cast<std::int64_t>(itemsize),
            source + from * static_cast<std::int64_t>(itemsize), bytes, kind, stream);
  });
}

/// Copies between strided tensors of one device without the host, if that takes
/// few enough runs.
bool CopyRunsOnDevice(const at::Tensor& source, const at::Tensor& target) {
  const StridedRuns runs(target.sizes(), target.strides(), source.strides());
  if (runs.count() > kMostDirectRuns) return false;
  InOrderOfBothDevices(source, target, [&](c10::Stream stream) {
    CopyRuns(runs, static_cast<std::byte*>(DataOf(target)),
             static_cast<const std::byte*>(DataOf(source)), target.itemsize(),
             rt::MemcpyKind::kDeviceToDevice, stream);
  });
  return true;
}

/// Writes a CPU tensor into infini tensor `target` of any layout.
void UploadArranged(const at::Tensor& source, const at::Tensor& target) {
  const bool dense = target.is_non_overlapping_and_dense();
  const at::TensorOptions options =
      at::TensorOptions().dtype(target.scalar_type()).device(at::kCPU);
  const at::Tensor host = dense ? at::empty_strided(target.sizes(), target.strides(), options)
                                : at::empty(target.sizes(), options);
  host._set_conj(target.is_conj());
  host._set_neg(target.is_neg());
  host.copy_(source);
  if (dense) {
    CopyBetweenHostAndDevice(host, target, /*non_blocking=*/false);
    return;
  }
  const c10::Stream stream = CurrentStream(IndexOf(target));
  const StridedRuns runs(target.sizes(), target.strides(), host.strides());
  CopyRuns(runs, static_cast<std::byte*>(DataOf(target)),
           static_cast<const std::byte*>(host.storage().data()), target.itemsize(),
           rt::MemcpyKind::kHostToDevice, stream);
  SynchronizeStream(stream);
}

at::Tensor CopyFrom(const at::Tensor& self, const at::Tensor& dst, bool non_blocking) {
  Copy(self, dst, non_blocking);
  return dst;
}

at::Tensor CopyFromAndResize(const at::Tensor& self, const at::Tensor& dst) {
  dst.resize_(self.sizes());
  Copy(self, dst, /*non_blocking=*/false);
  return dst;
}

at::Tensor& Zero(at::Tensor& self) {
  if (self.numel() == 0) return self;
  const c10::Stream stream = CurrentStream(IndexOf(self));
  // Memory that an expanded tensor shows many times is written once.
  c10::SmallVector<std::int64_t, 8> sizes(self.sizes());
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    if (self.strides()[dim] == 0) sizes[dim] = 1;
  }
  const StridedRuns runs(sizes, self.strides(), self.strides());
  const auto itemsize = static_cast<std::int64_t>(self.itemsize());
  BoundThread();
  WithTorchErrors([&] {
    auto* const data = static_cast<std::byte*>(DataOf(self));
    runs.ForEach([&](std::int64_t offset, std::int64_t) {
      rt::runtime::MemsetAsync(data + offset * itemsize, 0,
                               static_cast<std::size_t>(runs.length() * itemsize),
                               RuntimeStream(stream));
    });
  });
  if (!KeepDeviceMemory(self, stream)) SynchronizeStream(stream);
  return self;
}

at::Tensor& FillTensor(at::Tensor& self, const at::Tensor& value) {
  TORCH_CHECK(value.dim() == 0,
              "fill_ only supports 0-dimension value tensor but got tensor "
              "with ",
              value.dim(), " dimensions.");
  Copy(value, self, /*non_blocking=*/false);
  return self;
}

at::Tensor& FillScalar(at::Tensor& self, const at::Scalar& value) {
  if (self.numel() == 0) return self;
  at::assert_no_internal_overlap(self);
  if (!self.is_conj() && !self.is_neg()) {
    Element element(self.scalar_type());
    element.Set(value);
    if (FillOnDevice(self, element.Get())) return self;
  }
  return FillTensor(self, c10::scalar_to_tensor(value).to(self.scalar_type()));
}

at::Scalar LocalScalar(const at::Tensor& self) {
  TORCH_CHECK(self.numel() == 1, "expected a tensor with one element, got ", self.sizes());
  Element element(self.scalar_type());
  BoundThread();
  if (HostSeesElements()) {
    std::memcpy(element.data(), DataOf(self), self.itemsize());
  } else {
    const c10::DeviceGuard guard(self.device());
    const c10::Stream stream = CurrentStream(IndexOf(self));
    Enqueue(element.data(), DataOf(self), self.itemsize(), rt::MemcpyKind::kDeviceToHost, stream);
    SynchronizeStream(stream);
  }
  return element.Get(self.is_conj(), self.is_neg());
}

void RecordStreamEntry(at::Tensor& self, c10::Stream stream) {
  Allocator().recordStream(self.storage().data_ptr(), stream);
}

}  // namespace

void Copy(const at::Tensor& source, const at::Tensor& target, bool non_blocking) {
  TORCH_CHECK(source.defined() && target.defined(), "copy_: expected two defined tensors");
  for (const at::Tensor* tensor : {&source, &target}) {
    TORCH_CHECK_NOT_IMPLEMENTED(OnInfini(*tensor) || tensor->device().is_cpu(),
                                "copy_ between infini and ", tensor->device(),
                                " is not supported; copy through the CPU");
    TORCH_CHECK_NOT_IMPLEMENTED(tensor->layout() == c10::Layout::Strided,
                                "copy_ with infini: expected strided tensors, "
                                "got layout ",
                                tensor->layout());
  }
  if (source.is_same(target)) return;
  const at::Tensor from = source.sizes() == target.sizes() ? source : source.expand(target.sizes());
  if (target.numel() == 0) return;
  at::assert_no_internal_overlap(target);
  if (source.device() == target.device()) {
    at::assert_no_partial_overlap(target, from);
  }
  const at::Tensor& infini = OnInfini(target) ? target : from;
  const c10::DeviceGuard guard(infini.device());

  // InfiniOps refuses operands whose elements lie among one another's, though no two meet.
  const bool apart = !from.storage().is_alias_of(target.storage());
  if (SameElements(from, target)) {
    if (SameLayout(from, target)) {
      if (OnInfini(from) && OnInfini(target)) {
        CopyBetweenDevices(from, target);
      } else {
        CopyBetweenHostAndDevice(from, target, non_blocking);
      }
      return;
    }
    if (from.device() == target.device()) {
      if ((apart && CopyOnDevice(from, target)) || CopyRunsOnDevice(from, target)) return;
    }
  }
  const bool plain = !from.is_conj() && !from.is_neg() && !target.is_conj() && !target.is_neg();
  if (from.device() == target.device() && plain && apart && CastOnDevice(from, target)) return;
  const at::Tensor host = OnInfini(from) ? ToHost(from) : from;
  if (OnInfini(target)) {
    UploadArranged(host, target);
  } else {
    target.copy_(host);
  }
}

at::Tensor ToHost(const at::Tensor& tensor) {
  const c10::DeviceGuard guard(tensor.device());
  // The elements lie within this many, whatever the strides.
  std::int64_t span = tensor.numel() == 0 ? 0 : 1;
  for (std::int64_t dim = 0; span > 0 && dim < tensor.dim(); ++dim) {
    span += (tensor.size(dim) - 1) * tensor.stride(dim);
  }
  const at::Tensor flat =
      at::empty({span}, at::TensorOptions().dtype(tensor.scalar_type()).device(at::kCPU));
  if (span > 0) {
    const c10::Stream stream = CurrentStream(IndexOf(tensor));
    Enqueue(flat.mutable_data_ptr(), DataOf(tensor),
            static_cast<std::size_t>(span) * tensor.itemsize(), rt::MemcpyKind::kDeviceToHost,
            stream);
    SynchronizeStream(stream);
  }
  at::Tensor host = at::as_strided(flat, tensor.sizes(), tensor.strides(), 0);
  host._set_conj(tensor.is_conj());
  host._set_neg(tensor.is_neg());
  return host;
}

bool HostSeesElements() {
  const Backend& backend = GetBackend();
  return backend.Has(rt::Capability::kHostAccess) && !backend.Has(rt::Capability::kAsyncStreams);
}

at::Tensor UploadNumber(const at::Scalar& number, c10::ScalarType type, c10::DeviceIndex device) {
  at::Tensor result = EmptyStrided({}, {}, type, device);
  Element element(type);
  element.Set(number);
  BoundThread();
  if (HostSeesElements()) {
    std::memcpy(DataOf(result), element.data(), result.itemsize());
    return result;
  }
  // A kernel needs no memory of the host, whose later reuse would have to be tracked.
  if (FillOnDevice(result, element.Get())) return result;
  const std::size_t bytes = result.itemsize();
  const c10::DataPtr staging = PinnedAllocator().allocate(bytes);
  std::memcpy(staging.get(), element.data(), bytes);
  const c10::Stream stream = CurrentStream(device);
  Enqueue(DataOf(result), staging.get(), bytes, rt::MemcpyKind::kHostToDevice, stream);
  RecordPinnedUse(staging, stream);
  return result;
}

at::Tensor UploadNumber(const at::Tensor& number, c10::ScalarType type, c10::DeviceIndex device) {
  TORCH_CHECK(number.device().is_cpu() && number.numel() == 1,
              "expected a number or a CPU tensor of one element, got one of shape ", number.sizes(),
              " on ", number.device());
  Element element(number.scalar_type());
  std::memcpy(element.data(), number.const_data_ptr(), number.itemsize());
  return UploadNumber(element.Get(number.is_conj(), number.is_neg()), type, device);
}

void RegisterCopy(torch::Library& library) {
  library.impl("_copy_from", TORCH_FN(CopyFrom));
  library.impl("_copy_from_and_resize", TORCH_FN(CopyFromAndResize));
  library.impl("zero_", TORCH_FN(Zero));
  library.impl("fill_.Scalar", TORCH_FN(FillScalar));
  library.impl("fill_.Tensor", TORCH_FN(FillTensor));
  library.impl("_local_scalar_dense", TORCH_FN(LocalScalar));
  library.impl("record_stream", TORCH_FN(RecordStreamEntry));
}

void RegisterLazyCopy(torch::Library& library) {
  library.impl("_copy_from", torch::CppFunction::makeFallthrough());
  library.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
}

}  // namespace torch_infini

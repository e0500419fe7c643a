#include "linked/tvm_ffi/nvidia/ops/top_k_top_p_sampling_from_logits/flashinfer.h"

#include "linked/tvm_ffi/shared/call.h"
#include "linked/tvm_ffi/shared/cuda.h"

// FlashInfer's entry points, in the order in which a call makes use of them. What TVM FFI passes to
// each: (logits, masked, top_k of each row, top_k, row states), (workspace, logits, shares,
// temperature of each row, temperature, dependent launch), and (shares, samples, valid, rows, top_p
// of each row, top_p, deterministic, seed of each row, seed, offset of each row, offset).
extern "C" int __tvm_ffi_top_k_mask_logits(void* self, const TVMFFIAny* arguments, int32_t count,
                                           TVMFFIAny* result);
extern "C" int __tvm_ffi_softmax(void* self, const TVMFFIAny* arguments, int32_t count,
                                 TVMFFIAny* result);
extern "C" int __tvm_ffi_top_p_sampling_from_probs(void* self, const TVMFFIAny* arguments,
                                                   int32_t count, TVMFFIAny* result);

namespace infini::ops {
namespace {

using Op = TopKTopPSamplingFromLogits;
using linked::CallEntry;
using linked::DlView;

// What FlashInfer's own Python gives to either kernel.
constexpr std::int64_t kScratchBytes = 1 << 20;

}  // namespace

void Operator<Op, Device::Type::kNvidia, 16>::Call(
    const Context& context, const TensorView& logits, const std::optional<TensorView>&,
    const std::optional<TensorView>& top_p_rows, std::int64_t top_k, double top_p,
    std::int64_t seed, std::int64_t offset, const TensorView& samples, const TensorView& valid) {
  const std::int64_t rows = logits.size(0);
  const std::int64_t tokens = logits.size(1);
  if (rows == 0) return;
  linked::ReportAs(Op::kOperator, "flashinfer", [&] {
    const linked::FfiStreamGuard stream(context);
    const DLDevice device = linked::CudaDevice(context);
    const bool masks = top_k > 0 && top_k < tokens;
    const std::int64_t matrix = rows * tokens * static_cast<std::int64_t>(sizeof(float));
    const linked::StreamMemory scratch(context, kScratchBytes);
    const linked::StreamMemory masked(context, masks ? matrix : 0);
    const linked::StreamMemory shares(context, matrix);

    DlView given(linked::MakeDeviceOperand(logits), device);
    DlView chosen(linked::MakeOperand<2>(masked.data(), DataType::kFloat32, {rows, tokens}),
                  device);
    DlView bytes(linked::MakeOperand<1>(scratch.data(), DataType::kUInt8, {kScratchBytes}), device);
    if (masks) {
      // Its blocks count arrivals there, from zero.
      rt::runtime::MemsetAsync(scratch.data(), 0, kScratchBytes, context.stream);
      CallEntry(&__tvm_ffi_top_k_mask_logits, given.get(), chosen.get(), nullptr, top_k,
                bytes.get());
    }
    DlView drawn(linked::MakeOperand<2>(shares.data(), DataType::kFloat32, {rows, tokens}), device);
    CallEntry(&__tvm_ffi_softmax, bytes.get(), masks ? chosen.get() : given.get(), drawn.get(),
              nullptr, 1.0, false);
    std::optional<DlView> masses;
    if (top_p_rows) masses.emplace(linked::MakeDeviceOperand(*top_p_rows), device);
    DlView out(linked::MakeDeviceOperand(samples), device);
    DlView marks(linked::MakeDeviceOperand(valid), device);
    CallEntry(&__tvm_ffi_top_p_sampling_from_probs, drawn.get(), out.get(), marks.get(), nullptr,
              masses ? masses->get() : nullptr, top_p, true, nullptr, seed, nullptr, offset);
  });
}

Support Operator<Op, Device::Type::kNvidia, 16>::Supports(
    const Context&, const TensorView& logits, const std::optional<TensorView>& top_k_rows,
    const std::optional<TensorView>& top_p_rows, std::int64_t, double, std::int64_t, std::int64_t,
    const TensorView& samples, const TensorView& valid) {
  if (logits.dtype() != DataType::kFloat32) {
    return Support::No(std::string("it has no kernel for ") + rt::DataTypeName(logits.dtype()));
  }
  // 0 and -1 keep all, which its kernel does not know, and the host cannot see them there.
  if (top_k_rows) return Support::No("it takes one `top_k` for all rows");
  if (!logits.is_contiguous() || !samples.is_contiguous() || !valid.is_contiguous() ||
      (top_p_rows && !top_p_rows->is_contiguous())) {
    return Support::No("it takes contiguous tensors");
  }
  return Support::Yes();
}

}  // namespace infini::ops

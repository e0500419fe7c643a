// Statistics, products and rearrangements.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "ops/composed.h"
#include "ops/composed_parts.h"

namespace torch_infini {
namespace {

using at::OptionalIntArrayRef;
using at::Scalar;
using at::Tensor;

// --- Statistics ---

std::tuple<Tensor, Tensor> VarMean(const Tensor& self, OptionalIntArrayRef dims,
                                   const std::optional<Scalar>& correction, bool keepdim) {
  return {at::var(self, dims, correction, keepdim), at::mean(self, dims, keepdim)};
}

std::tuple<Tensor, Tensor> StdMean(const Tensor& self, OptionalIntArrayRef dims,
                                   const std::optional<Scalar>& correction, bool keepdim) {
  return {at::std(self, dims, correction, keepdim), at::mean(self, dims, keepdim)};
}

Tensor NanSum(const Tensor& self, OptionalIntArrayRef dims, bool keepdim,
              std::optional<at::ScalarType> type) {
  const Tensor present = IsInteger(self) ? self : at::where(at::isnan(self), Number(0.0), self);
  return at::sum(present, dims, keepdim, type);
}

Tensor Trace(const Tensor& self) {
  TORCH_CHECK(self.dim() == 2, "trace: expected a matrix, but got tensor with dim ", self.dim());
  return at::sum(self.diagonal());
}

/// Multiplies neighbours until one slice is left.
Tensor ProductAlong(const Tensor& self, std::int64_t dim, std::optional<at::ScalarType> type) {
  Tensor rest = self;
  if (type.has_value()) {
    rest = self.to(*type);
  } else if (IsInteger(self)) {
    rest = self.to(c10::ScalarType::Long);
  }
  if (rest.dim() == 0) return rest.clone();
  if (rest.size(dim) == 0) return at::ones_like(rest.sum(dim));
  while (rest.size(dim) > 1) {
    const std::int64_t half = rest.size(dim) / 2;
    const Tensor pairs = rest.narrow(dim, 0, half) * rest.narrow(dim, half, half);
    const bool odd = rest.size(dim) % 2 != 0;
    rest = odd ? at::cat({pairs, rest.narrow(dim, 2 * half, 1)}, dim) : pairs;
  }
  return rest.select(dim, 0).clone();
}

Tensor Product(const Tensor& self, std::optional<at::ScalarType> type) {
  return ProductAlong(self.flatten(), 0, type);
}

Tensor& ProductOut(const Tensor& self, std::int64_t dim, bool keepdim,
                   std::optional<at::ScalarType> type, Tensor& out) {
  const Tensor product = ProductAlong(self, dim, type);
  return Give(keepdim && self.dim() > 0 ? product.unsqueeze(dim) : product, out);
}

Tensor& CumulativeProductOut(const Tensor& self, std::int64_t dim,
                             std::optional<at::ScalarType> type, Tensor& out) {
  Tensor result =
      type.has_value() ? self.to(*type) : (IsInteger(self) ? self.to(c10::ScalarType::Long) : self);
  const std::int64_t size = self.dim() == 0 ? 1 : self.size(dim);
  for (std::int64_t shift = 1; shift < size; shift *= 2) {
    const Tensor later =
        result.narrow(dim, shift, size - shift) * result.narrow(dim, 0, size - shift);
    result = at::cat({result.narrow(dim, 0, shift), later}, dim);
  }
  return Give(result, out);
}

// --- Rearranging ---

Tensor Roll(const Tensor& self, at::IntArrayRef shifts, at::IntArrayRef dims) {
  if (dims.empty() && shifts.size() == 1) {
    return Roll(self.flatten(), shifts, {0}).view(self.sizes());
  }
  TORCH_CHECK(!shifts.empty() && shifts.size() == dims.size(),
              "shifts and dimensions must align. shifts: ", shifts.size(), ", dims:", dims.size());
  Tensor result = self;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t size = self.size(dims[i]);
    if (size == 0) continue;
    const std::int64_t start = ((size - shifts[i]) % size + size) % size;
    result = at::cat(
        {result.narrow(dims[i], start, size - start), result.narrow(dims[i], 0, start)}, dims[i]);
  }
  return result.is_same(self) ? self.clone() : result;
}

Tensor& TakeOut(const Tensor& self, const Tensor& index, Tensor& out) {
  TORCH_CHECK(index.scalar_type() == c10::ScalarType::Long,
              "take(): Expected a long tensor for index, but got ", index.scalar_type());
  return Give(self.flatten().index({index}), out);
}

Tensor Take(const Tensor& self, const Tensor& index) {
  Tensor out = at::empty({0}, self.options());
  return TakeOut(self, index, out);
}

/// The places of a padded dimension in the one that it is made of.
template <typename Place>
Tensor Padded(const Tensor& self, std::int64_t dim, std::int64_t before, std::int64_t after,
              Place&& place) {
  const std::int64_t size = self.size(dim);
  std::vector<std::int64_t> places;
  for (std::int64_t i = -before; i < size + after; ++i) places.push_back(place(i, size));
  const Tensor host = at::tensor(places, at::TensorOptions().dtype(c10::ScalarType::Long));
  return at::index_select(self, dim, host.to(self.device()));
}

/// `padding`: two numbers for each of the last `kDims` dimensions, from the last.
template <std::int64_t kDims, bool kReflected>
Tensor& PadOut(const Tensor& self, at::IntArrayRef padding, Tensor& out) {
  TORCH_CHECK(padding.size() == 2 * kDims, "padding size is expected to be ", 2 * kDims,
              ", but got: ", padding.size());
  TORCH_CHECK(self.dim() == kDims + 1 || self.dim() == kDims + 2, "Expected ", kDims + 1, "D or ",
              kDims + 2, "D (batch mode) tensor, but got: ", self.sizes());
  Tensor result = self;
  for (std::int64_t i = 0; i < kDims; ++i) {
    const std::int64_t dim = self.dim() - 1 - i;
    const std::int64_t before = padding[static_cast<std::size_t>(2 * i)];
    const std::int64_t after = padding[static_cast<std::size_t>(2 * i + 1)];
    TORCH_CHECK(!kReflected || (before < self.size(dim) && after < self.size(dim)),
                "Padding size should be less than the corresponding input dimension, but got: "
                "padding (",
                before, ", ", after, ") at dimension ", dim, " of input ", self.sizes());
    result = Padded(result, dim, before, after, [](std::int64_t at, std::int64_t size) {
      if (!kReflected) return std::clamp<std::int64_t>(at, 0, size - 1);
      if (at < 0) return -at;
      return at < size ? at : 2 * (size - 1) - at;
    });
  }
  return Give(result, out);
}

template <std::int64_t kDims, bool kReflected>
Tensor Pad(const Tensor& self, at::IntArrayRef padding) {
  Tensor out = at::empty({0}, self.options());
  return PadOut<kDims, kReflected>(self, padding, out);
}

Tensor TriangleIndices(std::int64_t rows, std::int64_t columns, std::int64_t diagonal, bool lower,
                       std::optional<at::ScalarType> type, std::optional<at::Device> device) {
  const at::TensorOptions options =
      at::TensorOptions().dtype(type.value_or(c10::ScalarType::Long)).device(at::kCPU);
  const Tensor host = lower ? at::tril_indices(rows, columns, diagonal, options)
                            : at::triu_indices(rows, columns, diagonal, options);
  return host.to(device.value_or(at::Device(c10::DeviceType::PrivateUse1)));
}

Tensor TrilIndices(std::int64_t rows, std::int64_t columns, std::int64_t diagonal,
                   std::optional<at::ScalarType> type, std::optional<at::Layout> /*layout*/,
                   std::optional<at::Device> device, std::optional<bool> /*pin_memory*/) {
  return TriangleIndices(rows, columns, diagonal, /*lower=*/true, type, device);
}

Tensor TriuIndices(std::int64_t rows, std::int64_t columns, std::int64_t diagonal,
                   std::optional<at::ScalarType> type, std::optional<at::Layout> /*layout*/,
                   std::optional<at::Device> device, std::optional<bool> /*pin_memory*/) {
  return TriangleIndices(rows, columns, diagonal, /*lower=*/false, type, device);
}

}  // namespace

void RegisterComposedStatistics(Composed library) {
  library.Add("var_mean.correction", TORCH_FN(VarMean))
      .Add("std_mean.correction", TORCH_FN(StdMean))
      .Add("nansum", TORCH_FN(NanSum))
      .Add("trace", TORCH_FN(Trace))
      .Add("prod", TORCH_FN(Product))
      .Add("prod.int_out", TORCH_FN(ProductOut))
      .Add("cumprod.out", TORCH_FN(CumulativeProductOut))
      .Add("roll", TORCH_FN(Roll))
      .Add("take", TORCH_FN(Take))
      .Add("take.out", TORCH_FN(TakeOut))
      .Add("reflection_pad1d.out", TORCH_FN((PadOut<1, true>)))
      .Add("reflection_pad2d.out", TORCH_FN((PadOut<2, true>)))
      .Add("reflection_pad2d", TORCH_FN((Pad<2, true>)))
      .Add("reflection_pad3d.out", TORCH_FN((PadOut<3, true>)))
      .Add("replication_pad1d.out", TORCH_FN((PadOut<1, false>)))
      .Add("replication_pad2d.out", TORCH_FN((PadOut<2, false>)))
      .Add("replication_pad3d.out", TORCH_FN((PadOut<3, false>)))
      .Add("tril_indices", TORCH_FN(TrilIndices))
      .Add("triu_indices", TORCH_FN(TriuIndices));
}

}  // namespace torch_infini

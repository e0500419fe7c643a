#include "ops/composed.h"

#include <ATen/Functions.h>
#include <ATen/ScalarOps.h>
#include <ATen/TensorOperators.h>
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/core/IListRef.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/aminmax_meta.h>
#include <c10/core/WrapDimMinimal.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "ops/index.h"
#include "ops/structured.h"

namespace torch_infini {
namespace {

using at::OptionalIntArrayRef;
using at::Scalar;
using at::Tensor;
using OptionalDim = std::optional<std::int64_t>;

// --- Elementwise ---

Tensor& AddcmulOut(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value,
                   Tensor& out) {
  return at::add_out(out, self, at::mul(a, b), value);
}

Tensor& AddcdivOut(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value,
                   Tensor& out) {
  return at::add_out(out, self, at::div(a, b), value);
}

/// From the nearer end, as PyTorch.
Tensor& LerpScalarOut(const Tensor& self, const Tensor& end, const Scalar& weight, Tensor& out) {
  const double share = weight.toDouble();
  if (std::abs(share) < 0.5) return at::add_out(out, self, at::sub(end, self), weight);
  return at::sub_out(out, end, at::sub(end, self), 1.0 - share);
}

Tensor& LerpTensorOut(const Tensor& self, const Tensor& end, const Tensor& weight, Tensor& out) {
  const Tensor way = at::sub(end, self);
  const Tensor from_self = at::add(self, at::mul(weight, way));
  const Tensor from_end = at::sub(end, at::mul(way, at::rsub(weight, 1)));
  return at::where_out(out, at::lt(at::abs(weight), 0.5), from_self, from_end);
}

Tensor& SignOut(const Tensor& self, Tensor& out) {
  return at::sub_out(out, self.gt(0).to(self.scalar_type()), self.lt(0).to(self.scalar_type()));
}

Tensor IsNan(const Tensor& self) { return self.ne(self); }

Tensor& IsNegativeInfinityOut(const Tensor& self, Tensor& out) {
  return at::eq_out(out, self, -std::numeric_limits<double>::infinity());
}

Tensor& IsPositiveInfinityOut(const Tensor& self, Tensor& out) {
  return at::eq_out(out, self, std::numeric_limits<double>::infinity());
}

Tensor& MaskedFillTensor(Tensor& self, const Tensor& mask, const Tensor& value) {
  TORCH_CHECK(value.dim() == 0,
              "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
              value.dim(), " dimension(s).");
  TORCH_CHECK(mask.scalar_type() == c10::ScalarType::Bool,
              "masked_fill_ only supports boolean masks, but got mask with dtype ",
              mask.scalar_type());
  // `self` is operand and result, which InfiniOps' `where` allows.
  return at::where_out(self, mask.expand(self.sizes()), value.to(self.scalar_type()), self);
}

Tensor& MaskedFillScalar(Tensor& self, const Tensor& mask, const Scalar& value) {
  return MaskedFillTensor(self, mask,
                          at::scalar_tensor(value, at::TensorOptions().dtype(self.scalar_type())));
}

at::TensorOptions LongOn(const Tensor& tensor) {
  return at::TensorOptions().dtype(c10::kLong).device(tensor.device());
}

/// Keeps the elements of `self` whose column is less than, or greater than, its
/// row by at most, or at least, `diagonal`.
Tensor& Triangle(const Tensor& self, std::int64_t diagonal, bool lower, Tensor& out) {
  const Tensor rows = at::arange(self.size(-2), LongOn(self)).unsqueeze(1);
  const Tensor distance = at::arange(self.size(-1), LongOn(self)) - rows;
  const Tensor kept = lower ? distance.le(diagonal) : distance.ge(diagonal);
  const Tensor zero = at::scalar_tensor(0, at::TensorOptions().dtype(self.scalar_type()));
  return out.copy_(at::where(kept, self, zero));
}

Tensor& TrilOut(const Tensor& self, std::int64_t diagonal, Tensor& out) {
  out.resize_(self.sizes());
  return Triangle(self, diagonal, /*lower=*/true, out);
}

Tensor& TriuOut(const Tensor& self, std::int64_t diagonal, Tensor& out) {
  out.resize_(self.sizes());
  return Triangle(self, diagonal, /*lower=*/false, out);
}

/// PyTorch's class of this overload leaves the check of the result to the other.
Tensor& PowScalarOut(const Scalar& base, const Tensor& exponent, Tensor& out) {
  return at::pow_out(out, at::native::wrapped_scalar_tensor(base), exponent);
}

Tensor& DivModeOut(const Tensor& self, const Tensor& other,
                   std::optional<c10::string_view> rounding, Tensor& out) {
  if (!rounding.has_value()) return at::div_out(out, self, other);
  TORCH_CHECK(*rounding == "floor" || *rounding == "trunc",
              "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '",
              *rounding, "'");
  TORCH_CHECK_NOT_IMPLEMENTED(*rounding == "floor",
                              "div with rounding_mode='trunc' is not implemented on infini");
  return at::floor_divide_out(out, self, other);
}

Tensor& ScatterValueOut(const Tensor& self, std::int64_t dim, const Tensor& index,
                        const Scalar& value, Tensor& out) {
  const Tensor source = at::full(index.sizes(), value, self.options());
  return at::scatter_out(out, self, dim, index, source);
}

// --- Reductions ---

Tensor CountNonzero(const Tensor& self, OptionalIntArrayRef dims, bool keepdim) {
  const Tensor marks = self.scalar_type() == c10::ScalarType::Bool ? self : self.ne(0);
  return at::sum(marks, dims, keepdim);
}

/// Whether any element, or every one, is not 0; `out` is bool, or uint8 for uint8 operands, as in
/// PyTorch.
Tensor& Truth(const Tensor& self, at::IntArrayRef dims, bool keepdim, bool every, Tensor& out) {
  TORCH_CHECK(
      out.scalar_type() == c10::ScalarType::Bool || out.scalar_type() == c10::ScalarType::Byte,
      "Expected out tensor to have dtype bool or uint8, but got ", out.scalar_type());
  const Tensor marks = self.scalar_type() == c10::ScalarType::Bool ? self : self.ne(0);
  if (self.numel() == 0) {
    // No element is the extreme of nothing.
    const Tensor count = at::sum(marks, dims, keepdim);
    out.resize_(count.sizes());
    return out.copy_(every ? count.eq(0) : count.gt(0));
  }
  if (out.scalar_type() == c10::ScalarType::Bool) {
    return every ? at::amin_out(out, marks, dims, keepdim)
                 : at::amax_out(out, marks, dims, keepdim);
  }
  const Tensor truth = every ? at::amin(marks, dims, keepdim) : at::amax(marks, dims, keepdim);
  out.resize_(truth.sizes());
  return out.copy_(truth);
}

Tensor& AnyDimOut(const Tensor& self, std::int64_t dim, bool keepdim, Tensor& out) {
  return Truth(self, dim, keepdim, /*every=*/false, out);
}

Tensor& AnyOut(const Tensor& self, Tensor& out) {
  return Truth(self, {}, /*keepdim=*/false, /*every=*/false, out);
}

Tensor& AllDimOut(const Tensor& self, std::int64_t dim, bool keepdim, Tensor& out) {
  return Truth(self, dim, keepdim, /*every=*/true, out);
}

Tensor& AllOut(const Tensor& self, Tensor& out) {
  return Truth(self, {}, /*keepdim=*/false, /*every=*/true, out);
}

Tensor CountNonzeroAlong(const Tensor& self, at::IntArrayRef dims) {
  return CountNonzero(self, dims, /*keepdim=*/false);
}

void RequireElements(const char* name, const Tensor& self) {
  TORCH_CHECK(self.numel() > 0, name,
              "(): Expected reduction dim to be specified for "
              "input.numel() == 0. Specify the reduction dim with the 'dim' argument.");
}

Tensor Max(const Tensor& self) {
  RequireElements("max", self);
  return at::amax(self);
}

Tensor Min(const Tensor& self) {
  RequireElements("min", self);
  return at::amin(self);
}

template <typename Find>
std::tuple<Tensor&, Tensor&> Extreme(const Tensor& self, std::int64_t dim, bool keepdim,
                                     Tensor& values, Tensor& indices, Find&& find) {
  if (self.dim() == 0) {
    values.resize_({}).copy_(self);
    indices.resize_({}).zero_();
    return {values, indices};
  }
  const Tensor places = find(self, dim, /*keepdim=*/true);
  const Tensor found = at::gather(self, dim, places);
  values.resize_(keepdim ? found.sizes() : found.squeeze(dim).sizes());
  indices.resize_(values.sizes());
  values.copy_(found.view(values.sizes()));
  indices.copy_(places.view(values.sizes()));
  return {values, indices};
}

std::tuple<Tensor&, Tensor&> MaxDimOut(const Tensor& self, std::int64_t dim, bool keepdim,
                                       Tensor& values, Tensor& indices) {
  return Extreme(self, dim, keepdim, values, indices,
                 [](const Tensor& x, std::int64_t d, bool k) { return at::argmax(x, d, k); });
}

std::tuple<Tensor&, Tensor&> MinDimOut(const Tensor& self, std::int64_t dim, bool keepdim,
                                       Tensor& values, Tensor& indices) {
  return Extreme(self, dim, keepdim, values, indices,
                 [](const Tensor& x, std::int64_t d, bool k) { return at::argmin(x, d, k); });
}

std::tuple<Tensor&, Tensor&> AminmaxOut(const Tensor& self, OptionalDim dim, bool keepdim,
                                        Tensor& least, Tensor& greatest) {
  OutForm<at::meta::structured_aminmax, 2> op(/*in_place=*/false, least, greatest);
  op.meta(self, dim, keepdim);
  const std::vector<std::int64_t> dims =
      dim.has_value() && self.dim() > 0 ? std::vector{*dim} : std::vector<std::int64_t>{};
  at::amin_out(least, self, dims, keepdim);
  at::amax_out(greatest, self, dims, keepdim);
  return {least, greatest};
}

std::int64_t CountOf(const Tensor& self, OptionalIntArrayRef dims) {
  if (!dims.has_value() || dims->empty()) return self.numel();
  std::int64_t count = 1;
  for (const std::int64_t dim : *dims) count *= self.dim() == 0 ? 1 : self.size(dim);
  return count;
}

Tensor Var(const Tensor& self, OptionalIntArrayRef dims, const std::optional<Scalar>& correction,
           bool keepdim) {
  TORCH_CHECK(at::isFloatingType(self.scalar_type()), "var: expected a floating-point tensor, got ",
              self.scalar_type());
  const Tensor centred = self - at::mean(self, dims, /*keepdim=*/true);
  const double degrees = static_cast<double>(CountOf(self, dims)) -
                         (correction.has_value() ? correction->toDouble() : 1.0);
  return at::div(at::sum(centred * centred, dims, keepdim), std::max(degrees, 0.0));
}

Tensor Std(const Tensor& self, OptionalIntArrayRef dims, const std::optional<Scalar>& correction,
           bool keepdim) {
  return Var(self, dims, correction, keepdim).sqrt();
}

Tensor& VectorNormOut(const Tensor& self, const Scalar& order, OptionalIntArrayRef dims,
                      bool keepdim, std::optional<at::ScalarType> type, Tensor& out) {
  const Tensor values = type.has_value() ? self.to(*type) : self;
  const double p = order.toDouble();
  Tensor result;
  if (p == 2.0) {
    result = at::sum(values * values, dims, keepdim).sqrt();
  } else if (p == 1.0) {
    result = at::sum(values.abs(), dims, keepdim);
  } else if (p == 0.0) {
    result = CountNonzero(values, dims, keepdim).to(values.scalar_type());
  } else if (std::isinf(p)) {
    const at::IntArrayRef plain = dims.value_or(at::IntArrayRef{});
    result =
        p > 0 ? at::amax(values.abs(), plain, keepdim) : at::amin(values.abs(), plain, keepdim);
  } else {
    result = at::pow(at::sum(at::pow(values.abs(), p), dims, keepdim), 1.0 / p);
  }
  out.resize_(result.sizes());
  return out.copy_(result);
}

// --- Products ---

Tensor Dot(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(self.dim() == 1 && other.dim() == 1 && self.numel() == other.numel(),
              "dot: expected two vectors of one length, got shapes ", self.sizes(), " and ",
              other.sizes());
  TORCH_CHECK(self.scalar_type() == other.scalar_type(),
              "dot : expected both vectors to have same dtype, but found ", self.scalar_type(),
              " and ", other.scalar_type());
  return at::sum(self * other);
}

Tensor& AddmvOut(const Tensor& self, const Tensor& matrix, const Tensor& vector, const Scalar& beta,
                 const Scalar& alpha, Tensor& out) {
  const Tensor product = at::mm(matrix, vector.unsqueeze(1)).squeeze(1) * alpha;
  out.resize_(product.sizes());
  return out.copy_(beta.toComplexDouble() == 0.0 ? product : product + self * beta);
}

Tensor& BaddbmmOut(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
                   const Scalar& alpha, Tensor& out) {
  const Tensor product = at::bmm(a, b) * alpha;
  out.resize_(product.sizes());
  return out.copy_(beta.toComplexDouble() == 0.0 ? product : product + self * beta);
}

// --- Joining ---

/// Copies each tensor to its place; empty ones of one dimension fit everywhere.
Tensor Cat(const at::ITensorListRef& list, std::int64_t dim) {
  const auto tensors = list.materialize();
  TORCH_CHECK(!tensors.empty(), "torch.cat(): expected a non-empty list of Tensors");
  const auto skipped = [](const Tensor& tensor) {
    return tensor.dim() == 1 && tensor.numel() == 0;
  };
  const Tensor* model = nullptr;
  std::int64_t length = 0;
  for (const Tensor& tensor : tensors) {
    TORCH_CHECK(tensor.dim() > 0, "zero-dimensional tensor cannot be concatenated");
    if (model == nullptr && !skipped(tensor)) {
      model = &tensor;
      dim = c10::maybe_wrap_dim(dim, tensor.dim());
    }
  }
  if (model == nullptr) model = &tensors.front().get();
  std::vector<std::int64_t> shape = model->sizes().vec();
  dim = c10::maybe_wrap_dim(dim, model->dim());
  for (const Tensor& tensor : tensors) {
    TORCH_CHECK(tensor.device() == model->device(), "cat: expected all tensors on ",
                model->device(), ", got one on ", tensor.device());
    if (skipped(tensor)) continue;
    TORCH_CHECK(tensor.dim() == model->dim(), "Tensors must have same number of dimensions: got ",
                model->dim(), " and ", tensor.dim());
    for (std::int64_t i = 0; i < tensor.dim(); ++i) {
      TORCH_CHECK(i == dim || tensor.size(i) == model->size(i),
                  "Sizes of tensors must match except in dimension ", dim, ". Expected size ",
                  model->size(i), " but got size ", tensor.size(i), " for a tensor in the list");
    }
    length += tensor.size(dim);
  }
  shape[static_cast<std::size_t>(dim)] = length;
  Tensor result = at::empty(shape, model->options().dtype(at::native::result_type(list)));
  std::int64_t start = 0;
  for (const Tensor& tensor : tensors) {
    if (skipped(tensor)) continue;
    result.narrow(dim, start, tensor.size(dim)).copy_(tensor);
    start += tensor.size(dim);
  }
  return result;
}

Tensor& CatOut(const at::ITensorListRef& list, std::int64_t dim, Tensor& out) {
  const Tensor result = Cat(list, dim);
  out.resize_(result.sizes());
  return out.copy_(result);
}

Tensor Flip(const Tensor& self, at::IntArrayRef dims) {
  Tensor result = self;
  const auto flipped = at::dim_list_to_bitset(dims, self.dim());
  for (std::int64_t dim = 0; dim < self.dim(); ++dim) {
    if (!flipped[static_cast<std::size_t>(dim)]) continue;
    const auto places = at::arange(self.size(dim) - 1, -1, -1, LongOn(self));
    result = at::index_select(result, dim, places);
  }
  return result.is_same(self) ? self.clone() : result;
}

// --- Membership ---

Tensor& IsinOut(const Tensor& elements, const Tensor& tested, bool /*assume_unique*/, bool invert,
                Tensor& out) {
  const Tensor equal = elements.unsqueeze(-1).eq(tested.flatten());
  const Tensor found = at::any(equal, -1);
  out.resize_(elements.sizes());
  return out.copy_(invert ? found.logical_not() : found);
}

}  // namespace

void RegisterComposed(Composed library) {
  library.Add("addcmul.out", TORCH_FN(AddcmulOut))
      .Add("addcdiv.out", TORCH_FN(AddcdivOut))
      .Add("lerp.Scalar_out", TORCH_FN(LerpScalarOut))
      .Add("lerp.Tensor_out", TORCH_FN(LerpTensorOut))
      .Add("pow.Scalar_out", TORCH_FN(PowScalarOut))
      .Add("div.out_mode", TORCH_FN(DivModeOut))
      .Add("scatter.value_out", TORCH_FN(ScatterValueOut))
      .Add("sign.out", TORCH_FN(SignOut))
      .Add("sgn.out", TORCH_FN(SignOut))
      .Add("isnan", TORCH_FN(IsNan))
      .Add("isneginf.out", TORCH_FN(IsNegativeInfinityOut))
      .Add("isposinf.out", TORCH_FN(IsPositiveInfinityOut))
      .Add("masked_fill_.Tensor", TORCH_FN(MaskedFillTensor))
      .Add("masked_fill_.Scalar", TORCH_FN(MaskedFillScalar))
      .Add("tril.out", TORCH_FN(TrilOut))
      .Add("triu.out", TORCH_FN(TriuOut))
      .Add("count_nonzero.dim_IntList", TORCH_FN(CountNonzeroAlong))
      .Add("any.out", TORCH_FN(AnyDimOut))
      .Add("any.all_out", TORCH_FN(AnyOut))
      .Add("all.out", TORCH_FN(AllDimOut))
      .Add("all.all_out", TORCH_FN(AllOut))
      .Add("max", TORCH_FN(Max))
      .Add("min", TORCH_FN(Min))
      .Add("max.dim_max", TORCH_FN(MaxDimOut))
      .Add("min.dim_min", TORCH_FN(MinDimOut))
      .Add("aminmax.out", TORCH_FN(AminmaxOut))
      .Add("var.correction", TORCH_FN(Var))
      .Add("std.correction", TORCH_FN(Std))
      .Add("linalg_vector_norm.out", TORCH_FN(VectorNormOut))
      .Add("dot", TORCH_FN(Dot))
      .Add("addmv.out", TORCH_FN(AddmvOut))
      .Add("baddbmm.out", TORCH_FN(BaddbmmOut))
      .Add("cat", TORCH_FN(Cat))
      .Add("cat.out", TORCH_FN(CatOut))
      .Add("isin.Tensor_Tensor_out", TORCH_FN(IsinOut))
      .Add("index.Tensor", TORCH_FN(Index))
      .Add("_index_put_impl_", TORCH_FN(IndexPut))
      .Add("nonzero", TORCH_FN(Nonzero))
      .Add("masked_select", TORCH_FN(MaskedSelect))
      .Add("index_add.out", TORCH_FN(IndexAddOut))
      .Add("index_copy.out", TORCH_FN(IndexCopyOut))
      .Add("scatter_add.out", TORCH_FN(ScatterAddOut))
      .Add("flip", TORCH_FN(Flip));
}

}  // namespace torch_infini

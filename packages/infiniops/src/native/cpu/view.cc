#include "native/cpu/view.h"

#include <string>
#include <vector>

namespace infini::ops::cpu {
namespace {

using Sizes = std::vector<std::int64_t>;

}  // namespace

TensorView WithLast(const TensorView& view, int dim) {
  if (view.rank() == 0) return {view.data(), {1}, view.dtype(), view.device()};
  if (dim == view.rank() - 1) return view;
  Sizes shape;
  Sizes strides;
  for (int k = 0; k < view.rank(); ++k) {
    if (k == dim) continue;
    shape.push_back(view.size(k));
    strides.push_back(view.stride(k));
  }
  shape.push_back(view.size(dim));
  strides.push_back(view.stride(dim));
  return {view.data(), shape, strides, view.dtype(), view.device()};
}

TensorView Narrow(const TensorView& view, int dim, std::int64_t begin, std::int64_t size) {
  Sizes shape(view.shape().begin(), view.shape().end());
  const Sizes strides(view.strides().begin(), view.strides().end());
  shape[static_cast<std::size_t>(dim)] = size;
  auto* data = static_cast<char*>(view.data());
  if (data != nullptr) {
    data += begin * view.stride(dim) * static_cast<std::int64_t>(rt::DataTypeSize(view.dtype()));
  }
  return {data, shape, strides, view.dtype(), view.device()};
}

TensorView Repeated(const TensorView& view, int dim, std::span<const std::int64_t> sizes) {
  Sizes strides(view.strides().begin(), view.strides().end());
  if (!strides.empty()) strides[static_cast<std::size_t>(dim)] = 0;
  return {view.data(), sizes, strides, view.dtype(), view.device()};
}

TensorView First(const TensorView& view, std::span<const std::int64_t> sizes) {
  return {view.data(), sizes, view.strides(), view.dtype(), view.device()};
}

void CheckInside(const char* op, ops::internal::NamedView part, ops::internal::NamedView whole,
                 int dim) {
  const auto inner = part.view->shape();
  const auto outer = whole.view->shape();
  bool fits = inner.size() == outer.size();
  for (std::size_t k = 0; fits && k < inner.size(); ++k) {
    fits = static_cast<int>(k) == dim || inner[k] <= outer[k];
  }
  if (fits && dim >= 0 && !outer.empty() && outer[static_cast<std::size_t>(dim)] == 0 &&
      part.view->numel() > 0) {
    throw Error(ErrorCode::kIndexOutOfRange, op, part.view->device().ToString(),
                "`" + std::string(part.name) + "` has " + std::to_string(part.view->numel()) +
                    " numbers of places, but `" + whole.name + "` of shape " +
                    ops::internal::ShapeText(outer) + " has no place along dimension " +
                    std::to_string(dim));
  }
  if (fits) return;
  throw Error(ErrorCode::kInvalidArgument, op, part.view->device().ToString(),
              "`" + std::string(part.name) + "` has shape " + ops::internal::ShapeText(inner) +
                  "; expected the rank of `" + whole.name + "` of shape " +
                  ops::internal::ShapeText(outer) + " and sizes up to its own" +
                  (dim >= 0 ? " in every dimension but " + std::to_string(dim) : ""));
}

}  // namespace infini::ops::cpu

#include "ops/index.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/index_copy_meta.h>

#include <algorithm>
#include <vector>

#include "ops/structured.h"

namespace torch_infini {
namespace {

using at::Tensor;
using Sizes = std::vector<std::int64_t>;

at::TensorOptions LongOn(const Tensor& tensor) {
  return at::TensorOptions().dtype(c10::kLong).device(tensor.device());
}

/// Throws unless every element of `index` is one of `size` places. Waits.
void CheckBounds(const Tensor& index, std::int64_t size, std::int64_t dim) {
  if (index.numel() == 0) return;
  const bool outside = at::any(index.lt(0).logical_or(index.ge(size))).item<bool>();
  TORCH_CHECK_INDEX(!outside, "index out of range for dimension ", dim, " with size ", size);
}

/// The places in row-major order where `mask` is true. Waits for their number.
Tensor PlacesOf(const Tensor& mask) {
  const Tensor flat = mask.flatten();
  if (flat.numel() == 0) return at::empty({0}, LongOn(mask));
  const Tensor order = at::cumsum(flat, 0);
  const auto count = order[-1].item<std::int64_t>();
  // What is not marked goes to one place behind the others, which is cut off.
  const Tensor last = at::scalar_tensor(count, at::TensorOptions().dtype(c10::kLong));
  const Tensor target = at::where(flat, order - 1, last);
  const Tensor places = at::empty({count + 1}, LongOn(mask));
  return places.scatter_(0, target, at::arange(flat.numel(), LongOn(mask))).narrow(0, 0, count);
}

Tensor AsMask(const Tensor& tensor) {
  return tensor.scalar_type() == c10::ScalarType::Bool ? tensor : tensor.ne(0);
}

/// What `self[indices]` names.
struct Selection {
  std::vector<std::int64_t> order;  // of self's dimensions, indexed ones first
  Sizes places;                     // shape of the indices
  Tensor place;                     // flat, in the indexed dimensions together
  std::int64_t count = 1;           // of places in the indexed dimensions
  std::int64_t first = 0;           // where the indices' dimensions go in the result
};

/// Brings masks to positions: one index for each dimension of `self`, undefined
/// where it is taken whole.
std::vector<Tensor> Positions(const Tensor& self, const c10::List<std::optional<Tensor>>& indices) {
  std::vector<Tensor> result;
  for (const std::optional<Tensor>& given : indices) {
    if (!given.has_value() || !given->defined()) {
      result.emplace_back();
      continue;
    }
    const Tensor index = given->device() == self.device() ? *given : given->to(self.device());
    const c10::ScalarType type = index.scalar_type();
    if (type != c10::ScalarType::Bool && type != c10::ScalarType::Byte) {
      TORCH_CHECK_INDEX(type == c10::ScalarType::Long || type == c10::ScalarType::Int,
                        "tensors used as indices must be long, int, byte or bool tensors");
      result.push_back(index.to(c10::ScalarType::Long));
      continue;
    }
    for (std::int64_t dim = 0; dim < index.dim(); ++dim) {
      const auto at = static_cast<std::int64_t>(result.size()) + dim;
      TORCH_CHECK_INDEX(at < self.dim() && index.size(dim) == self.size(at),
                        "The shape of the mask ", index.sizes(), " at index ", dim,
                        " does not match the shape of the indexed tensor ", self.sizes(),
                        " at index ", at);
    }
    const Tensor columns = Nonzero(AsMask(index));
    for (std::int64_t dim = 0; dim < index.dim(); ++dim) result.push_back(columns.select(1, dim));
  }
  TORCH_CHECK_INDEX(static_cast<std::int64_t>(result.size()) <= self.dim(),
                    "too many indices for tensor of dimension ", self.dim(), " (got ",
                    result.size(), ")");
  result.resize(static_cast<std::size_t>(self.dim()));
  return result;
}

Selection Select(const Tensor& self, const c10::List<std::optional<Tensor>>& indices) {
  const std::vector<Tensor> positions = Positions(self, indices);
  Selection selection;
  std::vector<Tensor> used;
  std::vector<std::int64_t> whole;
  for (std::int64_t dim = 0; dim < self.dim(); ++dim) {
    if (const Tensor& position = positions[static_cast<std::size_t>(dim)]; position.defined()) {
      selection.order.push_back(dim);
      used.push_back(position);
    } else {
      whole.push_back(dim);
    }
  }
  TORCH_CHECK_INDEX(!used.empty(), "index: expected at least one index");
  const std::vector<std::int64_t> indexed = selection.order;
  // Indices beside one another keep their place, others go to the front.
  const bool adjacent =
      indexed.back() - indexed.front() + 1 == static_cast<std::int64_t>(indexed.size());
  selection.first = adjacent ? indexed.front() : 0;
  selection.order.insert(selection.order.end(), whole.begin(), whole.end());

  used = at::broadcast_tensors(used);
  selection.places = used.front().sizes().vec();
  for (std::size_t i = 0; i < used.size(); ++i) {
    const std::int64_t size = self.size(indexed[i]);
    const Tensor wrapped = at::where(used[i].lt(0), used[i] + size, used[i]);
    CheckBounds(wrapped, size, indexed[i]);
    selection.place = i == 0 ? wrapped : selection.place * size + wrapped;
    selection.count *= size;
  }
  selection.place = selection.place.flatten();
  return selection;
}

/// `self` as [count, rest...].
Tensor Front(const Tensor& self, const Selection& selection, std::size_t indexed, Sizes& rest) {
  const Tensor moved = self.permute(selection.order);
  rest = moved.sizes().slice(indexed).vec();
  Sizes shape{selection.count};
  shape.insert(shape.end(), rest.begin(), rest.end());
  return moved.reshape(shape);
}

std::size_t IndexedCount(const c10::List<std::optional<Tensor>>& indices) {
  std::size_t count = 0;
  for (const std::optional<Tensor>& index : indices) {
    if (!index.has_value() || !index->defined()) continue;
    const c10::ScalarType type = index->scalar_type();
    const bool mask = type == c10::ScalarType::Bool || type == c10::ScalarType::Byte;
    count += mask ? static_cast<std::size_t>(index->dim()) : 1;
  }
  return count;
}

/// Where the dimensions of [places..., rest...] go in the result.
std::vector<std::int64_t> ResultOrder(const Selection& selection, std::size_t rest) {
  const auto places = static_cast<std::int64_t>(selection.places.size());
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < selection.first; ++i) order.push_back(places + i);
  for (std::int64_t i = 0; i < places; ++i) order.push_back(i);
  for (auto i = selection.first; i < static_cast<std::int64_t>(rest); ++i) {
    order.push_back(places + i);
  }
  return order;
}

}  // namespace

at::Tensor Index(const Tensor& self, const c10::List<std::optional<Tensor>>& indices) {
  const Selection selection = Select(self, indices);
  Sizes rest;
  const Tensor front = Front(self, selection, IndexedCount(indices), rest);
  const Tensor picked = at::index_select(front, 0, selection.place);
  Sizes shape = selection.places;
  shape.insert(shape.end(), rest.begin(), rest.end());
  return picked.view(shape).permute(ResultOrder(selection, rest.size()));
}

at::Tensor& IndexPut(Tensor& self, const c10::List<std::optional<Tensor>>& indices,
                     const Tensor& values, bool accumulate, bool /*unsafe*/) {
  TORCH_CHECK(values.scalar_type() == self.scalar_type(),
              "Index put requires the source and destination dtypes match, got ",
              self.scalar_type(), " for the destination and ", values.scalar_type(),
              " for the source.");
  const Selection selection = Select(self, indices);
  Sizes rest;
  const std::size_t indexed = IndexedCount(indices);
  const Tensor front = Front(self, selection, indexed, rest);
  Sizes shape = selection.places;
  shape.insert(shape.end(), rest.begin(), rest.end());
  const std::vector<std::int64_t> order = ResultOrder(selection, rest.size());
  Sizes result;
  for (const std::int64_t dim : order) result.push_back(shape[static_cast<std::size_t>(dim)]);
  std::vector<std::int64_t> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  }
  const Tensor source =
      values.to(self.device()).expand(result).permute(back).reshape({selection.place.numel(), -1});
  const Tensor rows = front.reshape({selection.count, -1});
  const Tensor changed =
      accumulate ? at::index_add(rows, 0, selection.place, source)
                 : at::scatter(rows, 0, selection.place.unsqueeze(1).expand_as(source), source);
  const Tensor moved = self.permute(selection.order);
  moved.copy_(changed.view(moved.sizes()));
  return self;
}

at::Tensor Nonzero(const Tensor& self) {
  Tensor place = PlacesOf(AsMask(self));
  std::vector<Tensor> columns(static_cast<std::size_t>(self.dim()));
  for (std::int64_t dim = self.dim(); dim-- > 0;) {
    const std::int64_t size = std::max<std::int64_t>(self.size(dim), 1);
    columns[static_cast<std::size_t>(dim)] = at::remainder(place, size);
    if (dim > 0) place = at::floor_divide(place, size);
  }
  if (columns.empty()) return at::empty({place.numel(), 0}, LongOn(self));
  return at::stack(columns, 1);
}

at::Tensor MaskedSelect(const Tensor& self, const Tensor& mask) {
  TORCH_CHECK(mask.scalar_type() == c10::ScalarType::Bool,
              "masked_select: expected BoolTensor for mask, got ", mask.scalar_type());
  const std::vector<Tensor> both = at::broadcast_tensors({self, mask});
  return at::index_select(both[0].flatten(), 0, PlacesOf(both[1]));
}

at::Tensor& IndexAddOut(const Tensor& self, std::int64_t dim, const Tensor& index,
                        const Tensor& source, const at::Scalar& alpha, Tensor& out) {
  TORCH_CHECK(self.scalar_type() == source.scalar_type(),
              "index_add: expected source of the type of self, ", self.scalar_type(), ", got ",
              source.scalar_type());
  TORCH_CHECK_INDEX(index.dim() <= 1, "index_add: expected a vector of places, got shape ",
                    index.sizes());
  const Tensor base = self.dim() == 0 ? self.unsqueeze(0) : self;
  const Tensor added = source.dim() == 0 ? source.unsqueeze(0) : source;
  const Tensor places = index.dim() == 0 ? index.unsqueeze(0) : index;
  const Tensor front = base.movedim(dim, 0);
  const std::int64_t size = front.size(0);
  TORCH_CHECK(added.size(dim) == places.numel(), "index_add: expected one place for each of ",
              added.size(dim), " slices of source, got ", places.numel());
  CheckBounds(places, size, dim);
  const Tensor rows = added.movedim(dim, 0).reshape({places.numel(), -1});
  // One row of zeros and ones for each slice, so that repeated places add up.
  const Tensor chosen =
      places.unsqueeze(1).eq(at::arange(size, LongOn(places))).to(self.scalar_type());
  const Tensor sums = at::mm(chosen.t(), rows).view(front.sizes());
  const Tensor result = at::add(front, sums, alpha).movedim(0, dim);
  out.resize_(self.sizes());
  return out.copy_(result.reshape(self.sizes()));
}

at::Tensor& IndexCopyOut(const Tensor& self, std::int64_t dim, const Tensor& index,
                         const Tensor& source, Tensor& out) {
  OutForm<at::meta::structured_index_copy> op(/*in_place=*/out.is_same(self), out);
  const std::int64_t along = op.meta(self, dim, index, source).dim;
  if (!out.is_same(self)) out.copy_(self);
  Tensor target = out.dim() == 0 ? out.unsqueeze(0) : out;
  const Tensor slices = source.dim() == 0 ? source.unsqueeze(0) : source;
  Sizes shape(static_cast<std::size_t>(slices.dim()), 1);
  shape[static_cast<std::size_t>(along)] = index.numel();
  // Where the result is the operand, only the new elements are written.
  at::scatter_out(target, target, along, index.reshape(shape).expand(slices.sizes()), slices);
  return out;
}

}  // namespace torch_infini

#include "ops/index.h"

#include <ATen/ExpandUtils.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/index_copy_meta.h>
#include <ATen/ops/scatter_add_meta.h>
#include <c10/core/WrapDimMinimal.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "ops/copy.h"
#include "ops/structured.h"
#include "ops/tensor_view.h"

namespace torch_infini {
namespace {

using at::Tensor;
using Sizes = std::vector<std::int64_t>;

at::TensorOptions LongOn(const Tensor& tensor) {
  return at::TensorOptions().dtype(c10::kLong).device(tensor.device());
}

void RefuseBounds(std::int64_t place, std::int64_t dim, std::int64_t size) {
  TORCH_CHECK_INDEX(false, "index ", place, " is out of bounds for dimension ", dim, " with size ",
                    size);
}

/// The least and the greatest of a list of numbers that the host sees.
template <typename T>
std::pair<std::int64_t, std::int64_t> RangeOf(const Tensor& index) {
  const auto* const begin = static_cast<const T*>(DataOf(index));
  const auto [least, greatest] = std::minmax_element(begin, begin + index.numel());
  return {*least, *greatest};
}

bool IsInt(const Tensor& index) { return index.scalar_type() == c10::ScalarType::Int; }

/// Throws unless every element of `index`, which has some, is from `least` to
/// `size` - 1. Waits. Returns whether one is below 0.
bool CheckBounds(const Tensor& index, std::int64_t least, std::int64_t size, std::int64_t dim) {
  if (HostSeesElements()) {
    const Tensor plain = index.contiguous();
    const auto range = IsInt(plain) ? RangeOf<std::int32_t>(plain) : RangeOf<std::int64_t>(plain);
    if (range.first < least) RefuseBounds(range.first, dim, size);
    if (range.second >= size) RefuseBounds(range.second, dim, size);
    return range.first < 0;
  }
  const auto lowest = at::amin(index).item<std::int64_t>();
  if (lowest < least) RefuseBounds(lowest, dim, size);
  const auto highest = at::amax(index).item<std::int64_t>();
  if (highest >= size) RefuseBounds(highest, dim, size);
  return lowest < 0;
}

Tensor FromTheFront(const Tensor& index, std::int64_t size) {
  return at::where(index.lt(0), index + size, index);
}

/// `index` with numbers below 0 counted from the end; all of them are checked.
Tensor Wrapped(const Tensor& index, std::int64_t size, std::int64_t dim) {
  if (index.numel() == 0) return index;
  return CheckBounds(index, -size, size, dim) ? FromTheFront(index, size) : index;
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

bool IsMask(const Tensor& index) {
  return index.scalar_type() == c10::ScalarType::Bool ||
         index.scalar_type() == c10::ScalarType::Byte;
}

Tensor AsMask(const Tensor& tensor) {
  return tensor.scalar_type() == c10::ScalarType::Bool ? tensor : tensor.ne(0);
}

void CheckMask(const Tensor& mask, const Tensor& self, std::int64_t first) {
  for (std::int64_t dim = 0; dim < mask.dim(); ++dim) {
    const std::int64_t at = first + dim;
    TORCH_CHECK_INDEX(at < self.dim() && mask.size(dim) == self.size(at), "The shape of the mask ",
                      mask.sizes(), " at index ", dim,
                      " does not match the shape of the indexed tensor ", self.sizes(),
                      " at index ", at);
  }
}

void CheckPlaces(const Tensor& index) {
  TORCH_CHECK_INDEX(index.scalar_type() == c10::ScalarType::Long || IsInt(index),
                    "tensors used as indices must be long, int, byte or bool tensors");
}

Tensor OnDeviceOf(const Tensor& self, const Tensor& index) {
  return index.device() == self.device() ? index : index.to(self.device());
}

/// An index that stands alone, and the first dimension that it is for.
struct OnlyIndex {
  Tensor index;
  std::int64_t dim = 0;

  /// How many dimensions it takes the place of.
  std::int64_t taken() const { return IsMask(index) ? index.dim() : 1; }
};

/// The one index of `indices`; nothing where there are more, where it is a mask
/// without dimensions, or where `self` has too few dimensions.
std::optional<OnlyIndex> FindOnlyIndex(const Tensor& self,
                                       const c10::List<std::optional<Tensor>>& indices) {
  std::optional<OnlyIndex> found;
  std::int64_t dim = 0;
  for (const std::optional<Tensor>& given : indices) {
    if (given.has_value() && given->defined()) {
      if (found.has_value() || dim >= self.dim()) return std::nullopt;
      if (IsMask(*given) && given->dim() == 0) return std::nullopt;
      found = OnlyIndex{OnDeviceOf(self, *given), dim};
    }
    ++dim;
  }
  if (!found.has_value() || dim - 1 + found->taken() > self.dim()) return std::nullopt;
  if (IsMask(found->index)) {
    CheckMask(found->index, self, found->dim);
  } else {
    CheckPlaces(found->index);
  }
  return found;
}

/// `self[..., only]`.
Tensor TakeOnly(const Tensor& self, const OnlyIndex& only) {
  const Tensor& index = only.index;
  if (IsMask(index)) {
    const Tensor flat =
        index.dim() == 1 ? self : self.flatten(only.dim, only.dim + index.dim() - 1);
    return at::index_select(flat, only.dim, PlacesOf(AsMask(index)));
  }
  Tensor place = index;
  // The kernel checks the others; only the host can say soon that none is below 0.
  if (HostSeesElements()) {
    place = Wrapped(index, self.size(only.dim), only.dim);
  } else if (index.numel() > 0) {
    place = FromTheFront(index, self.size(only.dim));
  }
  if (index.dim() == 1) return at::index_select(self, only.dim, place);
  const Tensor taken = at::index_select(self, only.dim, place.flatten());
  Sizes shape = self.sizes().vec();
  shape.erase(shape.begin() + only.dim);
  shape.insert(shape.begin() + only.dim, index.sizes().begin(), index.sizes().end());
  return taken.view(shape);
}

/// `self[..., only] = values`.
Tensor& PutOnly(Tensor& self, const OnlyIndex& only, const Tensor& values) {
  const Tensor& index = only.index;
  const Tensor given = values.dim() == 0 ? values : OnDeviceOf(self, values);
  if (IsMask(index) && values.numel() == 1) {
    Sizes shape = index.sizes().vec();
    shape.resize(static_cast<std::size_t>(self.dim() - only.dim), 1);
    return self.masked_fill_(AsMask(index).view(shape), given.reshape({}));
  }
  const Tensor place = IsMask(index) ? PlacesOf(AsMask(index))
                                     : Wrapped(index, self.size(only.dim), only.dim).flatten();
  const std::int64_t count = place.numel();
  const Sizes places = IsMask(index) ? Sizes{count} : index.sizes().vec();
  Sizes shape = self.sizes().vec();
  const auto first = shape.begin() + only.dim;
  shape.erase(first, first + only.taken());
  Sizes broadcast = shape;
  broadcast.insert(broadcast.begin() + only.dim, places.begin(), places.end());
  shape.insert(shape.begin() + only.dim, count);
  const Tensor source = given.to(self.device()).expand(broadcast).reshape(shape);
  const Tensor numbers = place.to(c10::ScalarType::Long);
  if (only.taken() == 1) return self.index_copy_(only.dim, numbers, source);
  // A mask of several dimensions names places in all of these together.
  Tensor flat = self.flatten(only.dim, only.dim + index.dim() - 1);
  flat.index_copy_(only.dim, numbers, source);
  if (!flat.is_alias_of(self)) self.copy_(flat.view(self.sizes()));
  return self;
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
    const Tensor index = OnDeviceOf(self, *given);
    if (!IsMask(index)) {
      CheckPlaces(index);
      result.push_back(index.to(c10::ScalarType::Long));
      continue;
    }
    CheckMask(index, self, static_cast<std::int64_t>(result.size()));
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

  for (std::size_t i = 1; i < used.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      TORCH_CHECK_INDEX(at::are_expandable(used[i].sizes(), used[j].sizes()),
                        "shape mismatch: indexing tensors could not be broadcast together with "
                        "shapes ",
                        used[j].sizes(), ", ", used[i].sizes());
    }
  }
  used = at::broadcast_tensors(used);
  selection.places = used.front().sizes().vec();
  for (std::size_t i = 0; i < used.size(); ++i) {
    const std::int64_t size = self.size(indexed[i]);
    const Tensor wrapped = Wrapped(used[i], size, indexed[i]);
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
    count += IsMask(*index) ? static_cast<std::size_t>(index->dim()) : 1;
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
  if (const auto only = FindOnlyIndex(self, indices)) return TakeOnly(self, *only);
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
  if (const auto only = FindOnlyIndex(self, indices); only.has_value() && !accumulate) {
    return PutOnly(self, *only, values);
  }
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
  const std::int64_t width = c10::multiply_integers(rest);
  const Tensor source = values.to(self.device())
                            .expand(result)
                            .permute(back)
                            .reshape({selection.place.numel(), width});
  const Tensor rows = front.reshape({selection.count, width});
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
  if (places.numel() > 0) CheckBounds(places, 0, size, dim);
  const std::int64_t width = size == 0 ? 0 : front.numel() / size;
  const Tensor rows = added.movedim(dim, 0).reshape({places.numel(), width});
  const Tensor sums = SumByPlace(rows, places, size).view(front.sizes());
  const Tensor result = at::add(front, sums, alpha).movedim(0, dim);
  out.resize_(self.sizes());
  return out.copy_(result.reshape(self.sizes()));
}

at::Tensor SumByPlace(const Tensor& rows, const Tensor& places, std::int64_t count) {
  const bool floating = at::isFloatingType(rows.scalar_type());
  const bool finite = floating && (rows.numel() == 0 || !at::any((rows - rows).ne(0)).item<bool>());
  if (finite) {
    // One row of zeros and ones for each row, so that repeated places add up.
    const Tensor numbers = at::arange(count, places.options());
    const Tensor chosen = places.unsqueeze(1).eq(numbers).to(rows.scalar_type());
    return at::mm(chosen.t(), rows);
  }
  // A product would carry infinities to every place, and has no integers.
  Tensor sums = at::zeros({count, rows.size(1)}, rows.options());
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    const Tensor place = places.narrow(0, i, 1).to(c10::ScalarType::Long);
    sums.index_copy_(0, place, at::index_select(sums, 0, place).add(rows.narrow(0, i, 1)));
  }
  return sums;
}

at::Tensor& ScatterAddOut(const Tensor& self, std::int64_t dim, const Tensor& index,
                          const Tensor& source, Tensor& out) {
  OutForm<at::meta::structured_scatter_add> op(/*in_place=*/out.is_same(self), out);
  op.meta(self, dim, index, source);
  if (!out.is_same(self)) out.copy_(self);
  if (index.numel() == 0) return out;
  const auto with_dim = [](const Tensor& x) { return x.dim() == 0 ? x.unsqueeze(0) : x; };
  const Tensor target = with_dim(out);
  const Tensor places = with_dim(index);
  const std::int64_t along = c10::maybe_wrap_dim(dim, target.dim());
  const std::int64_t size = target.size(along);
  CheckBounds(places, 0, size, along);
  // Of the source and the target, what lies beside the index takes no part.
  Tensor used = with_dim(source);
  Tensor changed = target;
  for (std::int64_t d = 0; d < places.dim(); ++d) {
    used = used.narrow(d, 0, places.size(d));
    if (d != along) changed = changed.narrow(d, 0, places.size(d));
  }
  // [..., entry, number]: repeated numbers add up, and nothing is added elsewhere.
  const Tensor marks = places.movedim(along, -1).unsqueeze(-1).eq(at::arange(size, LongOn(places)));
  const Tensor zero = at::scalar_tensor(0, at::TensorOptions().dtype(self.scalar_type()));
  const Tensor spread = at::where(marks, used.movedim(along, -1).unsqueeze(-1), zero);
  changed.add_(at::sum(spread, -2).to(self.scalar_type()).movedim(-1, along));
  return out;
}

at::Tensor& IndexCopyOut(const Tensor& self, std::int64_t dim, const Tensor& index,
                         const Tensor& source, Tensor& out) {
  OutForm<at::meta::structured_index_copy> op(/*in_place=*/out.is_same(self), out);
  const std::int64_t along = op.meta(self, dim, index, source).dim;
  // Elsewhere the kernel refuses them, without a wait here.
  if (HostSeesElements() && index.numel() > 0) {
    CheckBounds(index, 0, self.dim() == 0 ? 1 : self.size(along), along);
  }
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

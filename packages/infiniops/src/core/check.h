// The checks that generated entries are made of. All throw `Error` naming the
// operator, the argument, what was expected and what came.
#ifndef INFINI_OPS_CORE_CHECK_H_
#define INFINI_OPS_CORE_CHECK_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "infini/ops/context.h"
#include "infini/ops/scalar.h"

namespace infini::ops::internal {

/// A tensor argument and its name.
struct NamedView {
  const char* name = nullptr;
  const TensorView* view = nullptr;
};

/// Sizes of a shape that is being put together; -1 stands for any size.
class Sizes {
 public:
  void Append(std::int64_t size) {
    if (count_ < kInline) {
      inline_[count_++] = size;
      return;
    }
    if (heap_.empty()) heap_.assign(inline_.begin(), inline_.end());
    heap_.push_back(size);
    ++count_;
  }
  /// Makes these sizes all there are.
  void Assign(std::span<const std::int64_t> sizes) {
    count_ = sizes.size();
    std::int64_t* target = inline_.data();
    if (count_ > kInline) {
      heap_.resize(count_);
      target = heap_.data();
    } else {
      heap_.clear();
    }
    for (std::size_t i = 0; i < count_; ++i) target[i] = sizes[i];
  }
  /// Appends `sizes[begin:end]` with Python's meaning of negative indices.
  void AppendSlice(std::span<const std::int64_t> sizes, std::int64_t begin, std::int64_t end);
  std::span<const std::int64_t> span() const noexcept {
    return {heap_.empty() ? inline_.data() : heap_.data(), count_};
  }
  std::vector<std::int64_t> vector() const { return {span().begin(), span().end()}; }

 private:
  static constexpr std::size_t kInline = 16;
  std::size_t count_ = 0;
  std::array<std::int64_t, kInline> inline_;
  std::vector<std::int64_t> heap_;
};

/// A set of element types as bits.
using DtypeSet = std::uint32_t;
constexpr DtypeSet DtypeBit(DataType dtype) { return DtypeSet{1} << static_cast<int>(dtype); }

[[noreturn]] void ThrowDevice(const char* op, const Context& context, NamedView argument);
[[noreturn]] void ThrowDtype(const char* op, NamedView argument, DtypeSet allowed);
[[noreturn]] void ThrowDtypeLike(const char* op, NamedView argument, NamedView like);
[[noreturn]] void ThrowRank(const char* op, NamedView argument, int least, int greatest);
[[noreturn]] void ThrowOverlap(const char* op, NamedView output, NamedView input, bool may_be_same);
[[noreturn]] void ThrowShape(const char* op, NamedView argument,
                             std::span<const std::int64_t> expected, const char* rule);

/// Every tensor is on the context's device.
inline void CheckDevice(const char* op, const Context& context, NamedView argument) {
  if (argument.view->device() != context.device) {
    ThrowDevice(op, context, argument);
  }
}

inline void CheckDtype(const char* op, NamedView argument, DtypeSet allowed) {
  if (!(DtypeBit(argument.view->dtype()) & allowed)) {
    ThrowDtype(op, argument, allowed);
  }
}

inline void CheckDtypeLike(const char* op, NamedView argument, NamedView like) {
  if (argument.view->dtype() != like.view->dtype()) {
    ThrowDtypeLike(op, argument, like);
  }
}

/// `greatest` -1 means no bound.
inline void CheckRank(const char* op, NamedView argument, int least, int greatest) {
  const int rank = argument.view->rank();
  if (rank < least || (greatest >= 0 && rank > greatest)) {
    ThrowRank(op, argument, least, greatest);
  }
}

/// Whether two lists of sizes are the same. A loop of its own, since a tensor has few dimensions
/// and a call of memcmp costs more than they do.
inline bool SameSizes(std::span<const std::int64_t> a, std::span<const std::int64_t> b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

/// The shape of `argument` is `expected`, where -1 fits any size. `rule` is the
/// declaration's text.
inline void CheckShape(const char* op, NamedView argument, const Sizes& expected,
                       const char* rule) {
  const auto actual = argument.view->shape();
  const auto wanted = expected.span();
  bool fits = actual.size() == wanted.size();
  for (std::size_t i = 0; fits && i < wanted.size(); ++i) {
    fits = wanted[i] == -1 || wanted[i] == actual[i];
  }
  if (!fits) ThrowShape(op, argument, wanted, rule);
}

/// Appends the shape that `arguments` broadcast to: sizes are compared from the last dimension
/// backwards and must be equal or 1.
void AppendBroadcast(const char* op, std::initializer_list<NamedView> arguments, Sizes* result);

/// The rare part of `CheckOutput`: the elements of `output` do not lie in row-major order.
void CheckStridedOutput(const char* op, NamedView output);

/// The bytes between the lowest and the highest element; both null without elements. As
/// `TensorView::byte_range`, without a call.
inline TensorView::ByteRange ByteRangeOf(const TensorView& view) noexcept {
  const auto shape = view.shape();
  const auto strides = view.strides();
  std::int64_t below = 0;
  std::int64_t above = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return {nullptr, nullptr};
    const std::int64_t distance = (shape[i] - 1) * strides[i];
    (distance < 0 ? below : above) += distance;
  }
  const auto item = static_cast<std::int64_t>(rt::DataTypeSize(view.dtype()));
  const auto* data = static_cast<const std::byte*>(view.data());
  return {data + below * item, data + above * item};
}

/// Whether two ranges have a byte in common; empty ones have none.
inline bool Meet(const TensorView::ByteRange& a, const TensorView::ByteRange& b) noexcept {
  return a.begin < b.end && b.begin < a.end;
}

/// An output whose elements have an address each, and the bytes that it spans.
struct Written {
  NamedView output;
  TensorView::ByteRange range;
};

/// Different indices of an output must not share an address.
inline Written CheckOutput(const char* op, NamedView output) {
  if (!output.view->is_contiguous()) CheckStridedOutput(op, output);
  return {output, ByteRangeOf(*output.view)};
}

/// `written` and `input` share no byte; with `may_be_same` they may also be the
/// very same view, up to strides that no element uses.
inline void CheckOverlap(const char* op, const Written& written, NamedView input,
                         bool may_be_same) {
  if (!Meet(written.range, ByteRangeOf(*input.view))) return;
  const TensorView& output = *written.output.view;
  if (may_be_same && output.data() == input.view->data()) {
    const auto shape = output.shape();
    bool same = SameSizes(shape, input.view->shape()) && output.dtype() == input.view->dtype();
    for (std::size_t i = 0; same && i < shape.size(); ++i) {
      same = shape[i] == 1 || output.strides()[i] == input.view->strides()[i];
    }
    if (same) return;
  }
  ThrowOverlap(op, written.output, input, may_be_same);
}

/// `value` fits the kind of `like`'s element type.
void CheckScalar(const char* op, const char* name, const Scalar& value, NamedView like);

/// `value` is at least `least` (and not NaN).
void CheckLeast(const char* op, const char* name, double value, double least);

/// `dim` is a dimension of `of`, which counts as one-dimensional when it is a scalar; negative
/// from the end.
void CheckDim(const char* op, const char* name, std::int64_t dim, NamedView of);

/// Each of `dims` is such a dimension, and none is there twice.
void CheckDims(const char* op, const char* name, std::span<const std::int64_t> dims, NamedView of);

/// `value` is one of `words`.
void CheckWord(const char* op, const char* name, std::string_view value,
               std::initializer_list<const char*> words);

/// `value` is one of `allowed`.
void CheckDtypeValue(const char* op, const char* name, DataType value, DtypeSet allowed);

/// A list has a tensor, and all have the dtype and rank of the first.
void CheckList(const char* op, const char* name, std::span<const TensorView> views);

/// `CheckDevice` and `CheckOverlap` for each tensor of a list.
void CheckDevices(const char* op, const Context& context, const char* name,
                  std::span<const TensorView> views);
void CheckOverlaps(const char* op, const Written& written, const char* name,
                   std::span<const TensorView> views, bool may_be_same);

/// `dim` counted from the front, for a view of `rank` dimensions.
inline int WrapDim(std::int64_t dim, int rank) {
  return static_cast<int>(dim < 0 ? dim + (rank > 0 ? rank : 1) : dim);
}

/// Appends the shape of `view` without `dims`, all of them when there are none; with `keepdim`
/// their sizes become 1.
void AppendReduced(const TensorView& view, std::span<const std::int64_t> dims, bool keepdim,
                   Sizes* result);
void AppendReduced(const TensorView& view, const std::optional<std::int64_t>& dim, bool keepdim,
                   Sizes* result);
inline void AppendReduced(const TensorView& view, std::int64_t dim, bool keepdim, Sizes* result) {
  AppendReduced(view, std::span(&dim, 1), keepdim, result);
}

/// Appends the shape of the tensors one after another along `dim`; their other sizes must be equal.
void AppendConcatenated(const char* op, const char* name, std::span<const TensorView> views,
                        std::int64_t dim, Sizes* result);

/// Appends the shape of `view` with `size` in dimension `dim`.
void AppendReplaced(const TensorView& view, std::int64_t dim, std::int64_t size, Sizes* result);

/// Appends the shape of the matrix product of `left` and `right`: the last two dimensions are
/// matrices, those before them broadcast, and a tensor of one dimension is a row on the left or a
/// column on the right that the result lacks. `addend`, if it has a view, must broadcast to that.
void AppendProduct(const char* op, NamedView left, NamedView right, NamedView addend,
                   Sizes* result);

/// `size(index) / divisor`, which must leave no rest.
std::int64_t PartOf(const char* op, NamedView argument, int index, std::int64_t divisor);

/// The element type of sums: int64 for bool and integers.
inline DataType SumDtype(DataType dtype) {
  return dtype == DataType::kBool || rt::IsInteger(dtype) ? DataType::kInt64 : dtype;
}

/// `views` and those of the list `name`, which all get its name.
std::vector<NamedView> NamedViews(std::initializer_list<NamedView> views, const char* name,
                                  std::span<const TensorView> list);

/// The context of a run is for the device that the object was made for.
void CheckMadeFor(const char* op, Device device, const Context& context);

/// `given` may replace `kept`: same shape, strides, element type and device.
void CheckMadeLike(const char* op, const char* name, const TensorView& kept,
                   const TensorView& given);
void CheckMadeLike(const char* op, const char* name, const std::optional<TensorView>& kept,
                   const std::optional<TensorView>& given);
void CheckMadeLike(const char* op, const char* name, std::span<const TensorView> kept,
                   std::span<const TensorView> given);

/// The stream that the work goes to, checked to belong to the context's device,
/// which is current.
Stream CheckStream(const char* op, const Context& context);

/// "[2, 3]", with "any" for -1.
std::string ShapeText(std::span<const std::int64_t> sizes);

}  // namespace infini::ops::internal

#endif  // INFINI_OPS_CORE_CHECK_H_

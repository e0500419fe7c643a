#include "core/check.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace infini::ops::internal {
namespace {

[[noreturn]] void Throw(ErrorCode code, const char* op, Device device, const std::string& message) {
  throw Error(code, op, device.ToString(), message);
}

std::string Quoted(const char* name) { return "`" + std::string(name) + "`"; }

std::string DtypeList(DtypeSet allowed) {
  std::string list;
  for (int i = 0; i < rt::kDataTypeCount; ++i) {
    if (!(allowed >> i & 1u)) continue;
    if (!list.empty()) list += ", ";
    list += rt::DataTypeName(static_cast<DataType>(i));
  }
  return list;
}

std::string NumberText(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

}  // namespace

void Sizes::AppendSlice(std::span<const std::int64_t> sizes, std::int64_t begin, std::int64_t end) {
  const auto count = static_cast<std::int64_t>(sizes.size());
  if (begin < 0) begin = std::max<std::int64_t>(0, begin + count);
  if (end < 0) end += count;
  for (std::int64_t i = begin; i < std::min(end, count); ++i) {
    Append(sizes[static_cast<std::size_t>(i)]);
  }
}

std::string ShapeText(std::span<const std::int64_t> sizes) {
  std::string text = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i != 0) text += ", ";
    text += sizes[i] == -1 ? "any" : std::to_string(sizes[i]);
  }
  return text + "]";
}

void ThrowDevice(const char* op, const Context& context, NamedView argument) {
  Throw(ErrorCode::kInvalidArgument, op, context.device,
        Quoted(argument.name) + " is on " + argument.view->device().ToString() +
            ", but the call is for " + context.device.ToString() +
            "; move all tensors to one device");
}

void ThrowDtype(const char* op, NamedView argument, DtypeSet allowed) {
  Throw(ErrorCode::kTypeMismatch, op, argument.view->device(),
        Quoted(argument.name) + " has dtype " + rt::DataTypeName(argument.view->dtype()) +
            "; expected one of " + DtypeList(allowed));
}

void ThrowDtypeLike(const char* op, NamedView argument, NamedView like) {
  Throw(ErrorCode::kTypeMismatch, op, argument.view->device(),
        Quoted(argument.name) + " has dtype " + rt::DataTypeName(argument.view->dtype()) +
            ", but " + Quoted(like.name) + " has " + rt::DataTypeName(like.view->dtype()) +
            "; there is no type promotion, so convert one of them");
}

void ThrowRank(const char* op, NamedView argument, int least, int greatest) {
  std::string expected;
  if (greatest < 0) {
    expected = "at least " + std::to_string(least);
  } else if (greatest == least) {
    expected = std::to_string(least);
  } else {
    expected = std::to_string(least) + " to " + std::to_string(greatest);
  }
  Throw(ErrorCode::kInvalidArgument, op, argument.view->device(),
        Quoted(argument.name) + " has shape " + ShapeText(argument.view->shape()) +
            "; expected a rank of " + expected);
}

void ThrowShape(const char* op, NamedView argument, std::span<const std::int64_t> expected,
                const char* rule) {
  Throw(ErrorCode::kInvalidArgument, op, argument.view->device(),
        Quoted(argument.name) + " has shape " + ShapeText(argument.view->shape()) + "; expected " +
            ShapeText(expected) + " (" + rule + ")");
}

void AppendBroadcast(const char* op, std::initializer_list<NamedView> arguments, Sizes* result) {
  const auto first = arguments.begin()->view->shape();
  bool alike = true;
  for (const NamedView& argument : arguments) {
    alike &= SameSizes(first, argument.view->shape());
  }
  if (alike) {
    result->Assign(first);
    return;
  }
  std::size_t rank = 0;
  for (const NamedView& argument : arguments) {
    rank = std::max(rank, argument.view->shape().size());
  }
  for (std::size_t dim = 0; dim < rank; ++dim) {
    std::int64_t size = 1;
    const NamedView* chosen = nullptr;  // who says that the size is not 1
    for (const NamedView& argument : arguments) {
      const auto shape = argument.view->shape();
      const std::size_t missing = rank - shape.size();
      if (dim < missing || shape[dim - missing] == 1) continue;
      const std::int64_t own = shape[dim - missing];
      if (chosen != nullptr && own != size) {
        Throw(ErrorCode::kInvalidArgument, op, argument.view->device(),
              Quoted(chosen->name) + " of shape " + ShapeText(chosen->view->shape()) + " and " +
                  Quoted(argument.name) + " of shape " + ShapeText(shape) +
                  " do not broadcast: sizes " + std::to_string(size) + " and " +
                  std::to_string(own) + " must be equal, or one of them 1");
      }
      size = own;
      chosen = &argument;
    }
    result->Append(size);
  }
}

void CheckStridedOutput(const char* op, NamedView output) {
  if (output.view->may_overlap_itself()) {
    Throw(ErrorCode::kInvalidArgument, op, output.view->device(),
          Quoted(output.name) + " is " + output.view->ToString() +
              ", whose elements share memory; write to a tensor where each "
              "element has its own");
  }
}

void ThrowOverlap(const char* op, NamedView output, NamedView input, bool may_be_same) {
  Throw(ErrorCode::kInvalidArgument, op, output.view->device(),
        Quoted(output.name) + " and " + Quoted(input.name) + " share memory; " +
            (may_be_same ? "they must be the same view or lie apart" : "they must lie apart") +
            ", got " + output.view->ToString() + " and " + input.view->ToString());
}

void CheckScalar(const char* op, const char* name, const Scalar& value, NamedView like) {
  const DataType dtype = like.view->dtype();
  const char* expected = nullptr;
  if (value.kind() == Scalar::Kind::kComplex && !rt::IsComplex(dtype)) {
    expected = "a real number";
  } else if (!value.is_integral() && (rt::IsInteger(dtype) || dtype == DataType::kBool)) {
    expected = "an integer";
  }
  if (expected == nullptr) return;
  const bool complex = value.kind() == Scalar::Kind::kComplex;
  Throw(ErrorCode::kTypeMismatch, op, like.view->device(),
        Quoted(name) + " must be " + expected + ", since " + Quoted(like.name) + " has dtype " +
            rt::DataTypeName(dtype) + ", got " + NumberText(value.real()) +
            (complex ? " + " + NumberText(value.imaginary()) + "j" : ""));
}

void CheckLeast(const char* op, const char* name, double value, double least) {
  if (value >= least) return;
  throw Error(
      ErrorCode::kInvalidArgument, op, "",
      Quoted(name) + " must be at least " + NumberText(least) + ", got " + NumberText(value));
}

void CheckDim(const char* op, const char* name, std::int64_t dim, NamedView of) {
  const std::int64_t rank = std::max(of.view->rank(), 1);
  if (-rank <= dim && dim < rank) return;
  Throw(ErrorCode::kInvalidArgument, op, of.view->device(),
        Quoted(name) + " must be a dimension of " + Quoted(of.name) + " of shape " +
            ShapeText(of.view->shape()) + ", from " + std::to_string(-rank) + " to " +
            std::to_string(rank - 1) + ", got " + std::to_string(dim));
}

void CheckDims(const char* op, const char* name, std::span<const std::int64_t> dims, NamedView of) {
  const int rank = of.view->rank();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    CheckDim(op, name, dims[i], of);
    for (std::size_t k = 0; k < i; ++k) {
      if (WrapDim(dims[i], rank) != WrapDim(dims[k], rank)) continue;
      Throw(ErrorCode::kInvalidArgument, op, of.view->device(),
            Quoted(name) + " names dimension " + std::to_string(WrapDim(dims[i], rank)) +
                " twice; name each once");
    }
  }
}

void CheckWord(const char* op, const char* name, std::string_view value,
               std::initializer_list<const char*> words) {
  std::string list;
  for (const char* word : words) {
    if (value == word) return;
    list += (list.empty() ? "`" : ", `") + std::string(word) + "`";
  }
  throw Error(ErrorCode::kInvalidArgument, op, "",
              Quoted(name) + " must be one of " + list + ", got `" + std::string(value) + "`");
}

void CheckDtypeValue(const char* op, const char* name, DataType value, DtypeSet allowed) {
  if (DtypeBit(value) & allowed) return;
  throw Error(
      ErrorCode::kTypeMismatch, op, "",
      Quoted(name) + " is " + rt::DataTypeName(value) + "; expected one of " + DtypeList(allowed));
}

void CheckList(const char* op, const char* name, std::span<const TensorView> views) {
  if (views.empty()) {
    throw Error(ErrorCode::kInvalidArgument, op, "",
                Quoted(name) + " is an empty list; give at least one tensor");
  }
  for (std::size_t i = 1; i < views.size(); ++i) {
    const std::string own = std::string(name) + "[" + std::to_string(i) + "]";
    CheckDtypeLike(op, {own.c_str(), &views[i]}, {name, &views[0]});
    CheckRank(op, {own.c_str(), &views[i]}, views[0].rank(), views[0].rank());
  }
}

void CheckDevices(const char* op, const Context& context, const char* name,
                  std::span<const TensorView> views) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (views[i].device() == context.device) continue;
    const std::string own = std::string(name) + "[" + std::to_string(i) + "]";
    ThrowDevice(op, context, {own.c_str(), &views[i]});
  }
}

void CheckOverlaps(const char* op, const Written& written, const char* name,
                   std::span<const TensorView> views, bool may_be_same) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (!Meet(written.range, ByteRangeOf(views[i]))) continue;
    const std::string own = std::string(name) + "[" + std::to_string(i) + "]";
    CheckOverlap(op, written, {own.c_str(), &views[i]}, may_be_same);
  }
}

void AppendReduced(const TensorView& view, std::span<const std::int64_t> dims, bool keepdim,
                   Sizes* result) {
  const int rank = view.rank();
  for (int dim = 0; dim < rank; ++dim) {
    const bool reduced = dims.empty() || std::ranges::any_of(dims, [&](std::int64_t one) {
                           return WrapDim(one, rank) == dim;
                         });
    if (!reduced) {
      result->Append(view.size(dim));
    } else if (keepdim) {
      result->Append(1);
    }
  }
}

void AppendReduced(const TensorView& view, const std::optional<std::int64_t>& dim, bool keepdim,
                   Sizes* result) {
  if (dim) {
    AppendReduced(view, *dim, keepdim, result);
  } else {
    AppendReduced(view, std::span<const std::int64_t>(), keepdim, result);
  }
}

void AppendConcatenated(const char* op, const char* name, std::span<const TensorView> views,
                        std::int64_t dim, Sizes* result) {
  const TensorView& first = views[0];
  const int along = WrapDim(dim, first.rank());
  if (first.rank() == 0) {
    Throw(ErrorCode::kInvalidArgument, op, first.device(),
          Quoted(name) + " are scalars, which have no dimension to be joined along");
  }
  std::int64_t total = 0;
  for (std::size_t i = 0; i < views.size(); ++i) {
    for (int k = 0; k < first.rank(); ++k) {
      if (k == along || views[i].size(k) == first.size(k)) continue;
      Throw(ErrorCode::kInvalidArgument, op, first.device(),
            Quoted(name) + "[" + std::to_string(i) + "] has shape " + ShapeText(views[i].shape()) +
                "; expected the sizes of the first, " + ShapeText(first.shape()) +
                ", in every dimension but " + std::to_string(along));
    }
    total += views[i].size(along);
  }
  AppendReplaced(first, dim, total, result);
}

void AppendProduct(const char* op, NamedView left, NamedView right, NamedView addend,
                   Sizes* result) {
  const auto a = left.view->shape();
  const auto b = right.view->shape();
  const std::size_t inner = b.size() > 1 ? b.size() - 2 : 0;
  if (a.back() != b[inner]) {
    Throw(ErrorCode::kInvalidArgument, op, left.view->device(),
          Quoted(right.name) + " has shape " + ShapeText(b) + "; expected " +
              std::to_string(a.back()) + " in its " + (b.size() > 1 ? "second last" : "only") +
              " dimension, as the last of " + Quoted(left.name) + " of shape " + ShapeText(a));
  }
  const std::size_t a_batch = a.size() > 1 ? a.size() - 2 : 0;
  const std::size_t b_batch = b.size() > 1 ? b.size() - 2 : 0;
  const std::size_t batch = std::max(a_batch, b_batch);
  for (std::size_t dim = 0; dim < batch; ++dim) {
    const std::int64_t own = dim + a_batch < batch ? 1 : a[dim + a_batch - batch];
    const std::int64_t other = dim + b_batch < batch ? 1 : b[dim + b_batch - batch];
    if (own != other && own != 1 && other != 1) {
      Throw(ErrorCode::kInvalidArgument, op, left.view->device(),
            "the leading dimensions of " + Quoted(left.name) + " of shape " + ShapeText(a) +
                " and " + Quoted(right.name) + " of shape " + ShapeText(b) +
                " do not broadcast: " + std::to_string(own) + " and " + std::to_string(other));
    }
    result->Append(own == 1 ? other : own);
  }
  if (a.size() > 1) result->Append(a[a.size() - 2]);
  if (b.size() > 1) result->Append(b.back());
  if (addend.view == nullptr) return;
  const auto c = addend.view->shape();
  const auto whole = result->span();
  bool fits = c.size() <= whole.size();
  for (std::size_t dim = 0; fits && dim < c.size(); ++dim) {
    fits = c[dim] == 1 || c[dim] == whole[whole.size() - c.size() + dim];
  }
  if (!fits) {
    Throw(ErrorCode::kInvalidArgument, op, addend.view->device(),
          Quoted(addend.name) + " has shape " + ShapeText(c) +
              "; expected one that broadcasts to " + ShapeText(whole) +
              ", the shape of the product");
  }
}

void AppendReplaced(const TensorView& view, std::int64_t dim, std::int64_t size, Sizes* result) {
  const int along = WrapDim(dim, view.rank());
  for (int k = 0; k < view.rank(); ++k) result->Append(k == along ? size : view.size(k));
}

std::int64_t PartOf(const char* op, NamedView argument, int index, std::int64_t divisor) {
  const std::int64_t size = argument.view->size(index);
  if (size % divisor == 0) return size / divisor;
  Throw(ErrorCode::kInvalidArgument, op, argument.view->device(),
        Quoted(argument.name) + " has shape " + ShapeText(argument.view->shape()) +
            "; expected a size that " + std::to_string(divisor) + " divides in dimension " +
            std::to_string(index));
}

std::vector<NamedView> NamedViews(std::initializer_list<NamedView> views, const char* name,
                                  std::span<const TensorView> list) {
  std::vector<NamedView> all(views);
  for (const TensorView& view : list) all.push_back({name, &view});
  return all;
}

void CheckMadeFor(const char* op, Device device, const Context& context) {
  if (device == context.device) return;
  Throw(ErrorCode::kInvalidArgument, op, context.device,
        "the operator was made for " + device.ToString() + "; make another one for this device");
}

void CheckMadeLike(const char* op, const char* name, const TensorView& kept,
                   const TensorView& given) {
  if (SameSizes(kept.shape(), given.shape()) && SameSizes(kept.strides(), given.strides()) &&
      kept.dtype() == given.dtype() && kept.device() == given.device()) {
    return;
  }
  Throw(ErrorCode::kInvalidArgument, op, kept.device(),
        Quoted(name) + " is " + given.ToString() + ", but the operator was made for " +
            kept.ToString() + "; make another one for this shape, dtype and device");
}

void CheckMadeLike(const char* op, const char* name, const std::optional<TensorView>& kept,
                   const std::optional<TensorView>& given) {
  if (kept.has_value() != given.has_value()) {
    throw Error(ErrorCode::kInvalidArgument, op, "",
                Quoted(name) + (given ? " is given" : " is absent") +
                    ", but the operator was made " + (kept ? "with it" : "without it"));
  }
  if (kept) CheckMadeLike(op, name, *kept, *given);
}

void CheckMadeLike(const char* op, const char* name, std::span<const TensorView> kept,
                   std::span<const TensorView> given) {
  if (kept.size() != given.size()) {
    throw Error(ErrorCode::kInvalidArgument, op, "",
                Quoted(name) + " has " + std::to_string(given.size()) +
                    " tensors, but the operator was made for " + std::to_string(kept.size()));
  }
  for (std::size_t i = 0; i < kept.size(); ++i) CheckMadeLike(op, name, kept[i], given[i]);
}

Stream CheckStream(const char* op, const Context& context) {
  if (context.stream == Stream{}) return rt::runtime::CurrentStream();
  const Device device = rt::runtime::StreamDevice(context.stream);
  if (device != context.device) {
    Throw(ErrorCode::kInvalidArgument, op, context.device,
          "the stream belongs to " + device.ToString() + ", but the tensors are on " +
              context.device.ToString());
  }
  return context.stream;
}

}  // namespace infini::ops::internal

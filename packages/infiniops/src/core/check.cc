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
  std::string list;
  for (int i = 0; i < rt::kDataTypeCount; ++i) {
    if (!(allowed >> i & 1u)) continue;
    if (!list.empty()) list += ", ";
    list += rt::DataTypeName(static_cast<DataType>(i));
  }
  Throw(ErrorCode::kTypeMismatch, op, argument.view->device(),
        Quoted(argument.name) + " has dtype " + rt::DataTypeName(argument.view->dtype()) +
            "; expected one of " + list);
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

void CheckShape(const char* op, NamedView argument, const Sizes& expected, const char* rule) {
  const auto actual = argument.view->shape();
  const auto wanted = expected.span();
  bool fits = actual.size() == wanted.size();
  for (std::size_t i = 0; fits && i < wanted.size(); ++i) {
    fits = wanted[i] == -1 || wanted[i] == actual[i];
  }
  if (!fits) ThrowShape(op, argument, wanted, rule);
}

void AppendBroadcast(const char* op, std::initializer_list<NamedView> arguments, Sizes* result) {
  const auto first = arguments.begin()->view->shape();
  bool alike = true;
  for (const NamedView& argument : arguments) {
    alike &= std::ranges::equal(first, argument.view->shape());
  }
  if (alike) {
    for (const std::int64_t size : first) result->Append(size);
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

void CheckOutput(const char* op, NamedView output) {
  if (output.view->is_contiguous()) return;
  if (output.view->may_overlap_itself()) {
    Throw(ErrorCode::kInvalidArgument, op, output.view->device(),
          Quoted(output.name) + " is " + output.view->ToString() +
              ", whose elements share memory; write to a tensor where each "
              "element has its own");
  }
}

namespace {

/// Like `TensorView::may_overlap` of two views on one device; a call less for
/// contiguous ones, which are most.
bool MayOverlap(const TensorView& a, const TensorView& b) {
  if (!a.is_contiguous() || !b.is_contiguous()) return a.may_overlap(b);
  const auto* a_begin = static_cast<const std::byte*>(a.data());
  const auto* b_begin = static_cast<const std::byte*>(b.data());
  const std::int64_t a_bytes = a.nbytes();
  const std::int64_t b_bytes = b.nbytes();
  return a_bytes != 0 && b_bytes != 0 && a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes;
}

}  // namespace

void CheckOverlap(const char* op, NamedView output, NamedView input, bool may_be_same) {
  if (!MayOverlap(*output.view, *input.view)) return;
  if (may_be_same && output.view->data() == input.view->data()) {
    // The same view, up to strides that no element uses.
    const auto shape = output.view->shape();
    bool same = std::ranges::equal(shape, input.view->shape());
    for (std::size_t i = 0; same && i < shape.size(); ++i) {
      same = shape[i] == 1 || output.view->strides()[i] == input.view->strides()[i];
    }
    if (same) return;
  }
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

void CheckMadeFor(const char* op, Device device, const Context& context) {
  if (device == context.device) return;
  Throw(ErrorCode::kInvalidArgument, op, context.device,
        "the operator was made for " + device.ToString() + "; make another one for this device");
}

void CheckMadeLike(const char* op, const char* name, const TensorView& kept,
                   const TensorView& given) {
  if (std::ranges::equal(kept.shape(), given.shape()) &&
      std::ranges::equal(kept.strides(), given.strides()) && kept.dtype() == given.dtype() &&
      kept.device() == given.device()) {
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

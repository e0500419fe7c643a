#include "infini/rt/tensor_view.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "infini/rt/error.h"

namespace infini::rt {
namespace {

std::string ListText(std::span<const std::int64_t> values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
  return text + "]";
}

[[noreturn]] void FailView(ErrorCode code, const std::string& message) {
  throw Error(code, "TensorView", "", message);
}

/// Writes row-major strides; one that would pass 63 bits becomes the largest number.
void FillContiguousStrides(std::span<const std::int64_t> shape, std::int64_t* strides) {
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    if (__builtin_mul_overflow(stride, std::max<std::int64_t>(shape[i], 1), &stride)) {
      stride = INT64_MAX;
    }
  }
}

/// Returns whether the elements, of which there is at least one, can be counted in 63 bits and
/// their bytes lie between 0 and 2^64 - 1 around the address `data`.
bool FitsAddressSpace(const void* data, std::span<const std::int64_t> shape,
                      std::span<const std::int64_t> strides, DataType dtype) {
  const auto item = static_cast<std::int64_t>(DataTypeSize(dtype));
  std::int64_t bytes = item;  // of all elements, were they contiguous
  std::int64_t below = 0;     // from the first element to the lowest address
  std::int64_t above = item;  // from the first element past the highest address
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::int64_t distance = 0;
    if (__builtin_mul_overflow(bytes, shape[i], &bytes) ||
        __builtin_mul_overflow(shape[i] - 1, strides[i], &distance) ||
        __builtin_mul_overflow(distance, item, &distance) || distance == INT64_MIN) {
      return false;
    }
    const bool overflows = distance < 0 ? __builtin_sub_overflow(below, distance, &below)
                                        : __builtin_add_overflow(above, distance, &above);
    if (overflows) return false;
  }
  std::int64_t range = 0;
  if (__builtin_add_overflow(below, above, &range)) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  return address == 0 || (address >= static_cast<std::uintptr_t>(below) &&
                          address <= UINTPTR_MAX - static_cast<std::uintptr_t>(above));
}

}  // namespace

void TensorView::InitializeSlow(std::span<const std::int64_t> shape,
                                std::span<const std::int64_t> strides) {
  if (shape.size() != strides.size()) {
    FailView(ErrorCode::kInvalidArgument,
             "shape " + ListText(shape) + " has " + std::to_string(shape.size()) +
                 " dimensions but strides " + ListText(strides) + " have " +
                 std::to_string(strides.size()) + "; give one stride for each size");
  }
  RequireSound(shape, strides);
  heap_ = new std::int64_t[2 * shape.size()];
  std::copy(shape.begin(), shape.end(), heap_);
  std::copy(strides.begin(), strides.end(), heap_ + shape.size());
}

void TensorView::InitializeSlow(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size());
  FillContiguousStrides(shape, strides.data());
  InitializeSlow(shape, strides);
}

void TensorView::RequireSoundContiguous(std::span<const std::int64_t> shape) {
  FillContiguousStrides(shape, inline_ + kInlineRank);
  RequireSound(shape, std::span(inline_ + kInlineRank, shape.size()));
}

void TensorView::CopySlow(const TensorView& other) {
  const std::size_t count = 2 * static_cast<std::size_t>(other.rank_);
  auto block = std::make_unique_for_overwrite<std::int64_t[]>(count);
  std::copy_n(other.heap_, count, block.get());
  data_ = other.data_;
  device_ = other.device_;
  rank_ = other.rank_;
  dtype_ = other.dtype_;
  heap_ = block.release();
}

void TensorView::ReleaseSlow() noexcept { delete[] heap_; }

void TensorView::RequireSound(std::span<const std::int64_t> shape,
                              std::span<const std::int64_t> strides) const {
  if (!IsValid(dtype_)) {
    FailView(ErrorCode::kTypeMismatch,
             "value " + std::to_string(static_cast<int>(dtype_)) + " is not a data type");
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) {
      FailView(ErrorCode::kInvalidArgument, "size " + std::to_string(shape[i]) + " of dimension " +
                                                std::to_string(i) + " in shape " + ListText(shape) +
                                                " is negative");
    }
  }
  if (std::ranges::find(shape, 0) != shape.end()) return;  // no element, so no address matters
  if (!FitsAddressSpace(data_, shape, strides, dtype_)) {
    FailView(ErrorCode::kInvalidArgument,
             "shape " + ListText(shape) + " with strides " + ListText(strides) + " of " +
                 DataTypeName(dtype_) +
                 " spans more than 2^63 - 1 bytes, or passes an end of the "
                 "address space");
  }
  if (data_ == nullptr) {
    FailView(ErrorCode::kInvalidArgument,
             "data is null but shape " + ListText(shape) +
                 " has elements; pass the address of the first element");
  }
}

void TensorView::ThrowBadDimension(int dim) const {
  FailView(ErrorCode::kIndexOutOfRange,
           "dimension " + std::to_string(dim) + " is out of range for shape " + ListText(shape()) +
               (rank_ == 0
                    ? ""
                    : "; expected " + std::to_string(-rank_) + " to " + std::to_string(rank_ - 1)));
}

bool TensorView::is_non_overlapping_and_dense() const {
  if (is_contiguous()) return true;
  std::vector<std::pair<std::int64_t, std::int64_t>>
      dims;  // (stride, size) of dimensions that move
  for (int i = 0; i < rank_; ++i) {
    if (sizes()[i] != 1) dims.emplace_back(std::abs(steps()[i]), sizes()[i]);
  }
  std::sort(dims.begin(), dims.end());
  std::int64_t expected = 1;
  for (const auto& [stride, size] : dims) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

bool TensorView::may_overlap_itself() const {
  if (is_contiguous()) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>>
      dims;  // (absolute stride, size) of dimensions that move
  for (int i = 0; i < rank_; ++i) {
    if (sizes()[i] != 1) dims.emplace_back(steps()[i] < 0 ? -steps()[i] : steps()[i], sizes()[i]);
  }
  std::sort(dims.begin(), dims.end());
  // Distinct indices have distinct addresses if each stride passes all that the smaller ones reach.
  std::int64_t reach = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

TensorView::ByteRange TensorView::byte_range() const noexcept {
  if (numel() == 0) return {nullptr, nullptr};
  const std::int64_t item = static_cast<std::int64_t>(DataTypeSize(dtype_));
  std::int64_t low = 0;
  std::int64_t high = item;
  for (int i = 0; i < rank_; ++i) {
    const std::int64_t distance = (sizes()[i] - 1) * steps()[i] * item;
    (distance < 0 ? low : high) += distance;
  }
  const std::byte* const base = static_cast<const std::byte*>(data_);
  return {base + low, base + high};
}

bool TensorView::may_overlap(const TensorView& other) const noexcept {
  if (device_ != other.device_) return false;
  const ByteRange a = byte_range();
  const ByteRange b = other.byte_range();
  // As integers: the two may belong to different objects.
  const auto address = [](const std::byte* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
  };
  return a.begin != nullptr && b.begin != nullptr && address(a.begin) < address(b.end) &&
         address(b.begin) < address(a.end);
}

std::string TensorView::ToString() const {
  std::string text =
      std::string(DataTypeName(dtype_)) + ListText(shape()) + " on " + device_.ToString();
  if (!is_contiguous()) text += ", strides " + ListText(strides());
  return text;
}

std::size_t TensorView::hash() const noexcept {
  std::size_t seed = std::hash<const void*>()(data_);
  const auto mix = [&seed](std::size_t value) {
    seed ^= value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2);
  };
  mix(static_cast<std::size_t>(dtype_));
  mix(std::hash<Device>()(device_));
  for (const std::int64_t size : shape()) mix(static_cast<std::size_t>(size));
  for (const std::int64_t stride : strides()) mix(static_cast<std::size_t>(stride));
  return seed;
}

bool operator==(const TensorView& a, const TensorView& b) noexcept {
  return a.data_ == b.data_ && a.dtype_ == b.dtype_ && a.device_ == b.device_ &&
         std::ranges::equal(a.shape(), b.shape()) && std::ranges::equal(a.strides(), b.strides());
}

}  // namespace infini::rt

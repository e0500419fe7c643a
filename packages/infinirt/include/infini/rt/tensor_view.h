// A non-owning description of a strided tensor.
#ifndef INFINI_RT_TENSOR_VIEW_H_
#define INFINI_RT_TENSOR_VIEW_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>

#include "infini/rt/abi.h"
#include "infini/rt/data_type.h"
#include "infini/rt/device.h"

namespace infini::rt {

/// Address, shape, strides, element type and device of a tensor that somebody else owns.
///
/// Sizes and strides count elements in 64 bits; strides may be negative or zero, `data()` is the
/// address of the element whose indices are all zero. Shape and strides are copied: up to rank 8
/// into the object, above into one heap block. Every constructed view is sound: sizes are not
/// negative, the number of elements and the span of bytes fit in 63 bits, and `data` is not null
/// when there are elements. The constructors throw `Error` otherwise.
class TensorView {
 public:
  /// Highest rank whose shape and strides need no heap.
  static constexpr int kInlineRank = 8;

  /// An empty one-dimensional float32 view on the CPU.
  TensorView() noexcept : rank_(1), dtype_(DataType::kFloat32) {
    inline_[0] = 0;
    inline_[kInlineRank] = 1;
  }

  /// A view with explicit `strides`, as many as `shape` has sizes.
  TensorView(void* data, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
             DataType dtype, Device device)
      : data_(data),
        device_(device),
        rank_(static_cast<std::int32_t>(shape.size())),
        dtype_(dtype) {
    if (shape.size() > kInlineRank || shape.size() != strides.size()) {
      InitializeSlow(shape, strides);
      return;
    }
    std::uint64_t any_size = 0;
    std::uint64_t any_step = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      inline_[i] = shape[i];
      inline_[kInlineRank + i] = strides[i];
      any_size |= static_cast<std::uint64_t>(shape[i]);    // a negative one sets the highest bit
      any_step |= static_cast<std::uint64_t>(strides[i]);  // so does a negative stride
    }
    if (!IsClearlySound(any_size, any_step)) RequireSound(shape, strides);
  }

  /// A contiguous (row-major) view.
  TensorView(void* data, std::span<const std::int64_t> shape, DataType dtype, Device device)
      : data_(data),
        device_(device),
        rank_(static_cast<std::int32_t>(shape.size())),
        dtype_(dtype) {
    if (shape.size() > kInlineRank) {
      InitializeSlow(shape);
      return;
    }
    std::uint64_t any_size = 0;
    std::uint64_t stride = 1;  // wraps only where the check below does not pass
    for (std::size_t i = shape.size(); i-- > 0;) {
      inline_[i] = shape[i];
      inline_[kInlineRank + i] = static_cast<std::int64_t>(stride);
      any_size |= static_cast<std::uint64_t>(shape[i]);
      stride *= static_cast<std::uint64_t>(shape[i] != 0 ? shape[i] : 1);
    }
    if (!IsClearlySound(any_size, 0)) RequireSoundContiguous(shape);
  }

  /// As above, with the lists written out.
  TensorView(void* data, std::initializer_list<std::int64_t> shape,
             std::initializer_list<std::int64_t> strides, DataType dtype, Device device)
      : TensorView(data, std::span(shape.begin(), shape.size()),
                   std::span(strides.begin(), strides.size()), dtype, device) {}
  /// As above, with the list written out.
  TensorView(void* data, std::initializer_list<std::int64_t> shape, DataType dtype, Device device)
      : TensorView(data, std::span(shape.begin(), shape.size()), dtype, device) {}

  /// The same view; allocates above rank 8.
  TensorView(const TensorView& other) { CopyFrom(other); }
  /// Takes `other` over, which becomes empty above rank 8.
  TensorView(TensorView&& other) noexcept { MoveFrom(other); }
  /// The same view as `other`; a failed allocation leaves this one as it was.
  TensorView& operator=(const TensorView& other) {
    if (this != &other) {
      TensorView copy(other);  // first, so that a failed allocation leaves this view as it was
      Release();
      MoveFrom(copy);
    }
    return *this;
  }
  /// Takes `other` over, which becomes empty above rank 8.
  TensorView& operator=(TensorView&& other) noexcept {
    if (this != &other) {
      Release();
      MoveFrom(other);
    }
    return *this;
  }
  ~TensorView() { Release(); }

  /// Address of the element whose indices are all zero.
  void* data() const noexcept { return data_; }
  /// Element type.
  DataType dtype() const noexcept { return dtype_; }
  /// Where the elements are.
  Device device() const noexcept { return device_; }
  /// Number of dimensions.
  int rank() const noexcept { return rank_; }

  /// Sizes of the dimensions.
  std::span<const std::int64_t> shape() const noexcept {
    return {sizes(), static_cast<std::size_t>(rank_)};
  }
  /// Strides of the dimensions in elements.
  std::span<const std::int64_t> strides() const noexcept {
    return {steps(), static_cast<std::size_t>(rank_)};
  }

  /// Size of dimension `dim`; negative values count from the back. Throws `Error` (index out of
  /// range).
  std::int64_t size(int dim) const { return sizes()[WrapDimension(dim)]; }
  /// Stride of dimension `dim` in elements; negative values count from the back. Throws `Error`
  /// (index out of range).
  std::int64_t stride(int dim) const { return steps()[WrapDimension(dim)]; }

  /// Number of elements: the product of the sizes, 1 for rank 0.
  std::int64_t numel() const noexcept {
    // Unsigned, since partial products may exceed 63 bits when a later size is zero.
    std::uint64_t count = 1;
    for (int i = 0; i < rank_; ++i) count *= static_cast<std::uint64_t>(sizes()[i]);
    return static_cast<std::int64_t>(count);
  }

  /// `numel()` times the element size.
  std::int64_t nbytes() const noexcept {
    return numel() * static_cast<std::int64_t>(DataTypeSize(dtype_));
  }

  /// Whether the elements lie in row-major order without gaps, by PyTorch's rule: strides of size-1
  /// dimensions do not matter, and a tensor without elements is contiguous.
  bool is_contiguous() const noexcept {
    std::uint64_t expected = 1;  // unsigned for the same reason as in `numel`
    bool in_order = true;
    for (int i = rank_; i-- > 0;) {
      const std::uint64_t extent = static_cast<std::uint64_t>(sizes()[i]);
      if (extent == 0) return true;
      if (extent == 1) continue;
      in_order &= static_cast<std::uint64_t>(steps()[i]) == expected;
      expected *= extent;
    }
    return in_order;
  }

  /// Whether the elements fill one block of memory, each address once, in some order of the
  /// dimensions.
  INFINI_RT_EXPORT bool is_non_overlapping_and_dense() const;

  /// Whether two different indices may share an address. False is certain; true may be a false
  /// alarm for exotic strides.
  INFINI_RT_EXPORT bool may_overlap_itself() const;

  /// Whether an element of this view and one of `other` may share a byte. False is certain; true
  /// means that the byte ranges meet on one device. Views without elements overlap nothing.
  INFINI_RT_EXPORT bool may_overlap(const TensorView& other) const noexcept;

  /// Lowest address of any element and the first address past the highest one; both null without
  /// elements.
  struct ByteRange {
    const std::byte* begin;  ///< Lowest address.
    const std::byte* end;    ///< First address past the highest.
  };
  /// The bytes between the lowest and the highest element.
  INFINI_RT_EXPORT ByteRange byte_range() const noexcept;

  /// For messages: "float32[2, 3] on cpu:0", with ", strides [1, 2]" when the view is not
  /// contiguous.
  INFINI_RT_EXPORT std::string ToString() const;

  /// Hash of address, shape, strides, type and device; equal views hash equally.
  INFINI_RT_EXPORT std::size_t hash() const noexcept;

  /// Whether address, shape, strides, type and device are the same; the elements are not looked at.
  INFINI_RT_EXPORT friend bool operator==(const TensorView& a, const TensorView& b) noexcept;

 private:
  const std::int64_t* sizes() const noexcept { return rank_ <= kInlineRank ? inline_ : heap_; }
  const std::int64_t* steps() const noexcept {
    return rank_ <= kInlineRank ? inline_ + kInlineRank : heap_ + rank_;
  }

  /// Decides the common case by the widths of the numbers, without a multiplication: no product of
  /// sizes, no sum of distances times 16 bytes, and no address passes 2^63.
  bool IsClearlySound(std::uint64_t any_size, std::uint64_t any_step) const noexcept {
    const int size_width = static_cast<int>(std::bit_width(any_size));
    const int step_width = static_cast<int>(std::bit_width(any_step));
    const auto address = reinterpret_cast<std::uintptr_t>(data_);
    return address != 0 && address >> 62 == 0 && IsValid(dtype_) && rank_ * size_width <= 56 &&
           size_width + step_width <= 54;
  }

  void CopyFrom(const TensorView& other) {
    if (other.rank_ > kInlineRank) {
      CopySlow(other);
      return;
    }
    data_ = other.data_;
    device_ = other.device_;
    rank_ = other.rank_;
    dtype_ = other.dtype_;
    for (int i = 0; i < rank_; ++i) {
      inline_[i] = other.inline_[i];
      inline_[kInlineRank + i] = other.inline_[kInlineRank + i];
    }
  }

  void MoveFrom(TensorView& other) noexcept {
    if (other.rank_ <= kInlineRank) {
      CopyFrom(other);
      return;
    }
    data_ = other.data_;
    device_ = other.device_;
    rank_ = other.rank_;
    dtype_ = other.dtype_;
    heap_ = other.heap_;
    other.rank_ = 1;  // leaves the empty view of the default constructor
    other.data_ = nullptr;
    other.inline_[0] = 0;
    other.inline_[kInlineRank] = 1;
  }

  void Release() noexcept {
    if (rank_ > kInlineRank) ReleaseSlow();
  }

  std::size_t WrapDimension(int dim) const {
    if (dim < -rank_ || dim >= rank_) ThrowBadDimension(dim);
    return static_cast<std::size_t>(dim < 0 ? dim + rank_ : dim);
  }

  INFINI_RT_EXPORT void InitializeSlow(std::span<const std::int64_t> shape,
                                       std::span<const std::int64_t> strides);
  INFINI_RT_EXPORT void InitializeSlow(std::span<const std::int64_t> shape);
  INFINI_RT_EXPORT void RequireSound(std::span<const std::int64_t> shape,
                                     std::span<const std::int64_t> strides) const;
  INFINI_RT_EXPORT void RequireSoundContiguous(std::span<const std::int64_t> shape);
  INFINI_RT_EXPORT void CopySlow(const TensorView& other);
  INFINI_RT_EXPORT void ReleaseSlow() noexcept;
  [[noreturn]] INFINI_RT_EXPORT void ThrowBadDimension(int dim) const;

  void* data_ = nullptr;
  Device device_;
  std::int32_t rank_ = 0;
  DataType dtype_ = DataType::kFloat32;
  union {
    std::int64_t inline_[2 * kInlineRank];  // sizes, then strides
    std::int64_t* heap_;                    // rank sizes, then rank strides
  };
};

}  // namespace infini::rt

/// @cond  Doxygen finds no scope for a specialisation of a standard template.
template <>
struct std::hash<infini::rt::TensorView> {
  std::size_t operator()(const infini::rt::TensorView& view) const noexcept { return view.hash(); }
};
/// @endcond

#endif  // INFINI_RT_TENSOR_VIEW_H_

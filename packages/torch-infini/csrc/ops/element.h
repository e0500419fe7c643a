// One element of a tensor in host memory.
#ifndef TORCH_INFINI_OPS_ELEMENT_H_
#define TORCH_INFINI_OPS_ELEMENT_H_

#include <c10/core/Scalar.h>
#include <c10/core/ScalarType.h>

#include <array>
#include <cstddef>

namespace torch_infini {

/// The bytes of one element of a type that infini has, and the number that they
/// mean.
class Element {
 public:
  explicit Element(c10::ScalarType type) : type_(type) {}

  void* data() noexcept { return bytes_.data(); }

  /// Holds `number`, converted as a copy between tensors converts.
  void Set(const at::Scalar& number);

  /// The number; its conjugate or negative where the tensor has that bit.
  at::Scalar Get(bool conjugate = false, bool negative = false) const;

 private:
  c10::ScalarType type_;
  alignas(16) std::array<std::byte, 16> bytes_{};
};

}  // namespace torch_infini

#endif  // TORCH_INFINI_OPS_ELEMENT_H_

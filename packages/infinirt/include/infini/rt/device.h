// Names of accelerator families and of single devices.
#ifndef INFINI_RT_DEVICE_H_
#define INFINI_RT_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "infini/rt/abi.h"

namespace infini::rt {

/// One device: a family (`Type`) and an index within it.
class Device {
 public:
  /// Families of devices. The values are part of the ABI.
  enum class Type : std::uint8_t {
    kCpu = 0,
    kNvidia = 1,
    kIluvatar = 2,
    kHygon = 3,
    kThead = 4,
    kMetax = 5,
    kCambricon = 6,
    kMoore = 7,
    kAscend = 8,
    kSim = 9,  ///< The simulated accelerator of InfiniRT.
  };

  /// Number of values of `Type`.
  static constexpr int kTypeCount = 10;

  /// The CPU.
  constexpr Device() noexcept = default;

  /// Device `index` of family `type`. Whether it exists is checked by the call that uses it.
  constexpr Device(Type type, int index = 0) noexcept : type_(type), index_(index) {}

  /// Parses "sim", "nvidia:1", or a PyTorch name: "cuda" means the CUDA-like family that this
  /// library was built with (nvidia when there is none), "musa" moore, "mlu" cambricon, "npu"
  /// ascend, "infini" the selected backend.
  ///
  /// Throws `Error` (invalid argument) for an unknown name or a malformed index.
  INFINI_RT_EXPORT static Device Parse(std::string_view text);

  /// The family.
  constexpr Type type() const noexcept { return type_; }
  /// The index within the family.
  constexpr int index() const noexcept { return index_; }

  /// Returns "<type name>:<index>", for example "nvidia:0".
  INFINI_RT_EXPORT std::string ToString() const;

  /// Whether family and index are the same.
  friend constexpr bool operator==(const Device&, const Device&) noexcept = default;

 private:
  Type type_ = Type::kCpu;
  std::int32_t index_ = 0;
};

/// Returns the platform name of `type` ("cpu", "nvidia", ...); "invalid" for a value outside the
/// enumeration.
INFINI_RT_EXPORT const char* DeviceTypeName(Device::Type type) noexcept;

/// Returns the name under which PyTorch knows devices of `type` ("cuda", "musa", ...); "infini" for
/// sim.
INFINI_RT_EXPORT const char* DeviceTypeTorchName(Device::Type type) noexcept;

}  // namespace infini::rt

/// @cond  Doxygen finds no scope for a specialisation of a standard template.
template <>
struct std::hash<infini::rt::Device> {
  std::size_t operator()(const infini::rt::Device& device) const noexcept {
    return static_cast<std::size_t>(device.type()) << 32 ^
           static_cast<std::uint32_t>(device.index());
  }
};
/// @endcond

#endif  // INFINI_RT_DEVICE_H_

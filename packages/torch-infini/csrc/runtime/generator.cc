#include "runtime/generator.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Utils.h>
#include <ATen/core/Tensor.h>
#include <c10/core/GeneratorImpl.h>
#include <c10/util/Exception.h>

#include <array>
#include <cstring>

#include "runtime/device.h"

namespace torch_infini {
namespace {

/// State of the counter-based generator Philox-4x32: a seed and an offset,
/// which counts the 32-bit numbers taken from each of its streams.
class PhiloxState final : public c10::GeneratorImpl {
 public:
  explicit PhiloxState(c10::DeviceIndex device)
      : GeneratorImpl({kDeviceType, device}, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)) {}

  static c10::DeviceType device_type() { return kDeviceType; }

  void set_current_seed(std::uint64_t seed) override {
    seed_ = seed;
    offset_ = 0;
  }
  void set_offset(std::uint64_t offset) override {
    TORCH_CHECK(offset % 4 == 0, "the offset of an infini generator is a ", "multiple of 4, got ",
                offset);
    offset_ = offset;
  }
  std::uint64_t get_offset() const override { return offset_; }
  std::uint64_t current_seed() const override { return seed_; }
  std::uint64_t seed() override {
    set_current_seed(c10::detail::getNonDeterministicRandom());
    return seed_;
  }

  // The layout of torch.cuda: the seed, then the offset, in 16 bytes.
  void set_state(const c10::TensorImpl& state) override {
    at::detail::check_rng_state(state);
    TORCH_CHECK(state.numel() == kStateSize, "the state of an infini generator has ", kStateSize,
                " bytes, got ", state.numel());
    const auto* const bytes = state.data_dtype_initialized<std::uint8_t>();
    std::uint64_t offset = 0;
    std::memcpy(&offset, bytes + sizeof seed_, sizeof offset);
    set_offset(offset);
    std::memcpy(&seed_, bytes, sizeof seed_);
  }

  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    at::Tensor state = at::detail::empty_cpu({kStateSize}, c10::ScalarType::Byte);
    auto* const bytes = state.mutable_data_ptr<std::uint8_t>();
    std::memcpy(bytes, &seed_, sizeof seed_);
    std::memcpy(bytes + sizeof seed_, &offset_, sizeof offset_);
    return state.getIntrusivePtr();
  }

 private:
  static constexpr std::int64_t kStateSize = 16;

  PhiloxState* clone_impl() const override {
    auto* const copy = new PhiloxState(device().index());
    copy->seed_ = seed_;
    copy->offset_ = offset_;
    return copy;
  }

  std::uint64_t seed_ = c10::default_rng_seed_val;
  std::uint64_t offset_ = 0;
};

}  // namespace

const at::Generator& DefaultGenerator(c10::DeviceIndex device) {
  static auto* const generators = [] {
    auto* const all = new std::array<at::Generator, kMaxDevices>;
    for (int i = 0; i < kMaxDevices; ++i) {
      (*all)[static_cast<std::size_t>(i)] =
          at::make_generator<PhiloxState>(static_cast<c10::DeviceIndex>(i));
      (*all)[static_cast<std::size_t>(i)].seed();
    }
    return all;
  }();
  return (*generators)[static_cast<std::size_t>(CheckedDevice(device))];
}

at::Generator NewGenerator(c10::DeviceIndex device) {
  return at::make_generator<PhiloxState>(CheckedDevice(device));
}

}  // namespace torch_infini

#include "runtime/hooks.h"

#include <ATen/core/CachingHostAllocator.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Storage.h>
#include <infini/rt/runtime.h>

#include <algorithm>

#include "runtime/allocator.h"
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/generator.h"
#include "runtime/host_allocator.h"
#include "runtime/stream.h"

namespace torch_infini {
namespace {

namespace rt = infini::rt;

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override {
    try {
      return DeviceCount() > 0;
    } catch (const std::exception&) {
      return false;  // the interface forbids to throw
    }
  }
  bool hasPrimaryContext(c10::DeviceIndex device) const override {
    return isAvailable() && device >= 0 && device < DeviceCount();
  }
  void init() const override { BoundThread(); }

  c10::DeviceIndex deviceCount() const override { return DeviceCount(); }
  void setCurrentDevice(c10::DeviceIndex device) const override {
    ExchangeDevice(CheckedDevice(device));
  }
  c10::DeviceIndex getCurrentDevice() const override { return CurrentDevice(); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    return ExchangeDevice(device);
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return ExchangeDevice(device);
  }

  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
    return DefaultGenerator(device);
  }
  at::Generator getNewGenerator(c10::DeviceIndex device) const override {
    return NewGenerator(device);
  }

  bool isPinnedPtr(const void* data) const override { return IsPinned(data); }
  at::Allocator* getPinnedMemoryAllocator() const override { return &PinnedAllocator(); }

  c10::Device getDeviceFromPtr(void* data) const override {
    const auto device = DeviceOf(data);
    TORCH_CHECK(device.has_value(), "pointer ", data,
                " is not in memory that torch-infini allocated");
    return {kDeviceType, *device};
  }

  void resizePrivateUse1Bytes(const c10::Storage& storage, std::size_t bytes) const override {
    c10::StorageImpl* const implementation = storage.unsafeGetStorageImpl();
    TORCH_CHECK(implementation->resizable(),
                "this infini storage cannot be resized: torch-infini did not "
                "allocate its memory");
    const c10::DeviceIndex device = storage.device().index();
    BoundThread();
    c10::DataPtr fresh = Allocate(bytes, device);
    const std::size_t kept = std::min(bytes, storage.nbytes());
    if (kept > 0) {
      const c10::Stream stream = CurrentStream(device);
      WithTorchErrors([&] {
        rt::runtime::MemcpyAsync(fresh.get(), storage.data(), kept, rt::MemcpyKind::kDeviceToDevice,
                                 RuntimeStream(stream));
      });
      Allocator().recordStream(storage.data_ptr(), stream);
    }
    implementation->set_data_ptr_noswap(std::move(fresh));
    implementation->set_nbytes(bytes);
  }
};

}  // namespace

void RegisterHooks() {
  c10::SetAllocator(kDeviceType, &Allocator());
  at::setHostAllocator(kDeviceType, &PinnedAllocator());
  // PyTorch keeps a plain pointer for the life of the process.
  static auto* const hooks = new Hooks;
  at::RegisterPrivateUse1HooksInterface(hooks);
}

}  // namespace torch_infini

#include "runtime/guard.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <infini/rt/runtime.h>

#include "runtime/allocator.h"
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/event.h"
#include "runtime/stream.h"

namespace torch_infini {
namespace {

namespace rt = infini::rt;

/// What tensors of every kind can hold: the element types of InfiniRT.
c10::DeviceCapability StorableTypes() {
  c10::DeviceCapability capability;
  capability.capability_data.capability_bits = 0;
  auto& types = capability.capability_data.supported_scalar_types;
  types.has_Bool = types.has_Byte = types.has_Char = types.has_Short = 1;
  types.has_Int = types.has_Long = types.has_Half = types.has_BFloat16 = 1;
  types.has_Float = types.has_Double = 1;
  types.has_ComplexFloat = types.has_ComplexDouble = 1;
  types.has_UInt16 = types.has_UInt32 = types.has_UInt64 = 1;
  types.has_Float8_e4m3fn = types.has_Float8_e5m2 = 1;
  return capability;
}

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kDeviceType; }

  // --- Devices ---

  c10::Device exchangeDevice(c10::Device device) const override {
    return {kDeviceType, ExchangeDevice(device.index())};
  }
  c10::Device getDevice() const override { return {kDeviceType, CurrentDevice()}; }
  void setDevice(c10::Device device) const override { ExchangeDevice(device.index()); }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.index() == CurrentDevice() || InBadFork()) return;
    try {
      ExchangeDevice(device.index());
    } catch (const std::exception& error) {
      // The contract of this function: destructors call it.
      TORCH_WARN("the current infini device was not restored: ", error.what());
    }
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    try {
      return DeviceCount();
    } catch (const std::exception&) {
      return 0;  // what the interface asks for when devices cannot be used
    }
  }
  c10::DeviceCapability getDeviceCapability(c10::Device device) const override {
    CheckedDevice(device.index());
    return StorableTypes();
  }
  void synchronizeDevice(const c10::DeviceIndex device) const override {
    SynchronizeDevice(device);
  }

  // --- Streams ---

  c10::Stream getStream(c10::Device device) const override {
    BoundThread();
    return CurrentStream(CheckedDevice(device.index()));
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return DefaultStream(CheckedDevice(device.index()));
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool high) const override {
    return StreamFromPool(device.index(), high ? -1 : 0);
  }
  c10::Stream getNewStream(c10::Device device, int priority) const override {
    return StreamFromPool(device.index(), priority);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override { return ExchangeStream(stream); }
  bool queryStream(const c10::Stream& stream) const override { return QueryStream(stream); }
  void synchronizeStream(const c10::Stream& stream) const override { SynchronizeStream(stream); }
  void* getStreamNativeHandle(const c10::Stream stream) const override {
    return NativeStreamHandle(stream);
  }
  bool isStreamCapturing(const c10::Stream& stream) const override {
    BoundThread();
    return WithTorchErrors([&] { return rt::runtime::StreamIsCapturing(RuntimeStream(stream)); });
  }

  // --- Events ---

  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex device,
              const c10::EventFlag flag) const override {
    TORCH_CHECK(device == -1 || device == stream.device_index(),
                "Event.record: the event belongs to infini:", static_cast<int>(device),
                ", the stream to ", stream.device());
    if (*event == nullptr) {
      *event = CreateEvent(stream.device_index(), flag == c10::EventFlag::BACKEND_DEFAULT);
    }
    RecordEvent(*event, stream);
  }
  void block(void* event, const c10::Stream& stream) const override {
    if (event != nullptr) WaitEvent(event, stream);
  }
  bool queryEvent(void* event) const override { return event == nullptr || QueryEvent(event); }
  void synchronizeEvent(void* event) const override {
    if (event != nullptr) SynchronizeEvent(event);
  }
  void destroyEvent(void* event, const c10::DeviceIndex /*device*/) const noexcept override {
    DestroyEvent(event);
  }
  double elapsedTime(void* start, void* end, const c10::DeviceIndex /*device*/) const override {
    return ElapsedTime(start, end);
  }

  // --- Memory ---

  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const override {
    Allocator().recordStream(data, stream);
  }
};

}  // namespace

void RegisterGuard() {
  // PyTorch keeps a plain pointer for the life of the process.
  static const c10::impl::DeviceGuardImplRegistrar registrar(kDeviceType, new Guard);
}

}  // namespace torch_infini

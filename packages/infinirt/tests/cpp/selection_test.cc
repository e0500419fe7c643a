// Backends are selected per thread; unknown ones are refused and change nothing.
#include <thread>
#include <vector>

#include "backends.h"

using namespace infini::rt;

namespace {

bool IsCompiled(Device::Type type) {
  for (const Device::Type compiled : runtime::CompiledBackends()) {
    if (compiled == type) return true;
  }
  return false;
}

void TestDefault() {
  // The first accelerator with a device, else cpu: sim has two devices here by its environment
  // variable.
  std::thread([] {
    CHECK_EQ(runtime::SelectionGeneration(), std::uint64_t{1});
    const Device::Type first = runtime::SelectedBackend();
    Device::Type expected = runtime::CompiledBackends().front();
    for (const Device::Type type : runtime::CompiledBackends()) {
      if (type == Device::Type::kCpu) continue;
      runtime::SelectBackend(type);
      if (runtime::DeviceCount() > 0) {
        expected = type;
        break;
      }
    }
    CHECK_EQ(DeviceTypeName(first), DeviceTypeName(expected));
  }).join();
}

void TestRefusal() {
  const Device::Type before = runtime::SelectedBackend();
  const std::uint64_t generation = runtime::SelectionGeneration();
  CHECK(!IsCompiled(Device::Type::kAscend));
  CHECK_THROWS(runtime::SelectBackend(Device::Type::kAscend), ErrorCode::kNotSupported,
               "does not have the backend; it has");
  CHECK_THROWS(runtime::SelectBackend(static_cast<Device::Type>(200)), ErrorCode::kNotSupported,
               "invalid");
  CHECK(runtime::SelectedBackend() == before);
  CHECK_EQ(runtime::SelectionGeneration(), generation);
  runtime::SelectBackend(before);
  CHECK_EQ(runtime::SelectionGeneration(), generation);
}

void TestThreads() {
  const std::vector<Device::Type> types = runtime::CompiledBackends();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const Device::Type mine = types[static_cast<std::size_t>(i) % types.size()];
      for (int repeat = 0; repeat < 10000; ++repeat) {
        runtime::SelectBackend(mine);
        if (runtime::DeviceCount() > 0) runtime::SetDevice(repeat % runtime::DeviceCount());
        if (runtime::SelectedBackend() != mine ||
            (runtime::DeviceCount() > 0 &&
             runtime::GetDevice() != repeat % runtime::DeviceCount())) {
          CHECK(false && "another thread changed the selection or the device");
          return;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void TestDevices() {
  CHECK_THROWS(runtime::SetDevice(-1), ErrorCode::kIndexOutOfRange,
               "device index -1 is out of range");
  CHECK_THROWS(runtime::SetDevice(runtime::DeviceCount()), ErrorCode::kIndexOutOfRange,
               "out of range");
  CHECK_THROWS(runtime::GetDeviceProperties(1000), ErrorCode::kIndexOutOfRange, "1000");
  CHECK_EQ(runtime::GetDevice(), 0);
  const DeviceProperties properties = runtime::GetDeviceProperties(0);
  CHECK(!properties.name.empty());
  CHECK(properties.total_memory > 0);
  const MemoryInfo memory = runtime::GetMemoryInfo();
  CHECK(memory.free <= memory.total);
  CHECK(memory.total > 0);
  runtime::SetDevice(runtime::DeviceCount() - 1);
  std::thread([type = runtime::SelectedBackend()] {
    runtime::SelectBackend(type);
    CHECK_EQ(runtime::GetDevice(), 0);
  }).join();
  runtime::SetDevice(0);
}

void TestCapabilities() {
  for (int i = 0; i < kCapabilityCount; ++i) {
    const auto capability = static_cast<Capability>(i);
    static_cast<void>(runtime::HasCapability(capability));
    CHECK(std::string(CapabilityName(capability)) != "invalid");
  }
  CHECK_EQ(std::string(CapabilityName(static_cast<Capability>(99))), std::string("invalid"));
  CHECK_THROWS(runtime::HasCapability(static_cast<Capability>(99)), ErrorCode::kInvalidArgument,
               "99");
}

}  // namespace

int main() {
  TestDefault();
  TestRefusal();
  TestThreads();
  testing::ForEachBackend([] {
    TestDevices();
    TestCapabilities();
  });
  return testing::Finish();
}

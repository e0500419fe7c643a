// Device names parse both ways; bad ones name what is expected.
#include "infini/rt/device.h"

#include "check.h"
#include "infini/rt/runtime.h"

using namespace infini::rt;

int main() {
  for (int i = 0; i < Device::kTypeCount; ++i) {
    const auto type = static_cast<Device::Type>(i);
    CHECK(Device::Parse(DeviceTypeName(type)) == Device(type, 0));
    CHECK(Device::Parse(std::string(DeviceTypeName(type)) + ":12") == Device(type, 12));
    CHECK_EQ(Device(type, 3).ToString(), std::string(DeviceTypeName(type)) + ":3");
  }
  CHECK(Device::Parse("musa:1") == Device(Device::Type::kMoore, 1));
  CHECK(Device::Parse("mlu") == Device(Device::Type::kCambricon));
  CHECK(Device::Parse("npu") == Device(Device::Type::kAscend));
  CHECK(Device::Parse("infini").type() == runtime::SelectedBackend());

  // "cuda" is the CUDA-like family of the build, nvidia when there is none.
  Device::Type cuda = Device::Type::kNvidia;
  for (const Device::Type type : runtime::CompiledBackends()) {
    if (std::string(DeviceTypeTorchName(type)) == "cuda") cuda = type;
  }
  CHECK(Device::Parse("cuda:2") == Device(cuda, 2));

  for (const char* text : {"", "gpu", "cpu:", "cpu:-1", "cpu:1x", "cpu: 1", "cpu:-0", "cpu:+1",
                           "cpu:99999999999", ":0", "CPU"}) {
    CHECK_THROWS(Device::Parse(text), ErrorCode::kInvalidArgument, "as a device");
  }
  CHECK_THROWS(Device::Parse("gpu"), ErrorCode::kInvalidArgument, "cpu, nvidia, iluvatar");

  CHECK(Device() == Device(Device::Type::kCpu, 0));
  CHECK(Device(Device::Type::kSim, 0) != Device(Device::Type::kSim, 1));
  CHECK(std::hash<Device>()(Device(Device::Type::kSim, 0)) !=
        std::hash<Device>()(Device(Device::Type::kSim, 1)));
  CHECK_EQ(std::string(DeviceTypeName(static_cast<Device::Type>(99))), std::string("invalid"));
  return testing::Finish();
}

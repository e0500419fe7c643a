// Guards change what they say and put it back, also when an exception leaves the scope.
#include <stdexcept>

#include "backends.h"

using namespace infini::rt;
using namespace infini::rt::testing;

namespace {

void TestDeviceGuard() {
  const Device::Type type = runtime::SelectedBackend();
  const int last = runtime::DeviceCount() - 1;
  for (const Device::Type other : runtime::CompiledBackends()) {
    runtime::SelectBackend(other);
    try {
      const DeviceGuard guard(Device(type, last));
      CHECK(runtime::SelectedBackend() == type);
      CHECK_EQ(runtime::GetDevice(), last);
      CHECK(guard.device() == Device(type, last));
      throw std::runtime_error("leaves the scope");
    } catch (const std::runtime_error&) {
    }
    CHECK(runtime::SelectedBackend() == other);
    CHECK_THROWS(DeviceGuard(Device(type, last + 1)), ErrorCode::kIndexOutOfRange, "out of range");
    CHECK_THROWS(DeviceGuard(Device(type, -1)), ErrorCode::kIndexOutOfRange, "out of range");
    CHECK_THROWS(DeviceGuard(Device(Device::Type::kAscend)), ErrorCode::kNotSupported,
                 "does not have the backend");
    CHECK(runtime::SelectedBackend() == other);
  }
  runtime::SelectBackend(type);
  CHECK_EQ(runtime::GetDevice(), 0);
}

void TestStreamGuard() {
  const int last = runtime::DeviceCount() - 1;
  runtime::SetDevice(last);
  const Stream stream = runtime::StreamCreate();
  const Stream inner = runtime::StreamCreate();
  runtime::SetDevice(0);
  {
    const StreamGuard guard(stream);
    CHECK_EQ(runtime::GetDevice(), last);
    CHECK(runtime::CurrentStream() == stream);
    {
      const StreamGuard nested(inner);
      CHECK(runtime::CurrentStream() == inner);
      runtime::SetCurrentStream(Stream());
    }
    CHECK(runtime::CurrentStream() == stream);
    {
      const StreamGuard nested(inner);
      runtime::StreamDestroy(stream);  // what the guard would restore
    }
    CHECK(runtime::CurrentStream() == runtime::DefaultStream());
  }
  CHECK_EQ(runtime::GetDevice(), 0);
  CHECK(runtime::CurrentStream() == runtime::DefaultStream());
  CHECK_THROWS(StreamGuard{stream}, ErrorCode::kInvalidArgument, "destroyed");
  runtime::SetDevice(last);
  runtime::SetDevice(0);
  runtime::StreamDestroy(inner);
}

}  // namespace

int main() {
  ForEachBackend([] {
    TestDeviceGuard();
    TestStreamGuard();
  });
  return Finish();
}

// A sim backend without devices, which is its default, refuses everything that needs one.
#include "backends.h"

using namespace infini::rt;

int main() {
  runtime::SelectBackend(Device::Type::kSim);
  CHECK_EQ(runtime::DeviceCount(), 0);
  char bytes[8] = {};
  const char* const none = "set INFINI_RT_SIM_DEVICES to 1 or more";
  CHECK_THROWS(runtime::Malloc(1), ErrorCode::kIndexOutOfRange, none);
  CHECK_THROWS(runtime::MallocHost(1), ErrorCode::kIndexOutOfRange, none);
  CHECK_THROWS(runtime::Memset(bytes, 0, 4), ErrorCode::kIndexOutOfRange, none);
  CHECK_THROWS(runtime::Memcpy(bytes, bytes + 4, 4, MemcpyKind::kHostToHost),
               ErrorCode::kIndexOutOfRange, none);
  CHECK_THROWS(runtime::MemsetAsync(bytes, 0, 4, Stream()), ErrorCode::kIndexOutOfRange, none);
  CHECK_THROWS(runtime::LaunchHost(
                   Stream(), [](const void*) {}, nullptr, 0),
               ErrorCode::kIndexOutOfRange, none);
  CHECK_THROWS(runtime::DefaultStream(), ErrorCode::kIndexOutOfRange, none);
  CHECK_THROWS(runtime::CurrentStream(), ErrorCode::kIndexOutOfRange, none);
  CHECK_THROWS(runtime::StreamCreate(), ErrorCode::kIndexOutOfRange, none);
  CHECK_THROWS(runtime::EventCreate(), ErrorCode::kIndexOutOfRange, none);
  CHECK_THROWS(runtime::DeviceSynchronize(), ErrorCode::kIndexOutOfRange, none);
  CHECK_THROWS(runtime::TaskPointer(Device(Device::Type::kSim), bytes, 1),
               ErrorCode::kIndexOutOfRange, none);
  return testing::Finish();
}

// Errors carry code, function, device and message; the table maps every code once.
#include "infini/rt/error.h"

#include <set>
#include <utility>

#include "check.h"

using namespace infini::rt;

int main() {
  const Error error(ErrorCode::kOutOfMemory, "Malloc", "sim:1", "could not allocate 7 bytes");
  CHECK_EQ(error.function(), std::string("Malloc"));
  CHECK_EQ(error.device(), std::string("sim:1"));
  CHECK_EQ(error.message(), std::string("could not allocate 7 bytes"));
  CHECK_EQ(std::string(error.what()), std::string("Malloc on sim:1: could not allocate 7 bytes"));
  CHECK_EQ(std::string(Error(ErrorCode::kInvalidArgument, "F", "", "m").what()),
           std::string("F: m"));

  const Error copy =
      error;  // NOLINT(performance-unnecessary-copy-initialization): the copy is what is tested
  CHECK_EQ(std::string(copy.what()), std::string(error.what()));
  static_assert(std::is_nothrow_copy_constructible_v<Error>);

  std::set<std::string> names;
  int index = 0;
  for (const ErrorCodeInfo& info : kErrorCodes) {
    CHECK_EQ(static_cast<int>(info.code), index++);
    names.insert(info.name);
    CHECK_EQ(std::string(GetErrorCodeInfo(info.code).name), std::string(info.name));
  }
  CHECK_EQ(names.size(), std::size(kErrorCodes));
  CHECK_EQ(std::string(GetErrorCodeInfo(static_cast<ErrorCode>(200)).name),
           std::string("device_failure"));
  CHECK_EQ(infini_rt_abi_version(), INFINI_RT_ABI_VERSION);
  return testing::Finish();
}

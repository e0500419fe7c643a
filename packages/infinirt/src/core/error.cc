#include "infini/rt/error.h"

namespace infini::rt {

struct Error::Text {
  std::string function;
  std::string device;
  std::string message;
  std::string what;
};

Error::Error(ErrorCode code, std::string_view function, std::string_view device,
             std::string_view message)
    : code_(code) {
  Text text{std::string(function), std::string(device), std::string(message),
            std::string(function)};
  if (!text.device.empty()) text.what.append(" on ").append(text.device);
  text.what.append(": ").append(text.message);
  text_ = std::make_shared<const Text>(std::move(text));
}

const std::string& Error::function() const noexcept { return text_->function; }
const std::string& Error::device() const noexcept { return text_->device; }
const std::string& Error::message() const noexcept { return text_->message; }
const char* Error::what() const noexcept { return text_->what.c_str(); }

const ErrorCodeInfo& GetErrorCodeInfo(ErrorCode code) noexcept {
  for (const ErrorCodeInfo& info : kErrorCodes) {
    if (info.code == code) return info;
  }
  return kErrorCodes[static_cast<int>(ErrorCode::kDeviceFailure)];
}

}  // namespace infini::rt

extern "C" int infini_rt_abi_version(void) { return INFINI_RT_ABI_VERSION; }

#include "infini/rt/device.h"

#include <charconv>
#include <string>

#include "core/backend.h"
#include "infini/rt/error.h"

namespace infini::rt {
namespace {

struct TypeNames {
  const char* platform;
  const char* torch;
};

constexpr TypeNames kTypeNames[Device::kTypeCount] = {
    {"cpu", "cpu"},    {"nvidia", "cuda"}, {"iluvatar", "cuda"}, {"hygon", "cuda"},
    {"thead", "cuda"}, {"metax", "cuda"},  {"cambricon", "mlu"}, {"moore", "musa"},
    {"ascend", "npu"}, {"sim", "infini"},
};

[[noreturn]] void FailParse(std::string_view text, std::string_view reason) {
  std::string names;
  for (const TypeNames& row : kTypeNames)
    names.append(names.empty() ? "" : ", ").append(row.platform);
  throw Error(ErrorCode::kInvalidArgument, "Device::Parse", "",
              "cannot read \"" + std::string(text) + "\" as a device: " + std::string(reason) +
                  "; expected a name with an optional index, such as \"cpu\" or \"nvidia:0\", of " +
                  names + " or PyTorch's cuda, musa, mlu, npu, infini");
}

Device::Type ParseType(std::string_view name, std::string_view text) {
  if (name == "infini") return runtime::SelectedBackend();
  // Several families are "cuda" to PyTorch; a build holds at most one of them.
  for (const Backend* backend : CompiledBackendTables()) {
    if (name == DeviceTypeTorchName(backend->type)) return backend->type;
  }
  for (int i = 0; i < Device::kTypeCount; ++i) {
    if (name == kTypeNames[i].platform || name == kTypeNames[i].torch)
      return static_cast<Device::Type>(i);
  }
  FailParse(text, "the name is unknown");
}

}  // namespace

const char* DeviceTypeName(Device::Type type) noexcept {
  const int index = static_cast<int>(type);
  return index < Device::kTypeCount ? kTypeNames[index].platform : "invalid";
}

const char* DeviceTypeTorchName(Device::Type type) noexcept {
  const int index = static_cast<int>(type);
  return index < Device::kTypeCount ? kTypeNames[index].torch : "invalid";
}

Device Device::Parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  const Type type = ParseType(text.substr(0, colon), text);
  if (colon == std::string_view::npos) return Device(type, 0);
  const std::string_view digits = text.substr(colon + 1);
  int index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.front() < '0') {
    FailParse(text, "the index is not a number from 0 to 2147483647");
  }
  return Device(type, index);
}

std::string Device::ToString() const {
  return std::string(DeviceTypeName(type_)) + ":" + std::to_string(index_);
}

}  // namespace infini::rt

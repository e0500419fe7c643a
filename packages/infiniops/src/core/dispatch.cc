#include "core/dispatch.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "core/cache.h"
#include "infini/ops/abi.h"

namespace infini::ops {

/// Operator -> name or slot.
using Choices = std::map<std::string, std::string, std::less<>>;

/// A selection, and the one that it shadows.
struct ScopedSelection::Frame {
  Choices choices;
  bool fallback = false;
  Frame* outer = nullptr;
};

/// The innermost selection of the calling thread.
struct SelectionAccess {
  using Frame = ScopedSelection::Frame;
  static Frame*& Innermost() noexcept {
    thread_local Frame* innermost = nullptr;
    return innermost;
  }
};

namespace internal {
namespace {

constexpr char kSelectionVariable[] = "INFINI_OPS_IMPLEMENTATION";
constexpr char kTraceVariable[] = "INFINI_OPS_TRACE_CALLS";

std::string List(std::span<const ImplementationInfo> infos) {
  std::string text;
  for (const ImplementationInfo& info : infos) {
    if (!text.empty()) text += ", ";
    text += std::to_string(info.slot) + " (" + info.name + ")";
  }
  return text.empty() ? "none" : text;
}

std::string OperatorList() {
  std::string text;
  for (const OperatorRecord& record : Registry()) {
    if (!text.empty()) text += ", ";
    text += record.name;
  }
  return text;
}

[[noreturn]] void ThrowUnknownOperator(const char* function, std::string_view name) {
  throw Error(ErrorCode::kNotSupported, function, "",
              "`" + std::string(name) + "` is no operator of this build; it has " + OperatorList());
}

/// Reads "rms_norm=vllm,gemm=1"; `origin` is for messages.
Choices ReadChoices(const char* origin, std::string_view text) {
  Choices choices;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == item.size()) {
      throw Error(
          ErrorCode::kInvalidArgument, origin, "",
          "expected OPERATOR=IMPLEMENTATION, separated by commas, got `" + std::string(item) + "`");
    }
    const std::string_view op = item.substr(0, equals);
    if (FindOperator(op) == nullptr) ThrowUnknownOperator(origin, op);
    choices[std::string(op)] = std::string(item.substr(equals + 1));
  }
  return choices;
}

/// Read once; when the variable is malformed, every call says so.
const Choices& Environment() {
  static const Choices choices = [] {
    const char* text = std::getenv(kSelectionVariable);
    return ReadChoices(kSelectionVariable, text == nullptr ? "" : text);
  }();
  return choices;
}

std::string JsonText(std::string_view text) {
  std::string quoted = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') quoted += '\\';
    quoted += letter;
  }
  return quoted + "\"";
}

/// What a choice by name or slot depends on: the tables never change.
struct Choice {
  std::string_view op;
  Device::Type device;
  std::string_view text;
  bool operator==(const Choice&) const = default;
};

/// The same, with strings of its own.
struct KeptChoice {
  explicit KeptChoice(const Choice& choice)
      : op(choice.op), device(choice.device), text(choice.text) {}
  // NOLINTNEXTLINE(google-explicit-constructor): a view of it
  operator Choice() const { return {op, device, text}; }
  std::string op;
  Device::Type device;
  std::string text;
};

struct HashChoice {
  using is_transparent = void;
  std::size_t operator()(const Choice& choice) const noexcept {
    const std::hash<std::string_view> hash;
    return hash(choice.op) * 31 + hash(choice.text) * 7 + static_cast<std::size_t>(choice.device);
  }
};

struct EqualChoice {
  using is_transparent = void;
  bool operator()(const Choice& a, const Choice& b) const noexcept { return a == b; }
};

/// `FindImplementation`, which compares the names of all operators.
int FindChosen(const Choice& choice) {
  thread_local Cache<KeptChoice, int, HashChoice, EqualChoice> cache("selection");
  return cache.Get(choice,
                   [&] { return FindImplementation(choice.op, choice.device, choice.text); });
}

}  // namespace

const OperatorRecord* FindOperator(std::string_view name) noexcept {
  for (const OperatorRecord& record : Registry()) {
    if (name == record.name) return &record;
  }
  return nullptr;
}

bool HasOverrides() {
  static const bool environment = !Environment().empty();
  return environment || SelectionAccess::Innermost() != nullptr;
}

Request ResolveRequest(const char* op, const Context& context) {
  Request request;
  std::string choice;
  for (const auto* frame = SelectionAccess::Innermost(); frame != nullptr; frame = frame->outer) {
    request.fallback |= frame->fallback;
    if (!choice.empty()) continue;
    const auto found = frame->choices.find(std::string_view(op));
    if (found != frame->choices.end()) {
      choice = found->second;
      request.origin = "a selection in this thread";
    }
  }
  if (choice.empty()) {
    const auto found = Environment().find(std::string_view(op));
    if (found != Environment().end()) {
      choice = found->second;
      request.origin = kSelectionVariable;
    }
  }
  if (context.implementation != kDefaultImplementation) {
    request.slot = context.implementation;
    request.origin = "the caller";
  } else if (!choice.empty()) {
    request.slot = FindChosen({op, context.device.type(), choice});
  }
  return request;
}

void ThrowNoImplementation(const char* op, Device device) {
  throw Error(ErrorCode::kNotSupported, op, device.ToString(),
              "this build has no implementation for devices of type " +
                  std::string(rt::DeviceTypeName(device.type())));
}

void ThrowAbsent(const char* op, Device device, const Request& request,
                 std::span<const ImplementationInfo> present) {
  throw Error(ErrorCode::kNotSupported, op, device.ToString(),
              request.origin + " asks for slot " + std::to_string(request.slot.value_or(0)) +
                  ", which is not active; active slots: " + List(present));
}

void ThrowUnsupported(const char* op, Device device, const ImplementationInfo& chosen,
                      const std::string& reason, std::span<const ImplementationInfo> supporting) {
  throw Error(ErrorCode::kNotSupported, op, device.ToString(),
              "implementation " + std::to_string(chosen.slot) + " (" + chosen.name +
                  ") does not run this call: " + reason +
                  "; implementations that do: " + List(supporting));
}

bool Tracing() noexcept {
  static const bool tracing = [] {
    const char* value = std::getenv(kTraceVariable);
    return value != nullptr && *value != '\0' && std::string_view(value) != "0";
  }();
  return tracing;
}

void Trace(const char* op, const Context& context, const ImplementationInfo& chosen,
           std::span<const NamedView> tensors) {
  std::string line = "{\"operator\": " + JsonText(op) +
                     ", \"device\": " + JsonText(context.device.ToString()) +
                     ", \"stream\": " + std::to_string(context.stream.id) +
                     ", \"slot\": " + std::to_string(chosen.slot) +
                     ", \"implementation\": " + JsonText(chosen.name) + ", \"arguments\": {";
  bool first = true;
  for (const NamedView& tensor : tensors) {
    if (!first) line += ", ";
    first = false;
    line += JsonText(tensor.name) + ": " +
            (tensor.view == nullptr ? "null" : JsonText(tensor.view->ToString()));
  }
  line += "}}\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace internal

std::span<const char* const> OperatorNames() noexcept {
  static const auto names = [] {
    std::vector<const char*> list;
    for (const auto& record : internal::Registry()) list.push_back(record.name);
    return list;
  }();
  return names;
}

std::vector<ImplementationInfo> ActiveImplementations(std::string_view operator_name,
                                                      Device::Type type) {
  const auto* record = internal::FindOperator(operator_name);
  if (record == nullptr) {
    internal::ThrowUnknownOperator("ActiveImplementations", operator_name);
  }
  return record->implementations(type);
}

int FindImplementation(std::string_view operator_name, Device::Type type, std::string_view name) {
  const auto present = ActiveImplementations(operator_name, type);
  int slot = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), slot);
  const bool decimal = error == std::errc() && end == name.data() + name.size();
  for (const ImplementationInfo& info : present) {
    if (decimal ? info.slot == slot : name == info.name) return info.slot;
  }
  throw Error(
      ErrorCode::kNotSupported, operator_name, rt::DeviceTypeName(type),
      "there is no implementation `" + std::string(name) + "`; active: " + internal::List(present));
}

ScopedSelection::ScopedSelection(std::string_view choices, bool fallback)
    : frame_(std::make_unique<Frame>()) {
  frame_->choices = internal::ReadChoices("ScopedSelection", choices);
  frame_->fallback = fallback;
  frame_->outer = std::exchange(SelectionAccess::Innermost(), frame_.get());
}

ScopedSelection::~ScopedSelection() {
  // Selections may end in another order than they began (Python's generators):
  // take this one out of the chain wherever it is.
  SelectionAccess::Frame** link = &SelectionAccess::Innermost();
  while (*link != nullptr && *link != frame_.get()) link = &(*link)->outer;
  if (*link != nullptr) *link = frame_->outer;
}

}  // namespace infini::ops

int infini_ops_abi_version() { return INFINI_OPS_ABI_VERSION; }

// How an entry finds the implementation that runs.
#ifndef INFINI_OPS_CORE_DISPATCH_H_
#define INFINI_OPS_CORE_DISPATCH_H_

#include <infini/rt/guard.h>

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/operator.h"
#include "infini/ops/implementation.h"

namespace infini::ops::internal {

/// Makes the device of a call current until the call returns; cheap where it is
/// current already.
class CallGuard {
 public:
  explicit CallGuard(Device device) {
    // There is one CPU, so its index needs no look.
    if (rt::runtime::SelectedBackend() != device.type() ||
        device.index() != (device.type() == Device::Type::kCpu ? 0 : rt::runtime::GetDevice())) {
      guard_.emplace(device);
    }
  }

 private:
  std::optional<rt::DeviceGuard> guard_;
};

/// One row of an operator's implementation table.
template <typename... Arguments>
struct Entry {
  ImplementationInfo info;
  void (*call)(const Context&, Arguments...);
  Support (*supports)(const Context&, Arguments...);  // null: everything
};

/// Makes the row of the specialization `Implementation` in `slot`.
template <class Implementation, typename... Arguments>
constexpr Entry<Arguments...> MakeEntry(int slot) {
  Entry<Arguments...> entry{{slot, Implementation::kName}, &Implementation::Call, nullptr};
  if constexpr (requires { &Implementation::Supports; }) {
    entry.supports = &Implementation::Supports;
  }
  return entry;
}

/// What the caller, a selection or the environment asks for.
struct Request {
  std::optional<int> slot;  // none: the smallest active slot
  std::string origin;       // for messages: who asks
  bool fallback = false;
};

/// One operator of this build; the generated registry lists all.
struct OperatorRecord {
  const char* name;
  std::vector<ImplementationInfo> (*implementations)(Device::Type);
};
std::span<const OperatorRecord> Registry() noexcept;
const OperatorRecord* FindOperator(std::string_view name) noexcept;

/// Whether any selection or environment override exists for this thread.
bool HasOverrides();

/// Resolves what is asked for; throws when the environment is malformed.
Request ResolveRequest(const char* op, const Context& context);

[[noreturn]] void ThrowNoImplementation(const char* op, Device device);
[[noreturn]] void ThrowAbsent(const char* op, Device device, const Request& request,
                              std::span<const ImplementationInfo> present);
[[noreturn]] void ThrowUnsupported(const char* op, Device device, const ImplementationInfo& chosen,
                                   const std::string& reason,
                                   std::span<const ImplementationInfo> supporting);

/// Whether INFINI_OPS_TRACE_CALLS is set.
bool Tracing() noexcept;

/// Writes one JSON object about a call to the standard error stream.
void Trace(const char* op, const Context& context, const ImplementationInfo& chosen,
           std::span<const NamedView> tensors);
inline void Trace(const char* op, const Context& context, const ImplementationInfo& chosen,
                  std::initializer_list<NamedView> tensors) {
  Trace(op, context, chosen, std::span(tensors.begin(), tensors.size()));
}

template <typename... Arguments>
std::vector<ImplementationInfo> Infos(std::span<const Entry<Arguments...>> entries) {
  std::vector<ImplementationInfo> infos;
  for (const auto& entry : entries) infos.push_back(entry.info);
  return infos;
}

/// Returns the implementation that serves the call; throws when there is none.
template <typename... Arguments, typename... Actual>
const Entry<Arguments...>& Choose(const char* op, const Context& context,
                                  std::span<const Entry<Arguments...>> entries,
                                  const Actual&... arguments) {
  if (entries.empty()) ThrowNoImplementation(op, context.device);
  const Entry<Arguments...>* chosen = &entries.front();
  bool fallback = false;
  if (context.implementation != kDefaultImplementation || HasOverrides()) {
    const Request request = ResolveRequest(op, context);
    fallback = request.fallback;
    if (request.slot) {
      chosen = nullptr;
      for (const auto& entry : entries) {
        if (entry.info.slot == *request.slot) chosen = &entry;
      }
      if (chosen == nullptr) {
        ThrowAbsent(op, context.device, request, Infos(entries));
      }
    }
  }
  if (chosen->supports == nullptr) return *chosen;
  const Support support = chosen->supports(context, arguments...);
  if (support) return *chosen;
  std::vector<ImplementationInfo> supporting;
  for (const auto& entry : entries) {
    if (&entry == chosen) continue;
    if (entry.supports == nullptr || entry.supports(context, arguments...)) {
      if (fallback) return entry;
      supporting.push_back(entry.info);
    }
  }
  ThrowUnsupported(op, context.device, chosen->info, support.reason(), supporting);
}

/// Says of each implementation whether the call would run it, and why.
template <typename... Arguments, typename... Actual>
std::vector<ImplementationReport> Explain(const char* op, const Context& context,
                                          std::span<const Entry<Arguments...>> entries,
                                          const Actual&... arguments) {
  std::vector<ImplementationReport> reports;
  const Request request = ResolveRequest(op, context);
  if (request.slot) {
    bool present = false;
    for (const auto& entry : entries) {
      present |= entry.info.slot == *request.slot;
    }
    if (!present) ThrowAbsent(op, context.device, request, Infos(entries));
  }
  bool selected = false;
  for (const auto& entry : entries) {
    const Support support =
        entry.supports == nullptr ? Support::Yes() : entry.supports(context, arguments...);
    const bool asked = request.slot ? entry.info.slot == *request.slot : &entry == &entries.front();
    ImplementationReport report{entry.info.slot, entry.info.name, false, {}};
    if (!support) {
      report.reason = support.reason();
    } else if (asked) {
      report.selected = selected = true;
      report.reason = request.slot ? "chosen by " + request.origin : "the smallest active slot";
    } else {
      report.reason = request.slot ? request.origin + " chose slot " + std::to_string(*request.slot)
                                   : "a smaller slot is active";
    }
    reports.push_back(std::move(report));
  }
  if (!selected && request.fallback) {
    for (ImplementationReport& report : reports) {
      const auto& entry = entries[static_cast<std::size_t>(&report - reports.data())];
      if (entry.supports == nullptr || entry.supports(context, arguments...)) {
        report.selected = true;
        report.reason = "the first that supports the call (fallback)";
        break;
      }
    }
  }
  return reports;
}

}  // namespace infini::ops::internal

#endif  // INFINI_OPS_CORE_DISPATCH_H_

#include "ops/fallback.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/native/CPUFallback.h>
#include <c10/util/Exception.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <sstream>
#include <string_view>

#include "ops/operator_table.h"
#include "ops/tensor_view.h"
#include "runtime/device.h"

namespace torch_infini {
namespace {

constexpr const char* kVariable = "TORCH_INFINI_ENABLE_CPU_FALLBACK";

/// The operators that may run on the CPU, as the environment names them.
class Allowed {
 public:
  explicit Allowed(std::string_view text) {
    if (text == "1") {
      all_ = true;
      return;
    }
    while (!text.empty() && text != "0") {
      const std::size_t comma = text.find(',');
      std::string_view name = text.substr(0, comma);
      text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
      while (name.starts_with(' ')) name.remove_prefix(1);
      while (name.ends_with(' ')) name.remove_suffix(1);
      if (name.empty()) continue;
      const bool qualified = name.find("::") != std::string_view::npos;
      names_.insert(qualified ? std::string(name) : "aten::" + std::string(name));
    }
  }

  bool Has(const std::string& name, const std::string& overload) const {
    return all_ || names_.contains(name) || names_.contains(overload);
  }

  /// Throws when a name is that of no operator of PyTorch, such as "true" or one that is misspelt.
  /// Those of other libraries may be registered later.
  void Check() const {
    if (names_.empty()) return;
    std::set<std::string> known;
    for (const c10::OperatorName& operator_name : c10::Dispatcher::singleton().getAllOpNames()) {
      known.insert(operator_name.name);
      known.insert(c10::toString(operator_name));
    }
    for (const std::string& name : names_) {
      TORCH_CHECK_VALUE(!name.starts_with("aten::") || known.contains(name), kVariable,
                        ": there is no operator ", name,
                        "; expected 1 for all operators, 0 for none, or a list of operators such "
                        "as aten::sort,aten::topk");
    }
  }

 private:
  bool all_ = false;
  std::set<std::string> names_;
};

const Allowed& AllowedOnCpu() {
  static const Allowed allowed([] {
    const char* const value = std::getenv(kVariable);
    return std::string_view(value == nullptr ? "" : value);
  }());
  static const bool checked = (allowed.Check(), true);
  static_cast<void>(checked);
  return allowed;
}

struct Counts {
  std::mutex mutex;
  std::map<std::string, std::int64_t> calls;
};

Counts& CountsOfProcess() {
  static auto* const counts = new Counts;
  return *counts;
}

/// Describes the tensors among the arguments: "float32 on infini:0".
void Describe(const c10::IValue& value, std::ostringstream& text) {
  const auto add = [&](const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    if (text.tellp() > 0) text << ", ";
    text << TypeName(tensor.scalar_type()) << " on " << tensor.device();
  };
  if (value.isTensor()) {
    add(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorList()) add(tensor);
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) Describe(item, text);
  }
}

std::string ReasonFor(const std::string& overload) {
  static const std::map<std::string, std::string> unserved = UnservedOverloads();
  if (const auto found = unserved.find(overload); found != unserved.end()) {
    return "InfiniOps has an operator for it that torch-infini cannot call (" + found->second + ")";
  }
  return "the InfiniOps that torch-infini was built with has no operator for it";
}

void RunOnCpu(const c10::OperatorHandle& op, torch::jit::Stack* stack,
              const std::string& overload) {
  bool first = false;
  {
    Counts& counts = CountsOfProcess();
    const std::scoped_lock lock(counts.mutex);
    first = ++counts.calls[overload] == 1;
  }
  if (first) {
    TORCH_WARN(overload, " runs on the CPU, with copies from and to infini, since ", kVariable,
               " allows it");
  }
  // A view of a copy would not share memory with its infini tensor.
  at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
}

void Unsupported(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  const std::string overload =
      schema.overload_name().empty() ? schema.name() : schema.name() + "." + schema.overload_name();
  if (AllowedOnCpu().Has(schema.name(), overload)) {
    RunOnCpu(op, stack, overload);
    return;
  }
  std::ostringstream tensors;
  for (const c10::IValue& argument : torch::jit::last(*stack, schema.arguments().size())) {
    Describe(argument, tensors);
  }
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, overload, " is not implemented on infini (got ",
      tensors.tellp() > 0 ? tensors.str() : "no tensor", "): ", ReasonFor(overload),
      ". Move the tensors with .cpu() to compute on the CPU, or set ", kVariable,
      "=1 (or to a list of operators) to have that done at each call");
}

}  // namespace

void RegisterFallback(torch::Library& library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&Unsupported>());
}

std::map<std::string, std::int64_t> FallbackCounts() {
  Counts& counts = CountsOfProcess();
  const std::scoped_lock lock(counts.mutex);
  return counts.calls;
}

}  // namespace torch_infini

#include "ops/fallback.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/native/CPUFallback.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

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

/// What a user calls an operator that only functions of PyTorch call; empty for most operators,
/// whose own names are the users'.
std::string PublicName(std::string_view name) {
  static const std::map<std::string_view, std::string_view> others = {
      {"_adaptive_avg_pool2d", "torch.nn.functional.adaptive_avg_pool2d"},
      {"_adaptive_avg_pool3d", "torch.nn.functional.adaptive_avg_pool3d"},
      {"_cdist_forward", "torch.cdist"},
      {"_ctc_loss", "torch.nn.functional.ctc_loss"},
      {"_embedding_bag", "torch.nn.functional.embedding_bag"},
      {"_embedding_bag_forward_only", "torch.nn.functional.embedding_bag"},
      {"_fft_c2c", "torch.fft"},
      {"_fft_c2r", "torch.fft"},
      {"_fft_r2c", "torch.fft"},
      {"_pdist_forward", "torch.pdist"},
      {"_thnn_fused_gru_cell", "torch.nn.GRU"},
      {"_thnn_fused_lstm_cell", "torch.nn.LSTM"},
      {"_unique2", "torch.unique"},
      {"convolution", "torch.conv1d, conv2d, conv3d and their transposes"},
      {"convolution_backward", "the gradient of torch.conv2d and its kin"},
      {"max_pool2d_with_indices", "torch.nn.functional.max_pool2d"},
      {"max_pool3d_with_indices", "torch.nn.functional.max_pool3d"},
  };
  name.remove_prefix(std::min(name.size(), std::string_view("aten::").size()));
  if (const auto found = others.find(name); found != others.end()) {
    return std::string(found->second);
  }
  const bool internal = name.starts_with('_');
  if (internal) name.remove_prefix(1);
  constexpr std::string_view kLinalg = "linalg_";
  constexpr std::string_view kExtended = "_ex";
  if (!name.starts_with(kLinalg)) return "";
  name.remove_prefix(kLinalg.size());
  if (name.ends_with(kExtended)) name.remove_suffix(kExtended.size());
  return "torch.linalg." + std::string(name);
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
  const std::string called = PublicName(schema.name());
  std::ostringstream tensors;
  for (const c10::IValue& argument : torch::jit::last(*stack, schema.arguments().size())) {
    Describe(argument, tensors);
  }
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, overload, " is not implemented on infini (got ",
      tensors.tellp() > 0 ? tensors.str() : "no tensor", "): ", ReasonFor(overload),
      called.empty() ? "" : ", needed by " + called,
      ". Move the tensors with .cpu() to compute on the CPU, or set ", kVariable,
      "=1 (or to a list of operators) to have that done at each call");
}

c10::OperatorHandle Operator(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
}

/// `convolution_overrideable`, which PyTorch calls on devices of its users, has the arguments of
/// `convolution`. Its own kernel, for all devices, would ask the user to write one.
void UnsupportedConvolution(const c10::OperatorHandle&, torch::jit::Stack* stack) {
  static const c10::OperatorHandle convolution = Operator("aten::convolution");
  Unsupported(convolution, stack);
}

/// `convolution_backward_overrideable` lacks the sizes of the bias alone: (grad_output, input,
/// weight, stride, padding, dilation, transposed, output_padding, groups, output_mask).
void UnsupportedConvolutionBackward(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  static const c10::OperatorHandle backward = Operator("aten::convolution_backward");
  constexpr std::size_t kBiasSizes = 3;
  const auto arguments = stack->end() - static_cast<std::ptrdiff_t>(op.schema().arguments().size());
  const std::int64_t channels = arguments[0].toTensor().size(1);
  stack->insert(arguments + kBiasSizes, c10::IValue(std::vector<std::int64_t>{channels}));
  Unsupported(backward, stack);
}

}  // namespace

void RegisterUnsupportedConvolution(torch::Library& library) {
  library.impl("convolution_overrideable",
               torch::CppFunction::makeFromBoxedFunction<&UnsupportedConvolution>());
  library.impl("convolution_backward_overrideable",
               torch::CppFunction::makeFromBoxedFunction<&UnsupportedConvolutionBackward>());
}

void RegisterFallback(torch::Library& library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&Unsupported>());
}

std::map<std::string, std::int64_t> FallbackCounts() {
  Counts& counts = CountsOfProcess();
  const std::scoped_lock lock(counts.mutex);
  return counts.calls;
}

}  // namespace torch_infini

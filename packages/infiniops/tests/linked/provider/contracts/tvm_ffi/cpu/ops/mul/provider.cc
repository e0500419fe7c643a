#include "linked/tvm_ffi/cpu/ops/mul/provider.h"

#include <algorithm>

#include "linked/tvm_ffi/shared/call.h"

extern "C" int __tvm_ffi_multiply(void* self, const TVMFFIAny* arguments, int32_t count,
                                  TVMFFIAny* result);

namespace infini::ops {
namespace {

struct Task {
  static constexpr const char* kOperator = Mul::kOperator;
  static constexpr const char* kProvider = "infini-test-provider";
  linked::Operand input;
  linked::Operand other;
  linked::Operand out;

  void Run() const {
    linked::DlView a(input);
    linked::DlView b(other);
    linked::DlView c(out);
    linked::CallEntry(&__tvm_ffi_multiply, a.get(), b.get(), c.get());
  }
};

}  // namespace

void Operator<Mul, Device::Type::kCpu, 18>::Call(const Context& context, const TensorView& input,
                                                 const TensorView& other, const TensorView& out) {
  if (out.numel() == 0) return;
  linked::LaunchOnHost(context, Task{linked::MakeOperand(input), linked::MakeOperand(other),
                                     linked::MakeOperand(out)});
}

Support Operator<Mul, Device::Type::kCpu, 18>::Supports(const Context&, const TensorView& input,
                                                        const TensorView& other,
                                                        const TensorView& out) {
  for (const TensorView* view : {&input, &other, &out}) {
    if (view->dtype() != DataType::kFloat32 || !std::ranges::equal(view->shape(), out.shape()) ||
        view->rank() > cpu::kMaxOperandRank) {
      return Support::No("it takes float32 tensors of one shape");
    }
  }
  return Support::Yes();
}

}  // namespace infini::ops

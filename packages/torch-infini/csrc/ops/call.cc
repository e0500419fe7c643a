#include "ops/call.h"

#include <infini/rt/data_type.h>

#include <string>

namespace torch_infini {

void ThrowUnsupportedType(const OperatorInfo& info, c10::ScalarType type, c10::Device device) {
  std::string known;
  for (int i = 0; i < infini::rt::kDataTypeCount; ++i) {
    const auto candidate = static_cast<infini::rt::DataType>(i);
    if (!info.Takes(candidate)) continue;
    if (!known.empty()) known += ", ";
    known += infini::rt::DataTypeName(candidate);
  }
  TORCH_CHECK_NOT_IMPLEMENTED(false, info.overload, ": InfiniOps' `", info.name,
                              "` (slot 0) has no kernel for ", TypeName(type), " on ", device,
                              "; it has ", known);
}

void CheckPlace(const OperatorInfo& info, const char* argument, const at::Tensor& tensor,
                c10::Device device) {
  TORCH_CHECK(tensor.device() == device, info.overload, ": `", argument, "` is on ",
              tensor.device(), ", expected it on ", device,
              " like the first argument; move it with .to('", device, "')");
  TORCH_CHECK_NOT_IMPLEMENTED(tensor.layout() == c10::Layout::Strided, info.overload, ": `",
                              argument, "` has layout ", tensor.layout(),
                              "; infini has kernels for strided tensors only");
}

void CheckSameType(const OperatorInfo& info, const char* argument, const at::Tensor& tensor,
                   const char* main_argument, const at::Tensor& main) {
  TORCH_CHECK(tensor.scalar_type() == main.scalar_type(), info.overload, ": expected `", argument,
              "` to have the type of `", main_argument, "`, ", TypeName(main.scalar_type()),
              ", got ", TypeName(tensor.scalar_type()));
}

void CheckOut(const OperatorInfo& info, const at::Tensor& out, c10::Device device,
              c10::ScalarType type, bool converts) {
  TORCH_CHECK(out.device() == device, info.overload, ": expected `out` on ", device, ", it is on ",
              out.device());
  const c10::ScalarType given = out.scalar_type();
  TORCH_CHECK(converts ? c10::canCast(type, given) : type == given, info.overload,
              ": a result of type ", TypeName(type), " cannot go to `out` of type ",
              TypeName(given));
}

}  // namespace torch_infini

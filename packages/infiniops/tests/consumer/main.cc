// A program of a user: plain literals, no template of ours, any optimisation level.
#include <infini/ops.h>

#include <cstdio>
#include <optional>

int main() {
  namespace ops = infini::ops;
  if (infini_ops_abi_version() != INFINI_OPS_ABI_VERSION) return 2;
  float x[2][3] = {{1, 2, 3}, {4, 5, 6}};
  float w[2][3] = {{1, 0, 0}, {0, 1, 1}};
  float y[2][2];
  const ops::Context context;
  const ops::TensorView input(x, {2, 3}, ops::DataType::kFloat32, context.device);
  const ops::TensorView weight(w, {2, 3}, ops::DataType::kFloat32, context.device);
  const ops::TensorView out(y, {2, 2}, ops::DataType::kFloat32, context.device);
  ops::Linear::Call(context, input, weight, std::nullopt, out);
  ops::Add::Call(context, out, out, 2, out);
  std::printf("%g %g %g %g\n", y[0][0], y[0][1], y[1][0], y[1][1]);
  ops::RmsNorm::Call(context, out, std::nullopt, 0, out);
  try {
    ops::Add::Call(context, input, out, 1, out);
  } catch (const ops::Error& error) {
    std::printf("%s\n", error.what());
    return 0;
  }
  return 1;
}

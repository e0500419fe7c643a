// A program without Python that asks for a linked implementation.
#include <infini/ops.h>

#include <cmath>
#include <cstdio>
#include <optional>

int main() {
  namespace ops = infini::ops;
  float x[2][32];
  float linked[2][32];
  float native[2][32];
  for (int i = 0; i < 64; ++i) x[i / 32][i % 32] = static_cast<float>(i % 7) - 3;
  ops::Context context;
  const auto view = [&](float* data) {
    return ops::TensorView(data, {2, 32}, ops::DataType::kFloat32, context.device);
  };
  ops::RmsNorm::Call(context, view(x[0]), std::nullopt, 1e-6, view(native[0]));
  context.implementation = 16;
  ops::RmsNorm::Call(context, view(x[0]), std::nullopt, 1e-6, view(linked[0]));
  for (int i = 0; i < 64; ++i) {
    const float difference = linked[i / 32][i % 32] - native[i / 32][i % 32];
    if (!(std::fabs(difference) < 1e-5f)) return 1;
  }
  std::puts("equal");
  return 0;
}

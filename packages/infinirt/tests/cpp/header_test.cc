// The public headers compile without a warning under flags that a strict consumer may use; CMake
// sets them for this file.
#include <infini/rt.h>

int main() {
  float value = 1.0f;
  const infini::rt::TensorView view(&value, {1}, infini::rt::DataType::kFloat32,
                                    infini::rt::Device());
  return view.numel() == 1 ? 0 : 1;
}

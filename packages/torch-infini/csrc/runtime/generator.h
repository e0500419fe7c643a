// The random number generators of infini devices.
#ifndef TORCH_INFINI_RUNTIME_GENERATOR_H_
#define TORCH_INFINI_RUNTIME_GENERATOR_H_

#include <ATen/core/Generator.h>

namespace torch_infini {

/// The default generator of `device` (-1: the current one).
const at::Generator& DefaultGenerator(c10::DeviceIndex device);

/// A new generator of `device` (-1: the current one) with the default seed.
at::Generator NewGenerator(c10::DeviceIndex device);

}  // namespace torch_infini

#endif  // TORCH_INFINI_RUNTIME_GENERATOR_H_

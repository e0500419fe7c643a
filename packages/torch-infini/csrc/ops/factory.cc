#include "ops/factory.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/PhiloxRNGEngine.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/logspace.h>
#include <ATen/ops/randperm.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/DeviceGuard.h>

#include <mutex>
#include <optional>

#include "ops/copy.h"
#include "runtime/device.h"
#include "runtime/generator.h"

namespace torch_infini {
namespace {

at::Tensor HostLike(const at::Tensor& tensor) {
  return at::empty(tensor.sizes(), at::TensorOptions().dtype(tensor.scalar_type()));
}

/// Gives `out` the shape and the values of `host`.
at::Tensor& Upload(const at::Tensor& host, at::Tensor& out) {
  const c10::DeviceGuard guard(out.device());
  if (out.sizes() != host.sizes()) out.resize_(host.sizes());
  Copy(host, out, /*non_blocking=*/false);
  return out;
}

at::Tensor& Arange(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step,
                   at::Tensor& out) {
  return Upload(
      at::arange(start, end, step, at::TensorOptions().dtype(out.scalar_type()).device(at::kCPU)),
      out);
}

at::Tensor& Linspace(const at::Scalar& start, const at::Scalar& end, std::int64_t steps,
                     at::Tensor& out) {
  return Upload(at::linspace(start, end, steps,
                             at::TensorOptions().dtype(out.scalar_type()).device(at::kCPU)),
                out);
}

at::Tensor& Logspace(const at::Scalar& start, const at::Scalar& end, std::int64_t steps,
                     double base, at::Tensor& out) {
  return Upload(at::logspace(start, end, steps, base,
                             at::TensorOptions().dtype(out.scalar_type()).device(at::kCPU)),
                out);
}

at::Tensor& Eye(c10::SymInt rows, c10::SymInt columns, at::Tensor& out) {
  return Upload(at::eye(rows.guard_int(__FILE__, __LINE__), columns.guard_int(__FILE__, __LINE__),
                        at::TensorOptions().dtype(out.scalar_type()).device(at::kCPU)),
                out);
}

/// The CPU generator for one call that draws from `generator`, or from the
/// default one of `device`.
at::Generator Draw(const std::optional<at::Generator>& generator, c10::Device device) {
  const at::Generator& own =
      generator.has_value() && generator->defined() ? *generator : DefaultGenerator(device.index());
  TORCH_CHECK(own.device().type() == kDeviceType, "expected a generator of ", device,
              ", got one of ", own.device());
  at::Generator state = own;
  const std::scoped_lock lock(state.mutex());
  const std::uint64_t offset = state.get_offset();
  // The offset counts numbers; the engine's counts groups of four.
  at::Philox4_32 engine(state.current_seed(), /*subsequence=*/0, offset / 4);
  const std::uint64_t low = engine();
  const std::uint64_t high = engine();
  state.set_offset(offset + 4);
  return at::make_generator<at::CPUGeneratorImpl>(high << 32 | low);
}

at::Tensor& Randperm(c10::SymInt count, std::optional<at::Generator> generator, at::Tensor& out) {
  return Upload(at::randperm(count.guard_int(__FILE__, __LINE__), Draw(generator, out.device()),
                             at::TensorOptions().dtype(out.scalar_type()).device(at::kCPU)),
                out);
}

at::Tensor& Uniform(at::Tensor& self, double from, double to,
                    std::optional<at::Generator> generator) {
  return Upload(HostLike(self).uniform_(from, to, Draw(generator, self.device())), self);
}

at::Tensor& Normal(at::Tensor& self, double mean, double deviation,
                   std::optional<at::Generator> generator) {
  return Upload(HostLike(self).normal_(mean, deviation, Draw(generator, self.device())), self);
}

at::Tensor& Random(at::Tensor& self, std::optional<at::Generator> generator) {
  return Upload(HostLike(self).random_(Draw(generator, self.device())), self);
}

at::Tensor& RandomFrom(at::Tensor& self, std::int64_t from, std::optional<std::int64_t> to,
                       std::optional<at::Generator> generator) {
  return Upload(HostLike(self).random_(from, to, Draw(generator, self.device())), self);
}

at::Tensor& RandomTo(at::Tensor& self, std::int64_t to, std::optional<at::Generator> generator) {
  return Upload(HostLike(self).random_(to, Draw(generator, self.device())), self);
}

at::Tensor& Bernoulli(at::Tensor& self, double p, std::optional<at::Generator> generator) {
  return Upload(HostLike(self).bernoulli_(p, Draw(generator, self.device())), self);
}

at::Tensor& Exponential(at::Tensor& self, double lambda, std::optional<at::Generator> generator) {
  return Upload(HostLike(self).exponential_(lambda, Draw(generator, self.device())), self);
}

}  // namespace

void RegisterFactory(torch::Library& library) {
  library.impl("arange.start_out", TORCH_FN(Arange));
  library.impl("linspace.out", TORCH_FN(Linspace));
  library.impl("logspace.out", TORCH_FN(Logspace));
  library.impl("eye.m_out", TORCH_FN(Eye));
  library.impl("randperm.generator_out", TORCH_FN(Randperm));
  library.impl("uniform_", TORCH_FN(Uniform));
  library.impl("normal_", TORCH_FN(Normal));
  library.impl("random_", TORCH_FN(Random));
  library.impl("random_.from", TORCH_FN(RandomFrom));
  library.impl("random_.to", TORCH_FN(RandomTo));
  library.impl("bernoulli_.float", TORCH_FN(Bernoulli));
  library.impl("exponential_", TORCH_FN(Exponential));
}

}  // namespace torch_infini

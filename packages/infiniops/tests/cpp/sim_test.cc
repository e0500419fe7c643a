// Operators on the simulated accelerator: every layout gives what the CPU gives, bit by bit, though
// the host cannot touch the memory.
#include <infini/ops.h>
#include <infini/rt/guard.h>
#include <infini/rt/runtime.h>

#include <cstring>
#include <functional>
#include <vector>

#include "check.h"

namespace infini::ops {
namespace {

namespace runtime = rt::runtime;

const Device kSim(Device::Type::kSim, 1);

/// Memory on `device` with the bytes of `values`.
class Memory {
 public:
  Memory(Device device, const std::vector<float>& values)
      : device_(device), bytes_(values.size() * sizeof(float)) {
    const rt::DeviceGuard guard(device);
    data_ = runtime::Malloc(bytes_);
    runtime::Memcpy(data_, values.data(), bytes_, rt::MemcpyKind::kHostToDevice);
  }
  ~Memory() {
    const rt::DeviceGuard guard(device_);
    runtime::Free(data_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  float* data() const { return static_cast<float*>(data_); }
  std::vector<float> Read() const {
    const rt::DeviceGuard guard(device_);
    runtime::DeviceSynchronize();
    std::vector<float> values(bytes_ / sizeof(float));
    runtime::Memcpy(values.data(), data_, bytes_, rt::MemcpyKind::kDeviceToHost);
    return values;
  }

 private:
  Device device_;
  std::size_t bytes_;
  void* data_ = nullptr;
};

using Start = std::function<void(const Context&, float* a, float* b, float* out)>;

void BothDevicesAgree(const Start& start) {
  std::vector<float> a(64);
  std::vector<float> b(64);
  for (std::size_t i = 0; i < 64; ++i) {
    a[i] = static_cast<float>(i) * 0.25f - 3;
    b[i] = 1.0f / static_cast<float>(i + 1);
  }
  std::vector<std::vector<float>> results;
  for (const Device device : {Device(), kSim}) {
    const Memory device_a(device, a);
    const Memory device_b(device, b);
    const Memory out(device, std::vector<float>(64, -7.0f));
    start({.device = device}, device_a.data(), device_b.data(), out.data());
    results.push_back(out.Read());
  }
  CHECK_EQUAL((results[0] == results[1]), true);
  CHECK_EQUAL((results[0] == std::vector<float>(64, -7.0f)), false);
}

TensorView View(const Context& context, float* data, std::initializer_list<std::int64_t> shape,
                std::initializer_list<std::int64_t> strides) {
  return {data, shape, strides, DataType::kFloat32, context.device};
}

void StridesReachTheDevice() {
  // Transposed, reversed, and a column that repeats, into a spaced output.
  BothDevicesAgree([](const Context& context, float* a, float* b, float* out) {
    Add::Call(context, View(context, a, {4, 8}, {1, 4}), View(context, b + 31, {4, 8}, {-8, -1}), 1,
              View(context, out, {4, 8}, {16, 2}));
    Add::Call(context, View(context, a + 3, {4, 8}, {4, 0}), View(context, b, {4, 8}, {8, 1}), 2,
              View(context, out + 1, {4, 8}, {16, 2}));
  });
}

void RowsReachTheDevice() {
  BothDevicesAgree([](const Context& context, float* a, float* b, float* out) {
    RmsNorm::Call(context, View(context, a + 63, {3, 5}, {-20, -3}), View(context, b, {5}, {2}),
                  1e-5, View(context, out, {3, 5}, {1, 3}));
  });
}

void MatricesReachTheDevice() {
  BothDevicesAgree([](const Context& context, float* a, float* b, float* out) {
    Linear::Call(context, View(context, a, {7, 6}, {1, 7}), View(context, b + 1, {5, 6}, {1, 8}),
                 View(context, b, {5}, {3}), View(context, out, {7, 5}, {5, 1}));
  });
}

void TheCurrentDeviceStays() {
  const std::vector<float> values(4, 1.0f);
  for (const Device current : {Device(), Device(Device::Type::kSim, 0), kSim}) {
    const rt::DeviceGuard guard(current);
    const auto check_current = [&] {
      CHECK_EQUAL(static_cast<int>(runtime::SelectedBackend()), static_cast<int>(current.type()));
      CHECK_EQUAL(runtime::GetDevice(), current.index());
    };
    const Memory a(kSim, values);
    const Memory out(kSim, values);
    const Context context = {.device = kSim};
    const TensorView a_view = View(context, a.data(), {4}, {1});
    const TensorView out_view = View(context, out.data(), {4}, {1});
    Add::Call(context, a_view, a_view, 1, out_view);
    check_current();
    const Add made = Add::Make(context, a_view, out_view, 1, out_view);
    check_current();
    made(context);
    check_current();
    CHECK_EQUAL(out.Read()[3], 3.0f);
    // Refused for shapes, devices and slots, when made and when run.
    const TensorView three = View(context, a.data(), {3}, {1});
    const TensorView elsewhere = View(Context(), a.data(), {4}, {1});
    const Context no_slot = {.device = kSim, .implementation = 7};
    const auto check_refused = [&](const auto& call) {
      bool refused = false;
      try {
        call();
      } catch (const Error&) {
        refused = true;
      }
      CHECK_EQUAL(refused, true);
      check_current();
    };
    check_refused([&] { Add::Call(context, a_view, three, 1, out_view); });
    check_refused([&] { Add::Call(context, elsewhere, a_view, 1, out_view); });
    check_refused([&] { Add::Call(no_slot, a_view, a_view, 1, out_view); });
    check_refused([&] { Add::Make(context, a_view, three, 1, out_view); });
    check_refused([&] { made(Context()); });
    check_refused([&] { made(context, a_view, three, out_view); });
    CHECK_EQUAL(out.Read()[3], 3.0f);
  }
}

void CapturedWorkRunsAtLaunch() {
  const rt::DeviceGuard guard(kSim);
  const Memory a(kSim, {1, 2, 3, 4});
  const Memory out(kSim, {0, 0, 0, 0});
  const Stream stream = runtime::StreamCreate();
  const Context context = {.device = kSim, .stream = stream};
  const TensorView a_view = View(context, a.data(), {4}, {1});
  const TensorView out_view = View(context, out.data(), {4}, {1});
  runtime::StreamBeginCapture(stream);
  Add::Call(context, a_view, a_view, 1, out_view);
  Add::Call(context, out_view, a_view, 1, out_view);
  const rt::Graph graph = runtime::StreamEndCapture(stream);
  CHECK_EQUAL(runtime::GraphTaskCount(graph), std::size_t{2});
  CHECK_EQUAL(out.Read()[3], 0.0f);
  const rt::GraphExec ready = runtime::GraphInstantiate(graph);
  runtime::GraphLaunch(ready, stream);
  CHECK_EQUAL(out.Read()[3], 12.0f);
  runtime::GraphExecDestroy(ready);
  runtime::GraphDestroy(graph);
  runtime::StreamDestroy(stream);
}

void ForeignMemoryIsRefused() {
  std::vector<float> host(4);
  const Context context = {.device = kSim};
  const TensorView view = View(context, host.data(), {4}, {1});
  bool thrown = false;
  try {
    Add::Call(context, view, view, 1, view);
  } catch (const Error& error) {
    thrown = error.code() == ErrorCode::kInvalidArgument;
  }
  CHECK_EQUAL(thrown, true);
}

}  // namespace
}  // namespace infini::ops

int main() {
  using namespace infini::ops;  // NOLINT(google-build-using-namespace): one scope
  StridesReachTheDevice();
  RowsReachTheDevice();
  MatricesReachTheDevice();
  TheCurrentDeviceStays();
  CapturedWorkRunsAtLaunch();
  ForeignMemoryIsRefused();
  return testing::Finish();
}

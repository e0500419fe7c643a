// Uses every part of the public interface once, so that a missing export or header shows as a build
// failure.
#include <infini/rt.h>

#include <atomic>
#include <cstdint>
#include <iostream>
#include <vector>

// [quick start]
std::vector<float> RoundTrip(const std::vector<float>& values) {
  namespace rt = infini::rt;
  const std::size_t bytes = values.size() * sizeof(float);
  void* const device = rt::runtime::Malloc(bytes);
  rt::runtime::Memcpy(device, values.data(), bytes, rt::MemcpyKind::kHostToDevice);
  std::vector<float> back(values.size());
  rt::runtime::Memcpy(back.data(), device, bytes, rt::MemcpyKind::kDeviceToHost);
  rt::runtime::Free(device);
  return back;
}
// [quick start]

int main() {
  namespace rt = infini::rt;
  if (infini_rt_abi_version() != INFINI_RT_ABI_VERSION) return 1;
  try {
    rt::runtime::SelectBackend(rt::Device::Type::kCpu);
    if (RoundTrip({1, 2, 3}) != std::vector<float>{1, 2, 3}) return 1;

    const rt::DeviceGuard device_guard(rt::Device::Parse("cpu:0"));
    const rt::Stream stream = rt::runtime::StreamCreate();
    {
      const rt::StreamGuard stream_guard(stream);
      rt::runtime::StreamBeginCapture(stream);
      std::atomic<int>* const address = new std::atomic<int>(0);
      rt::runtime::LaunchHost(
          stream,
          [](const void* arguments) { ++**static_cast<std::atomic<int>* const*>(arguments); },
          &address, sizeof address);
      const rt::Graph graph = rt::runtime::StreamEndCapture(stream);
      const rt::GraphExec exec = rt::runtime::GraphInstantiate(graph);
      rt::runtime::GraphLaunch(exec, stream);
      rt::runtime::GraphLaunch(exec, stream);
      rt::runtime::StreamSynchronize(stream);
      const bool ran_twice = *address == 2;
      delete address;
      rt::runtime::GraphExecDestroy(exec);
      rt::runtime::GraphDestroy(graph);
      if (!ran_twice) return 1;
    }
    rt::runtime::StreamDestroy(stream);

    float data[6] = {};
    const rt::TensorView view(data, {2, 3}, rt::DataType::kFloat32, rt::Device());
    rt::TensorView copy = view;
    if (!(copy == view) || !view.is_contiguous() || view.may_overlap_itself()) return 1;
    if (static_cast<float>(rt::BFloat16(1.5f)) != 1.5f) return 1;

    std::atomic<std::int64_t> total{0};
    rt::ParallelFor(100, 10,
                    [&total](std::int64_t begin, std::int64_t end) { total += end - begin; });
    if (total != 100) return 1;
    rt::runtime::SetDevice(1);
    return 1;  // there is no device 1
  } catch (const rt::Error& error) {
    if (error.code() != rt::ErrorCode::kIndexOutOfRange) {
      std::cerr << error.what() << "\n";
      return 1;
    }
  }
  std::cout << "3 values came back\n";
  return 0;
}

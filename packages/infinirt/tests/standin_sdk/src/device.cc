// Errors and devices.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "state.h"

namespace standin {
namespace {

struct ErrorRow {
  Status status;
  const char* name;
  const char* text;
};

#define STANDIN_ERROR(name, text) {SDK(name), SDK_NAME(name), text}
constexpr ErrorRow kErrors[] = {
    STANDIN_ERROR(Success, "no error"),
    STANDIN_ERROR(ErrorInvalidValue, "invalid argument"),
    STANDIN_ERROR(ErrorMemoryAllocation, "out of memory"),
    STANDIN_ERROR(ErrorNoDevice, "no device is detected"),
    STANDIN_ERROR(ErrorInvalidDevice, "invalid device ordinal"),
    STANDIN_ERROR(ErrorInvalidResourceHandle, "invalid resource handle"),
    STANDIN_ERROR(ErrorIllegalState, "the operation cannot be performed in the present state"),
    STANDIN_ERROR(ErrorNotReady, "device not ready"),
    STANDIN_ERROR(ErrorNotSupported, "operation not supported"),
    STANDIN_ERROR(ErrorStreamCaptureUnsupported,
                  "operation not permitted when stream is capturing"),
    STANDIN_ERROR(ErrorStreamCaptureInvalidated,
                  "operation failed due to a previous error during capture"),
    STANDIN_ERROR(ErrorStreamCaptureWrongThread, "attempt to end a capture of another thread"),
    STANDIN_ERROR(ErrorUnknown, "unknown error"),
};
#undef STANDIN_ERROR

const ErrorRow& RowOf(Status status) {
  const auto* const row = std::ranges::find(kErrors, status, &ErrorRow::status);
  return row != std::end(kErrors) ? *row : *std::prev(std::end(kErrors));
}

bool IsDevice(const State& state, int device) { return device >= 0 && device < state.device_count; }

}  // namespace
}  // namespace standin

using namespace standin;  // NOLINT(google-build-using-namespace): the functions below are its C
                          // face

const char* SDK(GetErrorName)(Status error) { return RowOf(error).name; }

const char* SDK(GetErrorString)(Status error) { return RowOf(error).text; }

Status SDK(GetLastError)() { return std::exchange(GetThreadState().last_error, kSuccess); }

Status SDK(PeekAtLastError)() { return GetThreadState().last_error; }

Status SDK(GetDeviceCount)(int* count) {
  return Call(SDK_NAME(GetDeviceCount), [&](State& state) -> Outcome {
    if (count == nullptr) return kInvalidValue;
    *count = state.device_count;
    return kSuccess;
  });
}

Status SDK(GetDevice)(int* device) {
  return Call(SDK_NAME(GetDevice), [&](State&) -> Outcome {
    if (device == nullptr) return kInvalidValue;
    *device = GetThreadState().device;
    return kSuccess;
  });
}

Status SDK(SetDevice)(int device) {
  return Call(SDK_NAME(SetDevice), [&](State& state) -> Outcome {
    if (!IsDevice(state, device)) return SDK(ErrorInvalidDevice);
    GetThreadState().device = device;
    return kSuccess;
  });
}

Status SDK(GetDeviceProperties)(STANDIN_DEVICE_PROP* properties, int device) {
  return Call(SDK_NAME(GetDeviceProperties), [&](State& state) -> Outcome {
    if (properties == nullptr) return kInvalidValue;
    if (!IsDevice(state, device)) return SDK(ErrorInvalidDevice);
    *properties = {};
    std::strncpy(properties->name, "Stand-in device", sizeof properties->name - 1);
    properties->totalGlobalMem = state.memory_per_device;
    properties->multiProcessorCount = 1;
    properties->major = 1;
    properties->minor = 2;
    return kSuccess;
  });
}

Status SDK(DeviceSynchronize)() {
  return Call(SDK_NAME(DeviceSynchronize), [](State& state) -> Outcome {
    // Forbidden while any stream of the device is captured, by whomever.
    for (const SDK(Stream_t) stream : state.streams) {
      if (stream->capture == nullptr || stream->queue->device != GetThreadState().device) continue;
      stream->capture->is_valid = false;
      return kCaptureUnsupported;
    }
    return Work([device = GetThreadState().device] { return RunDevice(device); });
  });
}

Status SDK(DeviceGetStreamPriorityRange)(int* least, int* greatest) {
  return Call(SDK_NAME(DeviceGetStreamPriorityRange), [&](State&) -> Outcome {
    if (least == nullptr || greatest == nullptr) return kInvalidValue;
    *least = 0;
    *greatest = -5;
    return kSuccess;
  });
}

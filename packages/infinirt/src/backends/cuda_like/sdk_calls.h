// Checked calls of a CUDA-like SDK: every status that is not success becomes an `Error`.
#ifndef INFINI_RT_BACKENDS_CUDA_LIKE_SDK_CALLS_H_
#define INFINI_RT_BACKENDS_CUDA_LIKE_SDK_CALLS_H_

#include <cstddef>
#include <string>
#include <type_traits>

#include "backends/cuda_like/sdk.h"
#include "core/function.h"
#include "infini/rt/device.h"
#include "infini/rt/error.h"

namespace infini::rt::cuda_like {

/// The index of a call that concerns whichever device is current.
inline constexpr int kCurrentDevice = -1;

/// For whom an SDK function is called; its error says so.
struct CallSite {
  Function function;
  int index = kCurrentDevice;
  std::size_t bytes = 0;  ///< Of an allocation or a copy; 0 elsewhere.
};

template <typename Sdk>
class SdkCalls {
 public:
  using Status = typename Sdk::Status;

  /// Calls `function` and throws `Error` with its name and status when it does not succeed.
  template <typename Callable, typename... Arguments>
  static void Check(const CallSite& site, const SdkFunction<Callable>& function,
                    Arguments... arguments) {
    const Status status = function.call(arguments...);
    if (status != Sdk::kSuccess) Throw(site, function.name, status);
  }

  /// As `Check` for a query: returns whether the work is done.
  template <typename Callable, typename... Arguments>
  static bool CheckDone(const CallSite& site, const SdkFunction<Callable>& function,
                        Arguments... arguments) {
    const Status status = function.call(arguments...);
    if (status == Sdk::kSuccess) return true;
    if (status != Sdk::kNotReady) Throw(site, function.name, status);
    ClearLastError();  // the SDK also remembers "not ready"
    return false;
  }

  /// Calls `function` where nobody can be told that it failed. Returns whether it succeeded.
  template <typename Callable, typename... Arguments>
  static bool Try(const SdkFunction<Callable>& function, Arguments... arguments) noexcept {
    if (function.call(arguments...) == Sdk::kSuccess) return true;
    ClearLastError();
    return false;
  }

  /// Makes device `index` current until `Leave` or, without a word when that fails, the end of the
  /// scope.
  class DeviceScope {
   public:
    DeviceScope(Function function, int index) : function_(function) {
      Check({function, index}, Sdk::kGetDevice, &previous_);
      if (previous_ == index) return;
      Check({function, index}, Sdk::kSetDevice, index);
      switched_ = true;
    }
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;
    // Still inside only when `body` or `Leave` threw: the first error is the one to tell.
    ~DeviceScope() {
      if (switched_) Try(Sdk::kSetDevice, previous_);
    }

    void Leave() {
      if (!switched_) return;
      Check({function_, previous_}, Sdk::kSetDevice, previous_);
      switched_ = false;
    }

   private:
    Function function_;
    int previous_ = 0;
    bool switched_ = false;
  };

  /// Calls `body` while device `index` is current, puts the caller's device back and returns what
  /// `body` returned. When the device cannot be put back, the result is destroyed and the error
  /// thrown, so `body` returns an owner.
  template <typename Body>
  static auto OnDevice(Function function, int index, Body body) {
    DeviceScope scope(function, index);
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      scope.Leave();
    } else {
      auto result = body();
      scope.Leave();
      return result;
    }
  }

 private:
  static void ClearLastError() noexcept { static_cast<void>(Sdk::kGetLastError.call()); }

  [[noreturn]] static void Throw(const CallSite& site, const char* name, Status status) {
    ClearLastError();  // so that no later call reports this failure again
    const ErrorCode code = status == Sdk::kOutOfMemory    ? ErrorCode::kOutOfMemory
                           : status == Sdk::kNotSupported ? ErrorCode::kNotSupported
                                                          : ErrorCode::kDeviceFailure;
    int index = site.index;
    std::string device = DeviceTypeName(Sdk::kType);
    if (index != kCurrentDevice || Try(Sdk::kGetDevice, &index)) {
      device = Device(Sdk::kType, index).ToString();
    }
    std::string message = name;
    if (site.bytes != 0) message += " of " + std::to_string(site.bytes) + " bytes";
    message += std::string(" returned ") + Sdk::kGetErrorName.call(status) + " (" +
               Sdk::kGetErrorString.call(status) + ")";
    throw Error(code, FunctionName(site.function), device, message);
  }
};

}  // namespace infini::rt::cuda_like

#endif  // INFINI_RT_BACKENDS_CUDA_LIKE_SDK_CALLS_H_

// The error type of InfiniRT and the table that maps its codes to Python and PyTorch exceptions.
#ifndef INFINI_RT_ERROR_H_
#define INFINI_RT_ERROR_H_

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "infini/rt/abi.h"

namespace infini::rt {

/// What kind of mistake or failure an `Error` reports.
enum class ErrorCode : std::uint8_t {
  kInvalidArgument = 0,  ///< A value, shape or handle that the call does not accept.
  kTypeMismatch = 1,     ///< A data type that the call does not accept.
  kIndexOutOfRange = 2,  ///< An index (of a device, a dimension, an element) outside its range.
  kOutOfMemory = 3,      ///< Memory could not be allocated.
  kNotSupported = 4,     ///< The backend, build or implementation lacks what was asked for.
  kDeviceFailure = 5,    ///< The device runtime reported a failure.
  kInvalidState =
      6,  ///< The call is right, but not now: during capture, after fork, before completion.
};

/// One row of the error table: which exception a code becomes on each side.
struct ErrorCodeInfo {
  ErrorCode code;            ///< The code.
  const char* name;          ///< Stable name, for example "invalid_argument".
  const char* python_class;  ///< Built-in Python exception raised by `infini.rt` and `infini.ops`.
  const char* torch_class;   ///< PyTorch exception raised by torch-infini.
};

/// Every code once, in the order of its value. Bindings generate their mapping from this table.
inline constexpr ErrorCodeInfo kErrorCodes[] = {
    {ErrorCode::kInvalidArgument, "invalid_argument", "ValueError", "RuntimeError"},
    {ErrorCode::kTypeMismatch, "type_mismatch", "TypeError", "RuntimeError"},
    {ErrorCode::kIndexOutOfRange, "index_out_of_range", "ValueError", "IndexError"},
    {ErrorCode::kOutOfMemory, "out_of_memory", "MemoryError", "OutOfMemoryError"},
    {ErrorCode::kNotSupported, "not_supported", "NotImplementedError", "NotImplementedError"},
    {ErrorCode::kDeviceFailure, "device_failure", "RuntimeError", "RuntimeError"},
    {ErrorCode::kInvalidState, "invalid_state", "RuntimeError", "RuntimeError"},
};

/// Returns the row of `code`; a value outside the enumeration gives the row of `kDeviceFailure`.
INFINI_RT_EXPORT const ErrorCodeInfo& GetErrorCodeInfo(ErrorCode code) noexcept;

/// The exception that every function of InfiniRT and InfiniOps throws.
///
/// `what()` reads "<function> on <device>: <message>"; the parts are available separately. Copying
/// never throws.
class INFINI_RT_EXPORT Error : public std::exception {
 public:
  /// Creates an error of `function`; `device` is empty when no device is concerned.
  Error(ErrorCode code, std::string_view function, std::string_view device,
        std::string_view message);

  /// What kind of mistake or failure it is.
  ErrorCode code() const noexcept { return code_; }
  /// Name of the public function that failed, for example "Malloc".
  const std::string& function() const noexcept;
  /// Name of the device, for example "sim:0"; may be empty.
  const std::string& device() const noexcept;
  /// The sentence without function and device.
  const std::string& message() const noexcept;
  /// The whole text.
  const char* what() const noexcept override;

 private:
  struct Text;
  ErrorCode code_;
  std::shared_ptr<const Text> text_;
};

}  // namespace infini::rt

#endif  // INFINI_RT_ERROR_H_

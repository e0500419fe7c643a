// Which implementations exist, which one a call takes, and how to say otherwise.
#ifndef INFINI_OPS_IMPLEMENTATION_H_
#define INFINI_OPS_IMPLEMENTATION_H_

#include <infini/rt/data_type.h>
#include <infini/rt/device.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "infini/ops/abi.h"

namespace infini::ops {

/// An implementation of an operator for one device type.
struct ImplementationInfo {
  int slot;          ///< 0 to 31; the smallest one is the default.
  const char* name;  ///< Unique for the operator and device, as "native".
};

/// Returns the names of the operators in this build, in alphabetical order.
INFINI_OPS_EXPORT std::span<const char* const> OperatorNames() noexcept;

/// Returns the implementations of `operator_name` for devices of `type`, by
/// slot. Throws `Error` (not supported) for an operator that is not built.
INFINI_OPS_EXPORT std::vector<ImplementationInfo> ActiveImplementations(
    std::string_view operator_name, rt::Device::Type type);

/// Returns the slot of the implementation called `name`, which may also be the
/// slot in decimal. Throws `Error` (not supported) that lists those present.
INFINI_OPS_EXPORT int FindImplementation(std::string_view operator_name, rt::Device::Type type,
                                         std::string_view name);

/// What `Explain` says about one implementation.
struct ImplementationReport {
  int slot;
  std::string name;
  bool selected;       ///< Whether the call would run it.
  std::string reason;  ///< Why it would run, or why not.
};

/// Shape and element type of an output.
struct TensorSpec {
  std::vector<std::int64_t> shape;
  rt::DataType dtype;
};

/// Overrides the choice of implementations in the calling thread; the
/// destructor, which must run in the same thread, restores what was.
class INFINI_OPS_EXPORT ScopedSelection {
 public:
  /// `choices` reads "rms_norm=vllm,gemm=1": operators with a name or a slot, as
  /// in INFINI_OPS_IMPLEMENTATION. With `fallback`, an implementation that does
  /// not support a call gives way to the smallest slot that does. Throws `Error`
  /// for malformed text (invalid argument) and for an operator that is not built
  /// (not supported).
  explicit ScopedSelection(std::string_view choices, bool fallback = false);
  ~ScopedSelection();
  ScopedSelection(const ScopedSelection&) = delete;
  ScopedSelection& operator=(const ScopedSelection&) = delete;

 private:
  struct Frame;
  std::unique_ptr<Frame> frame_;
  friend struct SelectionAccess;
};

}  // namespace infini::ops

#endif  // INFINI_OPS_IMPLEMENTATION_H_

// Where an operator runs.
#ifndef INFINI_OPS_CONTEXT_H_
#define INFINI_OPS_CONTEXT_H_

#include <infini/rt/data_type.h>
#include <infini/rt/device.h>
#include <infini/rt/error.h>
#include <infini/rt/runtime.h>
#include <infini/rt/tensor_view.h>

#include <cstddef>

namespace infini::ops {

using rt::DataType;
using rt::Device;
using rt::Error;
using rt::ErrorCode;
using rt::Stream;
using rt::TensorView;

/// Device memory that the caller lends until the work of a call is done; nothing else may use it
/// meanwhile. One that is too small for a call is left alone.
struct Workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// The slot number that asks for the default implementation.
inline constexpr int kDefaultImplementation = -1;

/// The execution context that every entry takes first.
struct Context {
  /// The device of every tensor of the call; a tensor elsewhere is an error.
  Device device{};
  /// The stream that the work is queued on; the default value names the calling
  /// thread's current stream on `device`.
  Stream stream{};
  /// Scratch memory. Without it an implementation takes its own: on the CPU the calling thread's,
  /// which is kept for its next call, and which `ClearCache` frees.
  Workspace workspace{};
  /// The slot to use. By default an override (`ScopedSelection`,
  /// INFINI_OPS_IMPLEMENTATION) or, without one, the smallest active slot.
  int implementation = kDefaultImplementation;
};

}  // namespace infini::ops

#endif  // INFINI_OPS_CONTEXT_H_

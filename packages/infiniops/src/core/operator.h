// What an implementation is: a specialization of `Operator`.
#ifndef INFINI_OPS_CORE_OPERATOR_H_
#define INFINI_OPS_CORE_OPERATOR_H_

#include <string>
#include <utility>

#include "infini/ops/context.h"
#include "infini/ops/scalar.h"

namespace infini::ops {

/// Whether an implementation can serve a call, and if not, why.
class Support {
 public:
  static Support Yes() { return Support({}); }
  /// `reason` completes the sentence "it does not run because ...".
  static Support No(std::string reason) { return Support(std::move(reason)); }

  explicit operator bool() const noexcept { return reason_.empty(); }
  const std::string& reason() const noexcept { return reason_; }

 private:
  explicit Support(std::string reason) : reason_(std::move(reason)) {}
  std::string reason_;
};

/// The implementation of `Op` for devices of `type` in `slot`. Specializations
/// give
///
///     static constexpr char kName[] = "native";
///     static void Call(const Context&, <arguments of Op::Call>);
///     static Support Supports(const Context&, <the same>);  // optional
///
/// `Call` gets arguments that `Op` has checked, on a guarded device, with
/// `context.stream` set. It queues its work on that stream and keeps no
/// reference to its arguments.
template <class Op, Device::Type type, int slot = 0>
struct Operator;

}  // namespace infini::ops

#endif  // INFINI_OPS_CORE_OPERATOR_H_

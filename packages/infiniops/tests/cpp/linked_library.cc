// A library of linked implementations, as a linked build has one; for linked_test.
#include <cstddef>
#include <iterator>

#include "core/linked.h"
#include "infini/ops/abi.h"

namespace {

using infini::ops::Context;
using infini::ops::Device;
using infini::ops::Support;

struct Doubled {
  static void Call(const Context&, int* value) { *value *= 2; }
};
struct Odd {
  static void Call(const Context&, int* value) { *value = 3; }
  static Support Supports(const Context&, int* value) {
    return *value % 2 == 1 ? Support::Yes() : Support::No("it takes odd numbers");
  }
};

}  // namespace

extern "C" INFINI_OPS_EXPORT const infini::ops::internal::LinkedFunctions*
infini_ops_linked_implementations(std::size_t* count);

const infini::ops::internal::LinkedFunctions* infini_ops_linked_implementations(
    std::size_t* count) {
  using infini::ops::internal::ListLinked;
  static const infini::ops::internal::LinkedFunctions rows[] = {
      ListLinked<Doubled, int*>("tested", Device::Type::kCpu, 16),
      ListLinked<Odd, int*>("tested", Device::Type::kCpu, 17),
  };
  *count = std::size(rows);
  return rows;
}

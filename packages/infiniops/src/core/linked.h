// How an entry reaches the linked implementations, which are a library of their own: it needs the
// providers and what they need, such as PyTorch, and is loaded when a call first asks for one.
#ifndef INFINI_OPS_CORE_LINKED_H_
#define INFINI_OPS_CORE_LINKED_H_

#include <cstddef>
#include <string>

#include "core/dispatch.h"
#include "core/operator.h"

namespace infini::ops::internal {

/// Any function, under its true type again where it is called.
using AnyFunction = void (*)();

/// One linked implementation, as its library lists it.
struct LinkedFunctions {
  const char* op;
  Device::Type device;
  int slot;
  AnyFunction call;
  AnyFunction supports;  // null: everything
};

/// The name under which the library exports its list; sets `*count`.
inline constexpr char kLinkedListName[] = "infini_ops_linked_implementations";
using LinkedList = const LinkedFunctions* (*)(std::size_t* count);

/// Returns the functions of one implementation, from the library of linked implementations, which
/// is loaded once. Null, with the reason in `*problem`, if it cannot be loaded.
const LinkedFunctions* FindLinked(const char* op, Device::Type device, int slot,
                                  std::string* problem);

/// Stands in the table for a linked implementation.
template <class Op, Device::Type type, int number, typename... Arguments>
struct LinkedImplementation {
  struct Functions {
    const LinkedFunctions* found;
    std::string problem;
  };
  static const Functions& Load() {
    static const Functions functions = [] {
      Functions loaded{};
      loaded.found = FindLinked(Op::kOperator, type, number, &loaded.problem);
      return loaded;
    }();
    return functions;
  }

  /// After `Supports` has said yes.
  static void Call(const Context& context, Arguments... arguments) {
    using Function = void (*)(const Context&, Arguments...);
    reinterpret_cast<Function>(Load().found->call)(context, arguments...);
  }

  static Support Supports(const Context& context, Arguments... arguments) {
    using Function = Support (*)(const Context&, Arguments...);
    const Functions& functions = Load();
    if (functions.found == nullptr) return Support::No(functions.problem);
    if (functions.found->supports == nullptr) return Support::Yes();
    return reinterpret_cast<Function>(functions.found->supports)(context, arguments...);
  }
};

/// Makes the row of a linked implementation. Nothing is loaded.
template <class Op, Device::Type type, int slot, typename... Arguments>
constexpr Entry<Arguments...> MakeLinkedEntry(const char* name) {
  using Implementation = LinkedImplementation<Op, type, slot, Arguments...>;
  return {{slot, name}, &Implementation::Call, &Implementation::Supports};
}

/// Makes the row of the specialization `Implementation` in the library's list.
template <class Implementation, typename... Arguments>
LinkedFunctions ListLinked(const char* op, Device::Type device, int slot) {
  void (*call)(const Context&, Arguments...) = &Implementation::Call;
  LinkedFunctions row{op, device, slot, reinterpret_cast<AnyFunction>(call), nullptr};
  if constexpr (requires { &Implementation::Supports; }) {
    Support (*supports)(const Context&, Arguments...) = &Implementation::Supports;
    row.supports = reinterpret_cast<AnyFunction>(supports);
  }
  return row;
}

}  // namespace infini::ops::internal

#endif  // INFINI_OPS_CORE_LINKED_H_

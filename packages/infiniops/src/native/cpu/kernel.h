// How a CPU operator gets its kernel compiled per instruction set, and queues
// it.
//
// The header of an operator is compiled once per instruction set, with
// INFINI_OPS_CPU_ISA defined as the namespace that its kernel goes to, and once
// without, for the `Operator` specialization. Between the two stands a *task*:
// a trivially copyable struct that holds all that the kernel needs.
//
//     struct AddTask { ... };
//     INFINI_OPS_CPU_KERNEL(AddTask);
//     #ifdef INFINI_OPS_CPU_ISA
//     namespace INFINI_OPS_CPU_ISA { void Run(const AddTask& task) { ... } }
//     #else
//     ... Launch(context, task) ...
//     #endif
//
// What a kernel uses lives in that namespace too: an inline function shared
// between instruction sets may be linked from the wrong one.
#ifndef INFINI_OPS_NATIVE_CPU_KERNEL_H_
#define INFINI_OPS_NATIVE_CPU_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

/// For functions that code of several instruction sets includes.
#define INFINI_OPS_INLINE inline __attribute__((always_inline))

#if defined(__x86_64__)
#define INFINI_OPS_CPU_FOR_EACH_SET(F, Task) \
  F(Task, baseline, kBaseline) F(Task, avx2, kAvx2) F(Task, avx512, kAvx512)
#define INFINI_OPS_CPU_FOR_EACH_BF16_SET(F, Task) \
  INFINI_OPS_CPU_FOR_EACH_SET(F, Task) F(Task, avx512_bf16, kAvx512Bf16)
#elif defined(__aarch64__)
#define INFINI_OPS_CPU_FOR_EACH_SET(F, Task) F(Task, baseline, kBaseline) F(Task, neon, kNeon)
#define INFINI_OPS_CPU_FOR_EACH_BF16_SET INFINI_OPS_CPU_FOR_EACH_SET
#else
#define INFINI_OPS_CPU_FOR_EACH_SET(F, Task) F(Task, baseline, kBaseline)
#define INFINI_OPS_CPU_FOR_EACH_BF16_SET INFINI_OPS_CPU_FOR_EACH_SET
#endif

namespace infini::ops::cpu {

/// Returns scratch memory of the calling thread: at least `bytes`, aligned to
/// 64, kept until the next call with the same `purpose` asks for more.
enum class ScratchPurpose { kShared, kPacked, kOwn };
void* Scratch(ScratchPurpose purpose, std::size_t bytes);

}  // namespace infini::ops::cpu

#ifdef INFINI_OPS_CPU_ISA

#define INFINI_OPS_CPU_KERNEL(Task) static_assert(std::is_trivially_copyable_v<Task>)
#define INFINI_OPS_CPU_BF16_KERNEL INFINI_OPS_CPU_KERNEL

#else

#include "core/operator.h"
#include "native/cpu/instruction_set.h"
#include "native/cpu/scratch.h"

namespace infini::ops::cpu {

/// The compiled kernels of `Task`; specialized by INFINI_OPS_CPU_KERNEL.
template <typename Task>
struct Kernels;

/// The context's workspace as a task reaches it. Throws `Error` (invalid argument) when it has
/// bytes but no address.
Workspace TaskWorkspace(const Context& context);

/// Queues the kernel of `task` on the context's stream. The kernel's shared scratch memory is the
/// context's workspace, if that is given and large enough.
template <typename Task>
void Launch(const Context& context, const Task& task) {
  static const rt::HostFunction function = Kernels<Task>::Find(ActiveInstructionSet());
  const Workspace& workspace = context.workspace;
  if (workspace.data == nullptr && workspace.bytes == 0) {
    rt::runtime::LaunchHost(context.stream, function, &task, sizeof(task));
    return;
  }
  struct Lent {
    Workspace workspace;
    Task task;
  };
  const Lent lent = {TaskWorkspace(context), task};
  const rt::HostFunction run = [](const void* copy) {
    const auto* given = static_cast<const Lent*>(copy);
    const LentScratch scratch(given->workspace.data, given->workspace.bytes);
    function(&given->task);
  };
  rt::runtime::LaunchHost(context.stream, run, &lent, sizeof(lent));
}

/// Returns the address by which a task reaches the elements of `view`.
inline void* TaskAddress(const TensorView& view) {
  if (view.device().type() == Device::Type::kCpu) return view.data();
  const TensorView::ByteRange range = view.byte_range();
  if (range.begin == range.end) return nullptr;
  auto* begin = static_cast<std::byte*>(rt::runtime::TaskPointer(
      view.device(), range.begin, static_cast<std::size_t>(range.end - range.begin)));
  return begin + (static_cast<const std::byte*>(view.data()) - range.begin);
}

}  // namespace infini::ops::cpu

#define INFINI_OPS_CPU_DECLARE_RUN(Task, set, constant) \
  namespace set {                                       \
  void Run(const Task& task);                           \
  }
#define INFINI_OPS_CPU_FIND_CASE(Task, set, constant) \
  case InstructionSet::constant:                      \
    return [](const void* task) { set::Run(*static_cast<const Task*>(task)); };
#define INFINI_OPS_CPU_DEFINE_KERNELS(Task, FOR_EACH)                                  \
  FOR_EACH(INFINI_OPS_CPU_DECLARE_RUN, Task)                                           \
  template <>                                                                          \
  struct Kernels<Task> {                                                               \
    static rt::HostFunction Find(InstructionSet set) {                                 \
      switch (set) {                                                                   \
        FOR_EACH(INFINI_OPS_CPU_FIND_CASE, Task)                                       \
        default:                                                                       \
          return Find(set == InstructionSet::kAvx512Bf16 ? InstructionSet::kAvx512     \
                                                         : InstructionSet::kBaseline); \
      }                                                                                \
    }                                                                                  \
  };                                                                                   \
  static_assert(std::is_trivially_copyable_v<Task>)

/// Declares that `Run(const Task&)` is compiled for each instruction set. Use it
/// in namespace infini::ops::cpu.
#define INFINI_OPS_CPU_KERNEL(Task) INFINI_OPS_CPU_DEFINE_KERNELS(Task, INFINI_OPS_CPU_FOR_EACH_SET)

/// The same with the sets that add instructions for bfloat16.
#define INFINI_OPS_CPU_BF16_KERNEL(Task) \
  INFINI_OPS_CPU_DEFINE_KERNELS(Task, INFINI_OPS_CPU_FOR_EACH_BF16_SET)

#endif  // INFINI_OPS_CPU_ISA

#endif  // INFINI_OPS_NATIVE_CPU_KERNEL_H_

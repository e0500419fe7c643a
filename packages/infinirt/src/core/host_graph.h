// A recorded sequence of host tasks, the graph of backends whose streams run host tasks (cpu, sim).
#ifndef INFINI_RT_CORE_HOST_GRAPH_H_
#define INFINI_RT_CORE_HOST_GRAPH_H_

#include <cstddef>
#include <cstring>
#include <vector>

#include "infini/rt/runtime.h"

namespace infini::rt {

/// Functions and the bytes of their arguments, one after another in one block, so that a replay is
/// one tight loop.
class HostGraph {
 public:
  /// Adds a call of `function` with a copy of `size` bytes at `arguments`.
  void Append(HostFunction function, const void* arguments, std::size_t size) {
    // Units of the widest fundamental alignment keep every argument block aligned.
    const std::size_t offset = arguments_.size();
    arguments_.resize(offset + (size + sizeof(Unit) - 1) / sizeof(Unit));
    if (size != 0) std::memcpy(arguments_.data() + offset, arguments, size);
    tasks_.push_back({function, offset});
  }

  /// Calls all functions in order. An exception of one ends the run and leaves it.
  void Run() const {
    const Unit* const arguments = arguments_.data();
    for (const Task& task : tasks_) task.function(arguments + task.offset);
  }

  std::size_t task_count() const noexcept { return tasks_.size(); }

 private:
  struct alignas(std::max_align_t) Unit {
    std::byte bytes[alignof(std::max_align_t)];
  };
  struct Task {
    HostFunction function;
    std::size_t offset;  // in units
  };
  std::vector<Task> tasks_;
  std::vector<Unit> arguments_;
};

}  // namespace infini::rt

#endif  // INFINI_RT_CORE_HOST_GRAPH_H_

#include "native/cpu/scratch.h"

#include <cstdlib>
#include <memory>
#include <string>

#include "infini/ops/context.h"
#include "native/cpu/kernel.h"

namespace infini::ops::cpu {
namespace {

constexpr std::size_t kAlignment = 64;

struct Free {
  void operator()(void* data) const { std::free(data); }
};

struct Block {
  std::unique_ptr<void, Free> data;
  std::size_t bytes = 0;
};

/// What one thread has.
struct Memory {
  Block blocks[3];  // one for each purpose
  void* lent = nullptr;
  std::size_t lent_bytes = 0;
};

Memory& OfThisThread() noexcept {
  thread_local Memory memory;
  return memory;
}

}  // namespace

void* Scratch(ScratchPurpose purpose, std::size_t bytes) {
  Memory& memory = OfThisThread();
  if (purpose == ScratchPurpose::kShared && bytes <= memory.lent_bytes) return memory.lent;
  Block& block = memory.blocks[static_cast<int>(purpose)];
  if (block.bytes < bytes) {
    const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    block.bytes = 0;
    block.data.reset(std::aligned_alloc(kAlignment, rounded));
    if (block.data == nullptr) {
      throw Error(ErrorCode::kOutOfMemory, "Scratch", "cpu",
                  "cannot allocate " + std::to_string(rounded) + " bytes of scratch memory");
    }
    block.bytes = rounded;
  }
  return block.data.get();
}

void ReleaseScratch() noexcept {
  for (Block& block : OfThisThread().blocks) block = Block{};
}

LentScratch::LentScratch(void* data, std::size_t bytes) noexcept {
  Memory& memory = OfThisThread();
  if (std::align(kAlignment, 1, data, bytes) == nullptr) return;
  memory.lent = data;
  memory.lent_bytes = bytes;
}

LentScratch::~LentScratch() {
  Memory& memory = OfThisThread();
  memory.lent = nullptr;
  memory.lent_bytes = 0;
}

Workspace TaskWorkspace(const Context& context) {
  const Workspace& workspace = context.workspace;
  if (workspace.data == nullptr && workspace.bytes != 0) {
    throw Error(ErrorCode::kInvalidArgument, "Context", context.device.ToString(),
                "`workspace` has " + std::to_string(workspace.bytes) +
                    " bytes at a null address; give memory of the device, or no bytes");
  }
  if (context.device.type() == Device::Type::kCpu) return workspace;
  return {rt::runtime::TaskPointer(context.device, workspace.data, workspace.bytes),
          workspace.bytes};
}

}  // namespace infini::ops::cpu

#include <cstdlib>
#include <memory>

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

}  // namespace

void* Scratch(ScratchPurpose purpose, std::size_t bytes) {
  thread_local Block blocks[3];  // one for each purpose
  Block& block = blocks[static_cast<int>(purpose)];
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

}  // namespace infini::ops::cpu

// reshape_and_cache_flash for the CPU: see src/base/reshape_and_cache_flash.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_RESHAPE_AND_CACHE_FLASH_H_
#define INFINI_OPS_NATIVE_CPU_OPS_RESHAPE_AND_CACHE_FLASH_H_

#include "infini/ops/base/reshape_and_cache_flash.h"
#include "native/cpu/shared/page_writes.h"

namespace infini::ops {

template <>
struct Operator<ReshapeAndCacheFlash, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& key, const TensorView& value,
                   const TensorView& key_cache, const TensorView& value_cache,
                   const TensorView& slot_mapping) {
    if (key.size(0) == 0) return;
    const cpu::PageWritesTask task = {
        .op = ReshapeAndCacheFlash::kOperator,
        .writes = {cpu::MakeTokenWrites(key, key_cache, 1, 2, 3),
                   cpu::MakeTokenWrites(value, value_cache, 1, 2, 3)},
        .slots = cpu::MakeIndices(ReshapeAndCacheFlash::kOperator, slot_mapping),
        .heads = key.size(1),
        .page_count = key_cache.size(0),
        .page_size = key_cache.size(1),
        .bytes = static_cast<int>(rt::DataTypeSize(key.dtype())),
    };
    cpu::Launch(context, task);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_NATIVE_CPU_OPS_RESHAPE_AND_CACHE_FLASH_H_

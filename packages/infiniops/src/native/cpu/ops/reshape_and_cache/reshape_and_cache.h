// reshape_and_cache for the CPU: see src/base/reshape_and_cache.yaml.
#ifndef INFINI_OPS_NATIVE_CPU_OPS_RESHAPE_AND_CACHE_H_
#define INFINI_OPS_NATIVE_CPU_OPS_RESHAPE_AND_CACHE_H_

#include <algorithm>
#include <string>

#include "infini/ops/base/reshape_and_cache.h"
#include "native/cpu/shared/page_writes.h"

namespace infini::ops {

template <>
struct Operator<ReshapeAndCache, Device::Type::kCpu, 0> {
  static constexpr char kName[] = "native";

  static void Call(const Context& context, const TensorView& key, const TensorView& value,
                   const TensorView& key_cache, const TensorView& value_cache,
                   const TensorView& slot_mapping) {
    const std::int64_t split = key_cache.size(4);
    if (key_cache.size(2) * split != key.size(2)) {
      throw Error(ErrorCode::kInvalidArgument, ReshapeAndCache::kOperator, key.device().ToString(),
                  "`key_cache` has keys of " + std::to_string(key_cache.size(2)) + " times " +
                      std::to_string(split) + " elements, but `key` has " +
                      std::to_string(key.size(2)));
    }
    if (key.size(0) == 0) return;
    cpu::PageWritesTask task = {
        .op = ReshapeAndCache::kOperator,
        .writes = {cpu::MakeTokenWrites(key, key_cache, 3, 1, 4),
                   cpu::MakeTokenWrites(value, value_cache, 3, 1, 2)},
        .slots = cpu::MakeIndices(ReshapeAndCache::kOperator, slot_mapping),
        .heads = key.size(1),
        .page_count = key_cache.size(0),
        .page_size = key_cache.size(3),
        .bytes = static_cast<int>(rt::DataTypeSize(key.dtype())),
    };
    task.writes[0].split = std::max<std::int64_t>(split, 1);
    task.writes[0].split_stride = key_cache.stride(2);
    cpu::Launch(context, task);
  }
};

}  // namespace infini::ops

#endif  // INFINI_OPS_NATIVE_CPU_OPS_RESHAPE_AND_CACHE_H_

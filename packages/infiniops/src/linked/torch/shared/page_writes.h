// reshape_and_cache by a provider that writes contiguous caches and skips slots below 0.
#ifndef INFINI_OPS_LINKED_TORCH_SHARED_PAGE_WRITES_H_
#define INFINI_OPS_LINKED_TORCH_SHARED_PAGE_WRITES_H_

#include "infini/ops/base/reshape_and_cache.h"
#include "infini/ops/base/reshape_and_cache_flash.h"
#include "linked/torch/shared/c10_device.h"
#include "linked/torch/shared/tensor.h"

namespace infini::ops::linked {

template <class Op>
struct PageWritesTask {
  static constexpr const char* kOperator = Op::kOperator;
  Operand key;
  Operand value;
  Operand key_cache;
  Operand value_cache;
  Operand slots;
  std::int64_t slot_count;

  template <class Backend>
  void Run() const {
    at::Tensor keys = ToTensor<Backend>(key).contiguous();
    at::Tensor values = ToTensor<Backend>(value).contiguous();
    at::Tensor key_pages = ToTensor<Backend>(key_cache);
    at::Tensor value_pages = ToTensor<Backend>(value_cache);
    at::Tensor places = ToTensor<Backend>(slots).to(at::kLong);
    // The host cannot look at them without waiting for the device, so a slot outside the cache is
    // left out as padding is, instead of being written to.
    places = at::where(places.lt(slot_count), places, -1).contiguous();
    Backend::Call(keys, values, key_pages, value_pages, places);
  }
};

/// The number of slots of a cache of keys in the layout of `Op`: pages times places of a page.
template <class Op>
std::int64_t SlotCount(const TensorView& key_cache) {
  return key_cache.size(0) * key_cache.size(std::is_same_v<Op, ReshapeAndCache> ? 3 : 1);
}

template <class Op, class Backend>
void CallPageWrites(const Context& context, const TensorView& key, const TensorView& value,
                    const TensorView& key_cache, const TensorView& value_cache,
                    const TensorView& slot_mapping) {
  if (slot_mapping.numel() == 0) return;
  Launch<Backend>(context, PageWritesTask<Op>{MakeOperand(key), MakeOperand(value),
                                              MakeOperand(key_cache), MakeOperand(value_cache),
                                              MakeOperand(slot_mapping), SlotCount<Op>(key_cache)});
}

/// Whether the caches are what such a provider writes to.
inline Support SupportsPages(const TensorView& key, const TensorView& key_cache,
                             const TensorView& value_cache) {
  if (!key_cache.is_contiguous() || !value_cache.is_contiguous()) {
    return Support::No("it takes contiguous caches");
  }
  return SupportsFloats(key, key_cache);
}

}  // namespace infini::ops::linked

#endif  // INFINI_OPS_LINKED_TORCH_SHARED_PAGE_WRITES_H_

// Indexing by tensors, composed of `index_select`, `scatter` and sums.
#ifndef TORCH_INFINI_OPS_INDEX_H_
#define TORCH_INFINI_OPS_INDEX_H_

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <optional>

namespace torch_infini {

/// `self[indices]`. Masks and several indices are checked on the host, so that
/// the call waits; one index is checked by the kernel.
at::Tensor Index(const at::Tensor& self, const c10::List<std::optional<at::Tensor>>& indices);

/// `self[indices] = values`, or `+= values` where `accumulate`. Where places
/// repeat without `accumulate`, any one of the values stays.
at::Tensor& IndexPut(at::Tensor& self, const c10::List<std::optional<at::Tensor>>& indices,
                     const at::Tensor& values, bool accumulate, bool unsafe);

/// The places of the elements that are not zero: [count, self.dim()]. Waits for
/// their number.
at::Tensor Nonzero(const at::Tensor& self);

/// The elements where `mask` is true. Waits for their number.
at::Tensor MaskedSelect(const at::Tensor& self, const at::Tensor& mask);

/// `self` with `alpha * source` added at `index` of `dim`.
at::Tensor& IndexAddOut(const at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                        const at::Tensor& source, const at::Scalar& alpha, at::Tensor& out);

/// `self` with the slices of `source` at `index` of `dim`. Where `out` is
/// `self`, nothing else is read or written.
at::Tensor& IndexCopyOut(const at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                         const at::Tensor& source, at::Tensor& out);

}  // namespace torch_infini

#endif  // TORCH_INFINI_OPS_INDEX_H_

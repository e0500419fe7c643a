// Indexing by tensors, composed of `index_select`, `scatter` and sums.
#ifndef TORCH_INFINI_OPS_INDEX_H_
#define TORCH_INFINI_OPS_INDEX_H_

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <optional>

namespace torch_infini {

/// `self[indices]`. The call waits where there is a mask or more than one index,
/// whose places the host checks; one index is checked by the kernel.
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

/// The sums of the rows of `rows` [n, width] that have one place, for each of
/// `count` places: [count, width].
at::Tensor SumByPlace(const at::Tensor& rows, const at::Tensor& places, std::int64_t count);

/// `self` with the elements of `source` added at the numbers that `index` gives
/// along `dim`. Waits.
at::Tensor& ScatterAddOut(const at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                          const at::Tensor& source, at::Tensor& out);

/// `self` with the slices of `source` at `index` of `dim`. Where `out` is
/// `self`, nothing else is read or written.
at::Tensor& IndexCopyOut(const at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                         const at::Tensor& source, at::Tensor& out);

}  // namespace torch_infini

#endif  // TORCH_INFINI_OPS_INDEX_H_

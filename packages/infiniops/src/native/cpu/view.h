// Views of the same memory in other shapes, for operators that name a dimension.
#ifndef INFINI_OPS_NATIVE_CPU_VIEW_H_
#define INFINI_OPS_NATIVE_CPU_VIEW_H_

#include "core/check.h"
#include "infini/ops/context.h"

namespace infini::ops::cpu {

/// `view` with dimension `dim` moved to the end; a scalar becomes one row of one element.
TensorView WithLast(const TensorView& view, int dim);

/// The part of `view` with `size` places of dimension `dim` from `begin` on.
TensorView Narrow(const TensorView& view, int dim, std::int64_t begin, std::int64_t size);

/// The first `sizes[k]` places of each dimension k of `view`, where a step along `dim` stays at its
/// first place.
TensorView Repeated(const TensorView& view, int dim, std::span<const std::int64_t> sizes);

/// The first `sizes[k]` places of each dimension k of `view`.
TensorView First(const TensorView& view, std::span<const std::int64_t> sizes);

/// `part` has the rank of `whole` and is at most as large in every dimension but `dim`, along which
/// its elements are places of `whole`, so that there must be one (-1: no dimension). Throws `Error`
/// (invalid argument, index out of range).
void CheckInside(const char* op, ops::internal::NamedView part, ops::internal::NamedView whole,
                 int dim);

}  // namespace infini::ops::cpu

#endif  // INFINI_OPS_NATIVE_CPU_VIEW_H_

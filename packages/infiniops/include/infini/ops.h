// InfiniOps, the operators of the Infini stack: everything public.
#ifndef INFINI_OPS_H_
#define INFINI_OPS_H_

#include "infini/ops/abi.h"             // IWYU pragma: export
#include "infini/ops/base/operators.h"  // IWYU pragma: export
#include "infini/ops/cache.h"           // IWYU pragma: export
#include "infini/ops/context.h"         // IWYU pragma: export
#include "infini/ops/implementation.h"  // IWYU pragma: export
#include "infini/ops/scalar.h"          // IWYU pragma: export

#endif  // INFINI_OPS_H_

// InfiniRT, the device runtime of the Infini stack: everything public.
#ifndef INFINI_RT_H_
#define INFINI_RT_H_

#include "infini/rt/abi.h"          // IWYU pragma: export
#include "infini/rt/data_type.h"    // IWYU pragma: export
#include "infini/rt/device.h"       // IWYU pragma: export
#include "infini/rt/error.h"        // IWYU pragma: export
#include "infini/rt/float16.h"      // IWYU pragma: export
#include "infini/rt/guard.h"        // IWYU pragma: export
#include "infini/rt/parallel.h"     // IWYU pragma: export
#include "infini/rt/runtime.h"      // IWYU pragma: export
#include "infini/rt/sim.h"          // IWYU pragma: export
#include "infini/rt/tensor_view.h"  // IWYU pragma: export

#endif  // INFINI_RT_H_

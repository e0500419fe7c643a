// The backends of this build. CMake defines INFINI_RT_WITH_<NAME> for each one.
#include <array>

#include "core/backend.h"

namespace infini::rt {

#define INFINI_RT_DECLARE_BACKEND(name) extern const Backend k##name##Backend;
INFINI_RT_DECLARE_BACKEND(Cpu)
INFINI_RT_DECLARE_BACKEND(Nvidia)
INFINI_RT_DECLARE_BACKEND(Iluvatar)
INFINI_RT_DECLARE_BACKEND(Hygon)
INFINI_RT_DECLARE_BACKEND(Thead)
INFINI_RT_DECLARE_BACKEND(Metax)
INFINI_RT_DECLARE_BACKEND(Moore)
INFINI_RT_DECLARE_BACKEND(Sim)
#undef INFINI_RT_DECLARE_BACKEND

namespace {

constexpr const Backend* kBackends[] = {
#ifdef INFINI_RT_WITH_CPU
    &kCpuBackend,
#endif
#ifdef INFINI_RT_WITH_NVIDIA
    &kNvidiaBackend,
#endif
#ifdef INFINI_RT_WITH_ILUVATAR
    &kIluvatarBackend,
#endif
#ifdef INFINI_RT_WITH_HYGON
    &kHygonBackend,
#endif
#ifdef INFINI_RT_WITH_THEAD
    &kTheadBackend,
#endif
#ifdef INFINI_RT_WITH_METAX
    &kMetaxBackend,
#endif
#ifdef INFINI_RT_WITH_MOORE
    &kMooreBackend,
#endif
#ifdef INFINI_RT_WITH_SIM
    &kSimBackend,
#endif
};

}  // namespace

std::span<const Backend* const> CompiledBackendTables() noexcept { return kBackends; }

const Backend* FindBackend(Device::Type type) noexcept {
  for (const Backend* backend : kBackends) {
    if (backend->type == type) return backend;
  }
  return nullptr;
}

}  // namespace infini::rt

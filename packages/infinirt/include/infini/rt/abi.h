// The ABI version of InfiniRT and the export macro of its public symbols.
#ifndef INFINI_RT_ABI_H_
#define INFINI_RT_ABI_H_

/// Version of the binary interface that these headers describe.
///
/// It changes whenever a public type changes its layout or a public function its meaning. A
/// consumer compares the value it was compiled with to `infini_rt_abi_version()` when it is loaded
/// and refuses a library of another version.
#define INFINI_RT_ABI_VERSION 1

#if defined(_WIN32)
#define INFINI_RT_EXPORT
#else
/// Marks a symbol that libinfinirt exports; everything else is hidden.
#define INFINI_RT_EXPORT __attribute__((visibility("default")))
#endif

/// Returns the ABI version of the libinfinirt that is loaded.
extern "C" INFINI_RT_EXPORT int infini_rt_abi_version(void);

#endif  // INFINI_RT_ABI_H_

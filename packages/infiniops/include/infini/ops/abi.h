// The ABI version of InfiniOps and the export macros of its public symbols.
#ifndef INFINI_OPS_ABI_H_
#define INFINI_OPS_ABI_H_

/// Version of the binary interface that these headers describe.
///
/// It changes whenever a public type changes its layout or a public function
/// its meaning; new operators do not change it. A consumer compares the value it
/// was compiled with to `infini_ops_abi_version()` when it is loaded.
#define INFINI_OPS_ABI_VERSION 1

/// Marks a symbol that libinfiniops exports; everything else is hidden.
#define INFINI_OPS_EXPORT __attribute__((visibility("default")))

/// Marks the operators' entries. A build without C++ entries
/// (GENERATE_OPERATOR_CALL_INSTANTIATIONS=OFF) keeps them to itself.
#ifdef INFINI_OPS_HIDE_ENTRIES
#define INFINI_OPS_ENTRY
#else
#define INFINI_OPS_ENTRY INFINI_OPS_EXPORT
#endif

/// Returns the ABI version of the libinfiniops that is loaded.
extern "C" INFINI_OPS_EXPORT int infini_ops_abi_version(void);

#endif  // INFINI_OPS_ABI_H_

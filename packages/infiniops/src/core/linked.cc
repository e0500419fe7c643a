#include "core/linked.h"

#include <dlfcn.h>

#include <cstring>
#include <span>

namespace infini::ops::internal {
namespace {

constexpr char kLibrary[] = "libinfiniops_linked.so";

/// The loaded list, or why there is none.
struct LoadedList {
  std::span<const LinkedFunctions> rows;
  std::string problem;
};

LoadedList Failed(const char* what) {
  const char* reason = dlerror();
  return {{}, std::string(what) + ": " + (reason == nullptr ? "no reason is given" : reason)};
}

/// Loads the library that lies beside the one that this code is in: no other of its name.
LoadedList LoadBesideThis() {
  Dl_info own{};
  if (dladdr(reinterpret_cast<void*>(&FindLinked), &own) == 0 || own.dli_fname == nullptr) {
    return {{}, "the folder of its library cannot be told"};
  }
  std::string path = own.dli_fname;
  path.erase(path.rfind('/') + 1);  // a bare name has no folder: npos + 1 is 0
  path += kLibrary;
  // The library is linked with `-z now`: a function that it calls and a provider lacks is an error
  // here, and no abort later. Providers themselves are not looked through: an extension module of
  // Python names functions that a program without Python does not have, and that nobody calls.
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return Failed("its library cannot be loaded");
  const auto list = reinterpret_cast<LinkedList>(dlsym(library, kLinkedListName));
  if (list == nullptr) return Failed("its library is not one of this build");
  std::size_t count = 0;
  const LinkedFunctions* rows = list(&count);
  return {{rows, count}, {}};
}

}  // namespace

const LinkedFunctions* FindLinked(const char* op, Device::Type device, int slot,
                                  std::string* problem) {
  static const LoadedList list = LoadBesideThis();
  for (const LinkedFunctions& row : list.rows) {
    if (row.slot == slot && row.device == device && std::strcmp(row.op, op) == 0) return &row;
  }
  *problem = list.problem.empty() ? "its library lacks it" : list.problem;
  return nullptr;
}

}  // namespace infini::ops::internal

// How an entry reaches the library of linked implementations: linked_library.cc, which lies beside
// this program.
#include "core/linked.h"

#include <dlfcn.h>

#include <span>
#include <string>

#include "check.h"

namespace infini::ops {
namespace {

struct Tested {
  static constexpr char kOperator[] = "tested";
};

using Entry = internal::Entry<int*>;

template <int slot>
constexpr Entry kEntry =
    internal::MakeLinkedEntry<Tested, Device::Type::kCpu, slot, int*>("linked");
constexpr Entry kEntries[] = {kEntry<16>, kEntry<17>, kEntry<18>};

bool Loaded() {
  void* found = dlsym(RTLD_DEFAULT, "infini_ops_linked_implementations");
  void* library = dlopen("libinfiniops_linked.so", RTLD_NOW | RTLD_NOLOAD);
  return found != nullptr || library != nullptr;
}

int Run(int slot, int value) {
  const Context context{.implementation = slot};
  const Entry& entry =
      internal::Choose("tested", context, std::span<const Entry>(kEntries), &value);
  entry.call(context, &value);
  return value;
}

void ListingLoadsNothing() {
  CHECK_EQUAL(internal::Infos(std::span<const Entry>(kEntries)).size(), 3u);
  CHECK_EQUAL(Loaded(), false);
}

void TheLibraryIsLoadedByTheFirstCall() {
  CHECK_EQUAL(Run(16, 4), 8);
  CHECK_EQUAL(Loaded(), true);
  CHECK_EQUAL(Run(17, 5), 3);
}

void ItsReasonsAreThoseOfTheImplementation() {
  CHECK_THROWS(Run(17, 4), ErrorCode::kNotSupported,
               "tested on cpu:0: implementation 17 (linked) does not run this call: it takes odd "
               "numbers; implementations that do: 16 (linked)");
}

void AnImplementationThatItLacksIsNamed() {
  CHECK_THROWS(Run(18, 4), ErrorCode::kNotSupported,
               "tested on cpu:0: implementation 18 (linked) does not run this call: its library "
               "lacks it; implementations that do: 16 (linked)");
}

}  // namespace
}  // namespace infini::ops

int main() {
  infini::ops::ListingLoadsNothing();
  infini::ops::TheLibraryIsLoadedByTheFirstCall();
  infini::ops::ItsReasonsAreThoseOfTheImplementation();
  infini::ops::AnImplementationThatItLacksIsNamed();
  return infini::ops::testing::Finish();
}

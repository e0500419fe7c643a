// A library of linked implementations that cannot be loaded: none lies beside this program.
#include <span>
#include <string>

#include "check.h"
#include "core/linked.h"

namespace infini::ops {
namespace {

struct Tested {
  static constexpr char kOperator[] = "tested";
};

struct Native {
  static constexpr char kName[] = "native";
  static void Call(const Context&, int* value) { *value = 1; }
};

using Entry = internal::Entry<int*>;

constexpr Entry kEntries[] = {
    internal::MakeEntry<Native, int*>(0),
    internal::MakeLinkedEntry<Tested, Device::Type::kCpu, 16, int*>("linked")};

int Run(int slot) {
  int value = 0;
  const Context context{.implementation = slot};
  internal::Choose("tested", context, std::span<const Entry>(kEntries), &value)
      .call(context, &value);
  return value;
}

void ACallSaysWhyAndWhatRunsInstead() {
  std::string what;
  try {
    Run(16);
  } catch (const Error& error) {
    what = error.what();
  }
  const std::string start =
      "tested on cpu:0: implementation 16 (linked) does not run this call: its library cannot be "
      "loaded: ";
  const std::string end =
      "/libinfiniops_linked.so: cannot open shared object file: No such file or directory; "
      "implementations that do: 0 (native)";
  CHECK_EQUAL(what.starts_with(start), true);
  CHECK_EQUAL(what.ends_with(end), true);
}

void OtherImplementationsRun() { CHECK_EQUAL(Run(0), 1); }

}  // namespace
}  // namespace infini::ops

int main() {
  infini::ops::ACallSaysWhyAndWhatRunsInstead();
  infini::ops::OtherImplementationsRun();
  return infini::ops::testing::Finish();
}

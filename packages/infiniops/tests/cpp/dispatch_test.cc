// How an entry chooses among several implementations, which no operator of this
// build has yet.
#include "core/dispatch.h"

#include <string>

#include "check.h"

namespace infini::ops {
namespace {

using Entry = internal::Entry<int>;

struct Anything {
  static constexpr char kName[] = "anything";
  static void Call(const Context&, int) {}
};

struct EvenOnly {
  static constexpr char kName[] = "even";
  static void Call(const Context&, int) {}
  static Support Supports(const Context&, int value) {
    return value % 2 == 0 ? Support::Yes() : Support::No(std::to_string(value) + " is odd");
  }
};

constexpr Entry kEntries[] = {internal::MakeEntry<EvenOnly, int>(1),
                              internal::MakeEntry<Anything, int>(16)};

std::string Chosen(const Context& context, int value) {
  return internal::Choose("add", context, std::span<const Entry>(kEntries), value).info.name;
}

void TheSmallestSlotIsTheDefault() {
  CHECK_EQUAL(Chosen({}, 2), "even");
  CHECK_EQUAL(Chosen({.implementation = 16}, 2), "anything");
}

void AnUnsupportedCallListsWhatSupportsIt() {
  CHECK_THROWS(Chosen({}, 3), ErrorCode::kNotSupported,
               "add on cpu:0: implementation 1 (even) does not run this call: 3 is odd; "
               "implementations that do: 16 (anything)");
}

void FallbackTakesTheNextSlot() {
  const ScopedSelection selection("", true);
  CHECK_EQUAL(Chosen({}, 3), "anything");
  CHECK_EQUAL(Chosen({}, 2), "even");
}

void AbsentSlotsAreNeverReplaced() {
  const ScopedSelection selection("", true);
  CHECK_THROWS(Chosen({.implementation = 0}, 2), ErrorCode::kNotSupported,
               "add on cpu:0: the caller asks for slot 0, which is not active; active slots: 1 "
               "(even), 16 (anything)");
}

void ExplainSaysWhy() {
  const auto explain = [](const Context& context, int value) {
    return internal::Explain("add", context, std::span<const Entry>(kEntries), value);
  };
  auto reports = explain({}, 2);
  CHECK_EQUAL(reports[0].selected, true);
  CHECK_EQUAL(reports[1].reason, "a smaller slot is active");
  reports = explain({}, 3);
  CHECK_EQUAL(reports[0].selected || reports[1].selected, false);
  CHECK_EQUAL(reports[0].reason, "3 is odd");
  reports = explain({.implementation = 16}, 2);
  CHECK_EQUAL(reports[0].reason, "the caller chose slot 16");
  CHECK_EQUAL(reports[1].reason, "chosen by the caller");
  const ScopedSelection selection("", true);
  reports = explain({}, 3);
  CHECK_EQUAL(reports[1].reason, "the first that supports the call (fallback)");
}

}  // namespace
}  // namespace infini::ops

int main() {
  using namespace infini::ops;  // NOLINT(google-build-using-namespace): one scope
  TheSmallestSlotIsTheDefault();
  AnUnsupportedCallListsWhatSupportsIt();
  FallbackTakesTheNextSlot();
  AbsentSlotsAreNeverReplaced();
  ExplainSaysWhy();
  return testing::Finish();
}

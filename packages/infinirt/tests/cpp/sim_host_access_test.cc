// The host cannot read or write simulated device memory: the access itself ends the process, also
// while a worker runs.
#include <csignal>

#include "backends.h"

using namespace infini::rt;
using namespace infini::rt::testing;

namespace {

bool DiesByAccess(int status) {
  return WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS);
}

/// Sanitizers turn the signal into an exit of their own; the children want the plain one.
void RestoreSignals() {
  std::signal(SIGSEGV, SIG_DFL);
  std::signal(SIGBUS, SIG_DFL);
}

/// Reads device memory in the process that owns it, while a worker fills the same page through its
/// alias.
void ReadWhileWorkerRuns() {
  RestoreSignals();
  runtime::SelectBackend(Device::Type::kSim);
  auto* const data = static_cast<volatile char*>(runtime::Malloc(4096));
  for (int i = 0; i < 1000; ++i) runtime::MemsetAsync(const_cast<char*>(data), i, 4096, Stream());
  static_cast<void>(data[100]);
}

}  // namespace

int main() {
  // First, since a child may use the device only while this process has not.
  for (int i = 0; i < 20; ++i) CHECK(DiesByAccess(StatusOfChild(ReadWhileWorkerRuns)));

  runtime::SelectBackend(Device::Type::kSim);
  auto* const data = static_cast<volatile char*>(runtime::Malloc(4096));
  for (int i = 0; i < 50; ++i) {
    CHECK(DiesByAccess(StatusOfChild([data, i] {
      RestoreSignals();
      static_cast<void>(data[i * 80]);
    })));
    CHECK(DiesByAccess(StatusOfChild([data, i] {
      RestoreSignals();
      data[i * 80] = 1;
    })));
  }
  runtime::Free(const_cast<char*>(data));
  return Finish();
}

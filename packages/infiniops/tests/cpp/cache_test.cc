// Caches are bounded, exact, and each thread's own; a workspace that is lent is used.
#include "core/cache.h"

#include <infini/ops.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

namespace infini::ops {
namespace {

/// Every key has the same hash, so that equality alone tells them apart.
struct SameHash {
  std::size_t operator()(int) const noexcept { return 0; }
};
using Numbers = internal::Cache<int, std::string, SameHash>;

std::string Ask(Numbers* cache, int key) {
  return cache->Get(key, [&] { return std::to_string(key); });
}

void KeysAreComparedAsAWhole() {
  Numbers cache("numbers", 8);
  for (int round = 0; round < 2; ++round) {
    for (int key = 0; key < 8; ++key) CHECK_EQUAL(Ask(&cache, key), std::to_string(key));
  }
  CHECK_EQUAL(cache.Info().misses, 8u);
  CHECK_EQUAL(cache.Info().hits, 8u);
}

void TheLeastRecentlyUsedEntryGoes() {
  Numbers cache("numbers", 2);
  Ask(&cache, 1);
  Ask(&cache, 2);
  Ask(&cache, 1);
  Ask(&cache, 3);  // 2 goes
  CHECK_EQUAL(cache.Info().size, 2u);
  Ask(&cache, 1);
  CHECK_EQUAL(cache.Info().misses, 3u);
  Ask(&cache, 2);
  CHECK_EQUAL(cache.Info().misses, 4u);
}

void ManyKeysLeaveABoundedCache() {
  Numbers cache("numbers");
  for (int key = 0; key < 2000; ++key) Ask(&cache, key);
  CHECK_EQUAL(cache.Info().size, internal::kCacheCapacity);
  CHECK_EQUAL(cache.Info().capacity, internal::kCacheCapacity);
}

void AValueThatCannotBeMadeIsNotKept() {
  Numbers cache("numbers");
  try {
    cache.Get(1, []() -> std::string { throw std::runtime_error("no"); });
  } catch (const std::runtime_error&) {
  }
  CHECK_EQUAL(cache.Info().size, 0u);
  CHECK_EQUAL(Ask(&cache, 1), "1");
}

/// How many caches of `name` the calling thread has.
int Count(const std::string& name) {
  int count = 0;
  for (const CacheInfo& info : GetCacheInfo()) count += name == info.name ? 1 : 0;
  return count;
}

void ACacheIsListedForItsThreadWhileItLives() {
  CHECK_EQUAL(Count("numbers"), 0);
  {
    Numbers first("numbers");
    Numbers second("numbers");
    CHECK_EQUAL(Count("numbers"), 2);
    std::thread([] {
      CHECK_EQUAL(Count("numbers"), 0);
      Numbers own("numbers");
      CHECK_EQUAL(Count("numbers"), 1);
    }).join();
    Ask(&first, 1);
    ClearCache();
    CHECK_EQUAL(first.Info().size + first.Info().misses, 0u);
    CHECK_EQUAL(Ask(&first, 1), "1");
  }
  CHECK_EQUAL(Count("numbers"), 0);
}

/// A product of few rows, which packs its input into shared scratch memory.
std::vector<float> Product(const Context& context) {
  std::vector<float> x(3 * 40), w(5 * 40), y(3 * 5);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) * 0.5f;
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 7) * 0.25f;
  Linear::Call(context, {x.data(), {3, 40}, DataType::kFloat32, Device()},
               {w.data(), {5, 40}, DataType::kFloat32, Device()}, std::nullopt,
               {y.data(), {3, 5}, DataType::kFloat32, Device()});
  return y;
}

/// Whether the call wrote to `bytes` bytes of a workspace that begins at an odd address.
bool Uses(std::size_t bytes) {
  constexpr unsigned char kGuard = 0xA5;
  const std::vector<float> expected = Product({});
  std::vector<unsigned char> memory(bytes + 2, kGuard);
  const std::vector<float> actual = Product({.workspace = {memory.data() + 1, bytes}});
  CHECK_EQUAL(std::memcmp(actual.data(), expected.data(), 15 * sizeof(float)), 0);
  CHECK_EQUAL(memory.front(), kGuard);
  CHECK_EQUAL(memory.back(), kGuard);
  for (const unsigned char byte : memory) {
    if (byte != kGuard) return true;
  }
  return false;
}

void AWorkspaceIsUsedIfItIsLargeEnough() {
  CHECK_EQUAL(Uses(1 << 20), true);
  CHECK_EQUAL(Uses(8), false);
  CHECK_EQUAL(Uses(0), false);
  CHECK_THROWS(Product({.workspace = {nullptr, 64}}), ErrorCode::kInvalidArgument,
               "Context on cpu:0: `workspace` has 64 bytes at a null address; give memory of the "
               "device, or no bytes");
}

void ChoicesByNameAreKeptAndTheirErrorsAreNot() {
  ClearCache();
  const auto selections = [] {
    for (const CacheInfo& info : GetCacheInfo()) {
      if (std::string(info.name) == "selection") return info;
    }
    return CacheInfo{};
  };
  {
    const ScopedSelection selection("linear=native");
    for (int i = 0; i < 3; ++i) Product({});
    CHECK_EQUAL(selections().misses, 1u);
    CHECK_EQUAL(selections().hits, 2u);
  }
  for (int i = 0; i < 2; ++i) {
    const ScopedSelection selection("linear=nobody");
    CHECK_THROWS(Product({}), ErrorCode::kNotSupported,
                 "linear on cpu: there is no implementation `nobody`; active: 0 (native)");
  }
  CHECK_EQUAL(selections().size, 1u);
}

}  // namespace
}  // namespace infini::ops

int main() {
  using namespace infini::ops;  // NOLINT(google-build-using-namespace): one scope
  KeysAreComparedAsAWhole();
  TheLeastRecentlyUsedEntryGoes();
  ManyKeysLeaveABoundedCache();
  AValueThatCannotBeMadeIsNotKept();
  ACacheIsListedForItsThreadWhileItLives();
  AWorkspaceIsUsedIfItIsLargeEnough();
  ChoicesByNameAreKeptAndTheirErrorsAreNot();
  return testing::Finish();
}

// Checks for test programs: a failed one prints where and what, and the program exits with 1 at its
// end.
#ifndef INFINI_OPS_TESTS_CHECK_H_
#define INFINI_OPS_TESTS_CHECK_H_

#include <infini/rt/error.h>

#include <iostream>
#include <string>

namespace infini::ops::testing {

inline int failures = 0;

template <typename Actual, typename Expected>
void CheckEqual(const Actual& actual, const Expected& expected, const char* text, int line) {
  if (actual == expected) return;
  std::cerr << "line " << line << ": " << text << " is " << actual << ", expected " << expected
            << "\n";
  ++failures;
}

/// Runs `function`, which must throw `Error` with exactly `what`.
template <typename Function>
void CheckThrows(Function function, rt::ErrorCode code, const std::string& what, int line) {
  try {
    function();
  } catch (const rt::Error& error) {
    CheckEqual(std::string(error.what()), what, "what()", line);
    CheckEqual(static_cast<int>(error.code()), static_cast<int>(code), "code()", line);
    return;
  }
  std::cerr << "line " << line << ": nothing was thrown, expected " << what << "\n";
  ++failures;
}

/// Exit status of a test program: to be returned from `main`.
inline int Finish() {
  if (failures != 0) std::cerr << failures << " checks failed\n";
  return failures == 0 ? 0 : 1;
}

}  // namespace infini::ops::testing

#define CHECK_EQUAL(actual, expected) \
  infini::ops::testing::CheckEqual(actual, expected, #actual, __LINE__)
#define CHECK_THROWS(expression, code, what) \
  infini::ops::testing::CheckThrows([&] { expression; }, code, what, __LINE__)

#endif  // INFINI_OPS_TESTS_CHECK_H_

// Checks for test programs: a failed one prints where and what, and the program exits with 1 at its
// end.
#ifndef INFINI_RT_TESTS_CHECK_H_
#define INFINI_RT_TESTS_CHECK_H_

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

#include "infini/rt/error.h"

namespace infini::rt::testing {

inline int failures = 0;

inline void ReportFailure(const char* file, int line, const std::string& text) {
  std::cerr << file << ":" << line << ": " << text << "\n";
  ++failures;
}

template <typename T>
std::string Show(const T& value) {
  if constexpr (requires(std::ostringstream& out) { out << value; }) {
    std::ostringstream out;
    out << value;
    return out.str();
  } else {
    return "(a value that cannot be printed)";
  }
}

template <typename Actual, typename Expected>
void CheckEqual(const Actual& actual, const Expected& expected, const char* text, const char* file,
                int line) {
  if (actual == expected) return;
  ReportFailure(file, line,
                std::string(text) + " is " + Show(actual) + ", expected " + Show(expected));
}

/// Exit status of a test program: to be returned from `main`.
inline int Finish() {
  if (failures != 0) std::cerr << failures << " checks failed\n";
  return failures == 0 ? 0 : 1;
}

/// Runs `function` in a forked child and returns its wait status.
template <typename Function>
int StatusOfChild(Function function) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a hang is a failure, not a stuck test run
    function();
    _exit(failures == 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace infini::rt::testing

#define CHECK(condition)                                                               \
  do {                                                                                 \
    if (!(condition))                                                                  \
      ::infini::rt::testing::ReportFailure(__FILE__, __LINE__, "failed: " #condition); \
  } while (false)

#define CHECK_EQ(actual, expected) \
  ::infini::rt::testing::CheckEqual((actual), (expected), #actual, __FILE__, __LINE__)

/// Checks that `expression` throws an `Error` of `error_code` whose text holds `part`.
#define CHECK_THROWS(expression, error_code, part)                                             \
  do {                                                                                         \
    try {                                                                                      \
      static_cast<void>(expression);                                                           \
      ::infini::rt::testing::ReportFailure(__FILE__, __LINE__, "did not throw: " #expression); \
    } catch (const ::infini::rt::Error& error) {                                               \
      if (error.code() != (error_code) ||                                                      \
          std::string(error.what()).find(part) == std::string::npos) {                         \
        ::infini::rt::testing::ReportFailure(                                                  \
            __FILE__, __LINE__,                                                                \
            std::string(#expression " threw ") +                                               \
                ::infini::rt::GetErrorCodeInfo(error.code()).name + " \"" + error.what() +     \
                "\", expected " #error_code " with \"" + (part) + "\"");                       \
      }                                                                                        \
    }                                                                                          \
  } while (false)

#endif  // INFINI_RT_TESTS_CHECK_H_

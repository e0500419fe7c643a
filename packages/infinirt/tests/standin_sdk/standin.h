// Controls of the stand-in SDK, under one set of names for every vendor. No
// vendor's SDK has this header, so a test that finds it knows what it runs
// against.
//
// Environment, read when the first SDK function is called:
//   STANDIN_DEVICES  number of devices; 2 when unset
//   STANDIN_MEMORY   bytes of memory of each device; 2^30 when unset
//   STANDIN_LAZY     1: work waits in its stream until somebody asks for it or waits for it, so
//   that
//                    what must outlive it, and what must wait for it, shows. Unset or 0: work is
//                    done before the call that queues it returns
//   STANDIN_FAULT    "cudaMalloc:3" makes the third call of that function fail
//   with the unknown error
#ifndef STANDIN_SDK_STANDIN_H_
#define STANDIN_SDK_STANDIN_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Error numbers that all vendors share.
enum {
  STANDIN_OUT_OF_MEMORY = 2,
  STANDIN_NOT_READY = 600,
  STANDIN_NOT_SUPPORTED = 801,
  STANDIN_UNKNOWN = 999
};

/// What the vendor's names begin with: "cuda", "mc", "musa".
const char* standinPrefix(void);

/// How many objects are alive.
typedef struct StandinLive {
  size_t device_allocations;
  size_t host_allocations;
  size_t streams;
  size_t events;
  size_t graphs;
  size_t graph_execs;
} StandinLive;

StandinLive standinLive(void);

/// How many checked SDK functions were called: all but those that only read
/// errors.
size_t standinCallCount(void);

/// Makes the `nth` call from now (1 is the next one) of `function`, or of any
/// function when that is null, fail once with the vendor's error number
/// `status`. `nth` 0 removes the fault. A failing call does nothing, but for
/// those that end or destroy something: they do that before they report.
void standinSetFault(const char* function, size_t nth, int status);

/// The function that failed by the last fault; null while the fault has not
/// come.
const char* standinFaultedFunction(void);

/// The calling thread's last error number, which stays.
int standinPeekLastError(void);

#ifdef __cplusplus
}
#endif

#endif  // STANDIN_SDK_STANDIN_H_

// Events, as `c10::Event` drives them through the device guard.
#ifndef TORCH_INFINI_RUNTIME_EVENT_H_
#define TORCH_INFINI_RUNTIME_EVENT_H_

#include <c10/core/Stream.h>
#include <infini/rt/runtime.h>

#include "runtime/device.h"

namespace torch_infini {

/// Creates an event on `device` and returns its handle as the `void*` that
/// `c10::Event` stores; never null.
void* CreateEvent(c10::DeviceIndex device, bool timing);

/// Destroys an event; does nothing for null or in a forked child. Reports
/// failures as warnings, since destructors call it.
void DestroyEvent(void* event) noexcept;

/// Marks the work queued on `stream` so far. Both must be of one device.
void RecordEvent(void* event, c10::Stream stream);

/// Makes later work on `stream` wait for the last record of `event`.
void WaitEvent(void* event, c10::Stream stream);

/// Whether the work of the last record is done.
bool QueryEvent(void* event);

/// Waits for the work of the last record without holding any lock.
void SynchronizeEvent(void* event);

/// Milliseconds from `start` to `end`.
double ElapsedTime(void* start, void* end);

/// An event without timing for torch-infini's own bookkeeping. Handles come
/// from a pool, because allocators need one for every block that another
/// stream used.
class PooledEvent {
 public:
  /// Takes an event of `stream`'s device and records it on `stream`.
  explicit PooledEvent(c10::Stream stream);
  PooledEvent(PooledEvent&& other) noexcept;
  PooledEvent& operator=(PooledEvent&& other) noexcept;
  PooledEvent(const PooledEvent&) = delete;
  PooledEvent& operator=(const PooledEvent&) = delete;
  ~PooledEvent();

  bool Done() const;
  void Wait() const;
  void Block(c10::Stream stream) const;

 private:
  explicit PooledEvent(c10::DeviceIndex device);

  c10::DeviceIndex device_;
  infini::rt::Event event_;
};

}  // namespace torch_infini

#endif  // TORCH_INFINI_RUNTIME_EVENT_H_

// Early end of long computations. Each native call has one Interrupt. Every thread of the call
// checks it between two chunks, and in long loops every few thousand steps; the thread of the
// caller also checks for an external request a few times a second. A thread that finds a request
// throws Interrupted. Does not depend on Python.
#pragma once

#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <thread>

namespace stagewise {

class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

class Interrupt {
 public:
  // The interrupt of the calling thread, as long as it exists.
  Interrupt();
  virtual ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Of the call that the calling thread works on; null: it cannot be ended.
  static Interrupt* current() { return current_; }

  // Whether the call must end. In the thread of the caller: checks for an external request from
  // time to time.
  bool stop_requested() {
    if (stopped_.load(std::memory_order_relaxed)) return true;
    if (std::this_thread::get_id() != owner_) return false;
    const std::chrono::nanoseconds now = clock();
    if (now < next_check_) return false;
    next_check_ = now + kInterval;
    const bool wanted = stop_wanted();
    if (wanted) stopped_.store(true, std::memory_order_relaxed);
    return wanted;
  }

 private:
  friend class InterruptScope;
  static constexpr auto kInterval = std::chrono::milliseconds(100);

  virtual bool stop_wanted() noexcept = 0;

  // The time since a fixed start. Loops read it often, so it is a clock that costs a few
  // nanoseconds where there is one; it may be some milliseconds late.
  static std::chrono::nanoseconds clock() {
#ifdef CLOCK_MONOTONIC_COARSE
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
#else
    return std::chrono::steady_clock::now().time_since_epoch();
#endif
  }

  // Static thread-local storage. Other thread-local storage is allocated at its first use, and the
  // process is aborted if there is no memory.
  [[gnu::tls_model("initial-exec")]] static thread_local Interrupt* current_;

  const std::thread::id owner_;
  Interrupt* const outer_;
  std::chrono::nanoseconds next_check_;
  std::atomic<bool> stopped_{false};
};

// While it exists, the calling thread works on the call of another thread.
class InterruptScope {
 public:
  explicit InterruptScope(Interrupt* interrupt) : before_(Interrupt::current_) {
    Interrupt::current_ = interrupt;
  }
  ~InterruptScope() { Interrupt::current_ = before_; }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  Interrupt* const before_;
};

// Throws Interrupted if the call that the thread works on must end.
inline void check_interrupt() {
  Interrupt* const interrupt = Interrupt::current();
  if (interrupt != nullptr && interrupt->stop_requested()) throw Interrupted();
}

// body(begin, end) for blocks of [0, n) in increasing order; checks the interrupt before each.
template <class Body>
void for_each_block(size_t n, Body&& body) {
  constexpr size_t kPart = 1 << 16;
  for (size_t begin = 0; begin < n; begin += kPart) {
    check_interrupt();
    body(begin, std::min(n, begin + kPart));
  }
}

}  // namespace stagewise

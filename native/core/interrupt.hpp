// Ends long work before it is done.
//
// One idea: the work of one call has one Interrupt. Every thread that works for the call looks at
// it between two chunks, and in long loops every few thousand steps; the thread of the caller also
// looks outside, a few times a second. Whoever finds that the work must end throws Interrupted.
// Must not: know Python, or who wants the end.
#pragma once

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

  // Of the work that the calling thread does; null: nobody can end it.
  static Interrupt* current() { return current_; }

  // Whether the work must end. Looks outside if this is the caller's thread and it is time to.
  bool stop_requested() {
    if (stopped_.load(std::memory_order_relaxed)) return true;
    if (std::this_thread::get_id() != owner_) return false;
    const auto now = std::chrono::steady_clock::now();
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

  // In the static block of a thread's variables: these are there from the start, whereas memory for
  // others would be allocated at their first use, and the process ended if there is none.
  [[gnu::tls_model("initial-exec")]] static thread_local Interrupt* current_;

  const std::thread::id owner_;
  Interrupt* const outer_;
  std::chrono::steady_clock::time_point next_check_;
  std::atomic<bool> stopped_{false};
};

// The calling thread does work of another thread's call.
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

// Throws Interrupted if the work of the calling thread must end.
inline void check_interrupt() {
  Interrupt* const interrupt = Interrupt::current();
  if (interrupt != nullptr && interrupt->stop_requested()) throw Interrupted();
}

// body(begin, end) for the parts of [0, n) in their order, with a look at the interrupt before
// each.
template <class Body>
void for_each_block(size_t n, Body&& body) {
  constexpr size_t kPart = 1 << 16;
  for (size_t begin = 0; begin < n; begin += kPart) {
    check_interrupt();
    body(begin, std::min(n, begin + kPart));
  }
}

}  // namespace stagewise

// A native call without the GIL, which Python can end. In the main thread a signal handler that
// raises (Ctrl-C) ends it; in any thread the Cancellation that is set for the thread. When the
// interpreter exits, threads that are still in a call never return: Python would unwind their
// stacks, which aborts a C++ program.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>

#include "core/interrupt.hpp"

namespace stagewise {

// Ends the native calls of all threads that work under it.
class Cancellation {
 public:
  Cancellation();  // ends also with the one that the calling thread works under

  void cancel() { flag_->set = true; }
  bool cancelled() const { return flag_->cancelled(); }

 private:
  struct Flag {
    std::atomic<bool> set{false};
    std::shared_ptr<const Flag> outer;

    bool cancelled() const { return set || (outer != nullptr && outer->cancelled()); }
  };

  const std::shared_ptr<Flag> flag_;
};

class GilRelease final : public Interrupt {
 public:
  GilRelease();  // throws Interrupted if the thread's work is cancelled
  ~GilRelease() override;

 private:
  bool stop_wanted() noexcept override;

  Cancellation* const cancellation_;
  PyThreadState* state_;
};

}  // namespace stagewise

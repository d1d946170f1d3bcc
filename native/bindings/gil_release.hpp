// A native call without the GIL, which Python can end.
//
// One idea: whoever releases the GIL also says how the call ends early. In the main thread a signal
// handler that raises (Ctrl-C) ends it, in any thread the Cancellation that the thread works under.
// When the interpreter exits, threads that are still in a call never come back: Python would end
// them by unwinding their stacks, which C++ answers with abort().
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

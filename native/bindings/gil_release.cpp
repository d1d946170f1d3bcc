#include "bindings/gil_release.hpp"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "bindings/bindings.hpp"

namespace stagewise {
namespace {

// The Cancellation of this thread, of which it holds a reference; null: none.
[[gnu::tls_model("initial-exec")]] thread_local PyObject* working_under = nullptr;

Cancellation* current_cancellation() {
  return working_under == nullptr ? nullptr : nb::inst_ptr<Cancellation>(working_under);
}

nb::object set_cancellation(nb::object cancellation) {
  if (!cancellation.is_none()) nb::cast<Cancellation&>(cancellation);  // throws if it is none
  PyObject* const before = working_under;
  working_under = cancellation.is_none() ? nullptr : cancellation.release().ptr();
  return before == nullptr ? nb::none() : nb::steal(before);
}

// Of the process, as the exit is.
struct Exit {
  std::atomic<bool> begun{false};
  std::atomic<std::thread::id> thread;  // that runs it, and may still work
  std::atomic<int> calls{0};            // under way without the GIL
  std::atomic<int> returning{0};        // threads on their way to the GIL
};
Exit exiting;

// The GIL, if the interpreter lives; nothing else comes back from here once it is about to end.
void restore(PyThreadState* state) {
  exiting.returning.fetch_add(1);
  if (exiting.begun && exiting.thread.load() != std::this_thread::get_id()) {
    exiting.returning.fetch_sub(1);
    for (;;) pause();
  }
  PyEval_RestoreThread(state);
  exiting.returning.fetch_sub(1);
}

// Called by atexit. No thread may wait for the GIL while the interpreter ends.
void begin_exit() {
  exiting.thread = std::this_thread::get_id();
  exiting.begun = true;
  PyThreadState* const state = PyEval_SaveThread();
  for (int looks = 0; exiting.returning > 0 && looks < 2000; ++looks)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  PyEval_RestoreThread(state);
  if (exiting.calls > 0) nb::set_leak_warnings(false);  // what these calls use stays
}

Cancellation* checked_cancellation() {
  Cancellation* const cancellation = current_cancellation();
  if (cancellation != nullptr && cancellation->cancelled()) throw Interrupted();
  return cancellation;
}

}  // namespace

Cancellation::Cancellation() : flag_(std::make_shared<Flag>()) {
  if (const Cancellation* outer = current_cancellation()) flag_->outer = outer->flag_;
}

GilRelease::GilRelease() : cancellation_(checked_cancellation()), state_(PyEval_SaveThread()) {
  exiting.calls.fetch_add(1);
}

GilRelease::~GilRelease() {
  restore(state_);
  exiting.calls.fetch_sub(1);
}

// Leaves the exception of a signal handler where it is: it is the one that the call raises.
bool GilRelease::stop_wanted() noexcept {
  if (cancellation_ != nullptr && cancellation_->cancelled()) return true;
  restore(state_);
  const bool raised = PyErr_CheckSignals() != 0;
  state_ = PyEval_SaveThread();
  return raised;
}

void bind_interruption(nb::module_& m) {
  nb::class_<Cancellation>(
      m, "Cancellation",
      "Ends the native calls of all threads that it is set for, with KeyboardInterrupt.")
      .def(nb::init<>())
      .def("cancel", &Cancellation::cancel)
      .def("cancelled", &Cancellation::cancelled);
  m.def("set_cancellation", &set_cancellation, "cancellation"_a.none(),
        "Set the cancellation of this thread; return the previous one.",
        nb::sig("def set_cancellation(cancellation: Cancellation | None) -> Cancellation | None"));

  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Interrupted&) {
      if (PyErr_Occurred() == nullptr) PyErr_SetNone(PyExc_KeyboardInterrupt);
    }
  });
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&begin_exit));
  // The child has none of the threads that these are of.
  pthread_atfork(nullptr, nullptr, [] { exiting.calls = exiting.returning = 0; });
}

}  // namespace stagewise

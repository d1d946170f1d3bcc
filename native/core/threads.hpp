// The threads of one fit or one predict call. A parallel region never waits for a thread that has
// not started: the caller publishes numbered chunks and claims them itself, helpers that are awake
// claim some too, and in the end the caller waits only for chunks that a helper has begun. The
// object owns its threads and joins them at its end, so a forked child inherits no pool, and two
// fits in two Python threads share no queue.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/interrupt.hpp"

namespace stagewise {

class Workers {
 public:
  explicit Workers(int threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int threads() const { return threads_; }

  // Calls body(chunk, worker) once for every chunk in [0, chunks), where worker < threads() is
  // the index of the scratch space to use. The first exception thrown by a body is rethrown here,
  // once; chunks that had not begun are left out then. They are also left out if the work of the
  // caller must end, and Interrupted is thrown.
  template <class Body>
  void run(size_t chunks, Body&& body) {
    if (chunks == 0) return;
    // No helpers, or another thread of the program is using these workers.
    if (chunks == 1 || threads_ == 1 || !owner_process() || busy_.test_and_set()) {
      for (size_t c = 0; c < chunks; ++c) {
        check_interrupt();
        body(c, 0);
      }
      return;
    }
    using Plain = std::remove_reference_t<Body>;
    run_shared(
        chunks,
        [](void* context, size_t chunk, int worker) {
          (*static_cast<Plain*>(context))(chunk, worker);
        },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  using Call = void (*)(void*, size_t, int);

  // state_ holds (epoch << 32) | next chunk; kClosed as the chunk means that no region is open.
  static constexpr uint64_t kClosed = 0xffffffffu;

  bool owner_process() const;
  void run_shared(size_t chunks, Call call, void* context);
  bool claim_and_run(int worker);
  void helper(int worker);
  void wake();

  const int threads_;
  const int64_t process_;
  std::vector<std::thread> helpers_;

  std::atomic_flag busy_;
  std::atomic<uint64_t> state_{kClosed};
  std::atomic<Call> call_{nullptr};
  std::atomic<void*> context_{nullptr};
  std::atomic<uint32_t> chunks_{0};
  std::atomic<uint32_t> done_{0};
  std::atomic<Interrupt*> interrupt_{nullptr};  // of the caller

  std::atomic<uint32_t> bell_{0};
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};

  std::atomic<bool> failed_{false};  // a chunk threw: chunks that have not begun are skipped
  std::mutex failure_lock_;
  std::exception_ptr failure_;
};

}  // namespace stagewise

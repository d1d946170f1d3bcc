#include "core/threads.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

namespace stagewise {
namespace {

// How long a helper polls for work before it sleeps: longer than the gap between two regions of one
// tree, since waking it takes longer than most regions. After the first polls it yields its
// processor at every poll.
constexpr auto kPatience = std::chrono::microseconds(500);
constexpr int kLooksAlone = 64;
// The first exception of a thread allocates the thread-local data of the C++ library, and the C
// library ends the process if there is no memory for them. So a thread allocates them when it
// starts, from address space that was reserved for them before.
class Reserve {
 public:
  Reserve() : begin_(mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (begin_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~Reserve() { release(); }
  Reserve(Reserve&& other) noexcept : begin_(std::exchange(other.begin_, MAP_FAILED)) {}
  Reserve& operator=(Reserve&&) = delete;

  void allocate_thread_data() {
    release();
    [[maybe_unused]] const volatile int allocates = std::uncaught_exceptions();
  }

 private:
  static constexpr size_t kBytes = 1 << 16;

  void release() {
    if (begin_ != MAP_FAILED) munmap(std::exchange(begin_, MAP_FAILED), kBytes);
  }

  void* begin_;
};

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

Workers::Workers(int threads) : threads_(std::max(threads, 1)), process_(getpid()) {
  helpers_.reserve(static_cast<size_t>(threads_ - 1));
  for (int w = 1; w < threads_; ++w) {
    try {
      helpers_.emplace_back([this, w, reserve = Reserve()]() mutable {
        reserve.allocate_thread_data();
        helper(w);
      });
    } catch (...) {
      break;  // no more threads or no memory: the caller does the work
    }
  }
}

Workers::~Workers() {
  if (!owner_process()) {  // after fork the threads do not exist here; there is nothing to join
    for (auto& t : helpers_) t.detach();
    return;
  }
  stop_.store(true);
  bell_.fetch_add(1);
  bell_.notify_all();
  for (auto& t : helpers_) t.join();
}

bool Workers::owner_process() const { return process_ == getpid(); }

void Workers::wake() {
  if (sleepers_.load() > 0) {
    bell_.fetch_add(1);
    bell_.notify_all();
  }
}

void Workers::run_shared(size_t chunks, Call call, void* context) {
  // No region is open, so no helper can claim: the fields may be rewritten. A helper that read the
  // old state fails its compare-and-swap below because the epoch has moved on.
  const uint64_t epoch = (state_.load(std::memory_order_relaxed) >> 32) + 1;
  call_.store(call, std::memory_order_relaxed);
  context_.store(context, std::memory_order_relaxed);
  chunks_.store(static_cast<uint32_t>(chunks), std::memory_order_relaxed);
  done_.store(0, std::memory_order_relaxed);
  failed_.store(false, std::memory_order_relaxed);
  Interrupt* const interrupt = Interrupt::current();
  interrupt_.store(interrupt, std::memory_order_relaxed);
  state_.store(epoch << 32);
  wake();

  while (claim_and_run(0)) {
  }
  const auto total = static_cast<uint32_t>(chunks);
  for (int spins = 0; done_.load(std::memory_order_acquire) != total; ++spins) {
    if (spins < 2000) {
      relax();
    } else {
      if (interrupt != nullptr) interrupt->stop_requested();  // sets the flag that helpers check
      std::this_thread::yield();
    }
  }
  state_.store((epoch << 32) | kClosed);

  std::exception_ptr failure;
  std::swap(failure, failure_);
  busy_.clear();
  if (interrupt != nullptr && interrupt->stop_requested())
    throw Interrupted();  // some chunks may not have run
  if (failure) std::rethrow_exception(failure);
}

bool Workers::claim_and_run(int worker) {
  uint64_t seen = state_.load(std::memory_order_acquire);
  for (;;) {
    const uint64_t chunk = seen & 0xffffffffu;
    if (chunk == kClosed || chunk >= chunks_.load(std::memory_order_relaxed)) return false;
    const Call call = call_.load(std::memory_order_relaxed);
    void* const context = context_.load(std::memory_order_relaxed);
    Interrupt* const interrupt = interrupt_.load(std::memory_order_relaxed);
    if (!state_.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
      continue;
    }
    try {
      const InterruptScope scope(interrupt);
      const bool stop = failed_.load(std::memory_order_relaxed) ||
                        (interrupt != nullptr && interrupt->stop_requested());
      if (!stop) call(context, static_cast<size_t>(chunk), worker);
    } catch (...) {
      failed_.store(true, std::memory_order_relaxed);
      const std::lock_guard<std::mutex> guard(failure_lock_);
      if (!failure_) failure_ = std::current_exception();
    }
    done_.fetch_add(1, std::memory_order_acq_rel);
    return true;
  }
}

void Workers::helper(int worker) {
  while (!stop_.load()) {
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    bool worked = false;
    for (int looks = 0; !(worked = claim_and_run(worker)); ++looks) {
      if (stop_.load(std::memory_order_relaxed) || std::chrono::steady_clock::now() >= give_up)
        break;
      if (looks < kLooksAlone) {
        for (int i = 0; i < 16; ++i) relax();
      } else {
        std::this_thread::yield();
      }
    }
    if (worked) continue;
    const uint32_t rung = bell_.load();
    sleepers_.fetch_add(1);
    const uint64_t state = state_.load();
    const bool idle = (state & 0xffffffffu) == kClosed ||
                      (state & 0xffffffffu) >= chunks_.load(std::memory_order_relaxed);
    if (idle && !stop_.load()) bell_.wait(rung);
    sleepers_.fetch_sub(1);
  }
}

}  // namespace stagewise

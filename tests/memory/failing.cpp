// Preloaded into a Python process: makes one request for memory, or for a thread, fail.
//
// Requests of the native module, and of the C++ library on its behalf, are counted while
// the library is armed; the one with the chosen number fails, and as many after it as requested.
// Requests of Python and of other modules are not counted. For Linux with the GNU C library.
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

struct Range {
  uintptr_t begin, end;
};

Range ranges[16];
std::atomic<int> n_ranges{0};
std::atomic<bool> armed{false}, no_threads{false};
std::atomic<long> counted{0};
long first_to_fail = 0, last_to_fail = 0;

int note_module(dl_phdr_info* info, size_t, void*) {
  const bool wanted = std::strstr(info->dlpi_name, "/_native.") != nullptr ||
                      std::strstr(info->dlpi_name, "/libstdc++.so") != nullptr;
  for (int i = 0; wanted && i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0 || n_ranges == 16) continue;
    const uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    ranges[n_ranges.fetch_add(1)] = {begin, begin + part.p_memsz};
  }
  return 0;
}

bool ours(const void* caller) {
  const auto at = reinterpret_cast<uintptr_t>(caller);
  for (int i = 0; i < n_ranges; ++i)
    if (at >= ranges[i].begin && at < ranges[i].end) return true;
  return false;
}

bool fails(const void* caller) {
  if (!armed.load(std::memory_order_relaxed) || !ours(caller)) return false;
  const long number = counted.fetch_add(1) + 1;
  return number >= first_to_fail && number <= last_to_fail;
}

void* allocate(size_t size, size_t alignment, const void* caller) {
  if (fails(caller)) return nullptr;
  return alignment == 0 ? __libc_malloc(size > 0 ? size : 1) : __libc_memalign(alignment, size);
}

void* allocate_or_throw(size_t size, size_t alignment, const void* caller) {
  void* const memory = allocate(size, alignment, caller);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

#define CALLER __builtin_return_address(0)

extern "C" {

// The request with this number fails, and as many behind it that `times` do.
void oom_arm(long number, long times) {
  n_ranges = 0;
  dl_iterate_phdr(note_module, nullptr);
  counted = 0;
  first_to_fail = number;
  last_to_fail = number + times - 1;
  armed = true;
}

// From now on the module gets no thread, or threads again.
void oom_refuse_threads(int refuse) {
  n_ranges = 0;
  dl_iterate_phdr(note_module, nullptr);
  no_threads = refuse != 0;
}

// How many requests there were.
long oom_disarm() {
  armed = false;
  return counted;
}

void* malloc(size_t size) {
  if (fails(CALLER)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_malloc(size);
}

void* calloc(size_t n, size_t size) {
  if (fails(CALLER)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_calloc(n, size);
}

void* realloc(void* old, size_t size) {
  if (fails(CALLER)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_realloc(old, size);
}

void* aligned_alloc(size_t alignment, size_t size) { return allocate(size, alignment, CALLER); }

int posix_memalign(void** out, size_t alignment, size_t size) {
  void* const memory = allocate(size, alignment, CALLER);
  if (memory == nullptr) return ENOMEM;
  *out = memory;
  return 0;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (fails(CALLER) || (no_threads && ours(CALLER))) return EAGAIN;
  return create(thread, attributes, start, argument);
}

}  // extern "C"

void* operator new(size_t n) { return allocate_or_throw(n, 0, CALLER); }
void* operator new[](size_t n) { return allocate_or_throw(n, 0, CALLER); }
void* operator new(size_t n, const std::nothrow_t&) noexcept { return allocate(n, 0, CALLER); }
void* operator new[](size_t n, const std::nothrow_t&) noexcept { return allocate(n, 0, CALLER); }
void* operator new(size_t n, std::align_val_t a) {
  return allocate_or_throw(n, static_cast<size_t>(a), CALLER);
}
void* operator new[](size_t n, std::align_val_t a) {
  return allocate_or_throw(n, static_cast<size_t>(a), CALLER);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { std::free(p); }

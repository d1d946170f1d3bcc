// Large uninitialised arrays that live for a fit. Rows are visited in random order, so the memory
// uses huge pages if the system has them: with 4 KiB pages every row would miss the address
// translation cache.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace stagewise {

struct FreeMemory {
  void operator()(void* p) const { std::free(p); }
};

template <class T>
using LargeArray = std::unique_ptr<T[], FreeMemory>;

template <class T>
LargeArray<T> make_large_array(size_t n) {
  constexpr size_t kHuge = size_t{1} << 21;
  const size_t bytes = n * sizeof(T);
  const size_t alignment = bytes >= 2 * kHuge ? kHuge : 64;
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded > 0 ? rounded : alignment);
  if (memory == nullptr) throw std::bad_alloc();
#if defined(__linux__)
  if (alignment == kHuge) madvise(memory, rounded, MADV_HUGEPAGE);  // may fail without harm
#endif
  return LargeArray<T>(static_cast<T*>(memory));
}

}  // namespace stagewise

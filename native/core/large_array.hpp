// Large arrays that live for a fit.
//
// One idea: rows are visited far apart, so the memory is asked for in huge pages where the system
// offers them; a 4 KiB page per row would miss the translation cache every time. Uninitialised.
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
  if (alignment == kHuge) madvise(memory, rounded, MADV_HUGEPAGE);  // a wish, not a need
#endif
  return LargeArray<T>(static_cast<T*>(memory));
}

}  // namespace stagewise

// Radix sort of numbers by their bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/interrupt.hpp"

namespace stagewise {

// Floating-point numbers as integers of the same order (negative ones have all bits flipped).
template <class Bits, class Real>
Bits order_key(Real x) {
  constexpr Bits kTop = Bits{1} << (8 * sizeof(Bits) - 1);
  x += Real{0};  // -0.0 and 0.0 are one value
  Bits bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits ^ ((bits & kTop) != 0 ? static_cast<Bits>(~Bits{0}) : kTop);
}

template <class Real, class Bits>
double from_order_key(Bits key) {
  constexpr Bits kTop = Bits{1} << (8 * sizeof(Bits) - 1);
  const Bits bits = key ^ ((key & kTop) != 0 ? kTop : static_cast<Bits>(~Bits{0}));
  Real x;
  std::memcpy(&x, &bits, sizeof x);
  return static_cast<double>(x);
}

// Least significant digit first, eleven bits at a time, skipping digits that all items share.
template <class T, class Key>
void radix_sort(std::vector<T>* items, Key key) {
  const size_t n = items->size();
  if (n < 1024) {
    std::stable_sort(items->begin(), items->end(),
                     [&](const T& a, const T& b) { return key(a) < key(b); });
    return;
  }
  constexpr size_t kDigit = 11, kSize = 1 << kDigit;
  constexpr size_t kDigits = (8 * sizeof(key(T{})) + kDigit - 1) / kDigit;
  std::vector<uint32_t> counts(kDigits * kSize, 0);
  for (const T& item : *items)
    for (size_t d = 0; d < kDigits; ++d)
      ++counts[d * kSize + ((key(item) >> (kDigit * d)) % kSize)];
  check_interrupt();
  std::vector<T> other(n);
  for (size_t d = 0; d < kDigits; ++d) {
    uint32_t* count = &counts[d * kSize];
    if (std::any_of(count, count + kSize, [n](uint32_t c) { return c == n; })) continue;
    uint32_t start = 0;
    for (size_t v = 0; v < kSize; ++v) {
      const uint32_t c = count[v];
      count[v] = start;
      start += c;
    }
    for_each_block(n, [=, from = items->data(), to = other.data()](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i)
        to[count[(key(from[i]) >> (kDigit * d)) % kSize]++] = from[i];
    });
    items->swap(other);
  }
}

}  // namespace stagewise

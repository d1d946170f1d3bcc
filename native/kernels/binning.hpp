// Codes of values: the number of cuts below each.
//
// Cuts are a tree of 16-way nodes, and a node is one or two vector comparisons.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "kernels/api/binning.hpp"

namespace stagewise {
namespace {

// How many of the 16 sorted cuts of one node are below x.
#if defined(__AVX2__)
inline size_t count_below(const double* node, double x) {
  const __m256d v = _mm256_set1_pd(x);
  int mask = 0;
  for (int j = 0; j < 4; ++j)
    mask |= _mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(node + 4 * j), v, _CMP_LT_OQ))
            << (4 * j);
  return static_cast<size_t>(__builtin_popcount(static_cast<unsigned>(mask)));
}

inline size_t count_below(const float* node, float x) {
  const __m256 v = _mm256_set1_ps(x);
  const int low = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(node), v, _CMP_LT_OQ));
  const int high = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(node + 8), v, _CMP_LT_OQ));
  return static_cast<size_t>(__builtin_popcount(static_cast<unsigned>(low | (high << 8))));
}
#else
template <class Real>
size_t count_below(const Real* node, Real x) {
  int below = 0;
  for (int j = 0; j < kCutWays; ++j) below += node[j] < x;
  return static_cast<size_t>(below);
}
#endif

template <class Real>
void bin_values(const Real* values, size_t n, const CutTree<Real>& cuts, uint16_t missing,
                uint16_t* out) {
  const auto child = [&](int l, size_t position, Real x) {
    return position * kCutWays + count_below(cuts.level[l] + position * kCutWays, x);
  };
  if (cuts.depth == 2) {  // 17 to 256 bins, the usual case, without a loop
    for (size_t i = 0; i < n; ++i) {
      const Real x = values[i];
      out[i] = x == x ? static_cast<uint16_t>(child(1, child(0, 0, x), x)) : missing;
    }
    return;
  }
  for (size_t i = 0; i < n; ++i) {
    const Real x = values[i];
    size_t position = 0;
    for (int l = 0; l < cuts.depth; ++l) position = child(l, position, x);
    out[i] = x == x ? static_cast<uint16_t>(position) : missing;
  }
}

}  // namespace
}  // namespace stagewise

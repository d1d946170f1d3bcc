// Scores of blocks of rows by bit masks (QuickScorer; see MaskSplit in kernels/api/scoring.hpp).
#pragma once

#include "kernels/api/scoring.hpp"

namespace stagewise {
namespace {

typedef int8_t CodeLanes __attribute__((vector_size(kMaskRows)));

// arrived(i, leaf) for every row of the block. A row's mask of leaves lies across `Planes` vectors
// of bytes, so that a comparison of bytes can be applied to it without being widened.
template <size_t Planes, class Arrived>
inline __attribute__((always_inline)) void find_leaves(const MaskTree& tree, const int8_t* codes,
                                                       Arrived arrived) {
  CodeLanes possible[Planes];
  for (size_t k = 0; k < Planes; ++k) possible[k] = CodeLanes{} - 1;
  for (size_t s = 0; s < tree.n; ++s) {
    const MaskSplit& split = tree.splits[s];
    CodeLanes code;
    __builtin_memcpy(&code, codes + split.feature * kMaskRows, sizeof code);
    CodeLanes right = code > split.code;  // -1 where true
    if (split.missing_left) right &= code != kMaskMissing;
#pragma GCC unroll 8
    for (size_t k = 0; k < Planes; ++k) possible[k] &= ~(right & split.ruled_out[k]);
  }
  for (size_t i = 0; i < kMaskRows; ++i) {
    uint64_t leaves = 0;
#pragma GCC unroll 8
    for (size_t k = 0; k < Planes; ++k)
      leaves |= static_cast<uint64_t>(static_cast<uint8_t>(possible[k][i])) << (8 * k);
    arrived(i, static_cast<size_t>(__builtin_ctzll(leaves)));
  }
}

template <size_t Planes>
void score_block(const MaskTree& tree, const int8_t* codes, double* out) {
  find_leaves<Planes>(tree, codes, [&](size_t i, size_t leaf) { out[i] += tree.values[leaf]; });
}

void score_vectors(const MaskTree& tree, const int8_t* codes, size_t outputs, size_t n,
                   double* out) {
  const auto arrived = [&](size_t i, size_t leaf) {
    if (i >= n) return;
    const double* const value = tree.values + leaf * outputs;
    for (size_t k = 0; k < outputs; ++k) out[i * outputs + k] += value[k];
  };
  if (tree.n < 32) {  // at most 32 leaves
    find_leaves<4>(tree, codes, arrived);
  } else {
    find_leaves<8>(tree, codes, arrived);
  }
}

template <size_t Planes>
void leaf_block(const MaskTree& tree, const int8_t* codes, uint8_t* out) {
  find_leaves<Planes>(tree, codes,
                      [=](size_t i, size_t leaf) { out[i] = static_cast<uint8_t>(leaf); });
}

}  // namespace
}  // namespace stagewise

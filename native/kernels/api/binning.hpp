// Interface of the binning kernels: the number of cuts below each value.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stagewise {

// Cuts as a search tree of 16-way nodes, outermost level of the tree first, padded with +inf.
constexpr int kCutWays = 16;
constexpr int kMaxCutDepth = 4;

template <class Real>
struct CutTree {
  const Real* level[kMaxCutDepth] = {};
  int depth = 0;
};

struct BinningKernels {
  // out[i] = number of cuts < values[i]; `missing` for NaN.
  void (*bin_doubles)(const double* values, size_t n, const CutTree<double>& cuts, uint16_t missing,
                      uint16_t* out);
  void (*bin_floats)(const float* values, size_t n, const CutTree<float>& cuts, uint16_t missing,
                     uint16_t* out);
};

}  // namespace stagewise

// Interface of the scoring kernels: trees as bit masks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stagewise {

// Trees as bit masks (QuickScorer: Lucchese et al. 2015): a row starts with all leaves possible;
// every split that sends it right rules out the leaves of its left side; the first leaf left over
// is the row's.
struct MaskSplit {
  uint32_t feature;
  int8_t code;  // codes above it go right; codes and this are shifted by -128
  bool missing_left;
  int8_t ruled_out[8];  // by going right: the leaves of the left side, a bit each
};

constexpr size_t kMaskRows = 32;      // rows that are scored together
constexpr int8_t kMaskMissing = 127;  // the shifted code of a missing value

struct MaskTree {
  const MaskSplit* splits;
  size_t n;
  const double* values;  // per leaf, from left to right; one, or one for each output
};

struct ScoringKernels {
  // out[i] += the tree's value for row i; codes[feature * kMaskRows + i]. Up to 32 or 64 leaves.
  void (*score32)(const MaskTree& tree, const int8_t* codes, double* out);
  void (*score64)(const MaskTree& tree, const int8_t* codes, double* out);
  // out[i * outputs + k] += the tree's k-th value for row i, for the first n rows.
  void (*score_vectors)(const MaskTree& tree, const int8_t* codes, size_t outputs, size_t n,
                        double* out);

  // out[i] = the number of the row's leaf, from left to right.
  void (*leaf32)(const MaskTree& tree, const int8_t* codes, uint8_t* out);
  void (*leaf64)(const MaskTree& tree, const int8_t* codes, uint8_t* out);
};

}  // namespace stagewise

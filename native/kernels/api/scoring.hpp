// Interface of the scoring kernels: the leaves of many rows by comparisons of bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stagewise {

constexpr size_t kScoredRows = 256;  // rows that are scored together; a byte has a leaf's number

// A comparison of a byte of each row: codes[at + i] > code.
struct CodeTest {
  uint32_t at;
  int8_t code;
  uint8_t ruled_out;  // the leaves of a plane, a bit each, that are ruled out where it is true
};

// A tree as bit masks (QuickScorer: Lucchese et al. 2015): a row starts with all leaves possible;
// every test that is true rules out some; the first leaf left over is the row's. A plane is eight
// consecutive leaves. The tests of a plane lie together, so its mask stays in a register.
struct MaskTree {
  const CodeTest* tests;
  const uint32_t* ends;  // of each plane, in `tests`
  size_t planes;         // at most 32
};

// A tree with one test for each depth: a row's leaf has the number whose bit d is test d.
struct SymmetricTree {
  const CodeTest* tests;
  size_t depth;  // at most 8
};

// The tests of the first six levels of a tree, which rows of 16-bit codes pass together. The
// children of test i are the tests 2 i + 1 and 2 i + 2, or behind the last test the nodes that rows
// have reached.
constexpr size_t kTopTests = 63;
struct TopTests {
  uint32_t at[kTopTests];   // of the codes that are compared
  int16_t code[kTopTests];  // a larger one goes right
  uint16_t node[kTopTests + 1];
};

// The values of a tree's leaves, taken apart: first the lowest 16 bits of all values, then the next
// ones, so that a permutation of registers looks up many rows at once. 32 or 64 leaves, of which
// the last ones may be padding.
struct LeafPlanes {
  const uint16_t* words;  // 4 * leaves
  size_t leaves;
};
constexpr size_t kMostPlaneLeaves = 64;

struct ScoringKernels {
  // leaf[i] of rows 0 to n - 1, n <= kScoredRows; codes and leaf have kScoredRows rows, and those
  // from n on are undefined.
  void (*mask_leaves)(const MaskTree& tree, const int8_t* codes, size_t n, uint8_t* leaf);
  void (*symmetric_leaves)(const SymmetricTree& tree, const int8_t* codes, size_t n, uint8_t* leaf);
  // node[i] of rows 0 to n - 1; codes[at + i] and node as above.
  void (*top_nodes)(const TopTests& top, const int16_t* codes, size_t n, uint16_t* node);
  // out[i] += values[t][leaf[t * kScoredRows + i]] for all trees t, in order.
  void (*add_leaf_values)(const double* const* values, const uint8_t* leaf, size_t trees, size_t n,
                          double* out);
  // The same with planes; null: not faster. leaf and out have kScoredRows rows, and those from n on
  // are undefined.
  void (*add_leaf_planes)(const LeafPlanes* planes, const uint8_t* leaf, size_t trees, size_t n,
                          double* out);
};

}  // namespace stagewise

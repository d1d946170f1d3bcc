// Interface of the split kernels: the best cut of one feature of one node, from sums per bin or
// from sorted rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/fixed_point.hpp"
#include "kernels/api/gain.hpp"
#include "kernels/api/rows.hpp"

namespace stagewise {

constexpr size_t kMostListed = 255;
constexpr double kNoSplit = -std::numeric_limits<double>::infinity();

struct ScanResult {
  double score = kNoSplit;  // gain(left) + gain(right) in packed units
  size_t position = 0;      // the last bin that goes left
  bool missing_left = false;
  int64_t left_sum = 0;       // what goes left, missing values included
  double unsplit = 0.0;       // the score of the whole node; only of classes
  bool missing_seen = false;  // likewise
};

// Positions of a cut: after the bins [0, position]. A range of them, the last one excluded.
struct Positions {
  size_t first = 0, last = 0;
};

// One feature of one node, as sums per bin in the order of the bins.
struct ScanInput {
  const int64_t* packed_sums = nullptr;  // per bin
  size_t bins = 0;
  int64_t missing_sum = 0;
  int64_t total_sum = 0;
  int direction = 0;  // 1: the right side must not have the smaller value; -1: not the larger one
  // The positions to try when missing values go right, and when they go left.
  Positions missing_right, missing_left;
};

// How good a node of several classes is, from the weights W_k of its classes and their sum W; what
// a split gains is the children's less their parent's: W times the decrease of the impurity.
enum class ClassCriterion {
  misclassification,  // max_k W_k: the weight of correct predictions
  gini,               // sum_k W_k^2 / W
  entropy,            // sum_k W_k log W_k - W log W
};

// A node with classes. The gradient halves of the packed sums are weights of classes, the hessian
// halves are counts.
struct ClassNode {
  const int64_t* packed_sums = nullptr;  // per class
  size_t classes = 0;
  // The count of the node and the minimal count of a side; both 0: not checked.
  int64_t count = 0, least_count = 0;
};

// One feature of it as sums per bin, a plane of them for each class; missing values are the bin
// behind the last one.
struct ClassScanInput {
  ClassNode node;
  const int64_t* packed_sums = nullptr;
  size_t class_stride = 0;  // from one class to the next
  size_t bins = 0;
  bool has_missing = false;
  const int64_t* counts = nullptr;  // per bin; null: not checked
  Positions within;                 // the positions to try

  int64_t packed_sum(size_t bin, size_t k) const { return packed_sums[bin + k * class_stride]; }
};

// The same as rows in the order of their codes, of which the first ones are present, the others
// missing. A position is that of a row, and a cut lies behind the last one of a code.
struct ClassSweepInput {
  ClassNode node;
  const SortedRow* rows = nullptr;
  size_t n = 0, present = 0;
  const int32_t* class_of = nullptr;  // by what the rows are called
  const GradientSlot* slots = nullptr;
  const int64_t* counts = nullptr;  // per row of the node, in this order; null: not checked
  Positions within;
};

// Logarithms of weights (whole_log) that are at hand.
struct WeightLogs {
  const int64_t* few = nullptr;  // of the first n whole numbers
  int64_t n = 0;
  int shift = 0;      // what all weights can be divided by, as a power of two
  double real = 0.0;  // what a unit of the logarithms is in units of the weights
};

struct ScanRules {
  Regularisation regularisation;  // in units of the packed integers
  double min_hessian = 1.0;       // likewise; at least one unit, so that no side is empty
  ClassCriterion criterion = ClassCriterion::misclassification;  // of a tree of classes
  WeightLogs logs;                                               // where it is entropy
};

// One feature of one node where trees have several outputs: a vector of `lanes` sums for every
// bin, for the missing values and for the whole node.
struct VectorScanInput {
  const int64_t* packed_sums = nullptr;
  size_t bins = 0;
  const int64_t* missing = nullptr;  // null: there are none
  const int64_t* total = nullptr;
};

// The score of a candidate is the sum over the outputs of unit * (gain(left) + gain(right)). Arrays
// have a number for each lane, 0 if the lane is not an output, in packed units.
struct VectorRules {
  size_t lanes = 0, outputs = 0;
  const double* unit = nullptr;  // gain per packed gain
  const double* l1 = nullptr;
  const double* l2 = nullptr;
  const double* high = nullptr;          // of values, up or down
  const double* hessian_unit = nullptr;  // what a packed hessian is
  bool plain = true;                     // neither l1 nor high matter
  double least_hessian = 0.0;            // of a side, in all outputs together
  // The minimal value of one masked lane of a side.
  size_t count_lane = 0;
  int64_t count_mask = 0;
  int64_t least_count = 0;
};

// A feature in the leaves of a depth of a symmetric tree.
struct LevelInput {
  const int64_t* const* packed_sums = nullptr;  // of each leaf
  size_t place = 0;                             // of the feature in them: its bins
  size_t bins = 0;                              // at most kMostBounded
  bool has_missing = false;                     // the bin behind the last one has missing values
  size_t leaves = 0;
  const int64_t* total_sums = nullptr;  // of each leaf
  const double* unsplit = nullptr;      // likewise: its score without a split
  // The scores of other leaves, which are added: per bin, missing values on the right and on the
  // left; null: there are none.
  const double* rest[2] = {nullptr, nullptr};
};
constexpr size_t kMostBounded = 256;

// The smallest and the largest code of some rows.
struct CodeRange {
  uint16_t least, most;
};

// The packed sum of the rows to the left of a cut, and the smallest code to its right.
struct CutSides {
  int64_t left_sum;
  uint16_t next;
};

struct SplitScanKernels {
  ScanResult (*scan)(const ScanInput& input, const ScanRules& rules);
  // False if the score of every cut is less than this one, at a fraction of the work; without
  // directions, and penalties other than an l2 of at most 2^60.
  bool (*may_reach)(const int64_t* packed_sums, size_t bins, int64_t missing_sum, int64_t total_sum,
                    const ScanRules& rules, double score);
  // A number that the score of no cut exceeds, at a fraction of the work; without missing values,
  // directions, and penalties other than l2.
  double (*score_bound)(const int64_t* packed_sums, size_t bins, int64_t total_sum,
                        const ScanRules& rules);
  // The same for each of n adjacent features with two bins.
  void (*score_bounds)(const int64_t* packed_sums, size_t n, int64_t total_sum,
                       const ScanRules& rules, double* out);
  // right[i] += the score of a cut behind bin i with missing values on the right, left[i] += that
  // with them on the left; `unsplit` where a side is too light, and where the position is not to be
  // tried. left: null if it is not needed.
  void (*symmetric_scores)(const ScanInput& input, const ScanRules& rules, double unsplit,
                           double* right, double* left);
  // A number that the sum of the scores of no cut in all leaves exceeds. The rules are those of
  // every leaf, with no penalties but l2, and without directions.
  double (*symmetric_bound)(const LevelInput& level, const ScanRules& rules);
  // As symmetric_scores for n bins, of which only some have rows: those of the input, which are
  // listed in increasing order (kMostListed of them at most). All positions are tried.
  void (*symmetric_scores_of_listed)(const ScanInput& input, const uint32_t* listed, size_t n,
                                     const ScanRules& rules, double unsplit, double* right,
                                     double* left);
  CodeRange (*code_range)(const uint16_t* codes, size_t n);
  // Of a cut behind the code `last`.
  CutSides (*cut_sides)(const uint16_t* codes, const int64_t* packed, size_t n, uint16_t last);
  // scratch: 2 * classes numbers.
  ScanResult (*scan_classes)(const ClassScanInput& input, const ScanRules& rules, int64_t* scratch);
  ScanResult (*sweep_classes)(const ClassSweepInput& input, const ScanRules& rules,
                              int64_t* scratch);

  // left: receives the sums of the left side of the best cut, if there is one; scratch: of the same
  // length.
  ScanResult (*scan_vectors)(const VectorScanInput& input, const VectorRules& rules, int64_t* left,
                             int64_t* scratch);
  // As symmetric_scores. scratch: `lanes` numbers.
  void (*symmetric_vector_scores)(const VectorScanInput& input, const VectorRules& rules,
                                  double unsplit, int64_t* scratch, double* right, double* left);
};

}  // namespace stagewise

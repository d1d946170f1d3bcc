// The loops that touch every row or every bin, one table of them per instruction set.
//
// One idea: kernels.cpp is compiled several times with different compiler flags and says the same
// thing each time; every loop is elementwise floating point or integer, so every table gives the
// same bits. Callers get a table from kernels_for() and never ask which one it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/fixed_point.hpp"
#include "grow/gain.hpp"

namespace stagewise {

constexpr size_t kLossBlock =
    1024;  // rows of one partial sum; fixed, because float sums have order

struct LossSums {
  double loss = 0.0;
  double abs_gradient = 0.0;  // these two choose a power of two: good to about 1e-5
  double hessian = 0.0;
};

// How the packed words of a tree are made from pairs of floats.
struct Packing {
  Scales scales;
  bool whole_weights = false;  // round first, then multiply: k copies of a row are exactly weight k
  bool stochastic = false;
  uint32_t key = 0;
};

// The rows of a node: the listed ones, or n of them from `first` on where the list is null.
struct RowIndex {
  const uint32_t* listed = nullptr;
  uint32_t first = 0;
  size_t n = 0;

  uint32_t operator[](size_t i) const {
    return listed == nullptr ? first + static_cast<uint32_t>(i) : listed[i];
  }
  RowIndex part(size_t begin, size_t count) const {
    return {listed == nullptr ? nullptr : listed + begin, first + static_cast<uint32_t>(begin),
            count};
  }
};

// A row and the code it has of some feature.
struct SortedRow {
  uint32_t row, rank;
};

// The codes of one feature: a column, or a place in every row, perhaps of a code that is shared.
template <class Code>
struct FeatureCodes {
  const Code* codes;
  size_t stride = 1;
  const uint8_t* decode = nullptr;
};

// Positions of a cut: after the bins [0, position]. A range of them, the last one excluded.
struct Positions {
  size_t first = 0, last = 0;
};

// A histogram has one plane, or one for each class, `words` apart.
struct Planes {
  const int32_t* of_row = nullptr;  // the class of every row; null: one plane
  size_t n_sums = 0;
  size_t n = 1;
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
  misclassification,  // max_k W_k: what one answer for all gets right
  gini,               // sum_k W_k^2 / W
  entropy,            // sum_k W_k log W_k - W log W
};

// A node of several classes. The gradient halves of the words are the weights of the classes, the
// hessian halves counts.
struct ClassNode {
  const int64_t* packed_sums = nullptr;  // per class
  size_t classes = 0;
  // In the units of whoever counts the rows of a side, and at least how many one must have; 0 and
  // 0: nobody does.
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
  const int64_t* counts = nullptr;  // per bin; null: nobody counts
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
  const int64_t* counts = nullptr;  // per row of the node, in this order; null: nobody counts
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

// One feature of one node where trees have several outputs: a vector of `lanes` words for every
// bin, for the missing values and for the whole node.
struct VectorScanInput {
  const int64_t* packed_sums = nullptr;
  size_t bins = 0;
  const int64_t* missing = nullptr;  // null: there are none
  const int64_t* total = nullptr;
};

constexpr size_t kLaneBlock = 4;  // words of a vector come in such blocks, the last ones zero

// What its candidates are worth: the sum over the outputs of unit * (gain(left) + gain(right)). A
// number for each lane, 0 where the lane is not an output's; in units of the packed integers.
struct VectorRules {
  size_t lanes = 0, outputs = 0;
  const double* unit = nullptr;  // what a packed gain is worth
  const double* l1 = nullptr;
  const double* l2 = nullptr;
  const double* high = nullptr;          // of values, up or down
  const double* hessian_unit = nullptr;  // what a packed hessian is
  bool plain = true;                     // neither l1 nor high matter
  double least_hessian = 0.0;            // of a side, in all outputs together
  // Of a side, too: what the masked word of one lane must be at least.
  size_t count_lane = 0;
  int64_t count_mask = 0;
  int64_t least_count = 0;
};

constexpr double kNoSplit = -std::numeric_limits<double>::infinity();

struct ScanResult {
  double score = kNoSplit;  // gain(left) + gain(right) in packed units
  size_t position = 0;      // the last bin that goes left
  bool missing_left = false;
  int64_t left_sum = 0;       // what goes left, missing values included
  double unsplit = 0.0;       // the score of the whole node; only of classes
  bool missing_seen = false;  // likewise
};

// Cuts as a search tree of 16-way nodes, outermost level first, padded with +inf.
constexpr int kCutWays = 16;
constexpr int kMaxCutDepth = 4;

template <class Real>
struct CutTree {
  const Real* level[kMaxCutDepth] = {};
  int depth = 0;
};

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

// A split as codes of 16 bits ask it (SplitCodes): codes above `code` go right.
struct CodedSplit {
  uint32_t place;
  int16_t code;
  bool missing_left;
};

constexpr size_t kDecisionRows = 32;         // rows whose answers lie together
constexpr int16_t kDecisionMissing = 32767;  // the code of a missing value

// That a row goes to one side of a split: right, or with flip -1 left.
struct Literal {
  uint32_t split;
  int16_t flip;
};

// A pattern has a bit for each of some conditions, each of which is that all of its literals hold.
struct PatternBits {
  const Literal* literals;
  const uint32_t* start;  // of each bit's literals, and where the last ones end
  size_t n;               // bits, at most 15
};

// An edge of a tree at one point t of a quadrature. Its feature has a factor in the products of the
// leaves below, and an edge with the same feature above it, if there is one, had another before. A
// row meets the conditions of both, has lost them here, or never met them: what the product is then
// multiplied by, and what a sum of products is worth to the feature.
struct EdgeTerms {
  double met, lost, never;
  double attribution_met, attribution_lost;
};

// Rows of a line's leaf that are summed together, and the lanes of such a sum.
constexpr size_t kProductRows = 128, kProductLanes = 8;

// Sums over rows; the arrays have room for what a kernel writes.
struct ProductSums {
  double gradient = 0.0, hessian = 0.0;
  double* first;   // per feature: h x
  double* cross;   // per feature: g x
  double* square;  // per pair of features, the second at or before the first: h x x'
};

// Words between evenly laid histograms of byte codes: room for 256, and a line more, or the same
// bin of every second feature would compete for the same few lines of the first-level cache.
constexpr size_t kEvenStride = 264;

struct Kernels {
  const char* name;

  // Losses: at most kLossBlock rows; weight may be null (all ones). Losses of numbers have one
  // number of their own, which only some of them use.
  using NumberLoss = void (*)(const double* y, const double* score, const double* weight, size_t n,
                              double parameter, GradientSlot* out, LossSums* sums);
  using LabelLoss = void (*)(const int32_t* y, const double* score, const double* weight, size_t n,
                             GradientSlot* out, LossSums* sums);
  NumberLoss squared, absolute, quantile, huber, poisson, gamma, tweedie;
  LabelLoss logistic, exponential;
  // softmax_state: per row (max score, 1 / sum exp(score - max)); scores are K columns `stride`
  // apart.
  void (*softmax_state)(const int32_t* y, const double* scores, size_t stride, size_t outputs,
                        const double* weight, size_t n, float* state, LossSums* sums);
  void (*softmax)(const int32_t* y, const double* score, const float* state, int32_t output,
                  const double* weight, size_t n, GradientSlot* out, LossSums* sums);

  // The same for the exponential loss of K classes; its state is one number per row.
  void (*exponential_state)(const int32_t* y, const double* scores, size_t stride, size_t outputs,
                            const double* weight, size_t n, float* state, LossSums* sums);
  void (*multiclass_exponential)(const int32_t* y, const float* state, int32_t output,
                                 size_t outputs, const double* weight, size_t n, GradientSlot* out,
                                 LossSums* sums);

  // Returns the sum of the words.
  int64_t (*pack)(GradientSlot* slots, const double* weight, size_t n, uint32_t first_row,
                  const Packing& packing);

  // hist[offset[j] + code of the j-th listed feature] += word, for every row, in the row's plane;
  // listed null: all.
  void (*histogram8)(const uint8_t* codes, size_t stride, const uint32_t* offset,
                     const uint32_t* listed, size_t features, const RowIndex& rows,
                     const Planes& planes, const GradientSlot* slots, int64_t* hist);
  void (*histogram16)(const uint16_t* codes, size_t stride, const uint32_t* offset,
                      const uint32_t* listed, size_t features, const RowIndex& rows,
                      const Planes& planes, const GradientSlot* slots, int64_t* hist);
  // hist[j * kEvenStride + code of feature j] += word, for every row.
  void (*even_histogram8)(const uint8_t* codes, size_t stride, size_t features,
                          const RowIndex& rows, const Planes& planes, const GradientSlot* slots,
                          int64_t* hist);
  // hist[places[cell]] += sign * word, for every cell [start[row], start[row + 1]) of every row.
  void (*sparse_histogram)(const uint32_t* start, const uint32_t* places, const RowIndex& rows,
                           const Planes& planes, const GradientSlot* slots, int64_t sign,
                           int64_t* hist);
  // hist[(offset[j] + code of the j-th listed feature) * lanes ...] += the vector of the row.
  void (*vector_histogram8)(const uint8_t* codes, size_t stride, const uint32_t* offset,
                            const uint32_t* listed, size_t features, const RowIndex& rows,
                            const int64_t* vectors, size_t lanes, int64_t* hist);
  void (*vector_histogram16)(const uint16_t* codes, size_t stride, const uint32_t* offset,
                             const uint32_t* listed, size_t features, const RowIndex& rows,
                             const int64_t* vectors, size_t lanes, int64_t* hist);
  void (*subtract)(int64_t* parent, const int64_t* child, size_t n);  // parent -= child
  ScanResult (*scan)(const ScanInput& input, const ScanRules& rules);
  // A number that the score of no cut exceeds, at a fraction of the work; without missing values,
  // directions, and penalties other than l2.
  double (*score_bound)(const int64_t* packed_sums, size_t bins, int64_t total_sum,
                        const ScanRules& rules);
  // The same for each of n features with two bins, behind each other.
  void (*score_bounds)(const int64_t* packed_sums, size_t n, int64_t total_sum,
                       const ScanRules& rules, double* out);
  // right[i] += the score of a cut behind bin i with missing values on the right, left[i] += that
  // with them on the left; `unsplit` where a side is too light.
  void (*symmetric_scores)(const ScanInput& input, const ScanRules& rules, double unsplit,
                           double* right, double* left);
  // scratch: 2 * classes numbers.
  ScanResult (*scan_classes)(const ClassScanInput& input, const ScanRules& rules, int64_t* scratch);
  ScanResult (*sweep_classes)(const ClassSweepInput& input, const ScanRules& rules,
                              int64_t* scratch);

  // left: receives the words of what goes left at the best cut, as far as there is one; scratch:
  // as many.
  ScanResult (*scan_vectors)(const VectorScanInput& input, const VectorRules& rules, int64_t* left,
                             int64_t* scratch);

  // Stable partition of rows by code <= bin (or == missing, when missing goes left); left
  // may be the list itself. Returns how many went left.
  size_t (*partition8)(const FeatureCodes<uint8_t>& codes, const RowIndex& rows, uint32_t bin,
                       uint32_t missing, uint32_t* left, uint32_t* right);
  size_t (*partition16)(const FeatureCodes<uint16_t>& codes, const RowIndex& rows, uint32_t bin,
                        uint32_t missing, uint32_t* left, uint32_t* right);
  size_t (*partition32)(const FeatureCodes<uint32_t>& codes, const RowIndex& rows, uint32_t bin,
                        uint32_t missing, uint32_t* left, uint32_t* right);
  // The same in two steps, for several threads: first a bit per row that goes right, then, when it
  // is known how many rows come before these, each to its place; nothing else is written.
  size_t (*mark8)(const FeatureCodes<uint8_t>& codes, const RowIndex& rows, uint32_t bin,
                  uint32_t missing, uint8_t* marks);
  size_t (*mark16)(const FeatureCodes<uint16_t>& codes, const RowIndex& rows, uint32_t bin,
                   uint32_t missing, uint8_t* marks);
  size_t (*mark32)(const FeatureCodes<uint32_t>& codes, const RowIndex& rows, uint32_t bin,
                   uint32_t missing, uint8_t* marks);
  void (*distribute)(const RowIndex& rows, const uint8_t* marks, size_t n_left, uint32_t* left,
                     uint32_t* right);

  // out[i] += the tree's value for row i; codes[feature * kMaskRows + i]. Up to 32 or 64 leaves.
  void (*score32)(const MaskTree& tree, const int8_t* codes, double* out);
  void (*score64)(const MaskTree& tree, const int8_t* codes, double* out);
  // out[i * outputs + k] += the tree's k-th value for row i, for the first n rows.
  void (*score_vectors)(const MaskTree& tree, const int8_t* codes, size_t outputs, size_t n,
                        double* out);

  // out[i] = the number of the row's leaf, from left to right.
  void (*leaf32)(const MaskTree& tree, const int8_t* codes, uint8_t* out);
  void (*leaf64)(const MaskTree& tree, const int8_t* codes, uint8_t* out);

  // out[s * kDecisionRows + i] = -1 if row i goes right at split s, else 0;
  // codes[place * kDecisionRows + i].
  void (*decisions)(const CodedSplit* splits, size_t n, const int16_t* codes, int16_t* out);
  // out[i] = the pattern of row i.
  void (*patterns)(const PatternBits& bits, const int16_t* decisions, uint16_t* out);
  // out[i * stride + slots[k]] += table[patterns[i] * width + k], for the first n rows.
  void (*add_patterns)(const double* table, const uint32_t* slots, size_t width,
                       const uint16_t* patterns, size_t n, size_t stride, double* out);
  // out[q][i] = parent[q][i] times the factor of row i; own and before are -1 or 0 for each row:
  // whether it meets the conditions down to this edge, and those of the edge before.
  void (*edge_products)(const EdgeTerms* terms, size_t points, const int64_t* own,
                        const int64_t* before, const double* parent, double* out);
  // credit[i] = what sums[q][i] are worth together.
  void (*edge_attributions)(const EdgeTerms* terms, size_t points, const int64_t* own,
                            const int64_t* before, const double* sums, double* attribution);

  // Over n rows, a multiple of kProductLanes and at most kProductRows; x[j * kProductRows + row].
  // hx: room for n numbers.
  void (*products)(const double* x, size_t features, const double* g, const double* h, size_t n,
                   double* hx, ProductSums* sums);

  // out[i] = number of cuts < values[i]; `missing` for NaN.
  void (*bin_doubles)(const double* values, size_t n, const CutTree<double>& cuts, uint16_t missing,
                      uint16_t* out);
  void (*bin_floats)(const float* values, size_t n, const CutTree<float>& cuts, uint16_t missing,
                     uint16_t* out);
};

constexpr uint32_t kMissingRight = 0xffffffffu;  // no code equals it

// The instruction sets this build has and this processor can run, best last.
std::vector<std::string> supported_isas();
// "" chooses the best one; throws std::invalid_argument for an unknown or unsupported name.
const Kernels& kernels_for(const std::string& isa);

}  // namespace stagewise

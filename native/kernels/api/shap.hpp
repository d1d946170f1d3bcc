// Interface of the Shapley value kernels: decisions of rows at splits, patterns of conditions, and
// products along the edges of a tree.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stagewise {

// A split as a comparison of 16-bit codes (SplitCodes): codes above `code` go right.
struct CodedSplit {
  uint32_t place;
  int16_t code;
  bool missing_left;
};

constexpr size_t kDecisionRows = 32;         // rows whose decisions are adjacent
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
// leaves below; an edge above with the same feature had another factor. A row meets the conditions
// of both edges, fails this one, or failed before: the factors of the product in each case, and the
// weights of a sum of products in the attribution of the feature.
struct EdgeTerms {
  double met, lost, never;
  double attribution_met, attribution_lost;
};

struct ShapKernels {
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
  // attribution[i] = the weighted sum of sums[q][i].
  void (*edge_attributions)(const EdgeTerms* terms, size_t points, const int64_t* own,
                            const int64_t* before, const double* sums, double* attribution);
};

}  // namespace stagewise

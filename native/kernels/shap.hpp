// Decisions of rows at splits, and their use in Shapley values. kDecisionRows rows are processed at
// once, one per lane.
#pragma once

#include "kernels/api/shap.hpp"

namespace stagewise {
namespace {

typedef int16_t DecisionLanes __attribute__((vector_size(32)));
constexpr size_t kDecisionLanes = sizeof(DecisionLanes) / sizeof(int16_t);
static_assert(kDecisionRows % kDecisionLanes == 0);

// See ShapKernels::decisions.
void decisions(const CodedSplit* splits, size_t n, const int16_t* codes, int16_t* out) {
  for (size_t s = 0; s < n; ++s)
    for (size_t i = 0; i < kDecisionRows; i += kDecisionLanes) {
      DecisionLanes code;
      __builtin_memcpy(&code, codes + splits[s].place * kDecisionRows + i, sizeof code);
      DecisionLanes right = code > splits[s].code;  // -1 where true
      if (splits[s].missing_left) right &= code != kDecisionMissing;
      __builtin_memcpy(out + s * kDecisionRows + i, &right, sizeof right);
    }
}

// See Kernels::patterns.
void patterns(const PatternBits& bits, const int16_t* decisions, uint16_t* out) {
  for (size_t i = 0; i < kDecisionRows; i += kDecisionLanes) {
    DecisionLanes pattern = {};
    for (size_t b = 0; b < bits.n; ++b) {
      DecisionLanes all = DecisionLanes{} - 1;
      for (size_t k = bits.start[b]; k < bits.start[b + 1]; ++k) {
        DecisionLanes decision;
        __builtin_memcpy(&decision, decisions + bits.literals[k].split * kDecisionRows + i,
                         sizeof decision);
        all &= decision ^ bits.literals[k].flip;
      }
      const auto bit = static_cast<int16_t>(1u << b);  // of its own: GCC's sanitizers widen it else
      pattern |= all & bit;
    }
    __builtin_memcpy(out + i, &pattern, sizeof pattern);
  }
}

// See Kernels::add_patterns.
void add_patterns(const double* table, const uint32_t* slots, size_t width,
                  const uint16_t* patterns, size_t n, size_t stride, double* out) {
  for (size_t i = 0; i < n; ++i) {
    const double* const attribution = table + patterns[i] * width;
    double* const row = out + i * stride;
#pragma GCC unroll 4
    for (size_t k = 0; k < width; ++k) row[slots[k]] += attribution[k];
  }
}

// See Kernels::edge_products.
void edge_products(const EdgeTerms* terms, size_t points, const int64_t* own, const int64_t* before,
                   const double* parent, double* out) {
  for (size_t q = 0; q < points; ++q, parent += kDecisionRows, out += kDecisionRows) {
    const double met = terms[q].met, lost = terms[q].lost, never = terms[q].never;
    for (size_t i = 0; i < kDecisionRows; ++i)
      out[i] = parent[i] * (own[i] != 0 ? met : (before[i] != 0 ? lost : never));
  }
}

// See Kernels::edge_attributions.
void edge_attributions(const EdgeTerms* terms, size_t points, const int64_t* own,
                       const int64_t* before, const double* sums, double* attribution) {
  for (size_t i = 0; i < kDecisionRows; ++i) attribution[i] = 0.0;
  for (size_t q = 0; q < points; ++q, sums += kDecisionRows) {
    const double met = terms[q].attribution_met, lost = terms[q].attribution_lost;
    for (size_t i = 0; i < kDecisionRows; ++i)
      attribution[i] += sums[i] * (own[i] != 0 ? met : (before[i] != 0 ? lost : 0.0));
  }
}

}  // namespace
}  // namespace stagewise

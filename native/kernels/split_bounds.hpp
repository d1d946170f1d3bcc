// Upper bounds of the scores of one feature of one node, for features that will not have the best
// cut: in float, without the exact scores of split_scan.hpp.
#pragma once

#include "kernels/split_scan.hpp"

namespace stagewise {
namespace {

typedef uint32_t Unsigned __attribute__((vector_size(32)));

// Whether cuts reach a score T, without divisions: with d = H + l2 of a side, G and D the sums of g
// and d of both sides,
//
//     g_L^2 / d_L + g_R^2 / d_R >= T   if   (g_L - G/D d_L)^2 >= (T - G^2/D) / D * d_L (D - d_L).
//
// Roundings are on the side of cuts that reach it: `slack` is more than those of the difference,
// and `all` and `factor` are too small by more than those of the right side.
struct Reach {
  float ratio, slack, l2, all, factor;
  int32_t least;
  uint32_t span;  // the hessians of the left side: least to least + span

  Reach(const Node& node, double score) {
    const double l2_of_side = node.rules.regularisation.l2, g = node.all.gradient;
    const double d = node.all.hessian + 2.0 * l2_of_side;
    const double gain = score * (1.0 - 1e-14) - g * g / d;
    ratio = static_cast<float>(g / d);
    slack = static_cast<float>((g < 0.0 ? -g : g) * 0x1p-20);
    l2 = static_cast<float>(l2_of_side);
    all = static_cast<float>(d * (1.0 - 0x1p-21));
    factor = gain > 0.0 ? static_cast<float>(gain / d * (1.0 - 1e-5)) : 0.0f;
    least = node.min_hessian;
    span = static_cast<uint32_t>(node.all.hessian - least - least);
  }

  // All bits of a member are set if its cut reaches the score.
  Halves reached(const Halves& gradient, const Halves& hessian) const {
    const FloatGroup g = __builtin_convertvector(gradient, FloatGroup);
    const FloatGroup d = __builtin_convertvector(hessian, FloatGroup) + l2;
    const FloatGroup difference = g - ratio * d;
    const FloatGroup size = (FloatGroup)((Halves)difference & 0x7fffffff) + slack;
    const Unsigned above_least = (Unsigned)(hessian - least);  // huge if it is negative
    return (Halves)(size * size >= factor * d * (all - d)) & (Halves)(above_least <= span);
  }
};

bool any(const Halves& bits) {
  typedef int64_t Words __attribute__((vector_size(32)));
  const Words w = (Words)bits;
  return (w[0] | w[1] | w[2] | w[3]) != 0;
}

bool may_reach(const int64_t* packed_sums, size_t bins, int64_t missing_sum, int64_t total_sum,
               const ScanRules& rules, double score) {
  const Node node{side_of(total_sum), static_cast<int32_t>(__builtin_ceil(rules.min_hessian)), 0,
                  true, rules};
  if (node.all.hessian - node.min_hessian < node.min_hessian) return false;
  const Reach reach(node, score);
  const Side missing = side_of(missing_sum);
  PackedLanes carry = {};
  Halves found = {};
  const auto compare = [&](const int64_t* sums) {
    const PrefixGroup p = prefix_group(sums, &carry);
    found |= reach.reached(p.gradient, p.hessian);
    if (missing_sum != 0)
      found |= reach.reached(p.gradient + missing.gradient, p.hessian + missing.hessian);
  };
  size_t i = 0;
  for (; i + kGroup <= bins; i += kGroup) compare(packed_sums + i);
  if (i < bins) {  // cuts behind the last bin repeat it
    int64_t last[kGroup] = {};
    for (size_t k = 0; i + k < bins; ++k) last[k] = packed_sums[i + k];
    compare(last);
  }
  return any(found);
}

// The screen alone. Its scores are less than the margin away from the exact ones.
constexpr double kAboveScreen = 1.0 + 8e-6;

double score_bound(const int64_t* packed_sums, size_t bins, int64_t total_sum,
                   const ScanRules& rules) {
  const Node node{side_of(total_sum), static_cast<int32_t>(__builtin_ceil(rules.min_hessian)), 0,
                  true, rules};
  const auto l2 = static_cast<float>(rules.regularisation.l2);
  float top = -1.0f;
  int64_t sum = 0;
  Prefixes p;
  alignas(64) float score[kScanChunk];
  for (size_t begin = 0; begin < bins; begin += kScanChunk) {
    const size_t n = bins - begin < kScanChunk ? bins - begin : kScanChunk;
    sum = prefix(packed_sums + begin, n, sum, &p);
    const float best = screen(p, 0, n, Side{}, node, l2, score);
    top = best > top ? best : top;
  }
  return top < 0.0f ? kNoSplit : static_cast<double>(top) * kAboveScreen;
}

// Adds the scores of the n cuts of a leaf in float; `unsplit` where a side is too light.
void add_screened(const Prefixes& p, size_t n, const Side& missing, const Side& all, int32_t least,
                  float l2, float unsplit, float* out) {
  for (size_t i = 0; i < n; ++i) {
    const int32_t gl = p.gradient[i] + missing.gradient, hl = p.hessian[i] + missing.hessian;
    const int32_t gr = all.gradient - gl, hr = all.hessian - hl;
    const float s = pair_score(static_cast<float>(gl), static_cast<float>(hl),
                               static_cast<float>(gr), static_cast<float>(hr), l2);
    const bool heavy = (hl >= least) & (hr >= least);
    out[i] += heavy ? s : unsplit;
  }
}

// The largest of n scores, n a multiple of kGroup, plus the rest of the first ones.
double largest_screened(float* score, size_t n, const double* rest, size_t n_rest) {
  if (rest != nullptr)
    for (size_t i = 0; i < n_rest; ++i) score[i] += static_cast<float>(rest[i]);
  FloatGroup best = {};
  for (size_t i = 0; i < n; i += kGroup) {
    FloatGroup s;
    __builtin_memcpy(&s, score + i, sizeof s);
    best = s > best ? s : best;
  }
  float top = best[0];
  for (size_t j = 1; j < kGroup; ++j) top = best[j] > top ? best[j] : top;
  return static_cast<double>(top);
}

// No score is negative, so the error of a sum is that of its terms, and a rounding for each.
constexpr double kAboveTerm = 0x1p-23;

double symmetric_bound(const LevelInput& in, const ScanRules& rules) {
  static_assert(kMostBounded <= kScanChunk);
  const auto least = static_cast<int32_t>(__builtin_ceil(rules.min_hessian));
  const auto l2 = static_cast<float>(rules.regularisation.l2);
  alignas(64) float right[kMostBounded], left[kMostBounded];
  constexpr size_t kWidest = 16;  // lanes of a vector; bins behind the last one are not read
  const size_t padded = (in.bins + kWidest - 1) / kWidest * kWidest;
  Prefixes p;
  for (size_t i = 0; i < padded; ++i) {
    right[i] = left[i] = 0.0f;
    p.gradient[i] = p.hessian[i] = 0;
  }
  for (size_t leaf = 0; leaf < in.leaves; ++leaf) {
    const int64_t* const sums = in.packed_sums[leaf] + in.place;
    const Side all = side_of(in.total_sums[leaf]);
    const auto unsplit = static_cast<float>(in.unsplit[leaf]);
    prefix(sums, in.bins, 0, &p);
    add_screened(p, padded, Side{}, all, least, l2, unsplit, right);
    if (in.has_missing)
      add_screened(p, padded, side_of(sums[in.bins]), all, least, l2, unsplit, left);
  }
  double top = largest_screened(right, padded, in.rest[0], in.bins);
  if (in.has_missing) {
    const double other = largest_screened(left, padded, in.rest[1], in.bins);
    top = other > top ? other : top;
  }
  return top * (kAboveScreen + kAboveTerm * static_cast<double>(in.leaves));
}

void score_bounds(const int64_t* packed_sums, size_t n, int64_t total_sum, const ScanRules& rules,
                  double* out) {
  const Side all = side_of(total_sum);
  const auto least = static_cast<int32_t>(__builtin_ceil(rules.min_hessian));
  const auto l2 = static_cast<float>(rules.regularisation.l2);
  for (size_t i = 0; i < n; ++i) {
    const auto gl = static_cast<int32_t>(packed_sums[2 * i] >> 32);
    const auto hl = static_cast<int32_t>(packed_sums[2 * i]);
    const int32_t gr = all.gradient - gl, hr = all.hessian - hl;
    const float s = pair_score(static_cast<float>(gl), static_cast<float>(hl),
                               static_cast<float>(gr), static_cast<float>(hr), l2);
    const bool heavy = (hl >= least) & (hr >= least);
    out[i] = heavy ? static_cast<double>(s) * kAboveScreen : kNoSplit;
  }
}

}  // namespace
}  // namespace stagewise

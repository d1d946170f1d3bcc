// The best cut of one feature of one node.
//
// Running sums of integers, scores of all positions in float, and exact scores in double of the few
// that are close to the best. The error of the float scores is bounded, so the choice is exact. The
// sum of the scores of both sides is computed in pair_score() and exact_score(); see
// kernels/api/gain.hpp.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "kernels/api/gain.hpp"
#include "kernels/api/split_scan.hpp"
#include "kernels/packing.hpp"

namespace stagewise {
namespace {

constexpr size_t kScanChunk = 256;
// The score of the float pass is a few float roundings away from the exact one; candidates this
// close to the best are compared in double.
constexpr float kScreenMargin = 1.0f - 4e-6f;
// Above, squares of the regularised hessians would leave the range of a float.
constexpr double kScreenLimit = 0x1p60;

// Sums of everything at or before each bin of a chunk.
struct Prefixes {
  alignas(64) int32_t gradient[kScanChunk];
  alignas(64) int32_t hessian[kScanChunk];
  size_t n = 0;
};

typedef int64_t PackedLanes __attribute__((vector_size(32)));
typedef int32_t Halves __attribute__((vector_size(32)));

// Running sums of four integers: two shifted additions, [a b c d] -> [a ab abc abcd].
PackedLanes running_sums(PackedLanes x) {
  const PackedLanes zero = {};
  x += __builtin_shufflevector(x, zero, 4, 0, 1, 2);
  x += __builtin_shufflevector(x, zero, 4, 4, 0, 1);
  return x;
}

// The prefixes of eight bins.
struct PrefixGroup {
  Halves gradient, hessian;
};

// `carry` has the sum before the bins in each member, and then that after them.
PrefixGroup prefix_group(const int64_t* packed_sums, PackedLanes* carry) {
  PackedLanes a, b;
  __builtin_memcpy(&a, packed_sums, sizeof a);
  __builtin_memcpy(&b, packed_sums + 4, sizeof b);
  // The sum of all eight does not wait for the carry, so that groups overlap.
  a = running_sums(a);
  b = running_sums(b) + __builtin_shufflevector(a, a, 3, 3, 3, 3);
  const PackedLanes all = __builtin_shufflevector(b, b, 3, 3, 3, 3);
  a += *carry;
  b += *carry;
  *carry += all;
  return {__builtin_shufflevector((Halves)a, (Halves)b, 1, 3, 5, 7, 9, 11, 13, 15),
          __builtin_shufflevector((Halves)a, (Halves)b, 0, 2, 4, 6, 8, 10, 12, 14)};
}

// The prefixes of n bins after a sum; returns the sum after them.
int64_t prefix(const int64_t* packed_sums, size_t n, int64_t sum, Prefixes* out) {
  out->n = n;
  PackedLanes carry = {sum, sum, sum, sum};
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const PrefixGroup group = prefix_group(packed_sums + i, &carry);
    __builtin_memcpy(out->hessian + i, &group.hessian, sizeof group.hessian);
    __builtin_memcpy(out->gradient + i, &group.gradient, sizeof group.gradient);
  }
  sum = carry[0];
  for (; i < n; ++i) {
    sum += packed_sums[i];
    out->gradient[i] = static_cast<int32_t>(sum >> 32);
    out->hessian[i] = static_cast<int32_t>(sum);
  }
  return sum;
}

// Sums of one side.
struct Side {
  int32_t gradient = 0, hessian = 0;
};

Side side_of(int64_t packed_sum) {
  return {static_cast<int32_t>(packed_gradient(packed_sum)),
          static_cast<int32_t>(packed_hessian(packed_sum))};
}

// What all candidates of a node have in common.
struct Node {
  Side all;
  int32_t min_hessian;
  int direction;
  bool plain;  // the score of a split is a plain quotient
  const ScanRules& rules;
};

constexpr size_t kGroup = 8;
typedef float FloatGroup __attribute__((vector_size(kGroup * sizeof(float))));

// A bit for each member of a group that is at least `least`.
unsigned at_least(const float* group, float least) {
#if defined(__AVX2__)
  return static_cast<unsigned>(
      _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(group), _mm256_set1_ps(least), _CMP_GE_OQ)));
#else
  unsigned bits = 0;
  for (size_t j = 0; j < kGroup; ++j) bits |= static_cast<unsigned>(group[j] >= least) << j;
  return bits;
#endif
}

// Scores in float of the n bins from `first` on; -1 where a side is too light. Returns the best.
float screen(const Prefixes& p, size_t first, size_t n, const Side& missing, const Node& node,
             float l2, float* score) {
  for (size_t i = 0; i < n; ++i) {
    const int32_t gl = p.gradient[first + i] + missing.gradient;
    const int32_t hl = p.hessian[first + i] + missing.hessian;
    const int32_t gr = node.all.gradient - gl, hr = node.all.hessian - hl;
    const float s = pair_score(static_cast<float>(gl), static_cast<float>(hl),
                               static_cast<float>(gr), static_cast<float>(hr), l2);
    const bool heavy = (hl >= node.min_hessian) & (hr >= node.min_hessian);
    score[i] = heavy ? s : -1.0f;
  }
  const size_t padded = (n + kGroup - 1) / kGroup * kGroup;
  for (size_t i = n; i < padded; ++i) score[i] = -1.0f;
  FloatGroup best = FloatGroup{} - 1.0f;
  for (size_t i = 0; i < padded; i += kGroup) {
    FloatGroup s;
    __builtin_memcpy(&s, score + i, sizeof s);
    best = s > best ? s : best;
  }
  float top = best[0];
  for (size_t j = 1; j < kGroup; ++j) top = best[j] > top ? best[j] : top;
  return top;
}

double exact_score(const Side& left, const Node& node) {
  const double gl = left.gradient, hl = left.hessian;
  const double gr = node.all.gradient - gl, hr = node.all.hessian - hl;
  const Regularisation& r = node.rules.regularisation;
  if (node.plain) return pair_score(gl, hl, gr, hr, r.l2);
  const double wl = leaf_value(gl, hl, r), wr = leaf_value(gr, hr, r);
  if (node.direction != 0 && (node.direction > 0 ? wr < wl : wl < wr)) return kNoSplit;
  return score_of(gl, hl, wl, r) + score_of(gr, hr, wr, r);
}

// Offers the candidates [first, last) of a chunk, of which the first bin is `begin`, to the best so
// far; the first of equals stays.
void offer(const Prefixes& p, size_t begin, size_t first, size_t last, const Side& missing,
           bool missing_left, const Node& node, ScanResult* best) {
  if (first >= last) return;
  const auto consider = [&](size_t i) {
    const Side left{p.gradient[i] + missing.gradient, p.hessian[i] + missing.hessian};
    const double score = exact_score(left, node);
    if (score > best->score)
      *best = {score, begin + i, missing_left, make_packed(left.gradient, left.hessian)};
  };
  const size_t n = last - first;
  if (n <= kGroup || !node.plain || node.rules.regularisation.l2 > kScreenLimit) {
    for (size_t i = first; i < last; ++i) {
      const int32_t hl = p.hessian[i] + missing.hessian;
      if (hl >= node.min_hessian && node.all.hessian - hl >= node.min_hessian) consider(i);
    }
    return;
  }
  alignas(64) float score[kScanChunk];
  const auto l2 = static_cast<float>(node.rules.regularisation.l2);
  const float top = screen(p, first, n, missing, node, l2, score);
  if (top < 0.0f) return;
  const float close = top * kScreenMargin;
  if (static_cast<double>(top) < best->score * kScreenMargin) return;
  for (size_t i = 0; i < n; i += kGroup)
    for (unsigned bits = at_least(score + i, close); bits != 0; bits &= bits - 1)
      consider(first + i + static_cast<size_t>(__builtin_ctz(bits)));
}

size_t within(size_t x, size_t low, size_t high) { return x < low ? low : (x > high ? high : x); }

Node symmetric_node(const ScanInput& in, const ScanRules& rules) {
  return {side_of(in.total_sum), static_cast<int32_t>(__builtin_ceil(rules.min_hessian)),
          in.direction, in.direction == 0 && rules.regularisation.plain(), rules};
}

// The scores of all cuts of a chunk; `unsplit` where a side is too light. missing: what goes left
// besides the bins.
void cut_scores(const Prefixes& p, const Side& missing, const Node& node, double unsplit,
                double* out) {
  const double l2 = node.rules.regularisation.l2;
  for (size_t i = 0; i < p.n; ++i) {
    const int32_t gl = p.gradient[i] + missing.gradient, hl = p.hessian[i] + missing.hessian;
    const int32_t gr = node.all.gradient - gl, hr = node.all.hessian - hl;
    const bool heavy = (hl >= node.min_hessian) & (hr >= node.min_hessian);
    double score = 0.0;
    if (node.plain) {
      score = pair_score<double>(gl, hl, gr, hr, l2);
    } else if (heavy) {
      score = exact_score({gl, hl}, node);
    }
    out[i] = heavy && score > kNoSplit ? score : unsplit;
  }
}

// Adds the scores of a chunk of n cuts, and `unsplit` for those that are not to be tried.
void add_within(const Positions& tried, size_t begin, size_t n, const double* score, double unsplit,
                double* out) {
  const size_t first = within(tried.first, begin, begin + n) - begin;
  const size_t last = within(tried.last, begin, begin + n) - begin;
  for (size_t i = 0; i < first; ++i) out[begin + i] += unsplit;
  for (size_t i = first; i < last; ++i) out[begin + i] += score[i];
  for (size_t i = first > last ? first : last; i < n; ++i) out[begin + i] += unsplit;
}

void symmetric_scores(const ScanInput& in, const ScanRules& rules, double unsplit, double* right,
                      double* left) {
  const Node node = symmetric_node(in, rules);
  int64_t sum = 0;
  Prefixes p;
  alignas(64) double score[kScanChunk];
  for (size_t begin = 0; begin < in.bins; begin += kScanChunk) {
    const size_t n = in.bins - begin < kScanChunk ? in.bins - begin : kScanChunk;
    sum = prefix(in.packed_sums + begin, n, sum, &p);
    cut_scores(p, Side{}, node, unsplit, score);
    add_within(in.missing_right, begin, n, score, unsplit, right);
    if (left == nullptr) continue;
    if (in.missing_sum != 0) cut_scores(p, side_of(in.missing_sum), node, unsplit, score);
    add_within(in.missing_left, begin, n, score, unsplit, left);
  }
}

// Between listed bins the sums do not change, so the scores are equal.
void symmetric_scores_of_listed(const ScanInput& in, const uint32_t* listed, size_t n,
                                const ScanRules& rules, double unsplit, double* right,
                                double* left) {
  const Node node = symmetric_node(in, rules);
  int64_t packed_sums[kMostListed + 1];
  packed_sums[0] = 0;  // before the first listed bin
  for (size_t k = 0; k < in.bins; ++k) packed_sums[k + 1] = in.packed_sums[k];
  Prefixes p;
  prefix(packed_sums, in.bins + 1, 0, &p);
  alignas(64) double score[kScanChunk];
  const auto add = [&](double* out) {
    for (size_t k = 0; k <= in.bins; ++k) {
      const size_t last = k < in.bins ? listed[k] : n;
      for (size_t i = k == 0 ? 0 : listed[k - 1]; i < last; ++i) out[i] += score[k];
    }
  };
  cut_scores(p, Side{}, node, unsplit, score);
  add(right);
  if (left == nullptr) return;
  if (in.missing_sum != 0) cut_scores(p, side_of(in.missing_sum), node, unsplit, score);
  add(left);
}

ScanResult scan(const ScanInput& in, const ScanRules& rules) {
  const Node node{side_of(in.total_sum), static_cast<int32_t>(__builtin_ceil(rules.min_hessian)),
                  in.direction, in.direction == 0 && rules.regularisation.plain(), rules};
  const Side missing = side_of(in.missing_sum);
  const bool both = in.missing_sum != 0;
  const Positions &to_right = in.missing_right, &to_left = in.missing_left;
  size_t begin = to_right.first, end = to_right.last;
  if (both) {
    begin = to_left.first < begin ? to_left.first : begin;
    end = to_left.last > end ? to_left.last : end;
  }
  int64_t sum = 0;
  for (size_t i = 0; i < begin && i < end; ++i) sum += in.packed_sums[i];
  ScanResult right, left;
  Prefixes p;
  for (; begin < end; begin += kScanChunk) {
    const size_t n = end - begin < kScanChunk ? end - begin : kScanChunk;
    sum = prefix(in.packed_sums + begin, n, sum, &p);
    const auto offer_part = [&](const Positions& part, const Side& side, bool missing_left,
                                ScanResult* best) {
      offer(p, begin, within(part.first, begin, begin + n) - begin,
            within(part.last, begin, begin + n) - begin, side, missing_left, node, best);
    };
    offer_part(to_right, Side{}, false, &right);
    if (both) offer_part(to_left, missing, true, &left);
  }
  return left.score > right.score ? left : right;
}

}  // namespace
}  // namespace stagewise

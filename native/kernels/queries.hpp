// Pairs of documents: the logistic loss of a pair, times the change of the metric by its swap.
//
// With p the probability that the less relevant document of a pair is ranked first, and d the
// change of the metric: its gradient is d p and its hessian d p (1 - p) (Burges 2010, section 4).
// Sums over the documents j are kept in fixed lanes, so every vector width gives the same bits.
#pragma once

#include "core/float_math.hpp"
#include "kernels/api/queries.hpp"

namespace stagewise {
namespace {

constexpr size_t kPairLanes = 16;

struct PairLanes {
  float lane[kPairLanes] = {};

  float sum() const {
    float half[kPairLanes];
    for (size_t j = 0; j < kPairLanes; ++j) half[j] = lane[j];
    for (size_t width = kPairLanes / 2; width > 0; width /= 2)
      for (size_t j = 0; j < width; ++j) half[j] += half[j + width];
    return half[0];
  }
};

constexpr int32_t kBlock = static_cast<int32_t>(kPairLanes);

// One pair; all of its numbers are 0 if both documents have the same gain, or the mask is 0.
struct DocumentPair {
  float gradient;  // of document i; that of j is its negative
  float hessian;
  float size;  // |gradient|
};

static inline DocumentPair document_pair(float gain_i, float gain_j, float up_i, float down_j,
                                         float score_i, float score_j, float strength_i,
                                         float strength_j, float mask, const PairRules& rules) {
  const float gap = gain_i - gain_j;
  const float size_of_gap = __builtin_fabsf(gap);
  const float move = up_i - down_j;
  const float apart = score_i - score_j;  // documents are sorted: it is not negative
  const float spread = rules.least_gap > 0.0f ? rules.least_gap + apart : 1.0f;
  const float change = mask * size_of_gap * __builtin_fabsf(move) * rules.scale;
  // One division for both factors: the probability p and the distance of the scores.
  const float sum = strength_i + strength_j;
  const float less_relevant = gap > 0.0f ? strength_j : strength_i;
  const float more_relevant = gap > 0.0f ? strength_i : strength_j;
  const float inverse = 1.0f / (sum * spread);
  const float size = change * (less_relevant * inverse);
  const float rest = (more_relevant * inverse) * spread;
  return {gap > 0.0f ? -size : size, size * rest, size};
}

// Adds the logistic losses of the pairs (i, j), and their number.
static inline void add_losses(size_t i, const RankedDocuments& d, PairLanes& loss,
                              PairLanes& pairs) {
  for (size_t j = i + 1; j < d.n; ++j) {
    if (d.gain[i] == d.gain[j]) continue;
    const float sum = d.strength[i] + d.strength[j];
    const float right = (d.gain[i] > d.gain[j] ? d.strength[i] : d.strength[j]) / sum;
    // At least 2^-24, so that the logarithm is finite.
    loss.lane[j % kPairLanes] += log_from_one(1.0f / (right > 6e-8f ? right : 6e-8f));
    pairs.lane[j % kPairLanes] += 1.0f;
  }
}

// Adds the pairs of document i and a block of documents. Plain arrays that do not overlap, and
// selections instead of branches, so that the compiler vectorises the loop.
static inline void compare_block(const float* __restrict gains, const float* __restrict downs,
                                 const float* __restrict scores, const float* __restrict strengths,
                                 const float* __restrict mask, float gain, float up, float score,
                                 float strength, PairRules rules, float* __restrict gradient,
                                 float* __restrict hessian, float* __restrict own_gradient,
                                 float* __restrict own_hessian, float* __restrict size) {
  for (int32_t lane = 0; lane < kBlock; ++lane) {
    const DocumentPair pair = document_pair(gain, gains[lane], up, downs[lane], score, scores[lane],
                                            strength, strengths[lane], mask[lane], rules);
    gradient[lane] -= pair.gradient;
    hessian[lane] += pair.hessian;
    own_gradient[lane] += pair.gradient;
    own_hessian[lane] += pair.hessian;
    size[lane] += pair.size;
  }
}

void compare_document(size_t i, const RankedDocuments& d, const PairRules& rules, float* gradient,
                      float* hessian, PairSums* sums) {
  PairLanes own_gradient, own_hessian, size, loss, pairs;
  const float gain = d.gain[i], up = d.up[i], score = d.score[i], strength = d.strength[i];
  const PairRules own = rules;
  // Whole blocks of lanes; the arrays are padded, and a mask leaves out the documents up to i and
  // those behind the last one.
  const auto first = static_cast<int32_t>(i), end = static_cast<int32_t>(d.n);
  for (int32_t begin = (first + 1) / kBlock * kBlock; begin < end; begin += kBlock) {
    float mask[kBlock];
    for (int32_t lane = 0; lane < kBlock; ++lane) {
      const int32_t j = begin + lane;
      mask[lane] = (j > first) & (j < end) ? 1.0f : 0.0f;
    }
    compare_block(d.gain + begin, d.down + begin, d.score + begin, d.strength + begin, mask, gain,
                  up, score, strength, own, gradient + begin, hessian + begin, own_gradient.lane,
                  own_hessian.lane, size.lane);
  }
  if (rules.wants_loss) add_losses(i, d, loss, pairs);
  gradient[i] += own_gradient.sum();
  hessian[i] += own_hessian.sum();
  sums->gradient += size.sum();
  if (!rules.wants_loss) return;
  sums->loss += loss.sum();
  sums->pairs += pairs.sum();
}

}  // namespace
}  // namespace stagewise

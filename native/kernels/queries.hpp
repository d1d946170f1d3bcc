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

// One pair; all of its numbers are 0 if both documents have the same gain.
struct DocumentPair {
  float gradient;  // of document i; that of j is its negative
  float hessian;
  float size;  // |gradient|
  float p;
  float differs;  // 1 or 0
};

static inline DocumentPair document_pair(float gain_i, float gain_j, float up_i, float down_j,
                                         float score_i, float score_j, float strength_i,
                                         float strength_j, const PairRules& rules) {
  const float gap = gain_i - gain_j;
  const float size_of_gap = gap < 0.0f ? -gap : gap;
  const float move = up_i - down_j;
  float change = size_of_gap * (move < 0.0f ? -move : move) * rules.scale;
  const float apart = score_i - score_j;  // documents are sorted: it is not negative
  change = rules.least_gap > 0.0f ? change / (rules.least_gap + apart) : change;
  const float less_relevant = gap > 0.0f ? strength_j : strength_i;
  const float p = less_relevant / (strength_i + strength_j);
  const float size = change * p;
  return {gap > 0.0f ? -size : size, size * (1.0f - p), size, p, size_of_gap > 0.0f ? 1.0f : 0.0f};
}

void compare_document(size_t i, const RankedDocuments& d, const PairRules& rules, float* gradient,
                      float* hessian, PairSums* sums) {
  PairLanes own_gradient, own_hessian, size, loss, pairs;
  const float gain = d.gain[i], up = d.up[i], score = d.score[i], strength = d.strength[i];
  const auto add = [&](size_t j, size_t lane) {
    const DocumentPair pair = document_pair(gain, d.gain[j], up, d.down[j], score, d.score[j],
                                            strength, d.strength[j], rules);
    gradient[j] -= pair.gradient;
    hessian[j] += pair.hessian;
    own_gradient.lane[lane] += pair.gradient;
    own_hessian.lane[lane] += pair.hessian;
    size.lane[lane] += pair.size;
    pairs.lane[lane] += pair.differs;
    return pair;
  };
  const auto add_loss = [&](const DocumentPair& pair, size_t lane) {
    const float right = 1.0f - pair.p;  // at least 2^-24, so that the logarithm is finite
    loss.lane[lane] += pair.differs * log_from_one(1.0f / (right > 6e-8f ? right : 6e-8f));
  };
  size_t j = i + 1;
  if (rules.wants_loss) {
    for (; j < d.n; ++j) add_loss(add(j, (j - i - 1) % kPairLanes), (j - i - 1) % kPairLanes);
  } else {
    for (; j + kPairLanes <= d.n; j += kPairLanes)
      for (size_t lane = 0; lane < kPairLanes; ++lane) add(j + lane, lane);
    for (size_t lane = 0; j + lane < d.n; ++lane) add(j + lane, lane);
  }
  gradient[i] += own_gradient.sum();
  hessian[i] += own_hessian.sum();
  sums->gradient += size.sum();
  sums->loss += loss.sum();
  sums->pairs += pairs.sum();
}

}  // namespace
}  // namespace stagewise

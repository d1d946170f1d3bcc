// Pairs of documents: the logistic loss of a pair, times the change of the metric by its swap.
//
// With p the probability that the less relevant document of a pair is ranked first, and d the
// change of the metric: its gradient is d p and its hessian d p (1 - p) (Burges 2010, section 4).
// Documents with equal gains are no pair, so only pivots are compared with all others: documents
// without the most frequent gain. Sums over documents are kept in fixed lanes, so every vector
// width gives the same bits.
#pragma once

#include "core/float_math.hpp"
#include "kernels/api/queries.hpp"

namespace stagewise {
namespace {

constexpr auto kBlock = static_cast<int32_t>(kQueryLanes);
constexpr size_t kScoreLanes = 4;
typedef double ScoreLanes __attribute__((vector_size(8 * kScoreLanes)));
typedef int64_t CountLanes __attribute__((vector_size(8 * kScoreLanes)));

struct PairLanes {
  float lane[kQueryLanes] = {};

  float sum() const {
    float half[kQueryLanes];
    for (size_t j = 0; j < kQueryLanes; ++j) half[j] = lane[j];
    for (size_t width = kQueryLanes / 2; width > 0; width /= 2)
      for (size_t j = 0; j < width; ++j) half[j] += half[j + width];
    return half[0];
  }
};

// A document that is compared with others.
struct Pivot {
  int32_t place;
  float gain, up, down, score, strength;

  Pivot(const RankedDocuments& d, size_t i)
      : place(static_cast<int32_t>(i)),
        gain(d.gain[i]),
        up(d.up[i]),
        down(d.down[i]),
        score(d.score[i]),
        strength(d.strength[i]) {}
};

// One pair; all of its numbers are 0 if both documents have the same gain, or the mask is 0.
struct DocumentPair {
  float gradient;  // of the document; that of the pivot is its negative
  float hessian;
  float size;  // |gradient|
};

static inline DocumentPair document_pair(const Pivot& pivot, float gain, float up, float down,
                                         float score, float strength, bool behind, float mask,
                                         const PairRules& rules) {
  const float gap = pivot.gain - gain;
  const float move = behind ? pivot.up - down : up - pivot.down;
  const float apart = __builtin_fabsf(pivot.score - score);
  const float spread = rules.least_gap > 0.0f ? rules.least_gap + apart : 1.0f;
  const float change = mask * __builtin_fabsf(gap) * __builtin_fabsf(move) * rules.scale;
  // One division for both factors: the probability p and the distance of the scores.
  const float sum = pivot.strength + strength;
  const float less_relevant = gap > 0.0f ? strength : pivot.strength;
  const float more_relevant = gap > 0.0f ? pivot.strength : strength;
  const float inverse = 1.0f / (sum * spread);
  const float size = change * (less_relevant * inverse);
  const float rest = (more_relevant * inverse) * spread;
  return {gap > 0.0f ? size : -size, size * rest, size};
}

// Adds the pairs of a pivot and the block of documents at `begin`, of which those before `end`
// count. Arrays that do not overlap, and selections instead of branches, so that the compiler
// vectorises the loop.
static inline void compare_block(const Pivot& pivot, const float* __restrict gains,
                                 const float* __restrict ups, const float* __restrict downs,
                                 const float* __restrict scores, const float* __restrict strengths,
                                 int32_t begin, int32_t end, PairRules rules,
                                 float* __restrict gradient, float* __restrict hessian,
                                 float* __restrict own_gradient, float* __restrict own_hessian,
                                 float* __restrict size) {
  for (int32_t lane = 0; lane < kBlock; ++lane) {
    const float mask = begin + lane < end ? 1.0f : 0.0f;
    const DocumentPair pair =
        document_pair(pivot, gains[lane], ups[lane], downs[lane], scores[lane], strengths[lane],
                      begin + lane > pivot.place, mask, rules);
    gradient[lane] += pair.gradient;
    hessian[lane] += pair.hessian;
    // Other pivots are compared with this one, too.
    const float once = gains[lane] == rules.common_gain ? 1.0f : 0.0f;
    own_gradient[lane] -= once * pair.gradient;
    own_hessian[lane] += once * pair.hessian;
    size[lane] += pair.size + once * pair.size;
  }
}

// Adds the logistic losses of the pairs of a pivot and a block of documents, and their number.
static inline void add_losses(const Pivot& pivot, const float* __restrict gains,
                              const float* __restrict strengths, int32_t begin, int32_t end,
                              float common_gain, float* __restrict loss, float* __restrict pairs) {
  for (int32_t lane = 0; lane < kBlock; ++lane) {
    const bool once = (gains[lane] == common_gain) | (begin + lane > pivot.place);
    const bool counts = once & (gains[lane] != pivot.gain) & (begin + lane < end);
    const float more_relevant = pivot.gain > gains[lane] ? pivot.strength : strengths[lane];
    const float right = more_relevant / (pivot.strength + strengths[lane]);
    // At least 2^-24, so that the logarithm is finite.
    const float own = log_from_one(1.0f / (right > 6e-8f ? right : 6e-8f));
    loss[lane] += counts ? own : 0.0f;
    pairs[lane] += counts ? 1.0f : 0.0f;
  }
}

void compare_pivots(const uint32_t* pivots, size_t n_pivots, const RankedDocuments& d,
                    const PairRules& given, float* gradient, float* hessian, PairSums* sums) {
  const PairRules rules = given;
  const auto n = static_cast<int32_t>(d.n), last = static_cast<int32_t>(rules.last);
  PairLanes size, loss, pairs;
  for (size_t p = 0; p < n_pivots; ++p) {
    const Pivot pivot(d, pivots[p]);
    const int32_t end = pivot.place < last ? n : last;
    PairLanes own_gradient, own_hessian;
    for (int32_t begin = 0; begin < end; begin += kBlock) {
      compare_block(pivot, d.gain + begin, d.up + begin, d.down + begin, d.score + begin,
                    d.strength + begin, begin, end, rules, gradient + begin, hessian + begin,
                    own_gradient.lane, own_hessian.lane, size.lane);
      if (rules.wants_loss)
        add_losses(pivot, d.gain + begin, d.strength + begin, begin, end, rules.common_gain,
                   loss.lane, pairs.lane);
    }
    gradient[pivot.place] += own_gradient.sum();
    hessian[pivot.place] += own_hessian.sum();
  }
  sums->gradient += size.sum();
  sums->loss += loss.sum();
  sums->pairs += pairs.sum();
}

void strengths(const float* score, size_t n, float* strength) {
  for (size_t i = 0; i < n; ++i) strength[i] = exp_nonpositive(score[i]);
}

// The places before a block of scores, within it and behind it differ in what equal scores mean.
void order_scores(const double* score, size_t n, uint32_t* order) {
  for (size_t i = 0; i < n; ++i) order[i] = 0;
  for (size_t begin = 0; begin < n; begin += kScoreLanes) {
    const size_t size = n - begin < kScoreLanes ? n - begin : kScoreLanes;
    ScoreLanes own = {};
    __builtin_memcpy(&own, score + begin, size * sizeof *score);
    const CountLanes place = CountLanes{0, 1, 2, 3} + static_cast<int64_t>(begin);
    CountLanes before = {};
    for (size_t j = 0; j < begin; ++j) before -= score[j] >= own;
    for (size_t j = begin; j < begin + size; ++j)
      before -= (score[j] > own) | ((score[j] == own) & (place > static_cast<int64_t>(j)));
    for (size_t j = begin + size; j < n; ++j) before -= score[j] > own;
    for (size_t lane = 0; lane < size; ++lane)
      order[static_cast<size_t>(before[lane])] = static_cast<uint32_t>(begin + lane);
  }
}

}  // namespace
}  // namespace stagewise

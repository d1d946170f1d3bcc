// Interface of the kernels of queries: the order of documents by their scores, and their pairs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stagewise {

// Arrays of documents are padded to a multiple of this.
constexpr size_t kQueryLanes = 16;

// The documents of a query in the order of their scores. A swap of documents i < j changes the
// metric by |gain_i - gain_j| * |up_i - down_j|, up to a factor. The arrays, and those of the
// derivatives, are padded; the numbers behind n are finite, strength is 1.
struct RankedDocuments {
  const float* gain;
  const float* up;
  const float* down;
  const float* score;
  const float* strength;  // e^score, up to a factor
  size_t n;
};

struct PairRules {
  float scale;        // the factor of the change of the metric
  float least_gap;    // the change is divided by least_gap + |score_i - score_j|; 0: it is not
  float common_gain;  // of the documents that are not pivots
  size_t last;        // a pair has a document before this place
  bool wants_loss;    // whether the logistic losses of the pairs are added up
};

struct PairSums {
  float gradient = 0.0f;  // of |gradient|, over the documents of all pairs
  float loss = 0.0f;
  float pairs = 0.0f;  // the number of pairs with different gains
};

struct QueryKernels {
  // order[k]: the place of the score with k others before it, those that are higher, or equal at an
  // earlier place. Takes n² steps. NaN: some places, all below n.
  void (*order_scores)(const double* score, size_t n, uint32_t* order);
  // strength[i] = e^score[i] of n scores that are not positive; n is a multiple of kQueryLanes.
  void (*strengths)(const float* score, size_t n, float* strength);
  // Adds the gradients and hessians of all pairs of some documents, the pivots, with others. Of a
  // pair of two pivots, each gets its own when the other one is compared.
  void (*compare_pivots)(const uint32_t* pivots, size_t n_pivots, const RankedDocuments& documents,
                         const PairRules& rules, float* gradient, float* hessian, PairSums* sums);
};

}  // namespace stagewise

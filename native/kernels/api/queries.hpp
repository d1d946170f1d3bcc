// Interface of the kernel that compares a document of a query with the documents behind it.
#pragma once

#include <cstddef>

namespace stagewise {

// The documents of a query in the order of their scores. A swap of documents i < j changes the
// metric by |gain_i - gain_j| * |up_i - down_j|, up to a factor. The arrays, and those of the
// derivatives, are padded to a multiple of 16 numbers; those behind n are finite, strength is 1.
struct RankedDocuments {
  const float* gain;
  const float* up;
  const float* down;
  const float* score;
  const float* strength;  // e^score, up to a factor
  size_t n;
};

struct PairRules {
  float scale;      // the factor of the change of the metric
  float least_gap;  // the change is divided by least_gap + |score_i - score_j|; 0: it is not
  bool wants_loss;  // whether the logistic losses of the pairs are added up
};

struct PairSums {
  float gradient = 0.0f, loss = 0.0f;  // of |gradient|, and of the losses
  float pairs = 0.0f;                  // the number of pairs with different gains
};

struct QueryKernels {
  // Adds the gradients and hessians of the pairs (i, j), j > i, to those of both documents.
  void (*compare_document)(size_t i, const RankedDocuments& documents, const PairRules& rules,
                           float* gradient, float* hessian, PairSums* sums);
};

}  // namespace stagewise

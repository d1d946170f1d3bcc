// Gradients of several outputs, packed for trees whose leaves have a value for each.
//
// One idea: the words of a row lie beside each other, as the words of a bin do (histograms.hpp), so
// that adding a row to a bin is one addition of vectors. Every output has scales of its own: one
// that is nearly fitted keeps its digits beside one that is not.
#pragma once

#include "gradients/gradients.hpp"
#include "grow/row_weights.hpp"
#include "kernels/api/histograms.hpp"

namespace stagewise {

// How many words a vector has: one for each output, perhaps one for the weight of the row, and
// zeros up to a whole number of the blocks that kernels work on.
inline size_t vector_lanes(size_t outputs, bool counted) {
  return (outputs + (counted ? 1 : 0) + kLaneBlock - 1) / kLaneBlock * kLaneBlock;
}

class VectorGradients {
 public:
  VectorGradients(size_t rows, size_t outputs) : rows_(rows) {
    for (size_t k = 0; k < outputs; ++k) planes_.emplace_back(rows);
  }

  size_t rows() const { return rows_; }
  size_t outputs() const { return planes_.size(); }
  // What a loss has filled becomes an output's; the loss gets other memory for it.
  void take(size_t output, Gradients& gradients) { std::swap(planes_[output], gradients); }

  // The sum of what a unit of hessian gains by chance, over the outputs.
  double dispersion(Workers& workers, const double* weight) const;

  // counted: whether a word for the weight of the row follows those of the outputs.
  template <class KeyOf>
  void pack(Workers& workers, const Kernels& kernels, const RowWeights& weights, bool counted,
            KeyOf key_of) {
    scales_.clear();
    for (size_t k = 0; k < outputs(); ++k)
      scales_.push_back(planes_[k].pack(workers, kernels, weights.weight(), weights.whole(),
                                        weights.total(), key_of(k)));
    interleave(workers, weights, counted);
  }

  // After packing.
  size_t lanes() const { return lanes_; }
  const Scales& scales(size_t output) const { return scales_[output]; }
  const int64_t* packed() const { return packed_.get(); }
  const std::vector<int64_t>& total() const { return total_; }  // of all rows

 private:
  void interleave(Workers& workers, const RowWeights& weights, bool counted);

  size_t rows_, lanes_ = 0;
  std::vector<Gradients> planes_;  // per output
  std::vector<Scales> scales_;
  LargeArray<int64_t> packed_;
  std::vector<int64_t> total_;
};

}  // namespace stagewise

// Gradients of several outputs, packed for trees whose leaves have a value for each output. The
// packed integers of a row are adjacent, as the sums of a bin are (histograms.hpp), so adding a row
// to a bin is one addition of vectors. Every output has its own scales, so that a nearly fitted
// output keeps its precision.
#pragma once

#include "core/row_weights.hpp"
#include "gradients/gradients.hpp"
#include "kernels/api/histograms.hpp"

namespace stagewise {

// The length of a vector: one integer per output, one for the weight of the row if it is counted,
// and zeros up to a multiple of the block size of the kernels.
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
  // Moves filled gradients to an output; `gradients` gets other memory in exchange.
  void take(size_t output, Gradients& gradients) { std::swap(planes_[output], gradients); }

  // The sum of the dispersions of the outputs.
  double dispersion(Workers& workers, const double* weight) const;

  // counted: whether the weight of the row follows the outputs.
  template <class KeyOf>
  void pack(Workers& workers, const Kernels& kernels, const RowWeights& weights, bool counted,
            KeyOf key_of) {
    scales_.clear();
    for (size_t k = 0; k < outputs(); ++k)
      scales_.push_back(planes_[k].pack(workers, kernels, weights.data(), weights.whole(),
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

// What a loss says about every row: (gradient, hessian) pairs, and their exact totals.
//
// One idea: one pass over the rows fills the pairs and the sums that choose the fixed-point scale;
// the sums are made in fixed blocks and added in order, so threads do not change them.
#pragma once

#include "core/large_array.hpp"
#include "core/threads.hpp"
#include "kernels/kernels.hpp"

namespace stagewise {

class Gradients {
 public:
  explicit Gradients(size_t rows) : rows_(rows), slots_(make_large_array<GradientSlot>(rows)) {}

  size_t rows() const { return rows_; }
  GradientSlot* slots() { return slots_.get(); }
  const GradientSlot* slots() const { return slots_.get(); }
  const LossSums& sums() const { return sums_; }
  bool are_pairs() const { return state_ == State::pairs; }  // and not packed yet

  // block(begin, n, out, &sums) fills rows [begin, begin + n), at most kLossBlock of them.
  template <class Block>
  void fill(Workers& workers, Block&& block) {
    sums_ = sum_blocks(workers, rows_, [&](size_t begin, size_t n, LossSums* sums) {
      block(begin, n, slots_.get() + begin, sums);
    });
    state_ = State::pairs;
    largest_hessian_ = 0.0;
  }

  // Changes the pairs into what a tree shall be fitted to: gradients of at most `limit` times the
  // hessian, so that no -g/h is larger (0: no limit); hessians of 1; absolute gradients.
  struct Response {
    double limit = 0.0;
    bool unit_hessians = false;
    bool absolute = false;
  };
  void transform(Workers& workers, const double* weight, const Response& response);

  // The sum of g^2 over that of h, times the weights: what a unit of hessian gains by chance.
  double dispersion(Workers& workers, const double* weight) const;

  // Multiplies the gradients, and unless told otherwise the hessians, by how often each row counts.
  // Hessians may then be larger than what a loss promises.
  void multiply(Workers& workers, const double* weight, const float* multiplier, bool hessians);

  // out[row] += w^2 (g^2 + ridge * h^2): what a row adds to the squared length of all derivatives.
  void add_squares(Workers& workers, const double* weight, double ridge, double* out) const;

  // Of those that were multiplied, and of others where somebody has asked for it; else 0.
  double largest_hessian() const { return largest_hessian_; }
  void find_largest_hessian(Workers& workers);

  int64_t total_sum() const { return total_sum_; }  // the sum of the packed words of all rows

  // Replaces the pairs by packed words; the pairs are gone afterwards. nearest: equal pairs become
  // equal words, whatever the number of rows.
  Scales pack(Workers& workers, const Kernels& kernels, const double* weight, bool whole_weights,
              double total_weight, uint64_t key, bool nearest = false);

  template <class Block>
  static LossSums sum_blocks(Workers& workers, size_t rows, Block&& block) {
    constexpr size_t kPerChunk = 4;
    const size_t blocks = (rows + kLossBlock - 1) / kLossBlock;
    std::vector<LossSums> partial(blocks);
    workers.run((blocks + kPerChunk - 1) / kPerChunk, [&](size_t chunk, int) {
      const size_t last = blocks < (chunk + 1) * kPerChunk ? blocks : (chunk + 1) * kPerChunk;
      for (size_t b = chunk * kPerChunk; b < last; ++b) {
        const size_t begin = b * kLossBlock;
        const size_t n = rows - begin < kLossBlock ? rows - begin : kLossBlock;
        block(begin, n, &partial[b]);
      }
    });
    LossSums total;
    for (const LossSums& s : partial) {
      total.loss += s.loss;
      total.abs_gradient += s.abs_gradient;
      total.hessian += s.hessian;
    }
    return total;
  }

 private:
  void require_pairs() const;

  size_t rows_;
  LargeArray<GradientSlot> slots_;
  LossSums sums_;
  double largest_hessian_ = 0.0;
  int64_t total_sum_ = 0;
  enum class State { empty, pairs, packed } state_ = State::empty;
};

}  // namespace stagewise

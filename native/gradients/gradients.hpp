// The gradient and hessian of every row, and their totals. One pass over the rows fills the pairs
// and the sums that determine the fixed-point scale; the sums are computed in fixed blocks and
// added in order, so threads do not change them.
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

  // Changes the pairs: gradients are clipped to `limit` times the hessian, so that no |g/h| is
  // larger (0: no limit); hessians become 1; gradients become absolute.
  struct Response {
    double limit = 0.0;
    bool unit_hessians = false;
    bool absolute = false;
  };
  void transform(Workers& workers, const double* weight, const Response& response);

  // sum w g^2 / sum w h: the gain per unit of hessian by chance.
  double dispersion(Workers& workers, const double* weight) const;

  // Multiplies the gradients, and if `hessians` the hessians, by a multiplier per row. Hessians may
  // then exceed the bound of the loss.
  void multiply(Workers& workers, const double* weight, const float* multiplier, bool hessians);

  // out[row] += w^2 (g^2 + ridge * h^2): the squared importance of the row.
  void add_squares(Workers& workers, const double* weight, double ridge, double* out) const;

  // After multiply() or find_largest_hessian(); else 0.
  double largest_hessian() const { return largest_hessian_; }
  void find_largest_hessian(Workers& workers);

  int64_t total_sum() const { return total_sum_; }  // of all rows, packed

  // Replaces the pairs by packed integers. nearest: round to nearest for any number of rows, so
  // that equal pairs stay equal.
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

// The gradient and hessian of every row, and their totals. One pass over the rows fills the pairs
// and the sums that determine the fixed-point scale; the sums are computed in fixed blocks of rows
// and added without rounding, so neither threads nor shards change them.
#pragma once

#include <span>

#include "core/exact_sum.hpp"
#include "core/large_array.hpp"
#include "core/threads.hpp"
#include "kernels/kernels.hpp"

namespace stagewise {

// Sums of blocks of rows, added without rounding.
struct LossTotals {
  ExactSum loss, abs_gradient, hessian;

  explicit LossTotals(std::span<const LossSums> blocks) {
    for (const LossSums& block : blocks) add(block);
  }
  void add(const LossSums& block) {
    loss.add(block.loss);
    abs_gradient.add(block.abs_gradient);
    hessian.add(block.hessian);
  }
  LossSums rounded() const { return {loss.value(), abs_gradient.value(), hessian.value()}; }
};

// How the rows of a fit are packed. sums: of all of them; total_weight: of `rows` rows. nearest:
// round to nearest for any number of rows, so that equal pairs stay equal.
Packing choose_packing(const LossSums& sums, uint64_t rows, bool whole_weights, double total_weight,
                       uint64_t key, bool nearest);

class Gradients {
 public:
  explicit Gradients(size_t rows) : Gradients(rows, {0, rows}) {}
  Gradients(size_t rows, const Shard& shard);

  size_t rows() const { return rows_; }
  GradientSlot* slots() { return slots_.get(); }
  const GradientSlot* slots() const { return slots_.get(); }
  const LossSums& sums() const { return sums_; }
  // The sums of these rows, and those of all shards, which are used from then on.
  LossTotals totals() const { return LossTotals(blocks_); }
  void set_sums(const LossSums& all) { sums_ = all; }
  bool are_pairs() const { return state_ == State::pairs; }  // and not packed yet

  // block(begin, n, out, &sums) fills rows [begin, begin + n), at most kRowBlock of them.
  template <class Block>
  void fill(Workers& workers, Block&& block) {
    compute_sums(workers, [&](size_t begin, size_t n, LossSums* sums) {
      block(begin, n, slots_.get() + begin, sums);
    });
    state_ = State::pairs;
    largest_hessian_ = 0.0;
  }

  // Sets the pairs of all rows; weight: per row, or null.
  void assign(Workers& workers, const double* gradient, const double* hessian,
              const double* weight);

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
  void set_largest_hessian(double largest) { largest_hessian_ = largest; }

  int64_t total_sum() const { return total_sum_; }  // of all rows, packed

  // Replaces the pairs by packed integers.
  Scales pack(Workers& workers, const Kernels& kernels, const double* weight, bool whole_weights,
              double total_weight, uint64_t key, bool nearest = false);

  // block(begin, n, &sums) for every block of rows; returns the sums of the blocks.
  template <class Block>
  static std::vector<LossSums> sum_blocks(Workers& workers, size_t rows, Block&& block) {
    constexpr size_t kPerChunk = 4;
    const size_t blocks = (rows + kRowBlock - 1) / kRowBlock;
    std::vector<LossSums> partial(blocks);
    workers.run((blocks + kPerChunk - 1) / kPerChunk, [&](size_t chunk, int) {
      const size_t last = blocks < (chunk + 1) * kPerChunk ? blocks : (chunk + 1) * kPerChunk;
      for (size_t b = chunk * kPerChunk; b < last; ++b) {
        const size_t begin = b * kRowBlock;
        const size_t n = rows - begin < kRowBlock ? rows - begin : kRowBlock;
        block(begin, n, &partial[b]);
      }
    });
    return partial;
  }
  static LossSums rounded_sums(std::span<const LossSums> blocks) {
    return blocks.size() == 1 ? blocks[0] : LossTotals(blocks).rounded();
  }

 private:
  void require_pairs() const;
  template <class Block>
  void compute_sums(Workers& workers, Block&& block) {
    blocks_ = sum_blocks(workers, rows_, block);
    sums_ = rounded_sums(blocks_);
  }

  size_t rows_;
  Shard shard_;
  LargeArray<GradientSlot> slots_;
  std::vector<LossSums> blocks_;
  LossSums sums_;
  double largest_hessian_ = 0.0;
  int64_t total_sum_ = 0;
  enum class State { empty, pairs, packed } state_ = State::empty;
};

}  // namespace stagewise

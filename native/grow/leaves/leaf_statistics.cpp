#include "grow/leaves/leaf_statistics.hpp"

#include <algorithm>
#include <numeric>

#include "core/exact_sum.hpp"
#include "core/quantile.hpp"

namespace stagewise {
namespace {

// Several sums over rows that are computed block by block (core/shard.hpp).
class BlockSums {
 public:
  explicit BlockSums(size_t n) : block_(n, 0.0), total_(n) {}

  double& operator[](size_t i) { return block_[i]; }  // of the block
  void end_block() {
    for (size_t i = 0; i < block_.size(); ++i) {
      total_[i].add(block_[i]);
      block_[i] = 0.0;
    }
  }
  double value(size_t i) const { return total_[i].value(); }

 private:
  std::vector<double> block_;
  std::vector<ExactSum> total_;
};

// body(rows) for the rows of each block; rows: in increasing order.
template <class Body>
void for_each_block_of(std::span<const uint32_t> rows, Body body) {
  for (size_t begin = 0; begin < rows.size();) {
    size_t end = begin + 1;
    while (end < rows.size() && rows[end] / kRowBlock == rows[begin] / kRowBlock) ++end;
    body(rows.subspan(begin, end - begin));
    begin = end;
  }
}

}  // namespace

// summary(values, weights) of the residuals of every leaf; weights are empty if all are 1.
template <class Summary>
std::vector<double> LeafStatistics::per_leaf(const double* residual, const float* multiplier,
                                             Summary summary) const {
  std::vector<double> out(leaves_.size(), 0.0);
  std::vector<size_t> largest_first(leaves_.size());
  std::iota(largest_first.begin(), largest_first.end(), size_t{0});
  std::sort(largest_first.begin(), largest_first.end(),
            [&](size_t a, size_t b) { return leaves_[a].rows.size() > leaves_[b].rows.size(); });
  workers_.run(out.size(), [&](size_t place, int) {
    const size_t i = largest_first[place];
    const GrownLeaf& leaf = leaves_[i];
    std::vector<double> values(leaf.rows.size()), weight;
    for (size_t k = 0; k < leaf.rows.size(); ++k) values[k] = residual[leaf.rows[k]];
    if (!weights_.all_one() || multiplier != nullptr) {
      weight.resize(leaf.rows.size());
      for (size_t k = 0; k < leaf.rows.size(); ++k) {
        const uint32_t row = leaf.rows[k];
        const double w = weights_.value(row);
        weight[k] = multiplier == nullptr ? w : w * static_cast<double>(multiplier[row]);
      }
    }
    out[i] = summary(&values, weight);
  });
  return out;
}

std::vector<double> LeafStatistics::quantiles(const double* residual, const float* multiplier,
                                              double q) const {
  const auto summary = [=](std::vector<double>* values, const std::vector<double>& weight) {
    return weighted_quantile(values, weight, q);
  };
  return per_leaf(residual, multiplier, summary);
}

std::vector<double> LeafStatistics::huber_means(const double* residual, const float* multiplier,
                                                double width) const {
  const auto summary = [=](std::vector<double>* values, const std::vector<double>& weight) {
    const std::vector<double> in_order(*values);  // the quantile reorders them
    const double middle = weighted_quantile(values, weight, 0.5);
    ExactSum sum, total;
    for (size_t i = 0; i < in_order.size(); ++i) {
      const double w = weight.empty() ? 1.0 : weight[i];
      sum.add(w * std::clamp(in_order[i] - middle, -width, width));
      total.add(w);
    }
    return total.value() > 0.0 ? middle + sum.value() / total.value() : middle;
  };
  return per_leaf(residual, multiplier, summary);
}

LeafSums LeafStatistics::sums(const Gradients& pairs) const {
  const size_t n = leaves_.size();
  LeafSums sums{std::vector<double>(n * planes_.n, 0.0), std::vector<double>(n, 0.0)};
  workers_.run(n, [&](size_t i, int) {
    BlockSums total(planes_.n + 1);  // of the gradients of each class, and of the hessians
    for_each_block_of(leaves_[i].rows, [&](std::span<const uint32_t> block) {
      for (const uint32_t row : block) {
        const double w = weights_.value(row);
        const size_t plane =
            planes_.of_row == nullptr ? 0 : static_cast<size_t>(planes_.of_row[row]);
        total[plane] += w * static_cast<double>(pairs.slots()[row].pair.gradient);
        total[planes_.n] += w * static_cast<double>(pairs.slots()[row].pair.hessian);
      }
      total.end_block();
    });
    for (size_t k = 0; k < planes_.n; ++k) sums.gradient[i * planes_.n + k] = total.value(k);
    sums.hessian[i] = total.value(planes_.n);
  });
  return sums;
}

}  // namespace stagewise

#include "grow/leaves/leaf_statistics.hpp"

#include <algorithm>

#include "core/quantile.hpp"

namespace stagewise {

// summary(values, weights) of the residuals of every leaf; weights are empty if all are 1.
template <class Summary>
std::vector<double> LeafStatistics::per_leaf(const double* residual, const float* multiplier,
                                             Summary summary) const {
  std::vector<double> out(leaves_.size(), 0.0);
  workers_.run(out.size(), [&](size_t i, int) {
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
    double sum = 0.0, total = 0.0;
    for (size_t i = 0; i < in_order.size(); ++i) {
      const double w = weight.empty() ? 1.0 : weight[i];
      sum += w * std::clamp(in_order[i] - middle, -width, width);
      total += w;
    }
    return total > 0.0 ? middle + sum / total : middle;
  };
  return per_leaf(residual, multiplier, summary);
}

LeafSums LeafStatistics::sums(const Gradients& pairs) const {
  const size_t n = leaves_.size();
  LeafSums sums{std::vector<double>(n * planes_.n, 0.0), std::vector<double>(n, 0.0)};
  workers_.run(n, [&](size_t i, int) {
    const GrownLeaf& leaf = leaves_[i];
    std::vector<double> g(planes_.n, 0.0);
    double h = 0.0;
    for (size_t k = 0; k < leaf.rows.size(); ++k) {
      const uint32_t row = leaf.rows[k];
      const double w = weights_.value(row);
      const size_t plane = planes_.of_row == nullptr ? 0 : static_cast<size_t>(planes_.of_row[row]);
      g[plane] += w * static_cast<double>(pairs.slots()[row].pair.gradient);
      h += w * static_cast<double>(pairs.slots()[row].pair.hessian);
    }
    std::copy(g.begin(), g.end(), sums.gradient.begin() + static_cast<ptrdiff_t>(i * planes_.n));
    sums.hessian[i] = h;
  });
  return sums;
}

}  // namespace stagewise

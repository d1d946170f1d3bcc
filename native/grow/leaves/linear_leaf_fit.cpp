#include "grow/leaves/linear_leaf_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stagewise {
namespace {

constexpr size_t kLeastRows = 4096;    // minimal rows of a range of the table
constexpr size_t kRowsPerLeaf = 64;    // and per leaf, so that sums are few compared with rows
constexpr double kRowsPerSlope = 8.0;  // minimal rows per coefficient
constexpr double kLeastPivot = 1e-9;   // minimal pivot of a standardised feature
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kLeastSpread =
    1e-9;  // minimal spread of a feature in a leaf, relative to the table

// The numeric features that are tested on the path to a node, in increasing order.
std::vector<uint32_t> path_numbers(const Bins& bins, const Tree& tree,
                                   const std::vector<int32_t>& parent, int32_t node) {
  std::vector<uint32_t> features;
  for (int32_t at = parent[static_cast<size_t>(node)]; at >= 0;
       at = parent[static_cast<size_t>(at)]) {
    const auto feature = static_cast<uint32_t>(tree.feature[static_cast<size_t>(at)]);
    if (!bins.coding(feature).categorical()) features.push_back(feature);
  }
  std::sort(features.begin(), features.end());
  features.erase(std::unique(features.begin(), features.end()), features.end());
  return features;
}

// The power of two that scales the interquartile range of the cuts, or else their size, to about 1.
// The outermost cuts may be huge, next to infinite values.
double unit_of(const FeatureCoding& coding) {
  const std::vector<double>& v = coding.values.empty() ? coding.cuts : coding.values;
  const auto far = [](double cut) { return !(std::abs(cut) < 0.5 * kLargest); };
  size_t first = 0, last = v.size();
  while (first < last && far(v[first])) ++first;
  while (first < last && far(v[last - 1])) --last;
  if (first == last) return 1.0;
  const size_t quarter = (last - first) / 4;
  double extent = v[last - 1 - quarter] - v[first + quarter];
  if (!(extent > 0.0)) extent = std::abs(v[first]);
  return extent > 0.0 ? std::ldexp(1.0, std::clamp(-std::ilogb(extent), -1000, 1000)) : 1.0;
}

template <class Real>
void gather(const Column& column, const size_t* at, size_t n, double* out) {
  for (size_t i = 0; i < n; ++i)
    out[i] = static_cast<double>(*reinterpret_cast<const Real*>(
        column.data + static_cast<ptrdiff_t>(at[i]) * column.stride));
}

// A few rows of a leaf, feature by feature.
class RowBlock {
 public:
  RowBlock(const Kernels& kernels, const Columns& table, const GradientSlot* slots,
           const double* weight)
      : kernels_(kernels), table_(table), slots_(slots), weight_(weight) {}

  LinearLeafSums sums(const std::vector<LinearFeature>& features, const uint32_t* rows, size_t n) {
    const size_t k = features.size();
    LinearLeafSums sums(k);
    x_.resize(k * kProductRows);
    read(features, rows, n);
    n_ = n;
    drop_incomplete(k);
    sums.complete = n_ == n;
    if (n_ == 0) return sums;
    for (size_t i = 0; i < n_; ++i) sums.weight += w_[i];
    std::vector<double> origin(k);
    for (size_t j = 0; j < k; ++j) {
      double* const x = x_.data() + j * kProductRows;
      origin[j] = x[0];
      for (size_t i = 0; i < n_; ++i) x[i] = (x[i] - origin[j]) * features[j].unit;
    }
    pad(k);
    first_.resize(k);
    ProductSums raw{0.0, 0.0, first_.data(), sums.cross.data(), sums.square.data()};
    kernels_.products(x_.data(), k, g_, h_, padded(), hx_, &raw);
    sums.gradient = raw.gradient;
    sums.hessian = raw.hessian;
    centre(features, origin, &sums);
    return sums;
  }

 private:
  size_t padded() const { return (n_ + kProductLanes - 1) / kProductLanes * kProductLanes; }

  void read(const std::vector<LinearFeature>& features, const uint32_t* rows, size_t n) {
    size_t at[kProductRows];
    for (size_t i = 0; i < n; ++i) {
      const uint32_t row = rows[i];
      at[i] = table_.chosen != nullptr ? table_.chosen[row] : row;
      w_[i] = weight_ == nullptr ? 1.0 : weight_[row];
      g_[i] = w_[i] * static_cast<double>(slots_[row].pair.gradient);
      h_[i] = w_[i] * static_cast<double>(slots_[row].pair.hessian);
    }
    for (size_t j = 0; j < features.size(); ++j) {
      double* const out = x_.data() + j * kProductRows;
      if (features[j].column.single) {
        gather<float>(features[j].column, at, n, out);
      } else {
        gather<double>(features[j].column, at, n, out);
      }
    }
  }

  void drop_incomplete(size_t k) {
    bool bad = false;
    for (size_t j = 0; j < k; ++j)
      for (size_t i = 0; i < n_; ++i) bad |= !finite(x_[j * kProductRows + i]);
    if (!bad) return;
    size_t kept = 0;
    for (size_t i = 0; i < n_; ++i) {
      bool all = true;
      for (size_t j = 0; j < k; ++j) all &= finite(x_[j * kProductRows + i]);
      if (!all) continue;
      for (size_t j = 0; j < k; ++j) x_[j * kProductRows + kept] = x_[j * kProductRows + i];
      w_[kept] = w_[i];
      g_[kept] = g_[i];
      h_[kept++] = h_[i];
    }
    n_ = kept;
  }

  static bool finite(double x) { return std::abs(x) <= kLargest; }

  void pad(size_t k) {
    for (size_t i = n_; i < padded(); ++i) {
      g_[i] = h_[i] = 0.0;
      for (size_t j = 0; j < k; ++j) x_[j * kProductRows + i] = 0.0;
    }
  }

  // From sums about the first row to sums about the means.
  void centre(const std::vector<LinearFeature>& features, const std::vector<double>& origin,
              LinearLeafSums* sums) const {
    const double h = sums->hessian;
    double* square = sums->square.data();
    for (size_t j = 0; j < features.size(); ++j) {
      const double mean = h > 0.0 ? first_[j] / h : 0.0;
      sums->mean[j] = origin[j] * features[j].unit + mean;
      sums->cross[j] -= sums->gradient * mean;
      for (size_t l = 0; l <= j; ++l) *square++ -= mean * first_[l];
    }
  }

  const Kernels& kernels_;
  const Columns& table_;
  const GradientSlot* slots_;
  const double* weight_;
  size_t n_ = 0;
  std::vector<double> x_, first_;
  double w_[kProductRows], g_[kProductRows], h_[kProductRows], hx_[kProductRows];
};

// Solves A u = b by the Cholesky decomposition. A feature that depends linearly on those before it
// is left out.
std::vector<double> solve(std::vector<double> a, std::vector<double> b,
                          std::vector<uint8_t>* used) {
  const size_t k = b.size();
  for (size_t j = 0; j < k; ++j) {
    if (!(*used)[j]) continue;
    const double whole = a[j * k + j];
    for (size_t l = 0; l <= j; ++l) {
      if (!(*used)[l]) continue;
      double sum = a[j * k + l];
      for (size_t m = 0; m < l; ++m)
        if ((*used)[m]) sum -= a[j * k + m] * a[l * k + m];
      if (l < j) {
        a[j * k + l] = sum / a[l * k + l];
      } else if (sum > kLeastPivot * whole) {
        a[j * k + j] = std::sqrt(sum);
      } else {
        (*used)[j] = 0;
      }
    }
    if (!(*used)[j]) continue;
    for (size_t m = 0; m < j; ++m)
      if ((*used)[m]) b[j] -= a[j * k + m] * b[m];
    b[j] /= a[j * k + j];
  }
  for (size_t j = k; j-- > 0;) {
    if (!(*used)[j]) {
      b[j] = 0.0;
      continue;
    }
    for (size_t m = j + 1; m < k; ++m)
      if ((*used)[m]) b[j] -= a[m * k + j] * b[m];
    b[j] /= a[j * k + j];
  }
  return b;
}

}  // namespace

void LinearLeafSums::merge(const LinearLeafSums& other) {
  complete = complete && other.complete;
  if (other.weight == 0.0 && other.hessian == 0.0) return;
  if (weight == 0.0 && hessian == 0.0) {
    const bool all = complete;
    *this = other;
    complete = all;
    return;
  }
  const double h = hessian + other.hessian;
  const double share = h > 0.0 ? other.hessian / h : 0.0, both = hessian * share;
  std::vector<double> apart(features());
  double* to = square.data();
  const double* from = other.square.data();
  for (size_t j = 0; j < features(); ++j) {
    apart[j] = other.mean[j] - mean[j];
    const double moved = apart[j] * share;
    // Both sums of g (x - mean), about the common mean.
    cross[j] =
        (cross[j] - gradient * moved) + (other.cross[j] + other.gradient * (apart[j] - moved));
    mean[j] += moved;
    for (size_t l = 0; l <= j; ++l, ++to, ++from) *to = (*to + *from) + both * apart[j] * apart[l];
  }
  weight += other.weight;
  gradient += other.gradient;
  hessian = h;
}

Slopes ridge_slopes(const LinearLeafSums& sums, double l2, double bound,
                    const std::vector<int>& direction) {
  const size_t k = sums.features();
  Slopes found{std::vector<double>(k, 0.0), 0.0};
  if (!(sums.hessian > 0.0)) return found;
  std::vector<double> deviation(k), b(k), a(k * k, 0.0);
  std::vector<uint8_t> used(k);
  for (size_t j = 0; j < k; ++j) {
    deviation[j] = std::sqrt(std::max(0.0, sums.of_pair(j, j)) / sums.hessian);
    used[j] = deviation[j] > kLeastSpread && std::isfinite(deviation[j]);
    if (!used[j]) continue;
    b[j] = -sums.cross[j] / deviation[j];
    for (size_t l = 0; l < j; ++l)
      if (used[l]) a[j * k + l] = sums.of_pair(j, l) / (deviation[j] * deviation[l]);
    a[j * k + j] = sums.hessian + l2;
  }
  // Rows with small hessians count less.
  const double rows = bound > 0.0 ? std::min(sums.weight, sums.hessian / bound) : sums.weight;
  const auto slopes = static_cast<double>(std::count(used.begin(), used.end(), 1));
  if (rows < kRowsPerSlope * (slopes + 1.0)) return found;
  for (bool converged = false; !converged;) {
    const std::vector<double> u = solve(a, b, &used);
    converged = true;
    for (size_t j = 0; j < k; ++j) {
      if (!used[j]) continue;
      if (!std::isfinite(u[j])) return {std::vector<double>(k, 0.0), 0.0};
      if (u[j] * direction[j] < 0.0) {
        used[j] = 0;
        converged = false;
      }
    }
    if (!converged) continue;
    double variance = 0.0;
    for (size_t j = 0; j < k; ++j) {
      if (!used[j]) continue;
      found.slope[j] = u[j] / deviation[j];
      variance += (a[j * k + j] - l2) * u[j] * u[j];
      for (size_t l = 0; l < j; ++l)
        if (used[l]) variance += 2.0 * a[j * k + l] * u[j] * u[l];
    }
    found.spread = std::sqrt(std::max(0.0, variance) / sums.hessian);
  }
  return found;
}

namespace {

// The sums of every leaf over its rows.
std::vector<LinearLeafSums> linear_leaf_sums(
    const LinearLeafProblem& problem, const std::vector<std::vector<LinearFeature>>& features) {
  const size_t leaves = problem.leaves.size(), n = problem.bins.rows();
  // Ranges of the table, each with all leaves that have rows in it, so that memory is read in
  // order.
  const size_t range = std::max(kLeastRows, kRowsPerLeaf * leaves);
  const size_t ranges = (n + range - 1) / range;
  std::vector<std::vector<LinearLeafSums>> parts(ranges);
  problem.workers.run(ranges, [&](size_t r, int) {
    RowBlock block(problem.kernels, problem.table, problem.pairs.slots(), problem.weights.data());
    for (size_t i = 0; i < leaves; ++i) {
      LinearLeafSums& sums = parts[r].emplace_back(features[i].size());
      if (features[i].empty()) continue;
      const GrownLeaf& leaf = problem.leaves[i];
      const uint32_t* row =
          std::lower_bound(leaf.rows.data(), leaf.rows.data() + leaf.rows.size(), r * range);
      const uint32_t* const end =
          std::lower_bound(row, leaf.rows.data() + leaf.rows.size(), (r + 1) * range);
      for (size_t m = 0; row < end; row += m) {
        m = std::min(kProductRows, static_cast<size_t>(end - row));
        sums.merge(block.sums(features[i], row, m));
      }
    }
  });
  std::vector<LinearLeafSums> sums;
  for (size_t i = 0; i < leaves; ++i) {
    sums.emplace_back(features[i].size());
    for (const auto& part : parts) sums[i].merge(part[i]);
  }
  return sums;
}

}  // namespace

LinearLeafFits fit_linear_leaves(const LinearLeafProblem& problem) {
  const Tree& tree = problem.tree;
  std::vector<int32_t> parent(tree.nodes(), -1);
  for (size_t node = 0; node < tree.nodes(); ++node)
    if (tree.feature[node] >= 0)
      parent[static_cast<size_t>(tree.left[node])] = parent[static_cast<size_t>(tree.right[node])] =
          static_cast<int32_t>(node);
  const size_t leaves = problem.leaves.size();
  std::vector<std::vector<LinearFeature>> features(leaves);
  for (size_t i = 0; i < leaves; ++i)
    for (const uint32_t f : path_numbers(problem.bins, tree, parent, problem.leaves[i].node))
      features[i].push_back({f, problem.table.columns[f], unit_of(problem.bins.coding(f))});
  const std::vector<LinearLeafSums> sums = linear_leaf_sums(problem, features);
  std::vector<Slopes> slopes(leaves);
  problem.workers.run(leaves, [&](size_t i, int) {
    std::vector<int> direction;
    for (const LinearFeature& f : features[i])
      direction.push_back(problem.constraints.direction(f.number));
    slopes[i] = ridge_slopes(sums[i], problem.l2, problem.bound, direction);
  });
  LinearLeafFits fits;
  for (size_t i = 0; i < leaves; ++i) {
    for (size_t j = 0; j < features[i].size(); ++j) {
      const double slope = slopes[i].slope[j] * features[i][j].unit;
      const double centre = sums[i].mean[j] / features[i][j].unit;
      if (slope == 0.0 || !std::isfinite(slope) || !std::isfinite(centre)) continue;
      fits.feature.push_back(static_cast<int32_t>(features[i][j].number));
      fits.slope.push_back(slope);
      fits.centre.push_back(centre);
    }
    if (fits.feature.size() == fits.start.back()) continue;
    const Leaf& leaf = *problem.leaves[i].leaf;
    fits.start.push_back(fits.feature.size());
    fits.node.push_back(leaf.node);
    fits.gradient.push_back(sums[i].gradient);
    fits.hessian.push_back(sums[i].hessian);
    fits.newton.push_back(problem.finder.value(sums[i].gradient, sums[i].hessian, leaf.parent));
    fits.complete.push_back(sums[i].complete);
    fits.spread.push_back(slopes[i].spread);
  }
  return fits;
}

}  // namespace stagewise

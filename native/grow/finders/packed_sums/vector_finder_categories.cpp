// VectorFinder: splits of categorical features.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "grow/finders/category_order.hpp"
#include "grow/finders/packed_sums/vector_finder.hpp"

namespace stagewise {
namespace {

constexpr int kIterations = 20;  // of the power method: an order needs little precision

using Vector = std::vector<double>;

double product(const Vector& a, const double* b) {
  double sum = 0.0;
  for (size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

// The first principal direction of some points with weights, centred, and the share of their
// variance along it. Its largest component is positive.
struct Principal {
  Vector direction;
  double share = 1.0;

  Principal(const Vector& points, const Vector& mass, size_t k) : direction(k, 0.0) {
    Vector variance(k, 0.0);
    for (size_t i = 0; i < mass.size(); ++i)
      for (size_t j = 0; j < k; ++j) variance[j] += mass[i] * points[i * k + j] * points[i * k + j];
    const double trace = std::accumulate(variance.begin(), variance.end(), 0.0);
    const auto widest = std::max_element(variance.begin(), variance.end()) - variance.begin();
    direction[static_cast<size_t>(widest)] = 1.0;
    if (!(trace > 0.0)) return;
    for (int step = 0; step < kIterations; ++step) {
      Vector next(k, 0.0);
      for (size_t i = 0; i < mass.size(); ++i) {
        const double* const point = points.data() + i * k;
        const double along = mass[i] * product(direction, point);
        for (size_t j = 0; j < k; ++j) next[j] += along * point[j];
      }
      const double length = std::sqrt(product(next, next.data()));
      if (!(length > 0.0)) return;
      share = std::min(1.0, length / trace);
      for (size_t j = 0; j < k; ++j) direction[j] = next[j] / length;
    }
    size_t largest = 0;
    for (size_t j = 1; j < k; ++j)
      if (std::abs(direction[j]) > std::abs(direction[largest])) largest = j;
    if (direction[largest] < 0.0)
      for (double& component : direction) component = -component;
  }
};

}  // namespace

VectorFinder::Order VectorFinder::ordered(const int64_t* packed_sums, size_t bins) const {
  Order order;
  Vector points, mass, centre(outputs_, 0.0);
  double total = 0.0;
  for (size_t b = 0; b < bins; ++b) {
    const int64_t* const own = packed_sums + b * lanes_;
    if (!has_rows(own)) continue;
    order.bins.push_back(static_cast<uint32_t>(b));
    mass.push_back(hessian(own));
    total += mass.back();
    for (size_t k = 0; k < outputs_; ++k) {
      const Scales& s = gradients_->scales(k);
      const double h = static_cast<double>(packed_hessian(own[k])) / s.hessian;
      const double g = static_cast<double>(packed_gradient(own[k])) / s.gradient;
      const double below = h + rules_.categories.smoothing;
      points.push_back(below > 0.0 ? g / below : 0.0);
      centre[k] += mass.back() * points.back();
    }
  }
  Vector centred(points);
  for (size_t i = 0; i < centred.size() && total > 0.0; ++i)
    centred[i] -= centre[i % outputs_] / total;
  const Principal principal(centred, mass, outputs_);
  order.share = principal.share;
  Vector along;
  for (size_t i = 0; i < mass.size(); ++i)
    along.push_back(product(principal.direction, points.data() + i * outputs_));
  std::vector<size_t> places(mass.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::stable_sort(places.begin(), places.end(),
                   [&](size_t a, size_t b) { return along[a] < along[b]; });
  std::vector<uint32_t> sorted;
  for (const size_t place : places) sorted.push_back(order.bins[place]);
  order.bins = std::move(sorted);
  return order;
}

std::vector<uint32_t> VectorFinder::category_order(const int64_t* packed_sums,
                                                   size_t position) const {
  return ordered(packed_sums, bins_.value_bins((*features_)[position])).bins;
}

// Each category against the rest; with random cuts, one of them.
VectorFinder::Candidate VectorFinder::scan_one_vs_rest(const Scan& node, const VectorSums& sums,
                                                       const Order& order, int64_t* left) const {
  Candidate best;
  std::vector<int64_t> own(2 * lanes_);
  const size_t only =
      rules_.random_thresholds ? draw_position(node, sums.feature, 0, order.bins.size()) : SIZE_MAX;
  for (size_t i = 0; i < order.bins.size(); ++i) {
    if (only != SIZE_MAX && i != only) continue;
    const uint32_t b = order.bins[i];
    const VectorScanInput in{sums.packed_sums + b * lanes_, 1, sums.missing,
                             node.leaf->vector.data()};
    const ScanResult result =
        kernels_.scan_vectors(in, numeric_lanes_.rules, own.data(), own.data() + lanes_);
    if (!(result.score > best.result.score)) continue;
    best.result = result;
    best.bin = sums.code(b);
    std::copy(own.begin(), own.begin() + static_cast<ptrdiff_t>(lanes_), left);
  }
  best.missing_seen = sums.missing != nullptr;
  return best;
}

VectorFinder::Candidate VectorFinder::scan_categories(const Scan& node, const VectorSums& sums,
                                                      int64_t* left) const {
  const Order order = ordered(sums.packed_sums, sums.bins);
  if (order.bins.size() <= rules_.categories.one_vs_rest)
    return scan_one_vs_rest(node, sums, order, left);
  std::vector<int64_t> packed_sums;
  for (const uint32_t b : order.bins)
    packed_sums.insert(packed_sums.end(), sums.packed_sums + b * lanes_,
                       sums.packed_sums + (b + 1) * lanes_);
  VectorSums in_order = sums;
  in_order.packed_sums = packed_sums.data();
  in_order.bins = order.bins.size();
  in_order.touched = nullptr;
  Candidate candidate = scan_bins(node, in_order, category_lanes_, left);
  candidate.result.score -= category_chance_ * order.share * chance_of_order(order.bins.size());
  return candidate;
}

// Computes the order of the categories again, and from it the bins that go right. Categories
// without rows in the node go to the heavier side.
std::vector<uint8_t> VectorFinder::right_bins(const Scan& node, size_t position, bool heavier_left,
                                              Scratch* scratch) const {
  const uint32_t feature = (*features_)[position];
  const Candidate& candidate = node.candidates[position];
  const size_t bins = bins_.value_bins(feature);
  const Order order = ordered(feature_sums(node, position, scratch), bins);
  std::vector<uint8_t> right(bins, heavier_left ? 0 : 1);
  const bool one_vs_rest = order.bins.size() <= rules_.categories.one_vs_rest;
  for (size_t i = 0; i < order.bins.size(); ++i)
    right[order.bins[i]] =
        (one_vs_rest ? order.bins[i] == candidate.bin : i <= candidate.bin) ? 0 : 1;
  return right;
}

}  // namespace stagewise

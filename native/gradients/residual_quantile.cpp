#include "gradients/residual_quantile.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/quantile.hpp"

namespace stagewise {
namespace {

constexpr size_t kRows = 16384;
constexpr size_t kBuckets = 1024;
constexpr size_t kMany = 32768;  // with fewer rows one thread is faster

struct Part {
  std::array<uint32_t, kBuckets + 1> counts = {};
  std::vector<double> kept;
  double largest = 0.0;
  double above = std::numeric_limits<double>::infinity();  // the least of later buckets
};

}  // namespace

double residual_quantile(Workers& workers, std::span<const double> y, std::span<const double> score,
                         std::span<const double> weight, double q) {
  const size_t n = y.size();
  const auto residual = [=](size_t i) { return std::abs(y[i] - score[i]); };
  const auto at_once = [&] {
    std::vector<double> values(n), weights;
    for (size_t i = 0; i < n; ++i) values[i] = residual(i);
    weights.assign(weight.begin(), weight.end());
    return weighted_quantile(&values, weights, q);
  };
  if (!weight.empty() || n < kMany) return at_once();

  std::vector<Part> parts((n + kRows - 1) / kRows);
  const auto each = [&](auto body) {
    workers.run(parts.size(), [&](size_t p, int) {
      body(&parts[p], p * kRows, n < (p + 1) * kRows ? n : (p + 1) * kRows);
    });
  };
  each([&](Part* part, size_t begin, size_t end) {
    double largest = 0.0;
    for (size_t i = begin; i < end; ++i) largest = residual(i) > largest ? residual(i) : largest;
    part->largest = largest;
  });
  double width = 0.0;
  for (const Part& part : parts) width = std::max(width, part.largest);
  const double scale = static_cast<double>(kBuckets - 1) / width;
  if (!(width > 0.0) || !std::isfinite(scale) || !(scale > 0.0)) return at_once();

  const auto bucket = [=](double r) { return static_cast<uint32_t>(r * scale); };
  each([&](Part* part, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) ++part->counts[bucket(residual(i))];
  });
  const double reach = q * static_cast<double>(n), up = std::ceil(reach);
  const size_t k = up < 1.0 ? 0 : std::min(n - 1, static_cast<size_t>(up) - 1);
  uint32_t own = 0;
  size_t before = 0;
  for (;; ++own) {
    size_t here = 0;
    for (const Part& part : parts) here += part.counts[own];
    if (before + here > k) break;
    before += here;
  }
  each([&](Part* part, size_t begin, size_t end) {
    part->kept.resize(part->counts[own] + 1);  // the last element absorbs rejected values
    size_t kept = 0;
    double above = part->above;
    for (size_t i = begin; i < end; ++i) {
      const double r = residual(i);
      const uint32_t b = bucket(r);
      part->kept[kept] = r;
      kept += b == own ? 1 : 0;
      above = b > own && r < above ? r : above;
    }
    part->kept.resize(kept);
    part->above = above;
  });
  std::vector<double> values;
  double above = std::numeric_limits<double>::infinity();
  for (const Part& part : parts) {
    values.insert(values.end(), part.kept.begin(), part.kept.end());
    above = std::min(above, part.above);
  }
  const auto at = values.begin() + static_cast<ptrdiff_t>(k - before);
  std::nth_element(values.begin(), at, values.end());
  if (up != reach || up < 1.0 || k + 1 >= n) return *at;
  const double high = at + 1 == values.end() ? above : *std::min_element(at + 1, values.end());
  return *at + (high - *at) / 2;
}

}  // namespace stagewise

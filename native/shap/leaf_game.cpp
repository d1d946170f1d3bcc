#include "shap/leaf_game.hpp"

#include <bit>

namespace stagewise {

double order_share(size_t a, size_t b) {
  double share = 1.0 / static_cast<double>(a + b + 1);
  for (size_t k = 1; k <= std::min(a, b); ++k)  // 1 / C(a + b, a), factor by factor
    share *= static_cast<double>(k) / static_cast<double>(std::max(a, b) + k);
  return share;
}

std::vector<double> LeafGame::by_shares(const Quadrature& rule, bool pairs) const {
  const size_t m = feature.size(), points = rule.points(), n = attributions(m, pairs);
  std::vector<double> attribution((size_t{1} << m) * n, 0.0);
  // Of a feature whose conditions are met, and of one whose are not: the factor at each point, and
  // what is left of a product's factor when its difference takes its place.
  std::vector<double> factor(2 * m * points), instead(2 * m * points);
  for (size_t j = 0; j < m; ++j)
    for (size_t q = 0; q < points; ++q) {
      double* const f = factor.data() + 2 * (j * points + q);
      f[0] = rule.rest[q] * share[j];
      f[1] = rule.point[q] + rule.rest[q] * share[j];
      instead[2 * (j * points + q)] = -1.0 / rule.rest[q];
      instead[2 * (j * points + q) + 1] = (1.0 - share[j]) / f[1];
    }
  std::vector<double> product(points);
  for (size_t mask = 0; mask < size_t{1} << m; ++mask) {
    for (size_t q = 0; q < points; ++q) {
      product[q] = rule.weight[q];
      for (size_t j = 0; j < m; ++j) product[q] *= factor[2 * (j * points + q) + (mask >> j & 1)];
    }
    double* to = attribution.data() + mask * n;
    each_attribution(m, pairs, [&](size_t i, size_t j) {
      const double* const a = instead.data() + 2 * i * points + (mask >> i & 1);
      const double* const b = instead.data() + 2 * j * points + (mask >> j & 1);
      double sum = 0.0;
      for (size_t q = 0; q < points; ++q)
        sum += i == j ? product[q] * a[2 * q] : product[q] * a[2 * q] * b[2 * q];
      *to++ = i == j ? sum : 0.5 * sum;
    });
  }
  return attribution;
}

std::vector<double> LeafGame::by_background(const std::vector<double>& seen, bool pairs) const {
  const size_t m = feature.size(), n = attributions(m, pairs), full = (size_t{1} << m) - 1;
  std::vector<double> attribution((full + 1) * n, 0.0);
  for (size_t known = 0; known <= full; ++known) {
    if (seen[known] == 0.0) continue;
    const size_t needed = full & ~known;  // what the row must bring
    const auto p = static_cast<size_t>(std::popcount(needed));
    // All masks with what is needed: the subsets of the rest, one after another.
    for (size_t rest = known;; rest = (rest - 1) & known) {
      const size_t mask = needed | rest, lost = known & ~rest;
      const auto q = static_cast<size_t>(std::popcount(lost));
      const BackgroundAttributions attributions(p, q);
      double* to = attribution.data() + mask * n;
      each_attribution(m, pairs, [&](size_t i, size_t j) {
        const bool involved = ((needed | lost) >> i & (needed | lost) >> j & 1) != 0;
        if (involved)
          *to += seen[known] *
                 (i == j ? attributions.single((needed >> i & 1) != 0)
                         : attributions.pair((needed >> i & 1) != 0, (needed >> j & 1) != 0));
        ++to;
      });
      if (rest == 0) break;
    }
  }
  return attribution;
}

}  // namespace stagewise

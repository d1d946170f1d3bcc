// The cooperative game of one leaf of value 1: the attributions of its features, for every set of
// features whose conditions a row meets. The mean over all orders in which features become known is
// an integral over the share t of known features (Owen 1972): the attribution of j is the integral
// of (o_j - z_j) prod_(k != j) (t o_k + (1 - t) z_k), where o_k is 1 if the row meets the
// conditions on k, else 0, and z_k is the expected value for an unknown feature. Pairs leave out
// two factors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "shap/quadrature.hpp"

namespace stagewise {

// a! b! / (a + b + 1)!: the integral of t^a (1 - t)^b over [0, 1].
double order_share(size_t a, size_t b);

// The game of a leaf of value 1 between a row and a background row, where each condition is met by
// one of them: `gained` features must come from the row, `lost` ones must not.
class BackgroundAttributions {
 public:
  BackgroundAttributions(size_t gained, size_t lost)
      : gained_(gained > 0 ? order_share(gained - 1, lost) : 0.0),
        lost_(lost > 0 ? -order_share(gained, lost - 1) : 0.0),
        both_gained_(gained > 1 ? 0.5 * order_share(gained - 2, lost) : 0.0),
        both_lost_(lost > 1 ? 0.5 * order_share(gained, lost - 2) : 0.0),
        one_of_each_(gained > 0 && lost > 0 ? -0.5 * order_share(gained - 1, lost - 1) : 0.0) {}

  double single(bool gains) const { return gains ? gained_ : lost_; }
  // The half of each of them.
  double pair(bool gains, bool other_gains) const {
    if (gains != other_gains) return one_of_each_;
    return gains ? both_gained_ : both_lost_;
  }

 private:
  double gained_, lost_, both_gained_, both_lost_, one_of_each_;
};

struct LeafGame {
  std::vector<int32_t> feature;  // on the path, each once
  std::vector<double> share;     // of the rows that meet the conditions on it, each at its node

  // The place of a feature, which is added if it is new.
  size_t place(int32_t f) {
    const auto at =
        static_cast<size_t>(std::find(feature.begin(), feature.end(), f) - feature.begin());
    if (at == feature.size()) {
      feature.push_back(f);
      share.push_back(1.0);
    }
    return at;
  }

  // Credits of m features, and perhaps of their pairs: (0, 0), (0, 1), ..., (1, 1), (1, 2), ...
  // with pairs, else (0, 0), (1, 1), ...; the attribution of a pair is the half of each.
  static size_t attributions(size_t m, bool pairs) { return pairs ? m * (m + 1) / 2 : m; }
  template <class Body>
  static void each_attribution(size_t m, bool pairs, Body&& body) {
    for (size_t i = 0; i < m; ++i)
      for (size_t j = i; j < (pairs ? m : i + 1); ++j) body(i, j);
  }

  // Which of them that of the i-th and the j-th feature is.
  static size_t attribution_of(size_t m, bool pairs, size_t i, size_t j) {
    if (!pairs) return i;
    const size_t low = std::min(i, j), high = std::max(i, j);
    return low * (2 * m - low + 1) / 2 + (high - low);
  }

  // attribution[mask * attributions + c], if unknown features count by their shares.
  std::vector<double> by_shares(const Quadrature& rule, bool pairs) const;
  // The same where they have the values of background rows; seen[mask]: the share of these that
  // meets just the conditions of the mask.
  std::vector<double> by_background(const std::vector<double>& seen, bool pairs) const;
};

}  // namespace stagewise

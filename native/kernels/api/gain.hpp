// The two formulas of all trees: the value of a leaf, and its score.
//
//     w* = -T(G - s u) / (H + l2 + s),   T(G) = sign(G) max(|G| - l1, 0)
//
// is the w, between two bounds, that minimises Gw + (H + l2) w^2 / 2 + l1 |w| + s (w - u)^2 / 2:
// Chen & Guestrin (2016), eq. 5, and with s > 0 a shrinkage towards the value u of the parent (path
// smoothing). The score of a node with the value w is
//
//     -(2 (G - s u) w + (H + l2 + s) w^2 + 2 l1 |w|),
//
// twice the decrease of the objective, up to the constant s u^2. It also holds for clipped values;
// for the optimum without bounds it is T(G)^2 / (H + l2). The gain of a split is computed in
// stages:
//
//     score of the left side + score of the right side     kernels/split_scan.hpp
//     - score of the node without a split                  PackedGradientFinder::choose_split()
//     half of it, in units of the loss: eq. 7              GradientFinder::real_gain()
//     it must be above min_gain (gamma)                    the finders
//
// Static functions: compiled once per instruction set.
#pragma once

#include <limits>

namespace stagewise {

struct Regularisation {
  double l1 = 0.0;
  double l2 = 1.0;     // l2 + s of the formulas
  double shift = 0.0;  // s u
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool plain() const {
    return l1 == 0.0 && shift == 0.0 && low == -std::numeric_limits<double>::infinity() &&
           high == std::numeric_limits<double>::infinity();
  }
};

static inline double soft_threshold(double g, double l1) {
  return g > l1 ? g - l1 : (g < -l1 ? g + l1 : 0.0);
}

static inline double leaf_value(double g, double h, const Regularisation& r) {
  const double denominator = h + r.l2;
  const double w = denominator > 0.0 ? -soft_threshold(g - r.shift, r.l1) / denominator : 0.0;
  return w > r.high ? r.high : (w < r.low ? r.low : w);
}

static inline double score_of(double g, double h, double w, const Regularisation& r) {
  const double l1 = r.l1 * (w < 0.0 ? -w : w);
  return -(2.0 * (g - r.shift) * w + (h + r.l2) * w * w + 2.0 * l1);
}

static inline double leaf_score(double g, double h, const Regularisation& r) {
  return score_of(g, h, leaf_value(g, h, r), r);
}

// G_L^2 / (H_L + l2) + G_R^2 / (H_R + l2) over one common denominator: one division.
template <class Real>
static inline Real pair_score(Real gl, Real hl, Real gr, Real hr, Real l2) {
  const Real dl = hl + l2, dr = hr + l2;
  return (gl * gl * dr + gr * gr * dl) / (dl * dr);
}

}  // namespace stagewise

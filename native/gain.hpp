// The two formulas that every tree uses.
//
//     w* = -T(G) / (H + l2),     T(G) = sign(G) max(|G| - l1, 0)       Chen & Guestrin (2016), eq.
//     5 gain of any w: -(2 G w + (H + l2) w^2 + 2 l1 |w|)
//
// The second holds for clipped (max_step) values too, so they need no formula of their own; for the
// unclipped optimum it is T(G)^2 / (H + l2). Gains here are twice the loss reduction of eq. 7, less
// gamma. Static functions: compiled once per instruction set.
#pragma once

namespace stagewise {

struct Regularisation {
  double l1 = 0.0;
  double l2 = 1.0;
  double max_step = 0.0;  // 0: no limit
};

static inline double soft_threshold(double g, double l1) {
  return g > l1 ? g - l1 : (g < -l1 ? g + l1 : 0.0);
}

static inline double leaf_value(double g, double h, const Regularisation& r) {
  const double denominator = h + r.l2;
  if (!(denominator > 0.0)) return 0.0;
  const double w = -soft_threshold(g, r.l1) / denominator;
  if (r.max_step > 0.0) return w > r.max_step ? r.max_step : (w < -r.max_step ? -r.max_step : w);
  return w;
}

static inline double leaf_gain(double g, double h, const Regularisation& r) {
  const double w = leaf_value(g, h, r);
  const double l1 = r.l1 * (w < 0.0 ? -w : w);
  return -(2.0 * g * w + (h + r.l2) * w * w + 2.0 * l1);
}

}  // namespace stagewise

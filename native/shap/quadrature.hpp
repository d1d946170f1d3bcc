// Gauss-Legendre quadrature on [0, 1]: n points integrate polynomials of degree 2n - 1 exactly. The
// roots are found by bisection between those of one degree less, with plain arithmetic, so every
// machine has the same bits.
#pragma once

#include <cstddef>
#include <vector>

namespace stagewise {

struct Quadrature {
  std::vector<double> point, rest, weight;  // rest: 1 - point, without cancellation

  explicit Quadrature(size_t n);
  size_t points() const { return point.size(); }
};

}  // namespace stagewise

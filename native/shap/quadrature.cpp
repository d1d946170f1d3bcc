#include "shap/quadrature.hpp"

namespace stagewise {
namespace {

struct Legendre {
  double value, before;  // of degree n and n - 1
};

Legendre legendre(size_t n, double x) {
  double before = 1.0, value = x;
  for (size_t k = 2; k <= n; ++k) {
    const auto d = static_cast<double>(k);
    const double next = ((2.0 * d - 1.0) * x * value - (d - 1.0) * before) / d;
    before = value;
    value = next;
  }
  return {value, before};
}

// The root between low and high, where the polynomial has different signs.
double root_between(size_t n, double low, double high) {
  const bool rises = legendre(n, high).value > 0.0;
  for (;;) {
    const double middle = 0.5 * (low + high);
    if (!(low < middle && middle < high)) return middle;
    const double value = legendre(n, middle).value;
    if (value == 0.0) return middle;
    ((value > 0.0) == rises ? high : low) = middle;
  }
}

}  // namespace

Quadrature::Quadrature(size_t n) : point(n), rest(n), weight(n) {
  std::vector<double> roots, next;
  for (size_t degree = 1; degree <= n; ++degree) {
    next.assign(degree, 0.0);  // the middle root of an odd degree stays exactly 0
    for (size_t i = 0; i < degree / 2; ++i) {
      const double low = i == 0 ? -1.0 : roots[i - 1];
      next[i] = root_between(degree, low, roots[i]);
      next[degree - 1 - i] = -next[i];
    }
    roots.swap(next);
  }
  for (size_t i = 0; i < n; ++i) {
    const double x = roots[i], one_less = (1.0 - x) * (1.0 + x);
    const Legendre p = legendre(n, x);
    const double slope = static_cast<double>(n) * (p.before - x * p.value) / one_less;
    point[i] = 0.5 * (1.0 + x);
    rest[i] = 0.5 * (1.0 - x);
    weight[i] = 1.0 / (one_less * slope * slope);
  }
}

}  // namespace stagewise

// log Gamma, digamma and trigamma by Stirling's series, beyond 10; smaller arguments are moved
// there by Gamma(x + 1) = x Gamma(x). And the scaled complementary error function.
//
// What the functions have beyond their leading terms is kept apart, since likelihoods are
// differences of them:  log Gamma(x) = (x - 1/2) log x - x + log(2 pi)/2 + value(x),
// digamma(x) = log x + slope(x),  trigamma(x) = 1/x + curvature(x).
#pragma once

#include "kernels/elementary/exp_log.hpp"

namespace stagewise {
namespace {

constexpr double kStirlingFrom = 10.0;
constexpr int kMostShifts = 10;
constexpr double kHalfLogTwoPi = 0.9189385332046727;

inline __attribute__((always_inline)) bool any_lane(IntegerLanes mask) {
  int64_t found = 0;
  for (size_t k = 0; k < kDoubleLanes; ++k) found |= mask[k];
  return found != 0;
}

inline __attribute__((always_inline)) DoubleLanes stirling_lead(DoubleLanes x, DoubleLanes log_x) {
  return (x - 0.5) * log_x - x + kHalfLogTwoPi;
}

template <size_t N>
inline __attribute__((always_inline)) DoubleLanes polynomial(const double (&coefficient)[N],
                                                             DoubleLanes x) {
  DoubleLanes sum = DoubleLanes{} + coefficient[N - 1];
  for (size_t k = N - 1; k > 0; --k) sum = sum * x + coefficient[k - 1];
  return sum;
}

// The series have the Bernoulli numbers B_2k: B_2k / (2k (2k-1)), B_2k / 2k and B_2k.
inline __attribute__((always_inline)) DoubleLanes stirling_value(DoubleLanes x) {
  constexpr double k[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                          1.0 / 1188, -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400};
  return polynomial(k, 1.0 / (x * x)) / x;
}
inline __attribute__((always_inline)) DoubleLanes stirling_slope(DoubleLanes x) {
  constexpr double k[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                          1.0 / 132, -691.0 / 32760, 1.0 / 12,  -3617.0 / 8160};
  const DoubleLanes square = 1.0 / (x * x);
  return -0.5 / x - polynomial(k, square) * square;
}
inline __attribute__((always_inline)) DoubleLanes stirling_curvature(DoubleLanes x) {
  constexpr double k[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                          5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};
  const DoubleLanes square = 1.0 / (x * x);
  return (0.5 + polynomial(k, square) / x) * square;
}

// The parts of log Gamma and its derivatives at x > 0 beyond their leading terms.
class GammaRest {
 public:
  GammaRest(DoubleLanes x, DoubleLanes log_x) : x_(x), log_x_(log_x), far_(x) {
    const DoubleLanes limit = DoubleLanes{} + kStirlingFrom;
    near_ = x < limit;
    some_near_ = any_lane(near_);
    if (!some_near_) return;
    // sum of 1 / (x + i) = inverses / product, sum of their squares = squares / product^2
    for (int i = 0; i < kMostShifts; ++i) {
      const IntegerLanes below = far_ < limit;
      const DoubleLanes factor = below ? far_ : DoubleLanes{} + 1.0;
      inverses_ = below ? inverses_ * factor + product_ : inverses_;
      squares_ = below ? squares_ * (factor * factor) + product_ * product_ : squares_;
      product_ *= factor;
      far_ = below ? far_ + 1.0 : far_;
    }
    log_far_ = log_lanes(far_);
  }

  DoubleLanes value() const {
    const DoubleLanes rest = stirling_value(far_);
    if (!some_near_) return rest;
    const DoubleLanes moved = stirling_lead(far_, log_far_) - log_lanes(product_);
    return near_ ? rest + (moved - stirling_lead(x_, log_x_)) : rest;
  }
  DoubleLanes slope() const {
    const DoubleLanes rest = stirling_slope(far_);
    if (!some_near_) return rest;
    return near_ ? rest + ((log_far_ - log_x_) - inverses_ / product_) : rest;
  }
  DoubleLanes curvature() const {
    const DoubleLanes rest = stirling_curvature(far_);
    if (!some_near_) return rest;
    const DoubleLanes sum = squares_ / (product_ * product_);
    return near_ ? rest + (1.0 / far_ + (sum - 1.0 / x_)) : rest;
  }

 private:
  DoubleLanes x_, log_x_;
  DoubleLanes far_, log_far_ = {};  // x + n >= 10
  DoubleLanes product_ = DoubleLanes{} + 1.0, inverses_ = {}, squares_ = {};
  IntegerLanes near_;
  bool some_near_;
};

inline DoubleLanes log_gamma_lanes(DoubleLanes x) {
  const DoubleLanes log_x = log_lanes(x);
  return stirling_lead(x, log_x) + GammaRest(x, log_x).value();
}
inline DoubleLanes digamma_lanes(DoubleLanes x) {
  const DoubleLanes log_x = log_lanes(x);
  return log_x + GammaRest(x, log_x).slope();
}
inline DoubleLanes trigamma_lanes(DoubleLanes x) {
  return 1.0 / x + GammaRest(x, DoubleLanes{}).curvature();
}

// e^(x^2) erfc(x) of x >= 0: (1 + 2x) times it is a Chebyshev series in (x - k) / (x + k)
// (Shepherd and Laframboise 1981), k = 3.75.
inline DoubleLanes scaled_erfc_lanes(DoubleLanes x) {
  constexpr double kCentre = 3.75, kLargest = 1e300;
  constexpr double c[] = {
      1.177578934567401754,      -0.004590054580646477331,  -0.08424913336651791558,
      0.0592099399981918905,     -0.02665866843530575228,   0.009074997670705265094,
      -0.002413163540417608191,  0.0004907758365258086323,  -0.00006916973302501206367,
      4.139027986073010168e-6,   7.740383066198490669e-7,   -2.188640104923439566e-7,
      1.076499946567091038e-8,   4.521959811218286898e-9,   -7.754400208831351106e-10,
      -6.318088340886684494e-11, 2.868795010930669898e-11,  1.945586854577734723e-13,
      -9.654696748433438906e-13, 3.252548148148739842e-14,  3.347811948286805388e-14,
      -1.864562880419313102e-15, -1.250795053068864709e-15, 7.418235256624043445e-17,
      5.068148904796111299e-17,  -2.237056659435999772e-18, -2.187342944303017836e-18};
  x = bounded(x, 0.0, kLargest);
  const DoubleLanes t = (x - kCentre) / (x + kCentre);
  DoubleLanes next = {}, after = {};
  for (size_t k = sizeof(c) / sizeof(c[0]) - 1; k > 0; --k) {
    const DoubleLanes own = 2.0 * t * next - after + c[k];
    after = next;
    next = own;
  }
  return (t * next - after + c[0]) / (1.0 + 2.0 * x);
}

void log_gamma_doubles(const double* in, size_t n, double* out) {
  each<log_gamma_lanes>(in, n, out);
}
void digamma_doubles(const double* in, size_t n, double* out) { each<digamma_lanes>(in, n, out); }
void trigamma_doubles(const double* in, size_t n, double* out) { each<trigamma_lanes>(in, n, out); }
void scaled_erfc_doubles(const double* in, size_t n, double* out) {
  each<scaled_erfc_lanes>(in, n, out);
}

}  // namespace
}  // namespace stagewise

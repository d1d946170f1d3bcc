#include "core/exact_sum.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace stagewise {

void ExactSum::normalise() {
  int64_t carry = 0;
  for (size_t i = 0; i + 1 < kDigits; ++i) {
    const int64_t sum = integers_[i] + carry;
    carry = sum >> 32;
    integers_[i] = sum & static_cast<int64_t>(kMask);
  }
  integers_[kDigits - 1] += carry;
  terms_left_ = kTerms;
}

// Sums of mantissas, one for each sign and exponent: adding a value is one addition.
class ExactSum::Mantissas {
 public:
  static constexpr size_t kMost = 2048;  // values: a sum of their mantissas has 64 bits

  explicit Mantissas(ExactSum* total) : total_(*total), sums_(4096, 0) {}

  void add(double x) {
    const auto bits = std::bit_cast<uint64_t>(x);
    const uint64_t place = bits >> 52, exponent = place & 0x7ff;
    if (exponent == 0 || exponent == 0x7ff) return total_.add(x);  // subnormal, or not finite
    sums_[place] += (bits & 0xfffffffffffffull) | 1ull << 52;
  }
  void flush() {
    for (size_t place = 0; place < sums_.size(); ++place) {
      if (sums_[place] == 0) continue;
      const uint64_t shift = (place & 0x7ff) - 1, at = shift / 32;
      const uint64_t low = (sums_[place] & kMask) << (shift % 32);
      const uint64_t high = sums_[place] >> 32 << (shift % 32);
      const int64_t sign = place < 2048 ? 1 : -1;
      total_.integers_[at] += sign * static_cast<int64_t>(low & kMask);
      total_.integers_[at + 1] += sign * static_cast<int64_t>((low >> 32) + (high & kMask));
      total_.integers_[at + 2] += sign * static_cast<int64_t>(high >> 32);
      sums_[place] = 0;
      if (--total_.terms_left_ == 0) total_.normalise();
    }
  }

 private:
  ExactSum& total_;
  std::vector<uint64_t> sums_;
};

void ExactSum::add_all(const double* values, const double* weight, size_t n) {
  constexpr size_t kFew = 512;  // with fewer values, adding them one by one is faster
  if (n < kFew) {
    for (size_t i = 0; i < n; ++i)
      weight == nullptr ? add(values[i]) : add_product(weight[i], values[i]);
    return;
  }
  Mantissas sums(this);
  for (size_t begin = 0; begin < n; begin += Mantissas::kMost / 2) {
    const size_t end = std::min(n, begin + Mantissas::kMost / 2);
    if (weight == nullptr) {
      for (size_t i = begin; i < end; ++i) sums.add(values[i]);
    } else {
      for (size_t i = begin; i < end; ++i) {
        const double product = weight[i] * values[i];
        if (!std::isfinite(product)) {
          add_product(weight[i], values[i]);
          continue;
        }
        sums.add(product);
        sums.add(std::fma(weight[i], values[i], -product));
      }
    }
    sums.flush();
  }
}

ExactSum ExactSum::of(const int64_t* integers) {
  ExactSum sum;
  std::copy_n(integers, kIntegers, sum.integers_.begin());
  return sum;
}

double ExactSum::value() const {
  const bool above = integers_[kDigits] > 0, below = integers_[kDigits + 1] > 0;
  if (integers_[kDigits + 2] > 0 || (above && below))
    return std::numeric_limits<double>::quiet_NaN();
  if (above || below) return (above ? 1.0 : -1.0) * std::numeric_limits<double>::infinity();
  ExactSum size = *this;  // its absolute value
  size.normalise();
  const bool negative = size.integers_[kDigits - 1] < 0;
  if (negative) {
    for (int64_t& digit : size.integers_) digit = -digit;
    size.normalise();
  }
  size_t top = kDigits;
  while (top > 0 && size.integers_[top - 1] == 0) --top;
  if (top == 0) return 0.0;
  const auto digit = [&](size_t i) {  // counted from the first one that is not 0
    return i < top ? static_cast<uint64_t>(size.integers_[top - 1 - i]) : 0;
  };
  // The first 64 bits; later ones decide only whether there is a rest, which breaks ties.
  const int zeros = std::countl_zero(digit(0)) - 32;
  uint64_t bits = (digit(0) << 32 | digit(1)) << zeros | digit(2) >> (32 - zeros);
  bool rest = (digit(2) << zeros & kMask) != 0;
  for (size_t i = 3; i < top; ++i) rest = rest || digit(i) != 0;
  bits |= rest ? 1 : 0;
  const int exponent = static_cast<int>(32 * top) - 64 - 1074 - zeros;
  const double value = std::ldexp(static_cast<double>(bits), exponent);
  return negative ? -value : value;
}

}  // namespace stagewise

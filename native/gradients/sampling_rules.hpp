// How often a row counts in a round: rules that are made once per round, from integer statistics of
// all rows, and applied to each row by itself.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace stagewise {

// Without a branch, which would be mispredicted.
inline uint32_t bits_if(bool drawn, float multiplier) {
  return std::bit_cast<uint32_t>(multiplier) & -static_cast<uint32_t>(drawn);
}

inline float multiplier_if(bool drawn, float multiplier) {
  return std::bit_cast<float>(bits_if(drawn, multiplier));
}

// Counts above this one, one in 10^19 draws, are clipped.
constexpr int kMostCount = 20;

// Poisson counts with a mean of at most 1.
class PoissonRule {
 public:
  explicit PoissonRule(double rate) {
    // P(count <= k), from e^rate as a plain sum so that every machine has the same bits.
    double term = 1.0, whole = 1.0, sum = 0.0;
    for (int k = 1; k <= kMostCount; ++k) whole += term *= rate / k;
    term = 1.0;
    for (int k = 0; k <= kMostCount; ++k) {
      reach_[k] = sum += term / whole;
      term *= rate / (k + 1);
    }
  }

  float multiplier(double u) const {
    int count = 0;  // few counts exceed those compared without a branch
    for (int k = 0; k < kFewCounts; ++k) count += u >= reach_[k] ? 1 : 0;
    while (count >= kFewCounts && count < kMostCount && u >= reach_[count]) ++count;
    return static_cast<float>(count);
  }

 private:
  static constexpr int kFewCounts = 4;
  double reach_[kMostCount + 1];
};

// The importance of a row as an integer key of the same order: the bits of a nonnegative float.
inline uint32_t importance_key(double square) {
  return std::bit_cast<uint32_t>(static_cast<float>(std::sqrt(square)));
}
inline double importance_of(uint32_t key) { return static_cast<double>(std::bit_cast<float>(key)); }

// The number of keys in a bucket, and the sum of their low bits.
struct Tally {
  uint64_t count = 0, low = 0;
};

// Keys are counted in three steps, some bits at a time; a step counts the keys with a given prefix.
struct KeySteps {
  static constexpr int kSteps = 3;
  static constexpr int kBits[kSteps] = {12, 10, 10};
  static constexpr int kBehind[kSteps] = {20, 10, 0};

  static size_t buckets(int step) { return size_t{1} << kBits[step]; }
  // Adds a key to the tallies of a step, if it begins with `prefix`.
  static void add(int step, uint32_t prefix, uint32_t key, Tally* tallies) {
    const uint32_t start = key >> kBehind[step];
    if (step > 0 && start >> kBits[step] != prefix) return;
    Tally& own = tallies[start & static_cast<uint32_t>(buckets(step) - 1)];
    ++own.count;
    own.low += key & ((1u << kBehind[step]) - 1);
  }
};

// GOSS: rows with a key above `least` count once, of those with this key the ones up to `last_row`;
// the others are drawn with probability p and count 1 / p times.
struct GossRule {
  uint32_t least = 0;
  uint64_t last_row = 0;
  float multiplier_of_drawn = 0.0f;
  uint64_t limit = 0;  // of the upper 53 bits of a draw

  float multiplier(uint32_t key, uint64_t row, uint64_t drawn_bits) const {
    const bool kept = (key > least) | ((key == least) & (row <= last_row));
    const bool drawn = !kept & (drawn_bits >> 11 < limit);
    return std::bit_cast<float>(bits_if(kept, 1.0f) | bits_if(drawn, multiplier_of_drawn));
  }
};

// tally(step, prefix) returns the tallies of all rows; nth_row(key, n) the number of the n-th row
// (from 1) with a key. present: the rows of positive weight.
template <class TallyOf, class NthRow>
GossRule goss_rule(double present, double top, double other, TallyOf tally, NthRow nth_row) {
  GossRule rule;
  // The place of the last row that is kept among the rows with its key, and their number.
  uint64_t rank = static_cast<uint64_t>(std::max(1.0, std::floor(top * present + 0.5))), equals = 0;
  for (int step = 0; step < KeySteps::kSteps; ++step) {
    const std::vector<Tally> tallies = tally(step, rule.least);
    size_t b = tallies.size() - 1;
    for (; tallies[b].count < rank; --b) rank -= tallies[b].count;
    rule.least = rule.least << KeySteps::kBits[step] | static_cast<uint32_t>(b);
    equals = tallies[b].count;
  }
  rule.last_row = rank < equals ? nth_row(rule.least, rank) : ~uint64_t{0};
  const double p = other / (1.0 - top);
  rule.multiplier_of_drawn = static_cast<float>(1.0 / p);
  rule.limit = static_cast<uint64_t>(std::ceil(std::ldexp(p, 53)));
  return rule;
}

// MVS: a row with probability p = min(1, importance / mu) counts 1 / p times.
struct MvsRule {
  double mu = 0.0;

  float multiplier(uint32_t key, double u) const {
    const double importance = importance_of(key);
    const auto times = static_cast<float>(std::max(1.0, mu / importance));
    return multiplier_if(u * mu < importance, times);  // u < p
  }
};

// The mu with sum min(1, s / mu) = target over the importances s; 0 if all of them are kept. From
// the largest down, s is certain to be kept while s * (target less those before) > sum of the rest.
template <class TallyOf>
MvsRule mvs_rule(double target, TallyOf tally) {
  // The sum of the importances in a bucket: within it floats are evenly spaced.
  const auto sum_of = [](uint32_t first_key, const Tally& own) {
    const double first = importance_of(first_key), step = importance_of(first_key + 1) - first;
    return static_cast<double>(own.count) * first + static_cast<double>(own.low) * step;
  };
  double left = target;  // less the certain rows
  double rest = 0.0;     // the sum of all importances below the current bucket
  uint32_t begin = 0;
  for (int step = 0; step < KeySteps::kSteps; ++step) {
    const std::vector<Tally> tallies = tally(step, begin);
    const auto first_key = [&](size_t b) {
      return (begin << KeySteps::kBits[step] | static_cast<uint32_t>(b)) << KeySteps::kBehind[step];
    };
    size_t end = tallies.size();  // of the buckets that are not empty
    while (end > 0 && tallies[end - 1].count == 0) --end;
    std::vector<double> below(end + 1, rest);  // the sum of all importances below each bucket
    for (size_t b = 0; b < end; ++b)
      below[b + 1] = below[b] + (tallies[b].count > 0 ? sum_of(first_key(b), tallies[b]) : 0.0);
    if (!std::isfinite(below.back())) return {0.0};
    size_t b = end;
    for (; b > 0; --b) {
      const auto inside = static_cast<double>(tallies[b - 1].count);
      if (inside == 0.0) continue;
      // All of a bucket is certain if even its least possible value is at least mu.
      const double least = importance_of(first_key(b - 1));
      if (!(left > inside && below[b - 1] <= least * (left - inside))) break;
      left -= inside;
    }
    if (b == 0) return {rest / left};
    rest = below[b - 1];
    begin = begin << KeySteps::kBits[step] | static_cast<uint32_t>(b - 1);
    if (step + 1 == KeySteps::kSteps) return {below[b] / left};
  }
  return {0.0};
}

}  // namespace stagewise

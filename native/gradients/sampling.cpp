#include "gradients/sampling.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "core/large_array.hpp"

namespace stagewise {
namespace {

constexpr size_t kChunk = 16384;  // rows
constexpr int kFewCounts = 4;

size_t chunks_of(const DrawnRows& from) { return (from.rows + kChunk - 1) / kChunk; }

// Without a branch, which would be mispredicted.
uint32_t bits_if(bool drawn, float multiplier) {
  return std::bit_cast<uint32_t>(multiplier) & -static_cast<uint32_t>(drawn);
}

float multiplier_if(bool drawn, float multiplier) {
  return std::bit_cast<float>(bits_if(drawn, multiplier));
}

uint64_t below(double share) {
  return share >= 1.0 ? ~0ull : static_cast<uint64_t>(std::ldexp(share, 64));
}

size_t count_present(const DrawnRows& from) {
  if (from.weight.empty()) return from.rows;
  return static_cast<size_t>(
      std::count_if(from.weight.begin(), from.weight.end(), [](double w) { return w > 0.0; }));
}

// body(first row, last row, worker) for every chunk of the rows.
template <class Body>
void by_chunk(const DrawnRows& from, Body body) {
  from.workers.run(chunks_of(from), [&](size_t chunk, int worker) {
    body(chunk * kChunk, std::min(from.rows, (chunk + 1) * kChunk), worker);
  });
}

// The rows that count, multiplier_of(row) > 0; if there is none, one
// random row counts once.
template <class MultiplierOf>
Bag collect(const DrawnRows& from, bool multiplied, MultiplierOf multiplier_of) {
  Bag bag;
  if (multiplied) bag.multiplier.resize(from.rows);
  const LargeArray<uint32_t> staged = make_large_array<uint32_t>(from.rows);
  std::vector<size_t> before(chunks_of(from) + 1, 0);  // rows of earlier chunks that count
  by_chunk(from, [&](size_t first, size_t last, int) {
    uint32_t* const list = staged.get() + first;
    float* const multiplier = multiplied ? bag.multiplier.data() : nullptr;
    const double* const weight = from.weight.data();
    const MultiplierOf own = multiplier_of;  // a copy: no store below can change it
    size_t n = 0;
    for (size_t row = first; row < last; ++row) {
      const float t = weight == nullptr || weight[row] > 0.0 ? own(row) : 0.0f;
      list[n] = static_cast<uint32_t>(row);
      n += std::bit_cast<uint32_t>(t) != 0;
      if (multiplier != nullptr) multiplier[row] = t;
    }
    before[first / kChunk + 1] = n;
  });
  for (size_t c = 1; c < before.size(); ++c) before[c] += before[c - 1];
  bag.rows.resize(before.back());
  by_chunk(from, [&](size_t first, size_t, int) {
    const size_t chunk = first / kChunk;
    std::copy_n(staged.get() + first, before[chunk + 1] - before[chunk],
                bag.rows.data() + before[chunk]);
  });
  const size_t present = bag.rows.empty() ? count_present(from) : 0;
  if (present > 0) {
    size_t place = draw(from.key(), from.rows) % present, row = 0;
    while (!from.present(row) || place-- > 0) ++row;
    bag.rows.push_back(static_cast<uint32_t>(row));
    if (multiplied) bag.multiplier[row] = 1.0f;
  }
  return bag;
}

double value_of(uint32_t key) { return static_cast<double>(std::bit_cast<float>(key)); }

// The number of keys in a bucket, and the sum of their low bits.
struct Tally {
  uint64_t count = 0, low = 0;
};

// The importances of rows as integer keys of the same order: the bits of nonnegative floats. They
// are counted in three steps, some bits at a time; a step counts the keys with a given prefix.
class Keys {
 public:
  Keys(const DrawnRows& from, const double* squares)
      : from_(from), keys_(make_large_array<uint32_t>(from.rows)) {
    by_chunk(from, [&](size_t first, size_t last, int) {
      for (size_t row = first; row < last; ++row)
        keys_[row] = std::bit_cast<uint32_t>(static_cast<float>(std::sqrt(squares[row])));
    });
  }

  const uint32_t* of_rows() const { return keys_.get(); }

  static constexpr int kSteps = 3;
  static constexpr int kBits[kSteps] = {12, 10, 10};
  static constexpr int kBehind[kSteps] = {20, 10, 0};

  std::vector<Tally> tally(int step, uint32_t begin) const {
    const size_t buckets = size_t{1} << kBits[step];
    const auto mask = static_cast<uint32_t>(buckets - 1);
    const uint32_t behind = (1u << kBehind[step]) - 1;
    std::vector<std::vector<Tally>> tallies(static_cast<size_t>(from_.workers.threads()));
    by_chunk(from_, [&](size_t first, size_t last, int worker) {
      std::vector<Tally>& own = tallies[static_cast<size_t>(worker)];
      own.resize(buckets);
      const uint32_t* const keys = keys_.get();
      const double* const weight = from_.weight.data();
      for (size_t row = first; row < last; ++row) {
        const uint32_t key = keys[row], start = key >> kBehind[step];
        if (step > 0 && start >> kBits[step] != begin) continue;
        if (weight != nullptr && !(weight[row] > 0.0)) continue;
        ++own[start & mask].count;
        own[start & mask].low += key & behind;
      }
    });
    std::vector<Tally> total(buckets);
    for (const auto& own : tallies)
      for (size_t b = 0; b < own.size(); ++b) {
        total[b].count += own[b].count;
        total[b].low += own[b].low;
      }
    return total;
  }

  // The n-th (from 1) row with this key and a positive weight.
  size_t nth_row(uint32_t key, uint64_t n) const {
    std::vector<uint64_t> counts(chunks_of(from_), 0);
    const auto has = [&](size_t row) { return keys_[row] == key && from_.present(row); };
    by_chunk(from_, [&](size_t first, size_t last, int) {
      for (size_t row = first; row < last; ++row) counts[first / kChunk] += has(row) ? 1 : 0;
    });
    size_t chunk = 0;
    for (; counts[chunk] < n; ++chunk) n -= counts[chunk];
    size_t row = chunk * kChunk;
    for (;; ++row)
      if (has(row) && --n == 0) return row;
  }

 private:
  const DrawnRows& from_;
  LargeArray<uint32_t> keys_;
};

// The sum of the importances in a bucket: within it floats are evenly spaced.
double sum_of(uint32_t first_key, const Tally& tally) {
  const double first = value_of(first_key), step = value_of(first_key + 1) - first;
  return static_cast<double>(tally.count) * first + static_cast<double>(tally.low) * step;
}

// The mu with sum min(1, s / mu) = target over the importances s; 0 if all of them are kept. From
// the largest down, s is certain to be kept while s * (target less those before) > sum of the rest.
double importance_scale(const Keys& keys, double target) {
  double left = target;  // less the certain rows
  double rest = 0.0;     // the sum of all importances below the current bucket
  uint32_t begin = 0;
  for (int step = 0; step < Keys::kSteps; ++step) {
    const std::vector<Tally> tallies = keys.tally(step, begin);
    const auto first_key = [&](size_t b) {
      return (begin << Keys::kBits[step] | static_cast<uint32_t>(b)) << Keys::kBehind[step];
    };
    std::vector<double> below = {rest};  // the sum of all importances below each bucket
    for (size_t b = 0; b < tallies.size(); ++b)
      below.push_back(below[b] + (tallies[b].count > 0 ? sum_of(first_key(b), tallies[b]) : 0.0));
    if (!std::isfinite(below.back())) return 0.0;
    size_t b = tallies.size();
    for (; b > 0; --b) {
      const auto inside = static_cast<double>(tallies[b - 1].count);
      if (inside == 0.0) continue;
      // All of a bucket is certain if even its least possible value is at least mu.
      const double least = value_of(first_key(b - 1));
      if (!(left > inside && below[b - 1] <= least * (left - inside))) break;
      left -= inside;
    }
    if (b == 0) return rest / left;
    rest = below[b - 1];
    begin = begin << Keys::kBits[step] | static_cast<uint32_t>(b - 1);
    if (step + 1 == Keys::kSteps) return below[b] / left;
  }
  return 0.0;
}

}  // namespace

Bag draw_rows(const DrawnRows& from, double share) {
  const uint64_t key = from.key(), limit = below(share), begin = from.first_row;
  return collect(from, false,
                 [=](size_t row) { return multiplier_if(draw(key, begin + row) <= limit, 1.0f); });
}

Bag draw_groups(const DrawnRows& from, const uint32_t* group, double share) {
  const uint64_t key = from.key(), limit = below(share);
  Bag bag = collect(
      from, false, [=](size_t row) { return multiplier_if(draw(key, group[row]) <= limit, 1.0f); });
  if (bag.rows.size() != 1) return bag;
  const uint32_t lone = group[bag.rows[0]];  // if no group was drawn: its whole group
  return collect(from, false, [=](size_t row) { return multiplier_if(group[row] == lone, 1.0f); });
}

Bag draw_bootstrap(const DrawnRows& from, double rate) {
  // P(count <= k), from e^rate as a plain sum so that every machine has the same bits.
  double term = 1.0, whole = 1.0, sum = 0.0;
  for (int k = 1; k <= kMostCount; ++k) whole += term *= rate / k;
  double reach[kMostCount + 1];
  term = 1.0;
  for (int k = 0; k <= kMostCount; ++k) {
    reach[k] = sum += term / whole;
    term *= rate / (k + 1);
  }
  const uint64_t key = from.key(), begin = from.first_row;
  return collect(from, true, [&, key, begin](size_t row) {
    const double u = unit_draw(key, begin + row);
    int count = 0;  // few counts exceed those compared without a branch
    for (int k = 0; k < kFewCounts; ++k) count += u >= reach[k] ? 1 : 0;
    while (count >= kFewCounts && count < kMostCount && u >= reach[count]) ++count;
    return static_cast<float>(count);
  });
}

Bag draw_goss(const DrawnRows& from, const double* squares, double top, double other) {
  const auto present = static_cast<double>(count_present(from));
  const auto wanted = static_cast<uint64_t>(std::max(1.0, std::floor(top * present + 0.5)));
  if (present == 0.0) return {};
  const Keys keys(from, squares);
  uint32_t least = 0;                  // the key of the last row that is kept
  uint64_t rank = wanted, equals = 0;  // its place among the rows with that key, and their number
  for (int step = 0; step < Keys::kSteps; ++step) {
    const std::vector<Tally> tallies = keys.tally(step, least);
    size_t b = tallies.size() - 1;
    for (; tallies[b].count < rank; --b) rank -= tallies[b].count;
    least = least << Keys::kBits[step] | static_cast<uint32_t>(b);
    equals = tallies[b].count;
  }
  const size_t last = rank < equals ? keys.nth_row(least, rank) : from.rows;
  const double p = other / (1.0 - top);
  const auto multiplier = static_cast<float>(1.0 / p);
  const auto limit = static_cast<uint64_t>(std::ceil(std::ldexp(p, 53)));  // of a draw's 53 bits
  const uint64_t key = from.key(), begin = from.first_row;
  return collect(from, true, [=, keys = keys.of_rows()](size_t row) {
    const uint32_t own = keys[row];
    const bool kept = (own > least) | ((own == least) & (row <= last));
    const bool drawn = !kept & (draw(key, begin + row) >> 11 < limit);
    return std::bit_cast<float>(bits_if(kept, 1.0f) | bits_if(drawn, multiplier));
  });
}

Bag draw_mvs(const DrawnRows& from, const double* squares, double share) {
  const double target = share * static_cast<double>(count_present(from));
  const Keys keys(from, squares);
  const double mu = importance_scale(keys, target);
  const uint64_t key = from.key(), begin = from.first_row;
  return collect(from, true, [=, keys = keys.of_rows()](size_t row) {
    const double importance = value_of(keys[row]);
    const auto multiplier = static_cast<float>(std::max(1.0, mu / importance));
    return multiplier_if(unit_draw(key, begin + row) * mu < importance,
                         multiplier);  // u < p = importance / mu
  });
}

std::vector<double> held_out_draws(size_t rows, uint64_t first_row, uint64_t seed) {
  const uint64_t key = draw_key(seed, Draw::held_out, 0);
  std::vector<double> draws(rows);
  for (size_t row = 0; row < rows; ++row) draws[row] = unit_draw(key, first_row + row);
  return draws;
}

std::vector<uint32_t> draw_dropout(size_t n, double share, size_t most, double skip, uint64_t seed,
                                   uint64_t round) {
  const uint64_t key = draw_key(seed, Draw::rounds, round);
  std::vector<std::pair<double, uint32_t>> lots;
  if (unit_draw(key, n) < skip) return {};
  for (size_t i = 0; i < n; ++i) {
    const double lot = unit_draw(key, i);
    if (lot < share) lots.emplace_back(lot, static_cast<uint32_t>(i));
  }
  if (most > 0 && lots.size() > most) {
    std::sort(lots.begin(), lots.end());
    lots.resize(most);
  }
  std::vector<uint32_t> chosen;
  chosen.reserve(lots.size());
  for (const auto& lot : lots) chosen.push_back(lot.second);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace stagewise

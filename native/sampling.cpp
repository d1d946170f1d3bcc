#include "sampling.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace stagewise {
namespace {

constexpr size_t kChunk = 16384;  // rows
constexpr size_t kBuckets = 65536;

size_t chunks_of(const DrawnRows& from) { return (from.rows + kChunk - 1) / kChunk; }

double unit_draw(uint64_t key, uint64_t index) {  // in [0, 1)
  return static_cast<double>(draw(key, index) >> 11) * 0x1p-53;
}

uint64_t below(double share) {
  return share >= 1.0 ? ~0ull : static_cast<uint64_t>(std::ldexp(share, 64));
}

size_t count_present(const DrawnRows& from) {
  if (from.weight == nullptr) return from.rows;
  return static_cast<size_t>(
      std::count_if(from.weight, from.weight + from.rows, [](double w) { return w > 0.0; }));
}

// body(first row, last row, worker) for every chunk of the rows.
template <class Body>
void by_chunk(const DrawnRows& from, Body body) {
  from.workers.run(chunks_of(from), [&](size_t chunk, int worker) {
    body(chunk * kChunk, std::min(from.rows, (chunk + 1) * kChunk), worker);
  });
}

// The rows that count, times_of(row) > 0; if there is none, one that a draw chooses counts once.
template <class TimesOf>
Bag collect(const DrawnRows& from, bool multiplied, TimesOf times_of) {
  Bag bag;
  if (multiplied) bag.times.resize(from.rows, 0.0f);
  std::vector<std::vector<uint32_t>> parts(chunks_of(from));
  by_chunk(from, [&](size_t first, size_t last, int) {
    std::vector<uint32_t>& part = parts[first / kChunk];
    part.resize(last - first + 1);
    size_t n = 0;
    for (size_t row = first; row < last; ++row) {
      const float times = from.present(row) ? times_of(row) : 0.0f;
      part[n] = static_cast<uint32_t>(row);
      n += times > 0.0f ? 1 : 0;
      if (multiplied) bag.times[row] = times;
    }
    part.resize(n);
  });
  size_t all = 0;
  for (const auto& part : parts) all += part.size();
  bag.rows.reserve(all);
  for (const auto& part : parts) bag.rows.insert(bag.rows.end(), part.begin(), part.end());
  const size_t present = bag.rows.empty() ? count_present(from) : 0;
  if (present > 0) {
    size_t place = draw(from.key(), from.rows) % present, row = 0;
    while (!from.present(row) || place-- > 0) ++row;
    bag.rows.push_back(static_cast<uint32_t>(row));
    if (multiplied) bag.times[row] = 1.0f;
  }
  return bag;
}

// Importances as keys that sort as they do: the bits of a float that is not negative.
uint32_t key_of(double square) {
  return std::bit_cast<uint32_t>(static_cast<float>(std::sqrt(square)));
}

double value_of(uint32_t key) { return static_cast<double>(std::bit_cast<float>(key)); }

// How many keys there are in a bucket, and the sum of their lower halves.
struct Tally {
  uint64_t count = 0, low = 0;
};

// The present rows by the upper half of their keys, or by the lower half of the keys that have a
// given upper half.
std::vector<Tally> tally_keys(const DrawnRows& from, const double* squares, int64_t upper) {
  std::vector<std::vector<Tally>> tallies(static_cast<size_t>(from.workers.threads()));
  by_chunk(from, [&](size_t first, size_t last, int worker) {
    std::vector<Tally>& own = tallies[static_cast<size_t>(worker)];
    own.resize(kBuckets);
    for (size_t row = first; row < last; ++row) {
      if (!from.present(row)) continue;
      const uint32_t key = key_of(squares[row]);
      if (upper >= 0 && key >> 16 != static_cast<uint32_t>(upper)) continue;
      Tally& tally = own[upper < 0 ? key >> 16 : key & 0xffffu];
      ++tally.count;
      tally.low += key & 0xffffu;
    }
  });
  std::vector<Tally> total(kBuckets);
  for (const auto& own : tallies)
    for (size_t b = 0; b < own.size(); ++b) {
      total[b].count += own[b].count;
      total[b].low += own[b].low;
    }
  return total;
}

// The bucket in which the k-th largest lies (k from 1), and its rank in that bucket.
std::pair<uint32_t, uint64_t> kth_from_above(const std::vector<Tally>& tallies, uint64_t k) {
  size_t b = tallies.size() - 1;
  for (; tallies[b].count < k; --b) k -= tallies[b].count;
  return {static_cast<uint32_t>(b), k};
}

// The row of the n-th present row (n from 1) with this key.
size_t nth_row_with(const DrawnRows& from, const double* squares, uint32_t key, uint64_t n) {
  std::vector<uint64_t> counts(chunks_of(from), 0);
  const auto has = [&](size_t row) { return from.present(row) && key_of(squares[row]) == key; };
  by_chunk(from, [&](size_t first, size_t last, int) {
    for (size_t row = first; row < last; ++row) counts[first / kChunk] += has(row) ? 1 : 0;
  });
  size_t chunk = 0;
  for (; counts[chunk] < n; ++chunk) n -= counts[chunk];
  size_t row = chunk * kChunk;
  for (;; ++row)
    if (has(row) && --n == 0) return row;
}

// The sum of the importances in a bucket: within it floats are evenly spaced.
double sum_of(size_t bucket, const Tally& tally) {
  const double first = value_of(static_cast<uint32_t>(bucket << 16));
  const double step = value_of(static_cast<uint32_t>(bucket << 16 | 1)) - first;
  return static_cast<double>(tally.count) * first + static_cast<double>(tally.low) * step;
}

// The mu with sum min(1, s / mu) = target over the importances s; 0 if all of them are kept. From
// the largest down, s is certain to be kept while s * (target less those before) > sum of the rest.
double importance_scale(const DrawnRows& from, const double* squares, double target) {
  const std::vector<Tally> tallies = tally_keys(from, squares, -1);
  std::vector<double> below(kBuckets + 1, 0.0);  // sums of smaller buckets
  for (size_t b = 0; b < kBuckets; ++b)
    below[b + 1] = below[b] + (tallies[b].count > 0 ? sum_of(b, tallies[b]) : 0.0);
  if (!std::isfinite(below[kBuckets])) return 0.0;
  double left = target;  // of the target, once the certain rows are counted
  for (size_t b = kBuckets; b-- > 0 && below[b + 1] > 0.0;) {
    const auto inside = static_cast<double>(tallies[b].count);
    if (inside == 0.0) continue;
    // All of the bucket is certain if even its least possible value is at least mu.
    const double least = value_of(static_cast<uint32_t>(b << 16));
    if (left > inside && below[b] <= least * (left - inside)) {
      left -= inside;
      continue;
    }
    const std::vector<Tally> values = tally_keys(from, squares, static_cast<int64_t>(b));
    std::vector<double> up_to(kBuckets + 1, below[b]);
    const auto value = [&](size_t v) { return value_of(static_cast<uint32_t>(b << 16 | v)); };
    for (size_t v = 0; v < kBuckets; ++v)
      up_to[v + 1] = up_to[v] + static_cast<double>(values[v].count) * value(v);
    for (size_t v = kBuckets; v-- > 0;) {
      if (values[v].count == 0) continue;
      if (!(value(v) * left > up_to[v + 1])) return up_to[v + 1] / left;
      left -= static_cast<double>(values[v].count);
    }
    return below[b] / left;
  }
  return 0.0;
}

}  // namespace

Bag draw_rows(const DrawnRows& from, double share) {
  const uint64_t key = from.key(), limit = below(share);
  return collect(from, false, [=](size_t row) { return draw(key, row) <= limit ? 1.0f : 0.0f; });
}

Bag draw_groups(const DrawnRows& from, const uint32_t* group, double share) {
  const uint64_t key = from.key(), limit = below(share);
  Bag bag = collect(from, false,
                    [=](size_t row) { return draw(key, group[row]) <= limit ? 1.0f : 0.0f; });
  if (bag.rows.size() != 1) return bag;
  const uint32_t lone = group[bag.rows[0]];  // perhaps no group was drawn; then its whole group
  return collect(from, false, [=](size_t row) { return group[row] == lone ? 1.0f : 0.0f; });
}

Bag draw_counts(const DrawnRows& from, double rate) {
  // P(count <= k), from e^rate as a plain sum so that every machine has the same bits.
  double term = 1.0, whole = 1.0, sum = 0.0;
  for (int k = 1; k <= kMostCount; ++k) whole += term *= rate / k;
  double reach[kMostCount + 1];
  term = 1.0;
  for (int k = 0; k <= kMostCount; ++k) {
    reach[k] = sum += term / whole;
    term *= rate / (k + 1);
  }
  const uint64_t key = from.key();
  return collect(from, true, [&, key](size_t row) {
    const double u = unit_draw(key, row);
    int count = 0;
    while (count < kMostCount && u >= reach[count]) ++count;
    return static_cast<float>(count);
  });
}

Bag draw_largest(const DrawnRows& from, const double* squares, double top, double other) {
  const auto present = static_cast<double>(count_present(from));
  const auto wanted = static_cast<uint64_t>(std::max(1.0, std::floor(top * present + 0.5)));
  if (present == 0.0) return {};
  const auto [upper, rank] = kth_from_above(tally_keys(from, squares, -1), wanted);
  const auto [lower, ties] = kth_from_above(tally_keys(from, squares, upper), rank);
  const uint32_t least = upper << 16 | lower;
  const size_t last = nth_row_with(from, squares, least, ties);
  const double p = other / (1.0 - top);
  const auto times = static_cast<float>(1.0 / p);
  const uint64_t key = from.key();
  return collect(from, true, [=](size_t row) {
    const uint32_t own = key_of(squares[row]);
    if (own > least || (own == least && row <= last)) return 1.0f;
    return unit_draw(key, row) < p ? times : 0.0f;
  });
}

Bag draw_by_importance(const DrawnRows& from, const double* squares, double share) {
  const double target = share * static_cast<double>(count_present(from));
  const double mu = importance_scale(from, squares, target);
  const uint64_t key = from.key();
  return collect(from, true, [=](size_t row) {
    const double importance = value_of(key_of(squares[row]));
    if (importance >= mu) return importance > 0.0 ? 1.0f : 0.0f;
    const double p = importance / mu;
    return unit_draw(key, row) < p ? static_cast<float>(1.0 / p) : 0.0f;
  });
}

std::vector<uint32_t> draw_rounds(size_t n, double share, size_t most, double skip, uint64_t seed,
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

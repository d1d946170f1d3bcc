#include "gradients/sampling.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "core/large_array.hpp"
#include "gradients/sampling_rules.hpp"

namespace stagewise {
namespace {

constexpr size_t kChunk = 16384;  // rows

size_t chunks_of(const DrawnRows& from) { return (from.rows + kChunk - 1) / kChunk; }

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

// The importances of rows as keys.
class Keys {
 public:
  Keys(const DrawnRows& from, const double* squares)
      : from_(from), keys_(make_large_array<uint32_t>(from.rows)) {
    by_chunk(from, [&](size_t first, size_t last, int) {
      for (size_t row = first; row < last; ++row) keys_[row] = importance_key(squares[row]);
    });
  }

  const uint32_t* of_rows() const { return keys_.get(); }

  std::vector<Tally> tally(int step, uint32_t prefix) const {
    std::vector<std::vector<Tally>> tallies(static_cast<size_t>(from_.workers.threads()));
    by_chunk(from_, [&](size_t first, size_t last, int worker) {
      std::vector<Tally>& own = tallies[static_cast<size_t>(worker)];
      own.resize(KeySteps::buckets(step));
      const uint32_t* const keys = keys_.get();
      const double* const weight = from_.weight.data();
      for (size_t row = first; row < last; ++row)
        if (weight == nullptr || weight[row] > 0.0)
          KeySteps::add(step, prefix, keys[row], own.data());
    });
    std::vector<Tally> total = std::move(tallies[0]);
    total.resize(KeySteps::buckets(step));
    for (size_t worker = 1; worker < tallies.size(); ++worker)
      for (size_t b = 0; b < tallies[worker].size(); ++b) {
        const std::vector<Tally>& own = tallies[worker];
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

}  // namespace

Bag draw_rows(const DrawnRows& from, double share) {
  const uint64_t key = from.key(), limit = below(share), begin = from.first_row;
  return collect(from, false,
                 [=](size_t row) { return multiplier_if(draw(key, begin + row) <= limit, 1.0f); });
}

// No two rows have the same hash: it is a permutation of 64 bits.
Bag draw_fixed_size(const DrawnRows& from, double share) {
  const uint64_t key = from.key(), begin = from.first_row;
  std::vector<uint64_t> lots;
  lots.reserve(from.rows);
  for_each_block(from.rows, [&](size_t first, size_t last) {
    for (size_t row = first; row < last; ++row)
      if (from.present(row)) lots.push_back(draw(key, begin + row));
  });
  if (lots.empty()) return {};
  const auto n = static_cast<size_t>(std::llrint(share * static_cast<double>(lots.size())));
  const auto nth = lots.begin() + static_cast<ptrdiff_t>(std::max<size_t>(n, 1) - 1);
  std::nth_element(lots.begin(), nth, lots.end());
  const uint64_t limit = *nth;
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
  const PoissonRule rule(rate);
  const uint64_t key = from.key(), begin = from.first_row;
  return collect(from, true,
                 [=](size_t row) { return rule.multiplier(unit_draw(key, begin + row)); });
}

Bag draw_goss(const DrawnRows& from, const double* squares, double top, double other) {
  const auto present = static_cast<double>(count_present(from));
  if (present == 0.0) return {};
  const Keys keys(from, squares);
  const GossRule rule = goss_rule(
      present, top, other, [&](int step, uint32_t prefix) { return keys.tally(step, prefix); },
      [&](uint32_t key, uint64_t n) { return keys.nth_row(key, n); });
  const uint64_t key = from.key(), begin = from.first_row;
  return collect(from, true, [=, keys = keys.of_rows()](size_t row) {
    return rule.multiplier(keys[row], row, draw(key, begin + row));
  });
}

Bag draw_mvs(const DrawnRows& from, const double* squares, double share) {
  const Keys keys(from, squares);
  const MvsRule rule =
      mvs_rule(share * static_cast<double>(count_present(from)),
               [&](int step, uint32_t prefix) { return keys.tally(step, prefix); });
  const uint64_t key = from.key(), begin = from.first_row;
  return collect(from, true, [=, keys = keys.of_rows()](size_t row) {
    return rule.multiplier(keys[row], unit_draw(key, begin + row));
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

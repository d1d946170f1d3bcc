#include "binning/cuts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/radix_sort.hpp"
#include "core/random.hpp"
#include "core/row_weights.hpp"

namespace stagewise {
namespace {

// The different values of a column in order, each with the weight of its rows.
struct Distinct {
  std::vector<double> value;
  std::vector<double> weight;

  explicit Distinct(size_t most) {
    value.reserve(most);
    weight.reserve(most);
  }

  void add(double v, double w) {
    if (value.empty() || value.back() != v) {
      value.push_back(v);
      weight.push_back(0.0);
    }
    weight.back() += w;
  }
};

// weight: one per value; empty: all 1.
template <class Bits, class Real>
Distinct distinct_values(std::span<const Real> values, std::span<const double> weight) {
  const size_t n = values.size();
  Distinct out(n);
  if (weight.empty()) {
    std::vector<Bits> keys;
    keys.reserve(n);
    for (size_t i = 0; i < n; ++i)
      if (values[i] == values[i]) keys.push_back(order_key<Bits>(values[i]));
    radix_sort(&keys, [](Bits k) { return k; });
    for (const Bits k : keys) out.add(from_order_key<Real>(k), 1.0);
  } else {
    struct Item {
      Bits key;
      double weight;
    };
    std::vector<Item> items;
    items.reserve(n);
    for (size_t i = 0; i < n; ++i)
      if (values[i] == values[i]) items.push_back({order_key<Bits>(values[i]), weight[i]});
    radix_sort(&items, [](const Item& i) { return i.key; });
    for (const Item& i : items) out.add(from_order_key<Real>(i.key), i.weight);
  }
  return out;
}

std::vector<double> choose_cuts(const Distinct& d, size_t max_bins) {
  std::vector<double> cuts;
  const size_t n = d.value.size();
  if (n < 2) return cuts;
  if (n <= max_bins) {
    for (size_t i = 0; i + 1 < n; ++i) cuts.push_back(cut_between(d.value[i], d.value[i + 1]));
    return cuts;
  }
  // Close a bin once it has its share of the remaining weight. A value that is heavier than a share
  // starts its own bin, so that a spike at zero is separate from its neighbours.
  double left = 0.0;
  for (const double w : d.weight) left += w;
  size_t bins_left = max_bins;
  double held = 0.0, share = left / static_cast<double>(bins_left);
  for (size_t i = 0; i + 1 < n && bins_left > 1; ++i) {
    held += d.weight[i];
    if (held >= share || (d.weight[i + 1] >= share && held >= 0.25 * share)) {
      cuts.push_back(cut_between(d.value[i], d.value[i + 1]));
      left -= held;
      held = 0.0;
      --bins_left;
      share = left / static_cast<double>(bins_left);
    }
  }
  return cuts;
}

// A few columns at a time: the rows of a C-ordered table are then read a cache line at once.
constexpr size_t kTogether = 8;

template <class Real, class Bits>
void find_cuts_of(const Columns& table, size_t first, size_t last,
                  const std::vector<uint32_t>& sample, std::span<const double> weight,
                  size_t max_bins, std::vector<double>* cuts) {
  const size_t n = sample.size();
  std::vector<Real> values(n * (last - first));
  for (size_t i = 0; i < n; ++i)
    for (size_t f = first; f < last; ++f)
      values[(f - first) * n + i] = static_cast<Real>(table.at(f, sample[i]));
  for (size_t f = first; f < last; ++f)
    cuts[f] = choose_cuts(
        distinct_values<Bits>(std::span<const Real>(values).subspan((f - first) * n, n), weight),
        max_bins);
}

// The rows that cuts of a sparse table are computed from.
struct SampledRows {
  const std::vector<uint32_t>& rows;
  std::vector<uint8_t> chosen;     // per row of the table; empty: all
  std::span<const double> weight;  // per row of the table; empty: all 1
  double total = 0.0;
  bool whole = true;  // all weights are integers, so their sums are exact

  SampledRows(const std::vector<uint32_t>& sample, size_t n_rows, std::span<const double> weights)
      : rows(sample), weight(weights), total(static_cast<double>(sample.size())) {
    if (sample.size() < n_rows) {
      chosen.assign(n_rows, 0);
      for (const uint32_t row : sample) chosen[row] = 1;
    }
    if (weight.empty()) return;
    total = 0.0;
    for (const uint32_t row : sample) {
      total += weight[row];
      whole = whole && weight[row] == std::floor(weight[row]);
    }
    whole = whole && total < 0x1p53;
  }

  bool has(uint32_t row) const { return chosen.empty() || chosen[row] != 0; }
};

// The weight of the rows whose value is 0. If the order of a sum matters, it is added row by row,
// as in a dense table.
double weight_of_zeros(const SparseTable& table, size_t feature, const SampledRows& sample,
                       double others) {
  if (sample.whole) return sample.total - others;
  double sum = 0.0;
  size_t cell = table.first(feature);
  for (const uint32_t row : sample.rows) {
    while (cell < table.last(feature) && table.index()[cell] < row) ++cell;
    const bool stored = cell < table.last(feature) && table.index()[cell] == row;
    if (!stored || table.value(cell) == 0.0) sum += sample.weight[row];
  }
  return sum;
}

Distinct distinct_cells(const SparseTable& table, size_t feature, const SampledRows& sample) {
  std::vector<double> values, weights;
  double others = 0.0;
  size_t n_others = 0;
  bool all_equal = true;
  const bool zeros_absent = table.default_value() == 0.0;
  for (size_t cell = table.first(feature); cell < table.last(feature); ++cell) {
    const uint32_t row = table.index()[cell];
    if (!sample.has(row)) continue;
    const double x = table.value(cell);
    if (x == 0.0 && zeros_absent) continue;
    ++n_others;
    others += sample.weight.empty() ? 1.0 : sample.weight[row];
    if (x != x) continue;
    all_equal = all_equal && (values.empty() || values.front() == x);
    values.push_back(x);
    if (!sample.weight.empty()) weights.push_back(sample.weight[row]);
  }
  Distinct found(0);
  if (all_equal) {  // with few distinct values the weights do not matter
    if (!values.empty()) found.add(values.front(), 1.0);
  } else {
    found = distinct_values<uint64_t>(std::span<const double>(values), weights);
  }
  if (zeros_absent && n_others < sample.rows.size()) {
    const auto above = std::lower_bound(found.value.begin(), found.value.end(), 0.0);
    const auto at = above - found.value.begin();
    found.value.insert(above, 0.0);
    found.weight.insert(found.weight.begin() + at, weight_of_zeros(table, feature, sample, others));
  }
  return found;
}

}  // namespace

std::vector<uint32_t> sample_for_cuts(size_t rows, const Shard& shard, size_t limit,
                                      uint64_t seed) {
  std::vector<uint32_t> sample;
  if (shard.table_rows <= limit) {
    sample.resize(rows);
    for (size_t i = 0; i < rows; ++i) sample[i] = static_cast<uint32_t>(i);
    return sample;
  }
  const uint64_t key = draw_key(seed, Draw::cuts, 0);
  const double share = static_cast<double>(limit) / static_cast<double>(shard.table_rows);
  const auto below = static_cast<uint64_t>(std::ldexp(share, 64));
  for (size_t i = 0; i < rows; ++i)
    if (draw(key, shard.first_row + i) < below) sample.push_back(static_cast<uint32_t>(i));
  return sample;
}

double cut_between(double a, double b) {
  constexpr double kMax = std::numeric_limits<double>::max();
  const double a32 = static_cast<double>(static_cast<float>(a));
  const double b32 = static_cast<double>(static_cast<float>(b));
  double low = std::max(a, a32), high = std::min(b, b32);
  if (!(low < high)) {
    low = a;
    high = b;
  }
  if (std::isinf(low)) return high > -kMax ? -kMax : low;  // low is -inf here
  if (std::isinf(high)) return kMax;
  const double middle = low / 2 + high / 2;
  return middle >= low && middle < high ? middle : low;
}

std::vector<std::vector<double>> find_cuts(Workers& workers, const Columns& table,
                                           const std::vector<uint32_t>& sample,
                                           std::span<const double> weight, size_t max_bins) {
  const size_t p = table.features();
  std::vector<std::vector<double>> cuts(p);
  std::vector<double> weights;
  if (!weight.empty())
    for (const uint32_t row : sample) weights.push_back(weight[row]);
  workers.run((p + kTogether - 1) / kTogether, [&](size_t block, int) {
    const size_t first = block * kTogether, last = std::min(p, first + kTogether);
    if (std::all_of(&table.columns[first], &table.columns[first] + (last - first),
                    [](const Column& c) { return c.single; })) {
      find_cuts_of<float, uint32_t>(table, first, last, sample, weights, max_bins, cuts.data());
    } else {
      find_cuts_of<double, uint64_t>(table, first, last, sample, weights, max_bins, cuts.data());
    }
  });
  return cuts;
}

std::vector<std::vector<double>> find_cuts(Workers& workers, const SparseTable& table,
                                           const std::vector<uint32_t>& sample,
                                           std::span<const double> weight, size_t max_bins) {
  const size_t p = table.features();
  std::vector<std::vector<double>> cuts(p);
  const SampledRows rows(sample, table.rows(), weight);
  workers.run((p + kTogether - 1) / kTogether, [&](size_t block, int) {
    for (size_t f = block * kTogether; f < std::min(p, (block + 1) * kTogether); ++f)
      cuts[f] = choose_cuts(distinct_cells(table, f, rows), max_bins);
  });
  return cuts;
}

std::vector<uint32_t> find_category_bins(const Columns& table, size_t feature, size_t n_categories,
                                         std::span<const double> weight, size_t max_bins) {
  std::vector<int64_t> total(n_categories, 0);
  if (n_categories > max_bins) {
    const RowWeights weights(weight, table.rows);
    for (size_t row = 0; row < table.rows; ++row) {
      const double x = table.at(feature, row);
      if (x >= 0.0 && x < static_cast<double>(n_categories))
        total[static_cast<size_t>(x)] += weights[row];
    }
  }
  return find_category_bins(total, max_bins);
}

std::vector<uint32_t> find_category_bins(std::span<const int64_t> total, size_t max_bins) {
  const size_t n_categories = total.size();
  std::vector<uint32_t> bin(n_categories);
  for (size_t category = 0; category < n_categories; ++category)
    bin[category] = static_cast<uint32_t>(category);
  if (n_categories <= max_bins) return bin;
  std::vector<uint32_t> heaviest = bin;
  std::stable_sort(heaviest.begin(), heaviest.end(),
                   [&](uint32_t a, uint32_t b) { return total[a] > total[b]; });
  std::vector<uint8_t> own(n_categories, 0);
  for (size_t i = 0; i + 1 < max_bins; ++i) own[heaviest[i]] = 1;
  uint32_t next = 0;
  for (size_t category = 0; category < n_categories; ++category)
    bin[category] = own[category] != 0 ? next++ : static_cast<uint32_t>(max_bins) - 1;
  return bin;
}

}  // namespace stagewise

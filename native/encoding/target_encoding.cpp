#include "encoding/target_encoding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/interrupt.hpp"
#include "core/radix_sort.hpp"
#include "core/random.hpp"
#include "encoding/key_numbers.hpp"

namespace stagewise {
namespace {

struct KeySums {
  std::vector<double> target, unit;
  double strength;

  KeySums(size_t n_keys, double s) : target(n_keys + 1, 0.0), unit(n_keys + 1, 0.0), strength(s) {}

  void add(uint32_t key, const float* pair) {
    target[key] -= static_cast<double>(pair[0]);
    unit[key] += static_cast<double>(pair[1]);
  }
  float mean(uint32_t key) const {
    const double size = unit[key] + strength;
    return size > 0.0 ? static_cast<float>(target[key] / size) : 0.0f;
  }
};

}  // namespace

size_t count_keys(const CategorySources& sources, const std::vector<uint64_t>& keys) {
  return sources.size() == 1 ? sources[0].places() : keys.size();
}

KeyedRows learn_keys(const Columns& table, const CategorySources& sources,
                     const uint32_t* training_rows, size_t n_training_rows) {
  KeyedRows out;
  out.number.resize(table.rows);
  if (sources.size() == 1) {
    for (size_t i = 0; i < table.rows; ++i)
      out.number[i] = static_cast<uint32_t>(key_of(table, sources, i));
    return out;
  }
  KeyNumbers numbers(n_training_rows);
  for_each_block(n_training_rows, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      numbers.add(key_of(table, sources, training_rows != nullptr ? training_rows[i] : i));
  });
  const std::vector<uint64_t>& met = numbers.keys();  // in the order of the rows
  std::vector<uint32_t> by_key(met.size());
  for (size_t i = 0; i < met.size(); ++i) by_key[i] = static_cast<uint32_t>(i);
  std::sort(by_key.begin(), by_key.end(), [&](uint32_t a, uint32_t b) { return met[a] < met[b]; });
  std::vector<uint32_t> rank(met.size() + 1, static_cast<uint32_t>(met.size()));
  for (size_t i = 0; i < met.size(); ++i) {
    rank[by_key[i]] = static_cast<uint32_t>(i);
    out.keys.push_back(met[by_key[i]]);
  }
  const auto unknown = static_cast<uint32_t>(met.size());
  for_each_block(table.rows, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      out.number[i] = rank[numbers.find(key_of(table, sources, i), unknown)];
  });
  return out;
}

std::vector<uint32_t> find_keys(const Columns& table, const CategorySources& sources,
                                const uint64_t* keys, size_t n_keys) {
  std::vector<uint32_t> number(table.rows);
  for_each_block(table.rows, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const uint64_t key = key_of(table, sources, i);
      if (sources.size() == 1) {
        number[i] = static_cast<uint32_t>(key);
        continue;
      }
      const uint64_t* at = std::lower_bound(keys, keys + n_keys, key);
      number[i] = static_cast<uint32_t>(at != keys + n_keys && *at == key ? at - keys : n_keys);
    }
  });
  return number;
}

std::vector<uint32_t> drawn_order(size_t n, uint64_t seed, uint64_t version) {
  struct Lot {
    uint64_t lot;
    uint32_t row;
  };
  const uint64_t key = draw_key(seed, Draw::target_encoding, version);
  std::vector<Lot> lots(n);
  for (size_t i = 0; i < n; ++i) lots[i] = {draw(key, i), static_cast<uint32_t>(i)};
  radix_sort(&lots, [](const Lot& lot) { return lot.lot; });
  std::vector<uint32_t> order(n);
  for (size_t i = 0; i < n; ++i) order[i] = lots[i].row;
  return order;
}

double key_strength(const std::vector<uint32_t>& number, size_t n_keys, const KeyTarget& target) {
  KeySums sums(n_keys, 0.0);
  double squares = 0.0, rows = 0.0;
  for (size_t i = 0; i < target.rows; ++i) {
    const float* pair = target.pairs + 2 * i;
    if (!(pair[1] > 0.0f)) continue;
    sums.add(number[target.row(i)], pair);
    squares += static_cast<double>(pair[0]) * pair[0] / pair[1];
    rows += 1.0;
  }
  return strength_of_sums(sums.target.data(), sums.unit.data(), n_keys, squares, rows);
}

double strength_of_sums(const double* target, const double* unit, size_t n_keys, double squares,
                        double rows) {
  double total = 0.0, units = 0.0, of_keys = 0.0, unit_squares = 0.0, keys = 0.0;
  for (size_t k = 0; k < n_keys; ++k) {
    if (!(unit[k] > 0.0)) continue;
    total += target[k];
    units += unit[k];
    of_keys += target[k] * target[k] / unit[k];
    unit_squares += unit[k] * unit[k];
    keys += 1.0;
  }
  if (rows <= keys || keys < 2.0) return std::numeric_limits<double>::infinity();
  const double within = (squares - of_keys) / (rows - keys);
  const double between =
      (of_keys - total * total / units - (keys - 1.0) * within) / (units - unit_squares / units);
  if (!(between > 0.0)) return std::numeric_limits<double>::infinity();
  return std::max(units / rows, within / between);
}

std::vector<float> key_means(const std::vector<uint32_t>& number, size_t n_keys,
                             const KeyTarget& target, double strength) {
  KeySums sums(n_keys, strength);
  for (size_t i = 0; i < target.rows; ++i) sums.add(number[target.row(i)], target.pairs + 2 * i);
  std::vector<float> means(n_keys + 1, 0.0f);
  for (size_t k = 0; k < n_keys; ++k) means[k] = sums.mean(static_cast<uint32_t>(k));
  return means;
}

std::vector<float> ordered_means(const std::vector<uint32_t>& number, size_t n_keys,
                                 const KeyTarget& target, double strength,
                                 const std::vector<uint32_t>& order) {
  std::vector<float> out(number.size());
  if (target.training_rows != nullptr) {
    const std::vector<float> of_all = key_means(number, n_keys, target, strength);
    for (size_t i = 0; i < number.size(); ++i) out[i] = of_all[number[i]];
  }
  KeySums sums(n_keys, strength);
  for_each_block(order.size(), [&](size_t begin, size_t end) {
    for (size_t at = begin; at < end; ++at) {
      const uint32_t i = order[at];
      const size_t row = target.row(i);
      out[row] = sums.mean(number[row]);
      sums.add(number[row], target.pairs + 2 * size_t{i});
    }
  });
  return out;
}

OrderedGain ordered_gain(const std::vector<uint32_t>& number, size_t n_keys,
                         const KeyTarget& target, const std::vector<uint32_t>& order) {
  OrderedGain found;
  found.strength = key_strength(number, n_keys, target);
  if (std::isinf(found.strength)) return found;
  KeySums sums(n_keys, found.strength);
  double squares = 0.0;
  for_each_block(order.size(), [&](size_t begin, size_t end) {
    for (size_t at = begin; at < end; ++at) {
      const uint32_t i = order[at];
      const size_t row = target.row(i);
      const float* pair = target.pairs + 2 * size_t{i};
      const double m = sums.mean(number[row]);
      const double gain = -2.0 * m * pair[0] - m * m * pair[1];
      found.gain += gain;
      squares += gain * gain;
      sums.add(number[row], pair);
    }
  });
  const double n = static_cast<double>(order.size());
  found.error = std::sqrt(std::max(0.0, squares - found.gain * found.gain / n));
  return found;
}

}  // namespace stagewise

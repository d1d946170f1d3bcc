// Ordered target encoding of categorical features. A key is a category of one feature, or a
// combination of categories of several. Rows are processed in a random order; the encoding of a row
// is the smoothed mean target of the earlier rows with the same key (Prokhorenkova et al. 2018,
// section 3.2). Rows that are not training rows get the mean of all training rows. Each sum is
// computed by one thread, row by row.
#pragma once

#include <cstdint>
#include <vector>

#include "core/columns.hpp"

namespace stagewise {

struct CategorySource {
  size_t feature = 0;
  size_t n_categories = 0;  // unknown and missing values are two more

  size_t places() const { return n_categories + 2; }
  size_t place(double x) const {
    if (x != x) return n_categories + 1;
    return x >= 0.0 && x < static_cast<double>(n_categories) ? static_cast<size_t>(x)
                                                             : n_categories;
  }
};

// One source or several; the product of places() is below 2^63.
using CategorySources = std::vector<CategorySource>;

inline uint64_t key_of(const Columns& table, const CategorySources& sources, size_t row) {
  uint64_t key = 0;
  for (const CategorySource& s : sources)
    key = key * s.places() + s.place(table.at(s.feature, row));
  return key;
}

// The keys of rows, numbered. With one source the number of a key is its place. With several, the
// keys of the training rows are numbered in increasing order, and all others share the next number.
struct KeyedRows {
  std::vector<uint64_t> keys;    // increasing; empty with one source
  std::vector<uint32_t> number;  // of every row
};

size_t count_keys(const CategorySources& sources, const std::vector<uint64_t>& keys);

// training_rows: null: all.
KeyedRows learn_keys(const Columns& table, const CategorySources& sources,
                     const uint32_t* training_rows, size_t n_training_rows);

std::vector<uint32_t> find_keys(const Columns& table, const CategorySources& sources,
                                const uint64_t* keys, size_t n_keys);

// The numbers 0, ..., n - 1 in a random order.
std::vector<uint32_t> drawn_order(size_t n, uint64_t seed, uint64_t version);

// The training rows, with target t and unit u: the mean of several rows is sum t / sum u.
struct KeyTarget {
  const uint32_t* training_rows = nullptr;  // row numbers; null: all
  size_t rows = 0;
  const float* pairs = nullptr;  // (-t, u) of each

  size_t row(size_t i) const { return training_rows != nullptr ? training_rows[i] : i; }
};

// The smoothing strength, in units of target 0 that are added to each key: the variance of a unit
// within keys divided by the variance of the key means, estimated by one-way analysis of variance;
// +inf if the keys do not differ more than by chance. At least the mean unit of a row.
double key_strength(const std::vector<uint32_t>& number, size_t n_keys, const KeyTarget& target);

// The same of the sums of each key; squares: the sum of t^2 / u; rows: the number of rows with u >
// 0.
double strength_of_sums(const double* target, const double* unit, size_t n_keys, double squares,
                        double rows);

// The smoothed mean of every key, and 0 for unknown keys.
std::vector<float> key_means(const std::vector<uint32_t>& number, size_t n_keys,
                             const KeyTarget& target, double strength);

// The smoothed mean of the earlier rows with the row's key; for other than training rows, of all.
std::vector<float> ordered_means(const std::vector<uint32_t>& number, size_t n_keys,
                                 const KeyTarget& target, double strength,
                                 const std::vector<uint32_t>& order);

// The decrease of the sum of u (t / u - m)^2 if m is the mean of the earlier rows of the key, and
// its standard error. The m of a row does not depend on the row, so keys that differ by chance have
// no gain in expectation.
struct OrderedGain {
  double strength = 0.0, gain = 0.0, error = 0.0;
};
OrderedGain ordered_gain(const std::vector<uint32_t>& number, size_t n_keys,
                         const KeyTarget& target, const std::vector<uint32_t>& order);

}  // namespace stagewise

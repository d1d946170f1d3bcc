// What the levels of categorical features say about a target, without a row's own say.
//
// One idea: a key is a level of one feature, or a combination of levels of several. Rows come one
// after the other, in an order that is drawn; what a key says to a row is the smoothed mean of
// those rows with the same key that came before it (Prokhorenkova et al. 2018, section 3.2). To
// rows that are not learned from it says the mean of all. A sum is made by one thread, row after
// row.
#pragma once

#include <cstdint>
#include <vector>

#include "core/columns.hpp"

namespace stagewise {

struct CategorySource {
  size_t feature = 0;
  size_t n_categories = 0;  // a number that is no level, and a missing one, are two more

  size_t places() const { return n_categories + 2; }
  size_t place(double x) const {
    if (x != x) return n_categories + 1;
    return x >= 0.0 && x < static_cast<double>(n_categories) ? static_cast<size_t>(x)
                                                             : n_categories;
  }
};

// One source or more; the product of their places is below 2^63.
using CategorySources = std::vector<CategorySource>;

// The keys of some rows by number. Of one source every key has a number, its place; of more, those
// that rows to learn from had, in increasing order, and all others share the number after the last.
struct KeyedRows {
  std::vector<uint64_t> keys;    // increasing; empty with one source
  std::vector<uint32_t> number;  // of every row
};

size_t count_keys(const CategorySources& sources, const std::vector<uint64_t>& keys);

// learned: those rows to learn keys from; null: all.
KeyedRows learn_keys(const Columns& table, const CategorySources& sources,
                     const uint32_t* training_rows, size_t n_training_rows);

std::vector<uint32_t> find_keys(const Columns& table, const CategorySources& sources,
                                const uint64_t* keys, size_t n_keys);

// The numbers 0, ..., n - 1 in an order that is drawn.
std::vector<uint32_t> drawn_order(size_t n, uint64_t seed, uint64_t version);

// The rows to learn from, and what is said of them: target t and unit u, so that the mean of some
// is sum t / sum u.
struct KeyTarget {
  const uint32_t* training_rows = nullptr;  // which rows these are; null: all
  size_t rows = 0;
  const float* pairs = nullptr;  // (-t, u) of each

  size_t row(size_t i) const { return training_rows != nullptr ? training_rows[i] : i; }
};

// How many units of 0 to add to a key: the variance of a unit within keys over that of the means of
// keys, by moments (the analysis of variance of one factor); +inf if the keys differ no more than
// chance would have it. At least the mean unit of a row.
double key_strength(const std::vector<uint32_t>& number, size_t n_keys, const KeyTarget& target);

// The smoothed mean of every key, and 0 for the keys that nobody knows.
std::vector<float> key_means(const std::vector<uint32_t>& number, size_t n_keys,
                             const KeyTarget& target, double strength);

// That of the earlier rows of a row's key; of rows that are not learned from, that of all.
std::vector<float> ordered_means(const std::vector<uint32_t>& number, size_t n_keys,
                                 const KeyTarget& target, double strength,
                                 const std::vector<uint32_t>& order);

// By how much the squares u (t / u - m)^2 fall if each row is told the mean m of the earlier rows
// of its key, and the standard error of that sum. No row has a say in its own m, so keys that
// differ by chance gain nothing.
struct OrderedGain {
  double strength = 0.0, gain = 0.0, error = 0.0;
};
OrderedGain ordered_gain(const std::vector<uint32_t>& number, size_t n_keys,
                         const KeyTarget& target, const std::vector<uint32_t>& order);

}  // namespace stagewise

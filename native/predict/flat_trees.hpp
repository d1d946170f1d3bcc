// Flat arrays of all trees of a model, as Python passes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "grow/leaves/linear_leaves.hpp"

namespace stagewise {

// Children are relative to their tree; start has one entry more than trees. n_categories[f]: 0 for
// numeric features. A node that tests a categorical feature has the categories that go left as bits
// from sets[set_start] on; set_start is -1 in all other nodes. The three are empty where no feature
// is.
struct FlatTrees {
  std::span<const uint64_t> start;
  std::span<const int32_t> feature;
  std::span<const double> threshold;
  std::span<const uint8_t> missing_left;
  std::span<const int32_t> left, right;
  std::span<const double> value;  // `width` numbers a node
  size_t width = 1;               // how many outputs a tree has
  std::span<const int64_t> set_start;
  std::span<const uint64_t> sets;
  std::span<const uint32_t> n_categories;
  const LinearLeaves* linear_leaves =
      nullptr;  // of leaves, by their place in these arrays; must stay

  size_t trees() const { return start.size() - 1; }
  bool categorical(size_t feature) const {
    return !n_categories.empty() && n_categories[feature] > 0;
  }
  const uint64_t* set(size_t node) const { return sets.data() + set_start[node]; }
};

}  // namespace stagewise

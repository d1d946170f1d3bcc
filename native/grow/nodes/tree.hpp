// A tree as parallel arrays: node 0 is the root, children come after their parent.
#pragma once

#include <cstdint>
#include <vector>

namespace stagewise {

struct Tree {
  std::vector<int32_t> feature;  // -1 in a leaf
  std::vector<uint32_t> bin;     // codes <= bin go left, unless the feature is categorical
  std::vector<double> threshold;
  std::vector<int32_t> set_start;      // start of the set of categories that go left; -1: numeric
  std::vector<uint64_t> sets;          // a bit for every category (feature_coding.hpp)
  std::vector<uint32_t> n_categories;  // per feature; 0: numeric; or empty
  std::vector<uint8_t> missing_left;
  std::vector<int32_t> left, right;  // -1 in a leaf
  size_t outputs = 1;
  std::vector<double> value;  // of the node as a leaf: one number per output
  std::vector<double> gain;
  std::vector<double> cover;
  const void* grower = nullptr;  // the grower of the tree, and its number there
  uint64_t number = 0;

  size_t nodes() const { return feature.size(); }

  int32_t add(const double* node_value, double node_cover) {
    feature.push_back(-1);
    bin.push_back(0);
    threshold.push_back(0.0);
    set_start.push_back(-1);
    missing_left.push_back(0);
    left.push_back(-1);
    right.push_back(-1);
    value.insert(value.end(), node_value, node_value + outputs);
    gain.push_back(0.0);
    cover.push_back(node_cover);
    return static_cast<int32_t>(nodes()) - 1;
  }
};

}  // namespace stagewise

// Which features a tree, a level of it and a node may use.
//
// One idea: every choice is drawn by a hash of (seed, tree, where), so it does not depend on the
// order in which nodes are looked at; constraints take features away, forced splits leave only one.
#pragma once

#include "split.hpp"

namespace stagewise {

class FeatureChoice {
 public:
  FeatureChoice(const Bins& bins, const TreeRules& rules, const Constraints& constraints)
      : bins_(bins), rules_(rules), constraints_(constraints) {}

  void start_tree(uint64_t seed, uint64_t tree_number);
  const std::vector<uint32_t>& features() const { return features_; }  // of this tree, increasing
  // Per place in features(); empty: all. attempt: how many choices have split the leaf in vain.
  std::vector<uint8_t> allowed(const Leaf& leaf, size_t attempt = 0) const;
  // Whether there are columns that earlier attempts have not drawn.
  bool more(const Leaf& leaf, size_t attempt) const;
  // Of how many of a tree's features a node is searched.
  double share_of_node() const { return rules_.columns_per_level * rules_.columns_per_node; }

 private:
  size_t wanted(size_t from, double share) const;
  std::vector<uint32_t> choose(std::vector<uint32_t> from, double share, uint64_t key,
                               size_t attempt = 0) const;
  std::vector<uint32_t> choose_by_weight(std::vector<uint32_t> from, size_t wanted,
                                         uint64_t key) const;

  const Bins& bins_;
  const TreeRules& rules_;
  const Constraints& constraints_;
  uint64_t seed_ = 0, tree_number_ = 0;
  std::vector<uint32_t> features_;
};

}  // namespace stagewise

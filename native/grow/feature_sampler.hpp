// Which features a tree, a level of it and a node may use.
//
// One idea: every choice is drawn by a hash of (seed, tree, where), so it does not depend on the
// order in which nodes are looked at; constraints take features away, forced splits leave only one.
#pragma once

#include "grow/leaf.hpp"
#include "grow/tree_rules.hpp"

namespace stagewise {

class FeatureSampler {
 public:
  FeatureSampler(const Bins& bins, const TreeRules& rules, const Constraints& constraints)
      : bins_(bins), rules_(rules), constraints_(constraints) {}

  void start_tree(uint64_t seed, uint64_t tree_number);
  const std::vector<uint32_t>& features() const { return features_; }  // of this tree, increasing
  // Per place in features(); empty: all. attempt: how many choices have split the leaf in vain.
  std::vector<uint8_t> allowed(const Leaf& leaf, size_t attempt = 0) const;
  // Whether there are columns that earlier attempts have not drawn.
  bool more(const Leaf& leaf, size_t attempt) const;
  // Of how many of a tree's features a node is searched.
  double share_of_node() const { return rules_.max_features_per_level * rules_.max_features; }

 private:
  size_t wanted(size_t from, double share) const;
  // Each changes a mask of places in features_, of which some are set already.
  void draw_some(double share, uint64_t key, std::vector<uint8_t>* among, size_t attempt = 0) const;
  void draw_by_shuffle(size_t wanted, uint64_t key, size_t attempt,
                       std::vector<uint8_t>* among) const;
  void draw_by_weight(size_t wanted, uint64_t key, std::vector<uint8_t>* among) const;

  const Bins& bins_;
  const TreeRules& rules_;
  const Constraints& constraints_;
  uint64_t seed_ = 0, tree_number_ = 0;
  std::vector<uint32_t> features_;
};

}  // namespace stagewise

// Samples the features of a tree, of a depth and of a node. Every draw is a hash of (seed, tree,
// position), so it does not depend on the order in which nodes are searched. Constraints remove
// features; a forced split leaves one.
#pragma once

#include "grow/nodes/leaf.hpp"
#include "grow/nodes/tree_rules.hpp"

namespace stagewise {

class FeatureSampler {
 public:
  FeatureSampler(const Bins& bins, const TreeRules& rules, const Constraints& constraints)
      : bins_(bins), rules_(rules), constraints_(constraints) {}

  void start_tree(uint64_t seed, uint64_t tree_number);
  const std::vector<uint32_t>& features() const { return features_; }  // of this tree, increasing
  // Per position in features(); empty: all. attempt: the number of samples without a split before.
  std::vector<uint8_t> allowed(const Leaf& leaf, size_t attempt = 0) const;
  // Clears the positions of features that the constraints exclude in a leaf.
  void exclude(const Leaf& leaf, std::vector<uint8_t>* among) const;
  // Whether there are features that earlier attempts have not sampled.
  bool more(const Leaf& leaf, size_t attempt) const;
  // The share of the tree's features that is sampled for a node.
  double share_of_node() const { return rules_.max_features_per_level * rules_.max_features; }

 private:
  size_t wanted(size_t from, double share) const;
  // Each clears some of the set bits of a mask of positions in features_.
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

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
  // Per place in features(); empty: all.
  std::vector<uint8_t> allowed(const Leaf& leaf) const;

 private:
  // Each changes a mask of places in features_, of which some are set already.
  void draw_some(double share, uint64_t key, std::vector<uint8_t>* among) const;
  void draw_by_lot(size_t wanted, uint64_t key, std::vector<uint8_t>* among) const;
  void draw_by_weight(size_t wanted, uint64_t key, std::vector<uint8_t>* among) const;

  const Bins& bins_;
  const TreeRules& rules_;
  const Constraints& constraints_;
  uint64_t seed_ = 0, tree_number_ = 0;
  std::vector<uint32_t> features_;
};

}  // namespace stagewise

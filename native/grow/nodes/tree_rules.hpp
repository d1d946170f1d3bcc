// The parameters of a tree.
#pragma once

#include <cstdint>
#include <vector>

#include "grow/nodes/constraints.hpp"
#include "kernels/api/split_scan.hpp"

namespace stagewise {

// Which leaf is split next: the one with the largest gain, the one with the smallest depth, the
// newest one, or all leaves of one depth by the same split.
enum class GrowthPolicy { best_first, depth_wise, depth_first, symmetric };

// A split that every tree starts with. left, right: the forced splits of the children, as indices
// into TreeRules::forced_splits; -1: none.
struct ForcedSplit {
  uint32_t feature = 0;
  uint32_t bin = 0;  // the last bin that goes left
  int left = -1, right = -1;
};

// Which sorted values of a node are candidate cuts: all, or those at which the sum of hessians
// passes a multiple of sketch_eps times the sum of the tree (global) or of the node (local). Chen &
// Guestrin (2016), section 3.2; here with exact sums instead of a sketch.
struct Proposal {
  enum class Kind { all, global, local } kind = Kind::all;
  double sketch_eps = 0.0;
};

// How categories are split (finders/category_order.hpp).
struct CategoryRules {
  double smoothing = 10.0;  // added to the hessian of a category when categories are sorted
  double l2 = 10.0;         // added to the l2 penalty when sorted categories are cut
  double chance = 1.0;      // multiplies the expected gain of a cut of randomly sorted categories
  size_t one_vs_rest = 4;   // up to this many categories in a node, each is tried alone
};

struct TreeRules {
  size_t max_leaves = 31;          // 0: no limit
  int max_depth = 0;               // 0: no limit
  double min_samples_leaf = 20.0;  // minimal sum of weights of a leaf
  double min_samples_split = 0.0;  // minimal sum of weights of a node that is split
  double min_hessian = 1e-3;       // minimal sum of hessians of a leaf
  double min_gain = 0.0;           // gamma of Chen & Guestrin (2016)
  double l1 = 0.0, l2 = 1.0;
  double max_step = 0.0;           // largest absolute leaf value; 0: no limit
  double path_smoothing = 0.0;     // shrinkage towards the value of the parent (gain.hpp)
  bool random_thresholds = false;  // one random cut per feature and node (extremely random trees)
  ConstraintRules constraints;
  std::vector<ForcedSplit> forced_splits;  // the first one is the split of the root
  std::vector<uint32_t> used_features;     // features that earlier trees of the ensemble use
  std::vector<double> feature_penalty;     // per feature: cost of its first use; or empty
  GrowthPolicy grow_policy = GrowthPolicy::best_first;
  // Shares of the features that are sampled.
  double max_features_per_tree = 1.0, max_features_per_level = 1.0, max_features = 1.0;
  // Resample features until a node can be split, and accept splits without gain.
  bool grow_until_pure = false;
  std::vector<double> feature_weights;  // sampling weights; empty: equal
  double hessian_bound = 0.0;           // largest hessian per unit of weight; 0: unknown
  bool hessian_is_weight = false;       // every hessian is hessian_bound times the weight
  CategoryRules categories;
  Proposal proposal;                                             // for presorted features only
  ClassCriterion criterion = ClassCriterion::misclassification;  // for class targets only
  bool medians = false;  // leaves predict medians: the criterion is the absolute error
  bool poisson = false;  // the criterion is the Poisson deviance; of forests only
};

}  // namespace stagewise

// Grows the independent trees of a forest in parallel: every thread grows whole trees. A tree
// depends on the seed and its number only. The leaf values are the means of the targets, medians,
// or the shares of the classes, over the rows of the bag: sums in double precision in the order of
// the rows, not the rounded sums that chose the splits.
#pragma once

#include "gradients/sampling.hpp"
#include "grow/grower.hpp"

namespace stagewise {

// The bag of a tree: each row a Poisson number of times with mean `share` (bootstrap), or each row
// with probability `share`.
struct BagRules {
  bool bootstrap = false;
  double share = 1.0;
  bool balanced = false;        // the classes of each target have equal weights in the bag
  double least_fraction = 0.0;  // of the weight of the bag, in every leaf
};

// A tree, its out-of-bag rows and their leaves.
struct ForestTree {
  Tree tree;
  std::vector<uint32_t> oob_rows;  // increasing
  std::vector<int32_t> leaf;       // of each out-of-bag row
};

// The parts of a forest that all its trees share. Must live as long as the grower. Leaves predict
// the means of the targets or their median, or the shares of the classes of each target; with one
// target of two classes p_1 - p_0.
struct ForestInput {
  Workers& workers;
  const Kernels& kernels;
  const Bins& bins;
  std::span<const double> weight;  // per row; empty: 1
  ImpurityTarget target;
  TreeRules rules;
  BagRules bags;
};

class ForestGrower {
 public:
  explicit ForestGrower(ForestInput input);

  // The trees first, first + 1, ..., first + n - 1.
  std::vector<ForestTree> grow(uint64_t seed, uint64_t first, size_t n, bool list_oob);

 private:
  // The memory of one thread.
  struct Workspace {
    explicit Workspace(size_t rows) : pairs(rows), weight(rows), leaf_of_row(0) {}
    Gradients pairs;
    std::vector<double> weight;       // per row: times the number of draws; 0 outside the bag
    std::vector<double> leaf_of_row;  // per row: the leaf it reaches
    std::shared_ptr<LeafPool> leaves = std::make_shared<LeafPool>();
  };

  Bag draw_bag(Workers& team, uint64_t seed, uint64_t number) const;
  void weigh(const Bag& bag, std::vector<double>* weight) const;
  void balance(const Bag& bag, std::vector<double>* weight) const;
  TreeRules rules_for(const std::vector<double>& weight) const;
  ForestTree grow_one(Workers& team, Workspace* workspace, uint64_t seed, uint64_t number,
                      bool list_oob) const;
  void fill(Workers& team, Workspace* workspace) const;
  void set_values(const Grower& grower, const std::vector<double>& weight, Tree* tree) const;
  void find_oob_leaves(const Bag& bag, Workspace* workspace, ForestTree* tree) const;
  bool has_classes() const { return !input_.target.class_of.empty(); }
  bool of_two_classes() const {
    return input_.target.outputs == 1 && has_classes() && input_.target.n_classes[0] == 2;
  }
  TreeTarget tree_target() const;

  const ForestInput input_;
  const bool by_impurity_;  // splits are those of an ImpurityFinder, which needs no gradients
};

}  // namespace stagewise

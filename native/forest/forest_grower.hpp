// Grows the independent trees of a forest in parallel: every thread grows whole trees. A tree
// depends on the seed and its number only. The leaf values are the mean of the target, its median,
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
};

// A tree, its out-of-bag rows and their leaves.
struct ForestTree {
  Tree tree;
  std::vector<uint32_t> oob_rows;  // increasing
  std::vector<int32_t> leaf;       // of each out-of-bag row
};

// The parts of a forest that all its trees share. Must live as long as the grower. Either target or
// class_of is given. Leaves predict the mean of the target or its median, or the shares of the
// classes; with two classes p_1 - p_0.
struct ForestInput {
  Workers& workers;
  const Kernels& kernels;
  const Bins& bins;
  std::span<const double> weight;     // per row; empty: 1
  std::span<const double> target;     // per row
  std::span<const int32_t> class_of;  // per row, below n_classes
  size_t n_classes = 0;
  TreeRules rules;
  BagRules bags;
};

class ForestGrower {
 public:
  explicit ForestGrower(ForestInput input) : input_(std::move(input)) {}

  // The trees first, first + 1, ..., first + n - 1.
  std::vector<ForestTree> grow(uint64_t seed, uint64_t first, size_t n, bool list_oob);

 private:
  // The memory of one thread.
  struct Workspace {
    explicit Workspace(size_t rows) : pairs(rows), weight(rows), leaf_of_row(0) {}
    Gradients pairs;
    std::vector<double> weight;       // per row: times the number of draws; 0 outside the bag
    std::vector<double> leaf_of_row;  // per row: the leaf it reaches
  };

  Bag draw_bag(Workers& team, uint64_t seed, uint64_t number) const;
  ForestTree grow_one(Workers& team, Workspace* workspace, uint64_t seed, uint64_t number,
                      bool list_oob) const;
  void fill(Workers& team, Workspace* workspace) const;
  void set_values(const Grower& grower, const std::vector<double>& weight, Tree* tree) const;
  void find_oob_leaves(const Bag& bag, Workspace* workspace, ForestTree* tree) const;
  bool has_classes() const { return !input_.class_of.empty(); }
  size_t outputs() const { return !has_classes() || input_.n_classes == 2 ? 1 : input_.n_classes; }
  TreeTarget tree_target() const;

  const ForestInput input_;
};

}  // namespace stagewise

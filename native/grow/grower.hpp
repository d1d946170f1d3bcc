// Growing one tree: the loop over the frontier.
//
// One idea: a tree is grown by taking the next leaf, partitioning its rows, and finding the best
// split of both children. Large leaves are shared by all threads. Small ones are not worth sharing,
// so every thread takes one of its own from the front of the queue; a leaf whose turn never comes
// has then been looked into for nothing, and the tree is the same for any number of threads. A
// Grower lives for one fit and owns the memory that its trees share.
#pragma once

#include <memory>

#include "grow/finders/class_finder.hpp"
#include "grow/finders/median_finder.hpp"
#include "grow/finders/vector_finder.hpp"
#include "grow/linear_leaf_fit.hpp"
#include "grow/score_update.hpp"
#include "grow/search/symmetric_search.hpp"
#include "grow/tree.hpp"

namespace stagewise {

class Grower {
 public:
  // class_of: the class of every row, below `classes`, for trees that tell classes apart; their
  // gradients are the weights of the rows and their hessians 1. Null: trees of numbers.
  // outputs: how many values a leaf has; 0: one, and trees are fitted to Gradients, not to
  // VectorGradients. target: what trees of medians are fitted to, instead of gradients.
  Grower(Workers& workers, const Kernels& kernels, const Bins& bins, const double* weight,
         const TreeRules& rules, const int32_t* class_of = nullptr, size_t classes = 0,
         size_t outputs = 0, const double* target = nullptr);

  // bag: the rows (increasing) that this tree is grown on; null: all. Packs the gradients.
  Tree grow(Gradients& gradients, const uint32_t* bag, size_t bag_size, uint64_t seed,
            uint64_t tree_number);
  Tree grow(VectorGradients& gradients, const uint32_t* bag, size_t bag_size, uint64_t seed,
            uint64_t tree_number);
  // The same of medians.
  Tree grow(const uint32_t* bag, size_t bag_size, uint64_t seed, uint64_t tree_number);
  bool of_numbers() const { return numbers_ != nullptr; }
  bool of_medians() const { return medians_ != nullptr; }
  size_t outputs() const { return vectors_ != nullptr ? vectors_->outputs() : 0; }

  // The leaves of the last tree in the order of their nodes, and their rows, which are increasing.
  struct GrownLeaf {
    int32_t node;
    const uint32_t* rows;
    size_t n;
    const Leaf* leaf;
  };
  const std::vector<GrownLeaf>& leaves() const { return grown_leaves_; }
  // Other values of these leaves, changed where they would break a constraint.
  std::vector<double> enforce_monotone(const std::vector<double>& values) const;
  // How far lines of these leaves may go, so that they break none.
  std::vector<Bounds> monotone_bounds(const std::vector<double>& values) const;
  size_t table_rows() const { return bins_.rows(); }
  bool grew(const Tree& tree) const { return tree.grower == this && tree.number == grown_; }

  // Adds the leaf of every row, in or out of the bag.
  void add_scores(const ScoreUpdate& scores, const Tree& tree);

  // The weighted q-quantile of residual over the rows of every leaf, in the order of leaves().
  // times: how often each row counts besides its weight; null: once.
  std::vector<double> leaf_quantiles(const double* residual, const float* multiplier, double q);
  // The median m, and then the weighted mean of m + (residual - m), no more than `width` from m.
  std::vector<double> leaf_huber_means(const double* residual, const float* multiplier,
                                       double width);

  // The sums of gradients and of hessians, times the weights, over the rows of every leaf; for
  // trees that tell classes apart there is a gradient sum for each class.
  struct LeafSums {
    std::vector<double> gradient, hessian;
  };
  LeafSums leaf_sums(const Gradients& pairs);

  // Lines of the last tree's leaves in the numbers asked about on their paths, fitted to these
  // derivatives; table: the rows before they were binned.
  LinearLeafFits fit_linear_leaves(const Tree& tree, const Columns& table, const Gradients& pairs,
                                   double l2, double bound);

  void set_few_rows(size_t rows) { finder_->set_few_rows(rows); }

 private:
  std::unique_ptr<Finder> make_finder(size_t outputs, const double* target);
  std::unique_ptr<NodeSearch> make_search();
  Tree grow_tree(const uint32_t* bag, size_t bag_size);
  Leaf* start(const uint32_t* bag, size_t bag_size, Tree* tree);
  int32_t add_node(const Leaf& leaf, Tree* tree) const;
  bool shared(const Leaf& leaf) const;
  void expand_next(const Frontier& frontier, size_t splits_left);
  void expand(Workers& team, Workspace* workspace, Leaf* parent);
  void write_category_set(const Split& split, size_t node, Tree* tree) const;
  void place_children(Workers& team, Workspace* workspace, Leaf* parent);
  void complete_split(Leaf* parent) const;
  void constrain_children(const Leaf& parent);
  Bounds bounds_of(const Leaf& leaf) const;
  bool split_still_valid(Leaf* leaf);
  void commit(const Leaf& parent, Tree* tree);
  void grow_by_policy(Leaf* root, Tree* tree);
  void grow_symmetric(Leaf* root, Tree* tree);
  template <class Summary>
  std::vector<double> per_leaf(const double* residual, const float* multiplier, Summary summary);
  std::vector<LinearLeafSums> linear_leaf_sums(
      const std::vector<std::vector<LinearFeature>>& features, const Columns& table,
      const Gradients& pairs);
  void finish_leaf(const Leaf& leaf);

  Workers& workers_;
  Workers alone_{1};
  const Kernels& kernels_;
  const Bins& bins_;
  const TreeRules rules_;
  const RowWeights weights_;
  const Constraints constraints_;
  FeatureSampler sampler_;
  RowPartition rows_;
  Histograms histograms_;
  // The finder, if trees have one output; if they do or rows have classes; if they have several;
  // if they are of medians.
  GradientFinder* numbers_ = nullptr;
  PackedGradientFinder* words_ = nullptr;
  VectorFinder* vectors_ = nullptr;
  MedianFinder* medians_ = nullptr;
  std::unique_ptr<Finder> finder_;
  std::vector<Workspace> workspaces_;     // per thread
  SymmetricSearch* symmetric_ = nullptr;  // the search, if trees are symmetric
  std::unique_ptr<NodeSearch> search_;
  bool categorical_ = false;  // some feature is
  uint64_t grown_ = 0;        // how many trees so far
  LeafPool leaves_;           // all that this tree had
  std::vector<const Leaf*>
      current_leaves_;  // those that it has now, where constraints must know them
  std::vector<GrownLeaf> grown_leaves_;
};

}  // namespace stagewise

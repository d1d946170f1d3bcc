// Grows trees: the loop over the frontier, or of symmetric trees over the depths.
//
// The next leaf is taken, its rows are partitioned, and the best splits of both children are found.
// Large leaves are shared by all threads. Small leaves are too small to share, so every thread
// takes one from the front of the queue; a leaf that is never taken was then searched in vain, and
// the tree is the same for any number of threads.
#pragma once

#include <span>
#include <variant>
#include <vector>

#include "grow/finders/packed_sums/class_finder.hpp"
#include "grow/finders/packed_sums/gradient_finder.hpp"
#include "grow/finders/packed_sums/vector_finder.hpp"
#include "grow/finders/sorted_rows/impurity_finder.hpp"
#include "grow/finders/sorted_rows/median_finder.hpp"
#include "grow/frontier.hpp"
#include "grow/growing_tree.hpp"
#include "grow/leaves/leaf_statistics.hpp"
#include "grow/leaves/linear_leaf_fit.hpp"
#include "grow/leaves/score_update.hpp"
#include "grow/nodes/tree.hpp"
#include "grow/search/presorted_gradient_search.hpp"
#include "grow/search/row_search.hpp"
#include "grow/search/symmetric_search.hpp"

namespace stagewise {

// What trees are fitted to. Each kind of target has a finder.
struct GradientTarget {};  // Gradients of one output
struct VectorTarget {      // VectorGradients; every leaf has a value for each output
  size_t outputs;
};
struct ClassTarget {  // Gradients that are the weights of the rows, with hessians of 1
  std::span<const int32_t> class_of;  // per row, below n_classes
  size_t n_classes;
};
struct AbsoluteErrorTarget {  // no gradients; leaves predict medians
  std::span<const double> y;  // per row
};
// ImpurityTarget: no gradients; leaves have one value until their values are set.
using TreeTarget =
    std::variant<GradientTarget, VectorTarget, ClassTarget, AbsoluteErrorTarget, ImpurityTarget>;

// The parts of a fit that all its trees share. Must live as long as the grower.
struct GrowerInput {
  Workers& workers;
  const Kernels& kernels;
  const Bins& bins;
  std::span<const double> weight;  // per row; empty: 1
  const TreeRules& rules;          // copied
  TreeTarget target;
  std::shared_ptr<LeafPool> leaves = nullptr;  // memory to use again; null: new memory
};

// Lives for one fit and owns the memory that its trees share.
class Grower {
 public:
  explicit Grower(const GrowerInput& input);

  // bag: the rows (increasing) that this tree is grown on; no data: all. Packs the gradients.
  using Bag = std::span<const uint32_t>;
  Tree grow(Gradients& gradients, Bag bag, uint64_t seed, uint64_t tree_number);
  Tree grow(VectorGradients& gradients, Bag bag, uint64_t seed, uint64_t tree_number);
  Tree grow(Bag bag, uint64_t seed, uint64_t tree_number);  // without gradients

  bool has_gradient_target() const { return std::holds_alternative<GradientFinder>(finder_); }
  bool has_median_target() const { return std::holds_alternative<MedianFinder>(finder_); }
  // Of a VectorTarget; else 0.
  size_t outputs() const {
    const auto* const vectors = std::get_if<VectorFinder>(&finder_);
    return vectors != nullptr ? vectors->outputs() : 0;
  }
  size_t table_rows() const { return bins_.rows(); }
  void set_few_rows(size_t rows) { finder().set_few_rows(rows); }

  // The last tree: whether it is this one, and its leaves in the order of their nodes.
  bool grew(const Tree& tree) const { return tree.grower == this && tree.number == grown_; }
  const std::vector<GrownLeaf>& leaves() const { return grown_leaves_; }
  LeafStatistics leaf_statistics() const {
    return {workers_, weights_, histograms_.planes(), grown_leaves_};
  }
  // Other values of its leaves, changed where they would violate a monotone constraint.
  std::vector<double> enforce_monotone(const std::vector<double>& values) const;
  // Between which bounds linear models of its leaves satisfy the monotone constraints.
  std::vector<Bounds> monotone_bounds(const std::vector<double>& values) const;
  // Adds the value of its leaf to the score of every row, in or out of the bag.
  void add_scores(const ScoreUpdate& scores, const Tree& tree);
  LinearLeafFits fit_linear_leaves(const Tree& tree, const Columns& table, const Gradients& pairs,
                                   double l2, double bound) const;

 private:
  using AnyFinder =
      std::variant<GradientFinder, ClassFinder, VectorFinder, MedianFinder, ImpurityFinder>;
  using AnySearch =
      std::variant<HistogramSearch<GradientFinder>, HistogramSearch<ClassFinder>,
                   HistogramSearch<VectorFinder>, SymmetricSearch<GradientFinder>,
                   SymmetricSearch<VectorFinder>, RowSearch<MedianFinder>, PresortedGradientSearch,
                   PresortedRowSearch<ClassFinder>, PresortedRowSearch<MedianFinder>,
                   RowSearch<ImpurityFinder>, PresortedRowSearch<ImpurityFinder>>;

  AnyFinder make_finder(const TreeTarget& target) const;
  AnySearch make_search();
  template <class F>
  AnySearch make_search_for(const F& finder);
  Finder& finder() {
    return std::visit([](Finder& f) -> Finder& { return f; }, finder_);
  }
  const Finder& finder() const {
    return std::visit([](const Finder& f) -> const Finder& { return f; }, finder_);
  }
  PackedGradientFinder& packed_finder();
  NodeSearch& search() {
    return std::visit([](NodeSearch& s) -> NodeSearch& { return s; }, search_);
  }
  // Null unless trees are symmetric.
  DepthSearch* depth_search() {
    return std::visit(
        [](auto& s) -> DepthSearch* {
          if constexpr (std::derived_from<std::remove_reference_t<decltype(s)>, DepthSearch>)
            return &s;
          return nullptr;
        },
        search_);
  }

  Tree grow_tree(Bag bag);
  void grow_symmetric(DepthSearch& search, Leaf* root, Tree* tree);
  bool may_split_level(int depth, size_t leaves) const;
  Leaf* start(Bag bag, Tree* tree);
  bool shared(const Leaf& leaf);
  void expand_next(const Frontier& frontier, size_t splits_left);
  void add_children(Leaf* parent);
  void expand(Workers& team, size_t worker, Leaf* parent);
  int64_t count(Workers& team, const RowIndex& rows) const;
  void place_children(Workers& team, size_t worker, Leaf* parent);
  void finish_leaf(const Leaf& leaf);
  std::vector<Region> leaf_regions() const;

  Workers& workers_;
  Workers alone_{1};  // for leaves that one thread expands
  const Kernels& kernels_;
  const Bins& bins_;
  const TreeRules rules_;
  const RowWeights weights_;
  const Constraints constraints_;
  GrowingTree growing_;
  FeatureSampler sampler_;
  RowPartition rows_;
  Histograms histograms_;
  AnyFinder finder_;
  AnySearch search_;
  bool categorical_ = false;             // some feature is
  int64_t all_count_ = -1;               // the weight of all rows; -1: not counted yet
  uint64_t grown_ = 0;                   // the number of trees so far
  std::vector<GrownLeaf> grown_leaves_;  // its leaves at the end
};

}  // namespace stagewise

// Growing one tree: the loop over the frontier.
//
// One idea: a tree is grown by taking the next leaf, partitioning its rows, and finding the best
// split of both children; the larger child's histogram is its parent's less the smaller one's.
// Large leaves are shared by all threads. Small ones are not worth sharing, so every thread takes
// one of its own from the front of the queue; a leaf whose turn never comes has then been looked
// into for nothing, and the tree is the same for any number of threads.
// A Grower lives for one fit and owns the memory that its trees share.
#pragma once

#include <deque>

#include "bins.hpp"
#include "gradients.hpp"
#include "histograms.hpp"
#include "split.hpp"
#include "tree.hpp"

namespace stagewise {

class Grower {
 public:
  // class_of: the class of every row, below `classes`, for trees that tell classes apart; their
  // gradients are the weights of the rows and their hessians 1. Null: trees of numbers.
  Grower(Workers& workers, const Kernels& kernels, const Bins& bins, const double* weight,
         const TreeRules& rules, const int32_t* class_of = nullptr, size_t classes = 0);

  // bag: the rows (increasing) that this tree is grown on; null: all. Packs the gradients.
  Tree grow(Gradients& gradients, const uint32_t* bag, size_t bag_size, uint64_t seed,
            uint64_t tree_number);

  // The leaves of the last tree in the order of their nodes, and their rows, which are increasing.
  struct GrownLeaf {
    int32_t node;
    const uint32_t* rows;
    size_t n;
  };
  const std::vector<GrownLeaf>& leaves() const { return grown_leaves_; }
  size_t table_rows() const { return bins_.rows(); }
  bool grew(const Tree& tree) const { return tree.grower == this && tree.number == grown_; }

  // score[row] += value[node of the row], for every row, in or out of the bag.
  void add_to(double* score, const Tree& tree, const double* value);

  // The weighted q-quantile of residual over the rows of every leaf, in the order of leaves().
  // times: how often each row counts besides its weight; null: once.
  std::vector<double> leaf_quantiles(const double* residual, const float* times, double q);
  // The median m, and then the weighted mean of m + (residual - m), no more than `width` from m.
  std::vector<double> leaf_huber_means(const double* residual, const float* times, double width);

  // The sums of gradients and of hessians, times the weights, over the rows of every leaf; for
  // trees that tell classes apart there is a gradient sum for each class.
  struct LeafSums {
    std::vector<double> gradient, hessian;
  };
  LeafSums leaf_sums(const Gradients& pairs);

  void set_few_rows(size_t rows) { finder_.set_few_rows(rows); }

 private:
  // What one thread works with.
  struct Desk {
    explicit Desk(const Bins& bins) : scratch(bins) {}

    SplitFinder::Scratch scratch;
    SplitFinder::Search searches[2];
  };

  Leaf* start(const Gradients& gradients, const uint32_t* bag, size_t bag_size, Tree* tree);
  std::vector<uint32_t> choose(const std::vector<uint32_t>& from, double share, uint64_t key) const;
  std::vector<uint8_t> allowed_features(const Leaf& leaf) const;
  uint32_t* list_of(const Leaf& leaf) const { return lists_[leaf.list].get() + leaf.begin; }
  Rows rows_of(const Leaf& leaf) const;
  bool shared(const Leaf& leaf) const;
  void expand_next(const Frontier& frontier, size_t splits_left);
  void expand(Workers& team, Desk* desk, Leaf* parent);
  void note_use(const Leaf& leaf);
  template <class Code>
  FeatureCodes<Code> codes_of(uint32_t feature) const;
  void partition(Workers& team, const Leaf& leaf);
  template <class Codes, class Partition, class Mark>
  void partition_by(Workers& team, const Leaf& leaf, const Codes& codes, Partition partition,
                    Mark mark);
  void place_children(Workers& team, const Leaf& parent);
  void search(Workers& team, Desk* desk, Leaf* built, Leaf* rest, Leaf* few[2]);
  void commit(const Leaf& parent, Tree* tree);
  template <class Summary>
  std::vector<double> per_leaf(const double* residual, const float* times, Summary summary);
  void retire(const Leaf& leaf);

  Workers& workers_;
  Workers alone_{1};
  const Kernels& kernels_;
  const Bins& bins_;
  const TreeRules rules_;
  const RowWeights weights_;
  Histograms histograms_;
  SplitFinder finder_;
  std::vector<Desk> desks_;  // per thread

  struct FeatureUse {
    size_t rows = 0;             // that were partitioned by it
    LargeArray<uint8_t> column;  // its codes, once they were many
  };
  std::vector<FeatureUse> uses_;
  LargeArray<uint32_t> lists_[2];  // of rows; a leaf has the same part of both to itself
  std::vector<uint8_t> marks_;     // of rows that go right
  std::vector<uint32_t> bag_;
  bool bagged_ = false;
  size_t bag_size_ = 0;
  uint64_t seed_ = 0, tree_number_ = 0;
  uint64_t grown_ = 0;  // how many trees so far
  const Gradients* gradients_ = nullptr;
  std::vector<uint32_t> features_;   // of this tree
  std::vector<uint32_t> positions_;  // 0, 1, … in features_
  std::deque<Leaf> leaves_;          // all that this tree had
  std::vector<GrownLeaf> grown_leaves_;
};

}  // namespace stagewise

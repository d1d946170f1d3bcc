// Grows trees on the rows of a RowStore, and with an Exchange on those of all processes. The trees
// are those that Grower grows on the same rows.
//
// A pass over the chunks is expensive, so several leaves are split in one pass: the next one and
// those that will probably be split after it. In every chunk, the rows of these leaves are
// partitioned, and the histogram of the smaller child of each is built. The sums of all threads and
// processes are added; then the best splits of the children are found as in memory. A leaf that was
// divided in vain stays a leaf.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "chunks/row_store.hpp"
#include "core/exchange.hpp"
#include "core/row_weights.hpp"
#include "gradients/gradients.hpp"
#include "grow/finders/packed_sums/gradient_finder.hpp"
#include "grow/frontier.hpp"
#include "grow/growing_tree.hpp"
#include "grow/nodes/feature_sampler.hpp"

namespace stagewise {

struct ChunkGrowerInput {
  Workers& workers;
  const Kernels& kernels;
  RowStore& store;
  std::shared_ptr<const BinLayout> layout;
  RowWeights weights;  // of all rows, without their values
  const TreeRules& rules;
  size_t leaves_per_pass = 8;
  bool has_absent_rows = false;  // some weights are 0: these rows are in no leaf
  Exchange* exchange = nullptr;  // null: there are no other processes
};

class ChunkGrower : private RowCounter {
 public:
  explicit ChunkGrower(const ChunkGrowerInput& input);

  // Each row is drawn with a probability, as by draw_rows(), or by its multiplier.
  struct BagRule {
    double share = 1.0;
    uint64_t round = 0;
    bool multiplied = false;
  };
  // The gradients of the store are pairs; sums: of all rows.
  Tree grow(const LossSums& sums, const BagRule& bag, uint64_t seed, uint64_t tree_number);
  bool grew(const Tree& tree) const { return tree.grower == this && tree.number == grown_; }
  // Adds the value of its leaf in the last tree to the score of every row.
  void add_scores(const Tree& tree, std::span<const double> value, size_t output);

 private:
  using Scan = GradientFinder::Scan;
  struct Range {
    uint32_t begin = 0, end = 0;
    size_t n() const { return end - begin; }
  };
  // A leaf that is divided in the next pass.
  struct Division {
    Leaf* parent;
    Leaf* built = nullptr;  // the child whose histogram is built; null: none is
    int64_t n_left = 0, left_count = 0;
  };
  // What one thread sums in a pass.
  struct Part {
    struct Root {
      int64_t packed = 0, rows = 0, count = 0;
    } root;
    std::vector<LargeArray<int64_t>> sums;  // of each division: `capacity` integers
    std::vector<uint8_t> begun;
    size_t capacity = 0;
    std::vector<Division> divisions;
    std::vector<uint32_t> aside;
  };

  // The rows of a leaf by their codes of a feature.
  struct Counted {
    const Leaf* leaf;
    uint32_t feature;
    std::vector<int64_t> counts;
  };

  void count_rows_of(std::vector<Counted>* leaves) const;
  void count(const Leaf& leaf, uint32_t feature, int64_t* counts) const override;

  double dispersion();
  double largest_hessian();
  bool bagged() const { return share_ < 1.0 || multiplied_ || has_absent_rows_; }
  void reserve_sums(size_t leaves);
  int64_t* sums_of(Part* part, size_t leaf) const;
  void pack_chunk(const RowStore::Chunk& chunk, const Packing& packing) const;
  template <class IsDrawn>
  size_t draw_chunk(const RowStore::Chunk& chunk, IsDrawn is_drawn) const;
  void add_root(const RowStore::Chunk& chunk, size_t n, const Leaf& root, Part* part);
  std::vector<int64_t> merge_root() const;
  Leaf* start(const Packing& packing, uint64_t row_key, Tree* tree);
  void divide_next(const Frontier& frontier, size_t splits_left);
  std::vector<Leaf*> choose_leaves(const Frontier& frontier, size_t splits_left) const;
  void divide(const std::vector<Leaf*>& leaves, bool last);
  void load_codes(const RowStore::Chunk& chunk, const Part& part) const;
  void divide_chunk(const RowStore::Chunk& chunk, Part* part);
  template <class Code, class Partition>
  size_t partition(const RowStore::Chunk& chunk, const Leaf& leaf, Partition kernel, Part* part);
  int64_t count_rows(const RowStore::Chunk& chunk, const uint32_t* rows, size_t n) const;
  void merge(const std::vector<Part>& parts, std::vector<Division>* divisions);
  void complete(std::vector<Division>* divisions);
  void find_splits(const std::vector<Leaf*>& leaves);

  Range& range(const Leaf& leaf, size_t chunk) { return ranges_[leaf.index][chunk]; }
  const Range& range(const Leaf& leaf, size_t chunk) const { return ranges_[leaf.index][chunk]; }
  RowIndex rows_of(const RowStore::Chunk& chunk, const Leaf& leaf) const;
  Bins bins_of(const RowStore::Chunk& chunk) const {
    return {layout_.layout(), chunk.get<uint8_t>(Field::codes), chunk.n};
  }
  void add_up(std::span<int64_t> values) const {
    if (exchange_ != nullptr) exchange_->sum(values);
  }

  Workers& workers_;
  const Kernels& kernels_;
  RowStore& store_;
  const Bins layout_;  // without rows
  const RowWeights weights_;
  const TreeRules rules_;
  const Constraints constraints_;
  GrowingTree growing_;
  FeatureSampler sampler_;
  Histograms histograms_;
  GradientFinder finder_;
  GradientFinder::Scratch scratch_;
  const size_t leaves_per_pass_;
  const bool has_absent_rows_;
  Exchange* const exchange_;
  Gradients no_rows_{0};  // the finder reads the largest hessian from it
  bool categorical_ = false;
  double share_ = 1.0;
  bool multiplied_ = false;
  uint64_t grown_ = 0;                      // the number of trees so far
  std::vector<std::vector<Range>> ranges_;  // per leaf of the tree: its rows in each chunk
  std::vector<std::pair<int32_t, const Leaf*>> final_leaves_;  // (node, leaf)
  std::vector<Counted> counted_;                               // of the leaves that are searched
  std::vector<Part> parts_;                                    // per thread
};

}  // namespace stagewise

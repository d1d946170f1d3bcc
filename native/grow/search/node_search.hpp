// A search strategy finds the best split of a node. It decides where the candidates come from
// (histograms, the rows of the node, presorted rows); a finder computes their gains
// (finders/finder.hpp). A strategy is a template of the type of its finder, so the scans and the
// scratch memory of a finder keep their types. The grower uses the interface NodeSearch.
#pragma once

#include <concepts>
#include <vector>

#include "core/threads.hpp"
#include "grow/finders/finder.hpp"
#include "grow/nodes/feature_sampler.hpp"
#include "grow/nodes/row_partition.hpp"

namespace stagewise {

class NodeSearch {
 public:
  virtual ~NodeSearch() = default;

  // The work for a leaf, in updates of a histogram.
  virtual size_t work(const Leaf& leaf) const = 0;
  // Prepares for the features and the bag of a new tree, and finds the split of its root.
  virtual void start_tree(Workers& team, Leaf* root) = 0;
  // Finds the splits of the children of a leaf, after its rows were partitioned. worker: the number
  // of the calling thread; threads may search the children of different leaves.
  virtual void search_children(Workers& team, size_t worker, Leaf* parent) = 0;
  // Finds the split of a leaf once more, because its bounds have changed.
  virtual void search_again(Workers& team, Leaf* leaf) = 0;
  // Of a sparse table: one byte per row, 0 between calls; the memory of one thread.
  virtual std::vector<uint8_t>* row_marks(size_t worker) = 0;
};

// What a finder has for every strategy: a scan is begun for a node, and its best split chosen.
template <class F>
concept SplitFinder =
    std::derived_from<F, Finder> && std::derived_from<typename F::Scan, NodeScan> &&
    std::derived_from<typename F::Scratch, FinderScratch> &&
    requires(const F& finder, const Leaf& leaf, const RowIndex& rows, std::vector<uint8_t> allowed,
             typename F::Scan* node, typename F::Scratch* scratch) {
      { finder.make_scratch() } -> std::same_as<typename F::Scratch>;
      finder.begin(leaf, rows, allowed, node);
      { finder.choose_split(node, scratch) } -> std::same_as<Split>;
    };

// Candidates from the rows of a node: all features.
template <class F>
concept ScansRows = SplitFinder<F> &&
                    requires(const F& finder, typename F::Scan* node,
                             typename F::Scratch* scratch) { finder.scan_few_rows(node, scratch); };

// Candidates from the rows of a node: the features of a block of a sparse table.
template <class F>
concept ScansSparseRows = ScansRows<F> && requires(const F& finder, typename F::Scan* node,
                                                   size_t block, typename F::Scratch* scratch) {
  finder.scan_few_rows_block(node, block, scratch);
};

// Candidates from the histogram of a node: the features of a group.
template <class F>
concept ScansHistograms =
    ScansRows<F> && requires(const F& finder, typename F::Scan* node, size_t group) {
      { finder.packed_rows() } -> std::same_as<PackedRows>;
      finder.scan_group(node, group);
    };

// Candidates from the histogram of a node: the features of a block of a sparse table.
template <class F>
concept ScansSparseHistograms =
    ScansHistograms<F> && requires(const F& finder, typename F::Scan* node, size_t block) {
      finder.scan_block(node, block);
    };

// Candidates for all leaves of a depth at once: the scores of every cut of a feature in a leaf.
template <class F>
concept ScoresCuts = ScansHistograms<F> &&
                     requires(const F& finder, const Leaf& leaf, const typename F::Scan& node,
                              size_t position, const CutSums& sums, typename F::Scratch* scratch,
                              const int64_t* packed_sums, double* scores, Split* split) {
                       { finder.needs_scan(leaf) } -> std::same_as<bool>;
                       { finder.unsplit_score(leaf) } -> std::same_as<double>;
                       {
                         finder.feature_sums(node, position, scratch)
                       } -> std::same_as<const int64_t*>;
                       {
                         finder.category_order(packed_sums, position)
                       } -> std::same_as<std::vector<uint32_t>>;
                       finder.add_scores(node, sums, 0.0, scratch, scores, scores);
                       { finder.exceeds_min_gain(0.0) } -> std::same_as<bool>;
                       { finder.heavier_left(leaf, packed_sums) } -> std::same_as<bool>;
                       {
                         finder.complete(node, packed_sums, packed_sums, scratch, split)
                       } -> std::same_as<bool>;
                     };

// The same without sums of all bins, in a leaf with few rows.
template <class F>
concept ScoresRows = ScoresCuts<F> && requires(const F& finder, const typename F::Scan& node,
                                               typename F::Scratch* scratch, double* scores) {
  { finder.add_scores_of_rows(node, 0, 0.0, scratch, scores, scores) } -> std::same_as<bool>;
};

// Upper bounds of the scores of all cuts of a feature; every leaf is scanned.
template <class F>
concept BoundsCuts = ScoresRows<F> && requires(const F& finder, const typename F::Scan& node,
                                               const LevelInput& level, const ScanRules& rules) {
  { finder.bounded(node) } -> std::same_as<bool>;
  { finder.bound_scores(level, rules) } -> std::same_as<double>;
};

// Scores that do not depend on the number of rows, which must be counted for the best feature.
template <class F>
concept CountsRows = ScoresCuts<F> && requires(const F& finder, const typename F::Scan& node,
                                               typename F::Scratch* scratch) {
  { finder.counts_needed() } -> std::same_as<bool>;
  { finder.counts_of(node, 0, scratch) } -> std::same_as<const int64_t*>;
};

// Candidates of the feature at a position, from the rows of a node sorted by it.
template <class F>
concept ScansSortedRows =
    SplitFinder<F> &&
    requires(const F& finder, typename F::Scan* node, size_t position, const SortedRow* rows,
             typename F::Scratch* scratch) { finder.scan_sorted(node, position, rows, scratch); };

// The memory of one thread, in cache lines of its own.
template <SplitFinder F>
struct alignas(64) Workspace {
  explicit Workspace(const F& finder) : scratch(finder.make_scratch()) {}

  typename F::Scratch scratch;
  typename F::Scan nodes[2];     // the two children of a leaf
  std::vector<SortedRow> aside;  // rows of the right child during a partition
};

// What the strategies have in common.
template <SplitFinder F>
class FinderSearch : public NodeSearch {
 public:
  std::vector<uint8_t>* row_marks(size_t worker) final {
    return &workspaces_[worker].scratch.row_marks;
  }

 protected:
  using Scan = typename F::Scan;
  using Scratch = typename F::Scratch;

  FinderSearch(const F& finder, const RowPartition& rows, const FeatureSampler& sampler,
               int threads)
      : finder_(finder), rows_(rows), sampler_(sampler) {
    for (int i = 0; i < threads; ++i) workspaces_.emplace_back(finder);
  }

  void begin(const Leaf& leaf, Scan* node, size_t attempt = 0) const {
    finder_.begin(leaf, rows_.of(leaf), sampler_.allowed(leaf, attempt), node);
  }

  // Sets the split of the leaf to the best candidate. If there is none and trees are grown until
  // pure: of the next sample of features, which rescan() scans.
  template <class Rescan>
  void choose_split(Leaf* leaf, Scan* node, Scratch* scratch, Rescan rescan) const {
    leaf->split = finder_.choose_split(node, scratch);
    for (size_t attempt = 1; !leaf->split.found() && !node->pure && sampler_.more(*leaf, attempt);
         ++attempt) {
      begin(*leaf, node, attempt);
      rescan();
      leaf->split = finder_.choose_split(node, scratch);
    }
  }

  // The workspace of a thread of the team. worker: the number of the thread that owns the team; a
  // team of one thread has no numbers of its own.
  Workspace<F>* workspace_in(const Workers& team, size_t worker, int member) {
    return &workspaces_[team.threads() == 1 ? worker : static_cast<size_t>(member)];
  }

  // body(i, workspace) for all i < n, by the team, or by the caller if the work is small. work: in
  // rows times features.
  template <class Body>
  void run_in_workspaces(Workers& team, size_t worker, size_t n, size_t work, Body&& body) {
    if (work < kParallelRows) {
      for (size_t i = 0; i < n; ++i) body(i, &workspaces_[worker]);
    } else {
      team.run(n, [&](size_t i, int member) { body(i, workspace_in(team, worker, member)); });
    }
  }

  const F& finder_;
  const RowPartition& rows_;
  const FeatureSampler& sampler_;
  std::vector<Workspace<F>> workspaces_;  // per thread

 private:
  static constexpr size_t kParallelRows =
      4096;  // times features; below, the caller is faster alone
};

}  // namespace stagewise

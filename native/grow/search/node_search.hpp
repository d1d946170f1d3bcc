// A search strategy: where the candidates of a node come from (histograms, few rows, presorted
// rows). The grower requests the best splits of the children of a node; a Finder computes the gains
// of the candidates (finders/finder.hpp).
#pragma once

#include "grow/finders/finder.hpp"
#include "grow/nodes/feature_sampler.hpp"
#include "grow/nodes/row_partition.hpp"

namespace stagewise {

// The memory of one thread.
struct Workspace {
  explicit Workspace(const Finder& finder)
      : scratch(finder.make_scratch()), scans{finder.make_scan(), finder.make_scan()} {}

  std::unique_ptr<FinderScratch> scratch;
  std::unique_ptr<NodeScan> scans[2];  // of the two children of a node
  std::vector<SortedRow> aside;        // rows of the right child during a partition
};

class NodeSearch {
 public:
  NodeSearch(const Finder& finder, const RowPartition& rows, const FeatureSampler& sampler,
             std::vector<Workspace>& workspaces)
      : finder_(finder), rows_(rows), sampler_(sampler), workspaces_(workspaces) {}
  virtual ~NodeSearch() = default;

  virtual void start_tree(Workers& team) = 0;
  // The work for a leaf, in updates of a histogram.
  virtual size_t work(const Leaf& leaf) const = 0;

  virtual void root(Workers& team, Leaf* root) = 0;
  // The splits of the children of a leaf, after its rows were partitioned. before() and after() are
  // called by one thread, for resources that leaves share.
  virtual void before(Leaf* parent) = 0;
  virtual void children(Workers& team, Workspace* workspace, Leaf* parent) = 0;
  virtual void after(const Leaf& parent) = 0;
  // Searches a leaf again, because its bounds have changed.
  virtual void again(Workers& team, Leaf* leaf) = 0;

 protected:
  void begin(const Leaf& leaf, NodeScan* search, size_t attempt = 0) const {
    finder_.begin(leaf, rows_.of(leaf), sampler_.allowed(leaf, attempt), search);
  }

  // The best split that was found. If there is none and trees are grown until pure: of the next
  // sample of features, which rescan() scans.
  template <class Rescan>
  void choose_split(Leaf* leaf, NodeScan* search, FinderScratch* scratch, Rescan rescan) const {
    leaf->split = finder_.choose_split(search, scratch);
    for (size_t attempt = 1; !leaf->split.found() && !search->pure && sampler_.more(*leaf, attempt);
         ++attempt) {
      begin(*leaf, search, attempt);
      rescan();
      leaf->split = finder_.choose_split(search, scratch);
    }
  }

  const Finder& finder_;
  const RowPartition& rows_;
  const FeatureSampler& sampler_;
  std::vector<Workspace>& workspaces_;  // per thread
};

}  // namespace stagewise

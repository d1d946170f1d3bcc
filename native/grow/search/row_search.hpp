// Splits from the rows of a node, for finders that need no histograms.
#pragma once

#include <span>

#include "grow/search/node_search.hpp"

namespace stagewise {

template <ScansRows F>
class RowSearch final : public FinderSearch<F> {
 public:
  RowSearch(const F& finder, const RowPartition& rows, const FeatureSampler& sampler, int threads)
      : FinderSearch<F>(finder, rows, sampler, threads) {}

  size_t work(const Leaf& leaf) const override {
    return leaf.rows() * this->sampler_.features().size();
  }
  void start_tree(Workers& team, Leaf* root) override { search_again(team, root); }
  void search_children(Workers& team, size_t worker, Leaf* parent) override {
    Leaf* const children[2] = {parent->left, parent->right};
    search(team, worker, children, work(*parent));
  }
  void search_again(Workers& team, Leaf* leaf) override {
    search(team, 0, std::span<Leaf* const>(&leaf, 1), work(*leaf));
  }

 private:
  void search(Workers& team, size_t worker, std::span<Leaf* const> leaves, size_t work) {
    Workspace<F>& workspace = this->workspaces_[worker];
    Leaf* searched[2] = {};
    size_t n = 0;
    for (Leaf* leaf : leaves) {
      if (!this->finder_.splittable(*leaf)) continue;
      this->begin(*leaf, &workspace.nodes[n]);
      searched[n++] = leaf;
    }
    this->run_in_workspaces(team, worker, n, work, [&](size_t i, Workspace<F>* own) {
      this->finder_.scan_few_rows(&workspace.nodes[i], &own->scratch);
    });
    for (size_t i = 0; i < n; ++i)
      this->choose_split(searched[i], &workspace.nodes[i], &workspace.scratch, [&] {
        this->finder_.scan_few_rows(&workspace.nodes[i], &workspace.scratch);
      });
  }
};

}  // namespace stagewise

// Splits from the rows of a node, for finders that need no histograms.
#pragma once

#include <span>

#include "grow/search/node_search.hpp"

namespace stagewise {

// Instantiated in row_search.cpp.
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
  void search(Workers& team, size_t worker, std::span<Leaf* const> leaves, size_t work);
};

}  // namespace stagewise

#include "grow/search/presorted_search.hpp"

#include <algorithm>
#include <cstring>

#include "core/interrupt.hpp"
#include "grow/finders/packed_sums/class_finder.hpp"
#include "grow/finders/packed_sums/gradient_finder.hpp"
#include "grow/finders/sorted_rows/impurity_finder.hpp"
#include "grow/finders/sorted_rows/median_finder.hpp"

namespace stagewise {

template <SplitFinder F>
PresortedSearch<F>::PresortedSearch(const F& finder, const RowPartition& rows,
                                    const FeatureSampler& sampler, int threads, const Bins& bins)
    : FinderSearch<F>(finder, rows, sampler, threads),
      bins_(bins),
      entries_(bins.features()),
      marks_(bins.rows(), 1) {}

// A stable counting sort: ranks are small integers.
template <SplitFinder F>
void PresortedSearch<F>::sort_table(Workers& team) {
  const size_t n = bins_.rows();
  sorted_.resize(bins_.features());
  team.run(bins_.features(), [&](size_t f, int) {
    const uint32_t* const rank = bins_.ranks_of(f);
    std::vector<uint32_t> start(bins_.value_bins(f) + 2, 0);
    for_each_block(n, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) ++start[rank[row] + 1];
    });
    for (size_t r = 1; r < start.size(); ++r) start[r] += start[r - 1];
    sorted_[f] = make_large_array<uint32_t>(n + 1);
    for_each_block(n, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row)
        sorted_[f][start[rank[row]]++] = static_cast<uint32_t>(row);
    });
  });
}

template <SplitFinder F>
void PresortedSearch<F>::list_rows(Workers& team) {
  if (sorted_.empty()) sort_table(team);
  std::fill(marks_.begin(), marks_.end(), this->rows_.bagged() ? 0 : 1);
  if (this->rows_.bagged())
    for (const uint32_t row : this->rows_.bag()) marks_[row] = 1;
  const auto& features = this->sampler_.features();
  team.run(features.size(), [&](size_t i, int) { list_bag(features[i]); });
}

template <SplitFinder F>
void PresortedSearch<F>::start_tree(Workers& team, Leaf* root) {
  list_rows(team);
  search_again(team, root);
}

template <SplitFinder F>
void PresortedSearch<F>::list_bag(size_t feature) {
  const size_t n = bins_.rows();
  if (!entries_[feature]) entries_[feature] = make_large_array<SortedRow>(n + 1);
  SortedRow* out = entries_[feature].get();
  const uint32_t* const rank = bins_.ranks_of(feature);
  for_each_block(n, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const uint32_t row = sorted_[feature][i];
      *out = {row, rank[row]};
      out += marks_[row];
    }
  });
}

// Left rows to the front, right rows behind them, each side in order.
template <SplitFinder F>
void PresortedSearch<F>::divide(const Leaf& parent, size_t feature, Workspace<F>* workspace) {
  SortedRow* const own = entries_[feature].get() + parent.begin;
  const size_t n = parent.rows();
  if (workspace->aside.size() < n) workspace->aside.resize(n);
  SortedRow* const aside = workspace->aside.data();
  size_t l = 0, r = 0;
  for (size_t i = 0; i < n; ++i) {
    const SortedRow entry = own[i];
    const size_t right = marks_[entry.row];
    own[l] = entry;
    aside[r] = entry;
    l += 1 - right;
    r += right;
  }
  std::memcpy(own + l, aside, r * sizeof(SortedRow));
}

template <SplitFinder F>
void PresortedSearch<F>::search_children(Workers& team, size_t worker, Leaf* parent) {
  Leaf* const both[2] = {parent->left, parent->right};
  Workspace<F>& workspace = this->workspaces_[worker];
  Scan* nodes[2] = {};
  for (size_t i = 0; i < 2; ++i) {
    if (!this->finder_.splittable(*both[i])) continue;
    nodes[i] = &workspace.nodes[i];
    this->begin(*both[i], nodes[i]);
  }
  if (nodes[0] == nullptr && nodes[1] == nullptr) return;
  for (size_t i = 0; i < 2; ++i)
    for (size_t k = 0; k < both[i]->rows(); ++k)
      marks_[this->rows_.list_of(*both[i])[k]] = static_cast<uint8_t>(i);
  const auto& features = this->sampler_.features();
  this->run_in_workspaces(team, worker, features.size(), work(*parent),
                          [&](size_t position, Workspace<F>* own) {
                            divide(*parent, features[position], own);
                            for (Scan* node : nodes)
                              if (node != nullptr && node->allows(position))
                                scan(node, position, &own->scratch);
                          });
  for (size_t i = 0; i < 2; ++i)
    if (nodes[i] != nullptr) choose(&workspace, nodes[i], both[i]);
}

template <SplitFinder F>
void PresortedSearch<F>::choose(Workspace<F>* workspace, Scan* node, Leaf* leaf) const {
  this->choose_split(leaf, node, &workspace->scratch, [&] {
    for (size_t position = 0; position < this->sampler_.features().size(); ++position)
      if (node->allows(position)) scan(node, position, &workspace->scratch);
  });
}

template <SplitFinder F>
void PresortedSearch<F>::search_again(Workers& team, Leaf* leaf) {
  if (!this->finder_.splittable(*leaf)) return;
  Workspace<F>& workspace = this->workspaces_[0];
  Scan* const node = &workspace.nodes[0];
  this->begin(*leaf, node);
  this->run_in_workspaces(team, 0, this->sampler_.features().size(), work(*leaf),
                          [&](size_t position, Workspace<F>* own) {
                            if (node->allows(position)) scan(node, position, &own->scratch);
                          });
  choose(&workspace, node, leaf);
}

template class PresortedSearch<GradientFinder>;
template class PresortedSearch<ClassFinder>;
template class PresortedSearch<MedianFinder>;
template class PresortedSearch<ImpurityFinder>;

}  // namespace stagewise

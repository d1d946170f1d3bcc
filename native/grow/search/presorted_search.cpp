#include "grow/search/presorted_search.hpp"

#include <algorithm>
#include <cstring>

#include "core/interrupt.hpp"

namespace stagewise {
namespace {

constexpr size_t kParallelRows = 4096;  // times features; below, the caller is faster alone

// body(i, workspace) for all i, by the team, or by the caller in its own workspace.
template <class Body>
void run_in_workspaces(Workers& team, std::vector<Workspace>& workspaces, Workspace* own, size_t n,
                       size_t work, Body&& body) {
  if (work < kParallelRows) {
    for (size_t i = 0; i < n; ++i) body(i, own);
  } else if (team.threads() == 1) {
    team.run(n, [&](size_t i, int) { body(i, own); });
  } else {
    team.run(n, [&](size_t i, int worker) { body(i, &workspaces[static_cast<size_t>(worker)]); });
  }
}

}  // namespace

PresortedSearch::PresortedSearch(const Finder& finder, const RowPartition& rows,
                                 const FeatureSampler& sampler, std::vector<Workspace>& workspaces,
                                 const Bins& bins)
    : NodeSearch(finder, rows, sampler, workspaces),
      bins_(bins),
      entries_(bins.features()),
      marks_(bins.rows(), 1) {}

// A stable counting sort: ranks are small integers.
void PresortedSearch::sort_rows(Workers& team) {
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

void PresortedSearch::start_tree(Workers& team) {
  if (sorted_.empty()) sort_rows(team);
  std::fill(marks_.begin(), marks_.end(), rows_.bagged() ? 0 : 1);
  if (rows_.bagged())
    for (const uint32_t row : rows_.bag()) marks_[row] = 1;
  const auto& features = sampler_.features();
  team.run(features.size(), [&](size_t i, int) { list_bag(features[i]); });
}

void PresortedSearch::list_bag(size_t feature) {
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
void PresortedSearch::divide(const Leaf& parent, size_t feature, Workspace* workspace) {
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

void PresortedSearch::scan(NodeScan* search, size_t position, Workspace* workspace) const {
  const Leaf& leaf = *search->leaf;
  finder_.scan_sorted(search, position, rows_of(leaf, sampler_.features()[position]),
                      workspace->scratch.get());
}

void PresortedSearch::children(Workers& team, Workspace* workspace, Leaf* parent) {
  Leaf* const both[2] = {parent->left, parent->right};
  NodeScan* searches[2] = {};
  for (size_t i = 0; i < 2; ++i) {
    if (!finder_.splittable(*both[i])) continue;
    searches[i] = workspace->scans[i].get();
    begin(*both[i], searches[i]);
  }
  if (searches[0] == nullptr && searches[1] == nullptr) return;
  for (size_t i = 0; i < 2; ++i)
    for (size_t k = 0; k < both[i]->rows(); ++k)
      marks_[rows_.list_of(*both[i])[k]] = static_cast<uint8_t>(i);
  const size_t n = sampler_.features().size();
  run_in_workspaces(team, workspaces_, workspace, n, work(*parent),
                    [&](size_t position, Workspace* own) {
                      divide(*parent, sampler_.features()[position], own);
                      for (NodeScan* search : searches)
                        if (search != nullptr && search->allows(position))
                          scan(search, position, own);
                    });
  for (size_t i = 0; i < 2; ++i)
    if (searches[i] != nullptr) choose(workspace, searches[i], both[i]);
}

void PresortedSearch::choose(Workspace* workspace, NodeScan* search, Leaf* leaf) const {
  choose_split(leaf, search, workspace->scratch.get(), [&] {
    for (size_t position = 0; position < sampler_.features().size(); ++position)
      if (search->allows(position)) scan(search, position, workspace);
  });
}

void PresortedSearch::again(Workers& team, Leaf* leaf) {
  if (!finder_.splittable(*leaf)) return;
  NodeScan* const search = workspaces_[0].scans[0].get();
  begin(*leaf, search);
  run_in_workspaces(team, workspaces_, workspaces_.data(), sampler_.features().size(), work(*leaf),
                    [&](size_t position, Workspace* own) {
                      if (search->allows(position)) scan(search, position, own);
                    });
  choose(workspaces_.data(), search, leaf);
}

}  // namespace stagewise

#include "grow/search/presorted_search.hpp"

#include <algorithm>
#include <cstring>

#include "core/interrupt.hpp"

namespace stagewise {
namespace {

constexpr size_t kParallelRows = 4096;  // times features; below, the caller is faster alone

// body(i, desk) for all i, by the team or by whoever has the desk.
template <class Body>
void run_at_desks(Workers& team, std::vector<Desk>& desks, Desk* own, size_t n, size_t work,
                  Body&& body) {
  if (work < kParallelRows) {
    for (size_t i = 0; i < n; ++i) body(i, own);
  } else if (team.threads() == 1) {
    team.run(n, [&](size_t i, int) { body(i, own); });
  } else {
    team.run(n, [&](size_t i, int worker) { body(i, &desks[static_cast<size_t>(worker)]); });
  }
}

}  // namespace

SortedSearch::SortedSearch(const Finder& finder, const RowLists& rows, const FeatureChoice& choice,
                           std::vector<Desk>& desks, const Bins& bins)
    : NodeSearch(finder, rows, choice, desks),
      bins_(bins),
      entries_(bins.features()),
      marks_(bins.rows(), 1) {}

// By counting: ranks are small integers. Rows of equal values stay in their order.
void SortedSearch::sort_rows(Workers& team) {
  const size_t n = bins_.rows();
  sorted_.resize(bins_.features());
  team.run(bins_.features(), [&](size_t f, int) {
    const uint32_t* const rank = bins_.ranks_of(f);
    std::vector<uint32_t> start(bins_.value_bins(f) + 2, 0);
    in_parts(n, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) ++start[rank[row] + 1];
    });
    for (size_t r = 1; r < start.size(); ++r) start[r] += start[r - 1];
    sorted_[f] = make_large_array<uint32_t>(n + 1);
    in_parts(n, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row)
        sorted_[f][start[rank[row]]++] = static_cast<uint32_t>(row);
    });
  });
}

void SortedSearch::start_tree(Workers& team) {
  if (sorted_.empty()) sort_rows(team);
  std::fill(marks_.begin(), marks_.end(), rows_.bagged() ? 0 : 1);
  if (rows_.bagged())
    for (const uint32_t row : rows_.bag()) marks_[row] = 1;
  const auto& features = choice_.features();
  team.run(features.size(), [&](size_t i, int) { list_bag(features[i]); });
}

void SortedSearch::list_bag(size_t feature) {
  const size_t n = bins_.rows();
  if (!entries_[feature]) entries_[feature] = make_large_array<SortedRow>(n + 1);
  SortedRow* out = entries_[feature].get();
  const uint32_t* const rank = bins_.ranks_of(feature);
  in_parts(n, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const uint32_t row = sorted_[feature][i];
      *out = {row, rank[row]};
      out += marks_[row];
    }
  });
}

// Left rows to the front, right rows behind them, each side in order.
void SortedSearch::divide(const Leaf& parent, size_t feature, Desk* desk) {
  SortedRow* const own = entries_[feature].get() + parent.begin;
  const size_t n = parent.rows();
  if (desk->aside.size() < n) desk->aside.resize(n);
  SortedRow* const aside = desk->aside.data();
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

void SortedSearch::scan(Finder::Search* search, size_t position, Desk* desk) const {
  const Leaf& leaf = *search->leaf;
  finder_.scan_sorted(search, position, rows_of(leaf, choice_.features()[position]),
                      &desk->scratch);
}

void SortedSearch::children(Workers& team, Desk* desk, Leaf* parent) {
  Leaf* const both[2] = {parent->left, parent->right};
  Finder::Search* searches[2] = {};
  for (size_t i = 0; i < 2; ++i) {
    if (!finder_.splittable(*both[i])) continue;
    searches[i] = &desk->searches[i];
    begin(*both[i], searches[i]);
  }
  if (searches[0] == nullptr && searches[1] == nullptr) return;
  for (size_t i = 0; i < 2; ++i)
    for (size_t k = 0; k < both[i]->rows(); ++k)
      marks_[rows_.list_of(*both[i])[k]] = static_cast<uint8_t>(i);
  const size_t n = choice_.features().size();
  run_at_desks(team, desks_, desk, n, work(*parent), [&](size_t position, Desk* own) {
    divide(*parent, choice_.features()[position], own);
    for (Finder::Search* search : searches)
      if (search != nullptr && search->allows(position)) scan(search, position, own);
  });
  for (size_t i = 0; i < 2; ++i)
    if (searches[i] != nullptr) choose(desk, searches[i], both[i]);
}

void SortedSearch::choose(Desk* desk, Finder::Search* search, Leaf* leaf) const {
  settle(leaf, search, &desk->scratch, [&] {
    for (size_t position = 0; position < choice_.features().size(); ++position)
      if (search->allows(position)) scan(search, position, desk);
  });
}

void SortedSearch::again(Workers& team, Leaf* leaf) {
  if (!finder_.splittable(*leaf)) return;
  Finder::Search* const search = &desks_[0].searches[0];
  begin(*leaf, search);
  run_at_desks(team, desks_, desks_.data(), choice_.features().size(), work(*leaf),
               [&](size_t position, Desk* own) {
                 if (search->allows(position)) scan(search, position, own);
               });
  choose(desks_.data(), search, leaf);
}

}  // namespace stagewise

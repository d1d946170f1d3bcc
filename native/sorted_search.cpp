#include "sorted_search.hpp"

#include <algorithm>
#include <cstring>

namespace stagewise {
namespace {

constexpr size_t kParallelRows = 4096;  // times features; below, the caller is faster alone

// body(i, desk) for all i, by the team or by whoever has the desk.
template <class Body>
void run_at_desks(Workers& team, std::vector<Desk>& desks, Desk* own, size_t n, size_t work,
                  Body&& body) {
  if (team.threads() == 1 || work < kParallelRows) {
    for (size_t i = 0; i < n; ++i) body(i, own);
  } else {
    team.run(n, [&](size_t i, int worker) { body(i, &desks[static_cast<size_t>(worker)]); });
  }
}

}  // namespace

SortedSearch::SortedSearch(const SplitFinder& finder, const RowLists& rows,
                           const FeatureChoice& choice, std::vector<Desk>& desks, const Bins& bins,
                           const RowWeights& weights, const Proposal& proposal)
    : NodeSearch(finder, rows, choice, desks),
      splits_(finder),
      bins_(bins),
      weights_(weights),
      proposal_(proposal),
      entries_(bins.features()),
      proposed_(bins.features()),
      marks_(bins.rows(), 1) {}

// By counting: ranks are small integers. Rows of equal values stay in their order.
void SortedSearch::sort_rows(Workers& team) {
  const size_t n = bins_.rows();
  sorted_.resize(bins_.features());
  team.run(bins_.features(), [&](size_t f, int) {
    const uint32_t* const rank = bins_.ranks_of(f);
    std::vector<uint32_t> start(bins_.value_bins(f) + 2, 0);
    for (size_t row = 0; row < n; ++row) ++start[rank[row] + 1];
    for (size_t r = 1; r < start.size(); ++r) start[r] += start[r - 1];
    sorted_[f] = make_large_array<uint32_t>(n + 1);
    for (size_t row = 0; row < n; ++row)
      sorted_[f][start[rank[row]]++] = static_cast<uint32_t>(row);
  });
}

void SortedSearch::start_tree(Workers& team) {
  gradients_ = &splits_.gradients();
  if (sorted_.empty()) sort_rows(team);
  std::fill(marks_.begin(), marks_.end(), rows_.bagged() ? 0 : 1);
  if (rows_.bagged())
    for (const uint32_t row : rows_.bag()) marks_[row] = 1;
  const auto& features = choice_.features();
  team.run(features.size(), [&](size_t i, int) {
    list_bag(features[i]);
    if (proposal_.kind == Proposal::Kind::global) propose(features[i]);
  });
}

void SortedSearch::list_bag(size_t feature) {
  const size_t n = bins_.rows();
  if (!entries_[feature]) entries_[feature] = make_large_array<SortedRow>(n + 1);
  SortedRow* out = entries_[feature].get();
  const uint32_t* const rank = bins_.ranks_of(feature);
  for (size_t i = 0; i < n; ++i) {
    const uint32_t row = sorted_[feature][i];
    *out = {row, rank[row]};
    out += marks_[row];
  }
}

// Cuts where the hessians of the whole tree pass multiples of epsilon of their sum.
void SortedSearch::propose(size_t feature) {
  const SortedRow* const rows = entries_[feature].get();
  const uint32_t missing = bins_.value_bins(feature);
  const size_t n = rows_.size();
  double all = 0.0;
  for (size_t i = 0; i < n; ++i)
    all += static_cast<double>(word_hessian(gradients_->slots()[rows[i].row].word));
  const double step = proposal_.epsilon * all;
  auto& below = proposed_[feature];
  below.assign(missing + 1, 0);
  double sum = 0.0, next = step;
  uint32_t cuts = 0, rank = 0;
  for (size_t i = 0; i < n && rows[i].rank < missing; ++i) {
    for (; rank <= rows[i].rank; ++rank) below[rank] = cuts;
    sum += static_cast<double>(word_hessian(gradients_->slots()[rows[i].row].word));
    if (sum >= next && i + 1 < n && rows[i + 1].rank != rows[i].rank) {
      ++cuts;
      while (next <= sum) next += step;
    }
  }
  for (; rank < missing; ++rank) below[rank] = cuts;
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

// The sums of a leaf's rows, one for each run of values up to where `ends` says so.
template <class Ends>
BinSums SortedSearch::collect(const Leaf& leaf, uint32_t feature, SplitFinder::Scratch* scratch,
                              Ends ends) const {
  const SortedRow* const rows = entries_[feature].get() + leaf.begin;
  const uint32_t missing = bins_.value_bins(feature);
  const size_t n = leaf.rows();
  scratch->reserve_rows(n);
  int64_t* const words = scratch->packed_words.data();
  int64_t* const counts = scratch->packed_counts.data();
  uint32_t* const codes = scratch->packed_codes.data();
  uint32_t* const firsts = scratch->packed_firsts.data();
  size_t present = n;
  BinSums sums;
  while (present > 0 && rows[present - 1].rank == missing) {
    const uint32_t row = rows[--present].row;
    sums.missing_word += gradients_->slots()[row].word;
    sums.missing_count += weights_[row];
  }
  size_t k = 0;
  int64_t word = 0, count = 0;
  bool begins = true;
  for (size_t i = 0; i < present; ++i) {
    const SortedRow entry = rows[i];
    word += gradients_->slots()[entry.row].word;
    count += weights_[entry.row];
    words[k] = word;
    counts[k] = count;
    codes[k] = entry.rank;
    firsts[k] = begins ? entry.rank : firsts[k];
    const bool end = i + 1 == present || ends(entry.rank, rows[i + 1].rank, word);
    k += end ? 1 : 0;
    word = end ? 0 : word;
    count = end ? 0 : count;
    begins = end;
  }
  sums.feature = feature;
  sums.words = words;
  sums.counts = splits_.counts_needed() ? counts : nullptr;
  sums.codes = codes;
  sums.first_codes = firsts;
  sums.bins = k;
  return sums;
}

void SortedSearch::scan(SplitFinder::Search* search, size_t position, Desk* desk) const {
  const uint32_t feature = choice_.features()[position];
  const Leaf& leaf = *search->leaf;
  BinSums sums;
  if (proposal_.kind == Proposal::Kind::all || bins_.coding(feature).categorical()) {
    sums = collect(leaf, feature, &desk->scratch,
                   [](uint32_t rank, uint32_t next, int64_t) { return rank != next; });
  } else if (proposal_.kind == Proposal::Kind::global) {
    const uint32_t* const below = proposed_[feature].data();
    sums = collect(leaf, feature, &desk->scratch, [=](uint32_t rank, uint32_t next, int64_t) {
      return below[rank] != below[next];
    });
  } else {
    const double step = proposal_.epsilon * static_cast<double>(word_hessian(leaf.word));
    double sum = 0.0, target = step;  // of the runs that ended, and where the next one may
    sums = collect(leaf, feature, &desk->scratch, [&](uint32_t rank, uint32_t next, int64_t word) {
      const double upto = sum + static_cast<double>(word_hessian(word));
      if (rank == next || upto < target) return false;
      sum = upto;
      while (target <= sum) target += step;
      return true;
    });
  }
  Finder::Found found = splits_.scan(*search, sums);
  found.exact = true;
  search->set(position, found);
}

void SortedSearch::children(Workers& team, Desk* desk, Leaf* parent) {
  Leaf* const both[2] = {parent->left, parent->right};
  SplitFinder::Search* searches[2] = {};
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
    for (SplitFinder::Search* search : searches)
      if (search != nullptr && search->allows(position)) scan(search, position, own);
  });
  for (size_t i = 0; i < 2; ++i)
    if (searches[i] != nullptr) both[i]->split = finder_.settle(searches[i], &desk->scratch);
}

void SortedSearch::again(Workers& team, Leaf* leaf) {
  if (!finder_.splittable(*leaf)) return;
  SplitFinder::Search* const search = &desks_[0].searches[0];
  begin(*leaf, search);
  run_at_desks(team, desks_, desks_.data(), choice_.features().size(), work(*leaf),
               [&](size_t position, Desk* own) {
                 if (search->allows(position)) scan(search, position, own);
               });
  leaf->split = finder_.settle(search, &desks_[0].scratch);
}

}  // namespace stagewise

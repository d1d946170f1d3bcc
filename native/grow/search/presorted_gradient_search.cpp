#include "grow/search/presorted_gradient_search.hpp"

#include <cmath>

namespace stagewise {
namespace {

// The least multiple of a step that is above a sum; a step of 0 proposes every value.
double next_multiple(double step, double sum) {
  return step > 0.0 ? step * (std::floor(sum / step) + 1.0) : sum;
}

}  // namespace

RunSearch::RunSearch(const SplitFinder& finder, const RowLists& rows, const FeatureChoice& choice,
                     std::vector<Desk>& desks, const Bins& bins, const RowWeights& weights,
                     const Proposal& proposal)
    : SortedSearch(finder, rows, choice, desks, bins),
      splits_(finder),
      weights_(weights),
      proposal_(proposal),
      proposed_(bins.features()) {}

void RunSearch::start_tree(Workers& team) {
  gradients_ = &splits_.gradients();
  SortedSearch::start_tree(team);
  if (proposal_.kind != Proposal::Kind::global) return;
  const auto& features = choice_.features();
  team.run(features.size(), [&](size_t i, int) { propose(features[i]); });
}

// Cuts where the hessians of the whole tree pass multiples of epsilon of their sum.
void RunSearch::propose(size_t feature) {
  const SortedRow* const rows = rows_of_tree(feature);
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
      next = next_multiple(step, sum);
    }
  }
  for (; rank < missing; ++rank) below[rank] = cuts;
}

// The sums of a leaf's rows, one for each run of values up to where `ends` says so.
template <class Ends>
BinSums RunSearch::collect(const Leaf& leaf, uint32_t feature, Finder::Scratch* scratch,
                           Ends ends) const {
  const SortedRow* const rows = rows_of(leaf, feature);
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

void RunSearch::scan(Finder::Search* search, size_t position, Desk* desk) const {
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
      target = next_multiple(step, sum);
      return true;
    });
  }
  Finder::Found found = splits_.scan(*search, sums);
  found.exact = true;
  search->set(position, found);
}

}  // namespace stagewise

#include "grow/search/presorted_gradient_search.hpp"

#include <cmath>

namespace stagewise {
namespace {

// The smallest multiple of a step above a sum; with a step of 0 every value is proposed.
double next_multiple(double step, double sum) {
  return step > 0.0 ? step * (std::floor(sum / step) + 1.0) : sum;
}

}  // namespace

PresortedGradientSearch::PresortedGradientSearch(const GradientFinder& finder,
                                                 const RowPartition& rows,
                                                 const FeatureSampler& sampler, int threads,
                                                 const Bins& bins, const RowWeights& weights,
                                                 const Proposal& proposal)
    : PresortedSearch(finder, rows, sampler, threads, bins),
      weights_(weights),
      proposal_(proposal),
      proposed_(bins.features()) {}

void PresortedGradientSearch::start_tree(Workers& team, Leaf* root) {
  gradients_ = &finder_.gradients();
  list_rows(team);
  if (proposal_.kind == Proposal::Kind::global) {
    const auto& features = sampler_.features();
    team.run(features.size(), [&](size_t i, int) { propose(features[i]); });
  }
  search_again(team, root);
}

// Cuts where the hessians of the whole tree pass multiples of sketch_eps times their sum.
void PresortedGradientSearch::propose(size_t feature) {
  const SortedRow* const rows = rows_of_tree(feature);
  const uint32_t missing = bins_.value_bins(feature);
  const size_t n = rows_.size();
  double all = 0.0;
  for (size_t i = 0; i < n; ++i)
    all += static_cast<double>(packed_hessian(gradients_->slots()[rows[i].row].packed));
  const double step = proposal_.sketch_eps * all;
  auto& below = proposed_[feature];
  below.assign(missing + 1, 0);
  double sum = 0.0, next = step;
  uint32_t cuts = 0, rank = 0;
  for (size_t i = 0; i < n && rows[i].rank < missing; ++i) {
    for (; rank <= rows[i].rank; ++rank) below[rank] = cuts;
    sum += static_cast<double>(packed_hessian(gradients_->slots()[rows[i].row].packed));
    if (sum >= next && i + 1 < n && rows[i + 1].rank != rows[i].rank) {
      ++cuts;
      next = next_multiple(step, sum);
    }
  }
  for (; rank < missing; ++rank) below[rank] = cuts;
}

// The sums of a leaf's rows, one for each run of values which ends where ends() is true.
template <class Ends>
BinSums PresortedGradientSearch::collect(const Leaf& leaf, uint32_t feature, Scratch* scratch,
                                         Ends ends) const {
  const SortedRow* const rows = rows_of(leaf, feature);
  const uint32_t missing = bins_.value_bins(feature);
  const size_t n = leaf.rows();
  scratch->reserve_rows(n);
  int64_t* const packed_sums = scratch->listed_sums.data();
  int64_t* const counts = scratch->listed_counts.data();
  uint32_t* const codes = scratch->listed_codes.data();
  uint32_t* const firsts = scratch->listed_first_codes.data();
  size_t present = n;
  BinSums sums;
  while (present > 0 && rows[present - 1].rank == missing) {
    const uint32_t row = rows[--present].row;
    sums.missing_sum += gradients_->slots()[row].packed;
    sums.missing_count += weights_[row];
  }
  size_t k = 0;
  int64_t packed_sum = 0, count = 0;
  bool begins = true;
  for (size_t i = 0; i < present; ++i) {
    const SortedRow entry = rows[i];
    packed_sum += gradients_->slots()[entry.row].packed;
    count += weights_[entry.row];
    packed_sums[k] = packed_sum;
    counts[k] = count;
    codes[k] = entry.rank;
    firsts[k] = begins ? entry.rank : firsts[k];
    const bool end = i + 1 == present || ends(entry.rank, rows[i + 1].rank, packed_sum);
    k += end ? 1 : 0;
    packed_sum = end ? 0 : packed_sum;
    count = end ? 0 : count;
    begins = end;
  }
  sums.feature = feature;
  sums.packed_sums = packed_sums;
  sums.counts = finder_.counts_needed() ? counts : nullptr;
  sums.codes = codes;
  sums.first_codes = firsts;
  sums.bins = k;
  return sums;
}

void PresortedGradientSearch::scan(Scan* node, size_t position, Scratch* scratch) const {
  const uint32_t feature = sampler_.features()[position];
  const Leaf& leaf = *node->leaf;
  BinSums sums;
  if (proposal_.kind == Proposal::Kind::all || bins_.coding(feature).categorical()) {
    sums = collect(leaf, feature, scratch,
                   [](uint32_t rank, uint32_t next, int64_t) { return rank != next; });
  } else if (proposal_.kind == Proposal::Kind::global) {
    const uint32_t* const below = proposed_[feature].data();
    sums = collect(leaf, feature, scratch, [=](uint32_t rank, uint32_t next, int64_t) {
      return below[rank] != below[next];
    });
  } else {
    const double step = proposal_.sketch_eps * static_cast<double>(packed_hessian(leaf.packed_sum));
    double sum = 0.0, target = step;  // of the runs that ended, and where the next one may
    sums = collect(leaf, feature, scratch, [&](uint32_t rank, uint32_t next, int64_t packed_sum) {
      const double upto = sum + static_cast<double>(packed_hessian(packed_sum));
      if (rank == next || upto < target) return false;
      sum = upto;
      target = next_multiple(step, sum);
      return true;
    });
  }
  PackedCandidate candidate = finder_.scan(*node, sums);
  candidate.exact = true;
  node->set(position, candidate);
}

}  // namespace stagewise

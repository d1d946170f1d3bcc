#include "histogram_search.hpp"

#include <algorithm>

namespace stagewise {
namespace {

constexpr size_t kParallelUpdates = 60000;  // of a histogram; below, the caller is faster alone
constexpr size_t kParallelBins = 4096;      // of a search, likewise
constexpr size_t kGroupBlock = 64;  // groups whose histograms stay in the second-level cache

}  // namespace

void HistogramSearch::start_tree(Workers&) { histograms_.use_features(choice_.features()); }

void HistogramSearch::root(Workers& team, Leaf* root) {
  Leaf *built = nullptr, *few[2] = {root, nullptr};
  if (root->rows() > finder_.few_rows() && finder_.splittable(*root)) {
    root->hist = histograms_.acquire();
    std::swap(built, few[0]);
  }
  search(team, desks_.data(), built, nullptr, few);
}

void HistogramSearch::before(Leaf* parent) {
  if (parent->hist >= 0) parent->spare = histograms_.acquire();
}

void HistogramSearch::children(Workers& team, Desk* desk, Leaf* parent) {
  Leaf* small = parent->left->rows() <= parent->right->rows() ? parent->left : parent->right;
  Leaf* large = small == parent->left ? parent->right : parent->left;
  Leaf *built = nullptr, *rest = nullptr, *few[2] = {small, large};
  if (parent->hist >= 0 && large->rows() > finder_.few_rows()) {
    large->hist = parent->hist;
    rest = large;
    few[1] = nullptr;
    if (!finder_.splittable(*large) && !finder_.splittable(*small)) return;
    if (small->rows() * 4 <= finder_.few_rows()) {
      histograms_.remove(large->hist, rows_.of(*small), finder_.words());
    } else {
      small->hist = parent->spare;
      built = small;
      few[0] = nullptr;
    }
  }
  search(team, desk, built, rest, few);
}

void HistogramSearch::after(const Leaf& parent) {
  for (Leaf* child : {parent.left, parent.right})
    if (!child->split.found() || histograms_.crowded())
      child->hist = -1;  // nobody will look at it again, or its children do without
  for (const int slot : {parent.hist, parent.spare})
    if (slot >= 0 && parent.left->hist != slot && parent.right->hist != slot)
      histograms_.release(slot);
}

void HistogramSearch::again(Workers& team, Leaf* leaf) {
  Leaf* few[2] = {leaf->hist >= 0 ? nullptr : leaf, nullptr};
  search(team, desks_.data(), nullptr, leaf->hist >= 0 ? leaf : nullptr, few);
}

// The best splits of up to two leaves: one whose histogram is built from its rows, its sibling,
// whose histogram is still its parent's, or leaves of few rows.
void HistogramSearch::search(Workers& team, Desk* desk, Leaf* built, Leaf* rest, Leaf* few[2],
                             bool scan) {
  Leaf* leaves[2] = {built != nullptr ? built : few[0], rest != nullptr ? rest : few[1]};
  Finder::Search* of_groups[2] = {};
  Finder::Search* of_rows[2] = {};
  size_t groups = 0, few_rows = 0;
  for (size_t i = 0; i < 2; ++i) {
    if (!scan || leaves[i] == nullptr || !finder_.splittable(*leaves[i])) continue;
    Finder::Search& search = desk->searches[i];
    begin(*leaves[i], &search);
    (leaves[i]->hist >= 0 ? of_groups[groups++] : of_rows[few_rows++]) = &search;
  }

  // Of vectors the histograms look after the cache themselves.
  const size_t most = histograms_.lanes() == 1 ? kGroupBlock : histograms_.groups();
  const bool together = histograms_.groups() <= most;  // all groups of a row at once
  Histograms::Parts parts;
  const bool parted = built != nullptr && together && team.threads() > 1 &&
                      built->rows() * histograms_.groups() >= kParallelUpdates;
  if (parted)
    parts = histograms_.add_in_parts(team, built->hist, rows_.of(*built), finder_.words());

  const bool alone = team.threads() == 1 || histograms_.size() < kParallelBins;
  const auto pieces = static_cast<size_t>(2 * team.threads());
  const size_t block = alone ? most : std::min(most, (histograms_.groups() + pieces - 1) / pieces);
  const size_t blocks = groups > 0 || built != nullptr || rest != nullptr
                            ? (histograms_.groups() + block - 1) / block
                            : 0;
  const auto work = [&](size_t task, int worker) {
    if (task >= blocks) {
      Desk* const own = team.threads() == 1 ? desk : &desks_[static_cast<size_t>(worker)];
      finder_.scan_few_rows(of_rows[task - blocks], &own->scratch);
      return;
    }
    const size_t first = task * block, last = std::min(histograms_.groups(), first + block);
    if (built != nullptr && !parted)
      histograms_.add(built->hist, first, last, rows_.of(*built), finder_.words());
    for (size_t group = first; group < last; ++group) {
      if (built != nullptr) {
        histograms_.merge(built->hist, group, parts);
        if (rest != nullptr) histograms_.subtract(rest->hist, built->hist, group);
        histograms_.finish(built->hist, group);
      }
      if (rest != nullptr) histograms_.finish(rest->hist, group);
      for (size_t i = 0; i < groups; ++i) finder_.scan_group(of_groups[i], group);
    }
  };
  if (alone && blocks <= 1) {
    for (size_t task = 0; task < blocks + few_rows; ++task) work(task, 0);
  } else {
    team.run(blocks + few_rows, work);
  }
  for (size_t i = 0; scan && i < 2; ++i)
    if (leaves[i] != nullptr && finder_.splittable(*leaves[i]))
      leaves[i]->split = finder_.settle(&desk->searches[i], &desk->scratch);
}

}  // namespace stagewise

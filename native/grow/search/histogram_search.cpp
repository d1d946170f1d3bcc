#include "grow/search/histogram_search.hpp"

#include <algorithm>

namespace stagewise {
namespace {

constexpr size_t kParallelUpdates = 60000;  // of a histogram; below, the caller is faster alone
constexpr size_t kParallelBins = 4096;      // of a search, likewise
constexpr size_t kGroupBlock = 64;  // groups whose histograms stay in the second-level cache

}  // namespace

void HistogramSearch::start_tree(Workers&) { histograms_.use_features(sampler_.features()); }

size_t HistogramSearch::work(const Leaf& leaf) const {
  if (!histograms_.sparse()) return leaf.rows() * histograms_.groups();
  const double updates = histograms_.cells_per_row() * static_cast<double>(leaf.rows());
  return static_cast<size_t>(updates) + (leaf.hist >= 0 ? histograms_.size() : 0);
}

void HistogramSearch::root(Workers& team, Leaf* root) {
  Job job;
  if (root->rows() > finder_.few_rows() && finder_.splittable(*root)) {
    root->hist = histograms_.acquire();
    job.built = root;
  } else {
    job.few[0] = root;
  }
  search(team, workspaces_.data(), job);
}

void HistogramSearch::before(Leaf* parent) {
  if (parent->hist >= 0) parent->spare = histograms_.acquire();
}

void HistogramSearch::children(Workers& team, Workspace* workspace, Leaf* parent) {
  Leaf* small = parent->left->rows() <= parent->right->rows() ? parent->left : parent->right;
  Leaf* large = small == parent->left ? parent->right : parent->left;
  Job job;
  if (parent->hist >= 0 && large->rows() > finder_.few_rows()) {
    large->hist = parent->hist;
    job.rest = large;
    if (!finder_.splittable(*large) && !finder_.splittable(*small)) return;
    if (small->rows() <= histograms_.few_to_remove(finder_.few_rows())) {
      job.few[0] = small;
      job.remove_few = true;
    } else {
      small->hist = parent->spare;
      job.built = small;
    }
  } else {
    job.few[0] = small;
    job.few[1] = large;
  }
  search(team, workspace, job);
}

void HistogramSearch::after(const Leaf& parent) {
  for (Leaf* child : {parent.left, parent.right})
    if (!child->split.found() || histograms_.crowded())
      child->hist = -1;  // not needed again, or its children are searched without one
  for (const int slot : {parent.hist, parent.spare})
    if (slot >= 0 && parent.left->hist != slot && parent.right->hist != slot)
      histograms_.release(slot);
}

void HistogramSearch::again(Workers& team, Leaf* leaf) {
  Job job;
  (leaf->hist >= 0 ? job.rest : job.few[0]) = leaf;
  search(team, workspaces_.data(), job);
}

// The best splits of the leaves.
void HistogramSearch::search(Workers& team, Workspace* workspace, const Job& job, bool scan) {
  Leaf* leaves[2] = {job.built != nullptr ? job.built : job.few[0],
                     job.rest != nullptr ? job.rest : job.few[1]};
  Searches searches;
  for (size_t i = 0; i < 2; ++i) {
    if (!scan || leaves[i] == nullptr || !finder_.splittable(*leaves[i])) continue;
    NodeScan& search = *workspace->scans[i];
    begin(*leaves[i], &search);
    if (leaves[i]->hist >= 0) {
      searches.of_sums[searches.n_sums++] = &search;
    } else {
      searches.of_rows[searches.n_rows++] = &search;
    }
  }
  if (histograms_.sparse()) {
    search_blocks(team, workspace, job, searches);
  } else {
    search_groups(team, workspace, job, searches);
  }
  for (size_t i = 0; scan && i < 2; ++i)
    if (leaves[i] != nullptr && finder_.splittable(*leaves[i])) {
      NodeScan* const search = workspace->scans[i].get();
      choose_split(leaves[i], search, workspace->scratch.get(), [&] { rescan(workspace, search); });
    }
}

// Scans the other features of a leaf; if it has a histogram, it is still valid.
void HistogramSearch::rescan(Workspace* workspace, NodeScan* search) const {
  const bool sums = search->leaf->hist >= 0;
  if (histograms_.sparse()) {
    for (size_t block = 0; block < histograms_.blocks(); ++block)
      sums ? finder_.scan_block(search, block)
           : finder_.scan_few_rows_block(search, block, workspace->scratch.get());
  } else if (sums) {
    for (size_t group = 0; group < histograms_.groups(); ++group) finder_.scan_group(search, group);
  } else {
    finder_.scan_few_rows(search, workspace->scratch.get());
  }
}

void HistogramSearch::search_groups(Workers& team, Workspace* workspace, const Job& job,
                                    const Searches& searches) {
  Leaf *const built = job.built, *const rest = job.rest;
  if (job.remove_few) histograms_.remove(rest->hist, rows_.of(*job.few[0]), finder_.packed_rows());
  // Histograms of vectors are blocked for the cache by Histograms.
  const size_t most = histograms_.lanes() == 1 ? kGroupBlock : histograms_.groups();
  const bool all_at_once = histograms_.groups() <= most;  // all groups of a row at once
  Histograms::Parts parts;
  const bool parted = built != nullptr && all_at_once && team.threads() > 1 &&
                      built->rows() * histograms_.groups() >= kParallelUpdates;
  if (parted)
    parts = histograms_.add_in_parts(team, built->hist, rows_.of(*built), finder_.packed_rows());

  const bool alone = team.threads() == 1 || histograms_.size() < kParallelBins;
  const auto pieces = static_cast<size_t>(2 * team.threads());
  const size_t block = alone ? most : std::min(most, (histograms_.groups() + pieces - 1) / pieces);
  const size_t blocks = searches.n_sums > 0 || built != nullptr || rest != nullptr
                            ? (histograms_.groups() + block - 1) / block
                            : 0;
  const auto work = [&](size_t task, int worker) {
    if (task >= blocks) {
      Workspace* const own =
          team.threads() == 1 ? workspace : &workspaces_[static_cast<size_t>(worker)];
      finder_.scan_few_rows(searches.of_rows[task - blocks], own->scratch.get());
      return;
    }
    const size_t first = task * block, last = std::min(histograms_.groups(), first + block);
    if (built != nullptr && !parted)
      histograms_.add(built->hist, first, last, rows_.of(*built), finder_.packed_rows());
    for (size_t group = first; group < last; ++group) {
      if (built != nullptr) {
        histograms_.merge(built->hist, group, parts);
        if (rest != nullptr) histograms_.subtract(rest->hist, built->hist, group);
        histograms_.finish(built->hist, group);
      }
      if (rest != nullptr) histograms_.finish(rest->hist, group);
      for (size_t i = 0; i < searches.n_sums; ++i) finder_.scan_group(searches.of_sums[i], group);
    }
  };
  if (alone && blocks <= 1) {
    for (size_t task = 0; task < blocks + searches.n_rows; ++task) work(task, 0);
  } else {
    team.run(blocks + searches.n_rows, work);
  }
}

// Of a sparse table: every block goes through all steps while its sums are in the cache.
void HistogramSearch::search_blocks(Workers& team, Workspace* workspace, const Job& job,
                                    const Searches& searches) {
  Leaf *const built = job.built, *const rest = job.rest;
  const RowIndex removed = job.remove_few ? rows_.of(*job.few[0]) : RowIndex{};
  if (built != nullptr)
    histograms_.start_sums(built->hist, rows_.of(*built), finder_.packed_rows());
  if (built != nullptr && rest != nullptr) histograms_.subtract_total(rest->hist, built->hist);
  if (job.remove_few) histograms_.remove_total(rest->hist, removed, finder_.packed_rows());
  team.run(histograms_.blocks(), [&](size_t block, int worker) {
    Workspace* const own =
        team.threads() == 1 ? workspace : &workspaces_[static_cast<size_t>(worker)];
    if (built != nullptr) {
      histograms_.build_block(built->hist, block, rows_.of(*built), finder_.packed_rows());
      if (rest != nullptr) histograms_.subtract_block(rest->hist, built->hist, block);
      histograms_.finish_block(built->hist, block);
    }
    if (job.remove_few)
      histograms_.remove_from_block(rest->hist, block, removed, finder_.packed_rows());
    if (rest != nullptr) histograms_.finish_block(rest->hist, block);
    for (size_t i = 0; i < searches.n_sums; ++i) finder_.scan_block(searches.of_sums[i], block);
    for (size_t i = 0; i < searches.n_rows; ++i)
      finder_.scan_few_rows_block(searches.of_rows[i], block, own->scratch.get());
  });
}

}  // namespace stagewise

#include "grow/search/histogram_search.hpp"

#include <algorithm>

#include "grow/finders/packed_sums/class_finder.hpp"
#include "grow/finders/packed_sums/gradient_finder.hpp"
#include "grow/finders/packed_sums/vector_finder.hpp"

namespace stagewise {
namespace {

constexpr size_t kParallelUpdates = 60000;  // of a histogram; below, the caller is faster alone
constexpr size_t kParallelBins = 4096;      // of a scan, likewise
constexpr size_t kGroupBlock = 64;  // groups whose histograms stay in the second-level cache

}  // namespace

template <ScansHistograms F>
size_t HistogramSearch<F>::work(const Leaf& leaf) const {
  if (!histograms_.sparse()) return leaf.rows() * histograms_.groups();
  const double updates = histograms_.cells_per_row() * static_cast<double>(leaf.rows());
  return static_cast<size_t>(updates) + (leaf.hist >= 0 ? histograms_.size() : 0);
}

template <ScansHistograms F>
void HistogramSearch<F>::start_tree(Workers& team, Leaf* root) {
  histograms_.use_features(this->sampler_.features());
  Job job;
  if (root->rows() > this->finder_.few_rows() && this->finder_.splittable(*root)) {
    root->hist = histograms_.acquire();
    job.built = root;
  } else {
    job.few[0] = root;
  }
  search(team, 0, job);
}

template <ScansHistograms F>
typename HistogramSearch<F>::Job HistogramSearch<F>::job_of_children(Leaf* parent) const {
  const size_t few_rows = this->finder_.few_rows();
  Leaf* small = parent->left->rows() <= parent->right->rows() ? parent->left : parent->right;
  Leaf* large = small == parent->left ? parent->right : parent->left;
  Job job;
  if (parent->hist >= 0 && large->rows() > few_rows) {
    large->hist = parent->hist;
    job.sibling = large;
    if (small->rows() <= histograms_.few_to_remove(few_rows)) {
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
  return job;
}

template <ScansHistograms F>
void HistogramSearch<F>::search_children(Workers& team, size_t worker, Leaf* parent) {
  const Job job = job_of_children(parent);
  if (job.sibling != nullptr && !this->finder_.splittable(*parent->left) &&
      !this->finder_.splittable(*parent->right))
    return;
  search(team, worker, job);
}

template <ScansHistograms F>
void HistogramSearch<F>::search_again(Workers& team, Leaf* leaf) {
  Job job;
  (leaf->hist >= 0 ? job.sibling : job.few[0]) = leaf;
  search(team, 0, job);
}

template <ScansHistograms F>
void HistogramSearch<F>::search(Workers& team, size_t worker, const Job& job) {
  Leaf* leaves[2] = {job.built != nullptr ? job.built : job.few[0],
                     job.sibling != nullptr ? job.sibling : job.few[1]};
  Workspace<F>& workspace = this->workspaces_[worker];
  Scans scans;
  for (size_t i = 0; i < 2; ++i) {
    if (leaves[i] == nullptr || !this->finder_.splittable(*leaves[i])) continue;
    Scan* const node = &workspace.nodes[i];
    this->begin(*leaves[i], node);
    if (leaves[i]->hist >= 0) {
      scans.of_histograms[scans.n_histograms++] = node;
    } else {
      scans.of_few_rows[scans.n_few_rows++] = node;
    }
  }
  compute(team, worker, job, scans);
  for (size_t i = 0; i < 2; ++i)
    if (leaves[i] != nullptr && this->finder_.splittable(*leaves[i])) {
      Scan* const node = &workspace.nodes[i];
      this->choose_split(leaves[i], node, &workspace.scratch, [&] { rescan(&workspace, node); });
    }
}

template <ScansHistograms F>
void HistogramSearch<F>::compute(Workers& team, size_t worker, const Job& job, const Scans& scans) {
  if (histograms_.sparse()) {
    compute_blocks(team, worker, job, scans);
  } else {
    compute_groups(team, worker, job, scans);
  }
}

// Scans the other features of a leaf; if it has a histogram, it is still valid.
template <ScansHistograms F>
void HistogramSearch<F>::rescan(Workspace<F>* workspace, Scan* node) const {
  if (histograms_.sparse()) {
    for (size_t block = 0; block < histograms_.blocks(); ++block)
      scan_block(node, block, workspace);
  } else if (node->leaf->hist >= 0) {
    for (size_t group = 0; group < histograms_.groups(); ++group)
      this->finder_.scan_group(node, group);
  } else {
    this->finder_.scan_few_rows(node, &workspace->scratch);
  }
}

template <ScansHistograms F>
void HistogramSearch<F>::compute_groups(Workers& team, size_t worker, const Job& job,
                                        const Scans& scans) {
  const F& finder = this->finder_;
  if (job.remove_few)
    histograms_.remove_rows(job.sibling->hist, this->rows_.of(*job.few[0]), finder.packed_rows());
  // Histograms of vectors are blocked for the cache by Histograms.
  const size_t most = histograms_.lanes() == 1 ? kGroupBlock : histograms_.groups();
  const bool all_at_once = histograms_.groups() <= most;  // all groups of a row at once
  Histograms::Parts parts;
  const bool in_parts = job.built != nullptr && all_at_once && team.threads() > 1 &&
                        job.built->rows() * histograms_.groups() >= kParallelUpdates;
  if (in_parts)
    parts = histograms_.build_in_parts(team, job.built->hist, this->rows_.of(*job.built),
                                       finder.packed_rows());

  const bool alone = team.threads() == 1 || histograms_.size() < kParallelBins;
  const auto pieces = static_cast<size_t>(2 * team.threads());
  const size_t block = alone ? most : std::min(most, (histograms_.groups() + pieces - 1) / pieces);
  const size_t blocks = scans.n_histograms > 0 || job.built != nullptr || job.sibling != nullptr
                            ? (histograms_.groups() + block - 1) / block
                            : 0;
  const auto run_task = [&](size_t task, int member) {
    if (task >= blocks) {
      finder.scan_few_rows(scans.of_few_rows[task - blocks],
                           &this->workspace_in(team, worker, member)->scratch);
      return;
    }
    const size_t first = task * block, last = std::min(histograms_.groups(), first + block);
    if (job.built != nullptr && !in_parts)
      histograms_.build(job.built->hist, first, last, this->rows_.of(*job.built),
                        finder.packed_rows());
    for (size_t group = first; group < last; ++group) {
      compute_group(job, group, parts);
      for (size_t i = 0; i < scans.n_histograms; ++i)
        finder.scan_group(scans.of_histograms[i], group);
    }
  };
  if (alone && blocks <= 1) {
    for (size_t task = 0; task < blocks + scans.n_few_rows; ++task)
      run_task(task, static_cast<int>(worker));
  } else {
    team.run(blocks + scans.n_few_rows, run_task);
  }
}

template <ScansHistograms F>
void HistogramSearch<F>::compute_group(const Job& job, size_t group,
                                       const Histograms::Parts& parts) {
  if (job.built != nullptr) {
    histograms_.merge(job.built->hist, group, parts);
    histograms_.finish(job.built->hist, group);
    if (job.sibling != nullptr) histograms_.subtract(job.sibling->hist, job.built->hist, group);
  }
}

// Of a sparse table: every block goes through all steps while its sums are in the cache.
template <ScansHistograms F>
void HistogramSearch<F>::compute_blocks(Workers& team, size_t worker, const Job& job,
                                        const Scans& scans) {
  Leaf *const built = job.built, *const sibling = job.sibling;
  const PackedRows packed = this->finder_.packed_rows();
  if (built != nullptr) histograms_.build_total(built->hist, this->rows_.of(*built), packed);
  if (built != nullptr && sibling != nullptr)
    histograms_.subtract_total(sibling->hist, built->hist);
  if (job.remove_few)
    histograms_.remove_from_total(sibling->hist, this->rows_.of(*job.few[0]), packed);
  team.run(histograms_.blocks(), [&](size_t block, int member) {
    Workspace<F>* const own = this->workspace_in(team, worker, member);
    compute_block(job, block);
    for (size_t i = 0; i < scans.n_histograms; ++i) scan_block(scans.of_histograms[i], block, own);
    for (size_t i = 0; i < scans.n_few_rows; ++i) scan_block(scans.of_few_rows[i], block, own);
  });
}

template <ScansHistograms F>
void HistogramSearch<F>::compute_block(const Job& job, size_t block) {
  Leaf *const built = job.built, *const sibling = job.sibling;
  const PackedRows packed = this->finder_.packed_rows();
  if (built != nullptr) {
    histograms_.build_block(built->hist, block, this->rows_.of(*built), packed);
    if (sibling != nullptr) histograms_.subtract_block(sibling->hist, built->hist, block);
    histograms_.finish_block(built->hist, block);
  }
  if (job.remove_few)
    histograms_.remove_from_block(sibling->hist, block, this->rows_.of(*job.few[0]), packed);
  if (sibling != nullptr) histograms_.finish_block(sibling->hist, block);
}

// From the histogram of the node, or if it has none from its rows. A finder without scans of sparse
// rows has a histogram for every node that is scanned.
template <ScansHistograms F>
void HistogramSearch<F>::scan_block(Scan* node, size_t block, Workspace<F>* workspace) const {
  if constexpr (ScansSparseHistograms<F>)
    if (node->leaf->hist >= 0) this->finder_.scan_block(node, block);
  if constexpr (ScansSparseRows<F>)
    if (node->leaf->hist < 0) this->finder_.scan_few_rows_block(node, block, &workspace->scratch);
}

template class HistogramSearch<GradientFinder>;
template class HistogramSearch<ClassFinder>;
template class HistogramSearch<VectorFinder>;

}  // namespace stagewise

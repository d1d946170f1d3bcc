// The best splits of leaves whose histograms are complete. A split that the histogram cannot decide
// needs the exact number of rows by code, from all chunks and processes.
#include <algorithm>

#include "chunks/chunk_grower.hpp"

namespace stagewise {
namespace {

constexpr size_t kCountedAtOnce = 4;  // features of a leaf

}  // namespace

void ChunkGrower::find_splits(const std::vector<Leaf*>& leaves) {
  std::vector<Leaf*> found;
  for (Leaf* leaf : leaves)
    if (finder_.splittable(*leaf)) found.push_back(leaf);
  std::vector<Scan> scans(found.size());
  for (size_t i = 0; i < found.size(); ++i)
    finder_.begin(*found[i], {}, sampler_.allowed(*found[i]), &scans[i]);
  workers_.run(found.size() * histograms_.groups(), [&](size_t task, int) {
    finder_.scan_group(&scans[task / histograms_.groups()], task % histograms_.groups());
  });
  // Rows are counted for all leaves at once: one pass, and one sum of all processes. If these are
  // slow, the rows of several features of a leaf are counted, of which some may be in vain.
  const bool slow = exchange_ != nullptr || store_.chunks_in_memory() < store_.chunks();
  for (;;) {
    std::vector<Counted> counted;
    std::vector<std::pair<Scan*, size_t>> places;  // in which position of which leaf
    for (Scan& scan : scans)
      for (const size_t position : finder_.positions_to_count(scan, slow ? kCountedAtOnce : 1)) {
        counted.push_back({scan.leaf, sampler_.features()[position], {}});
        places.emplace_back(&scan, position);
      }
    if (counted.empty()) break;
    count_rows_of(&counted);
    for (size_t i = 0; i < counted.size(); ++i)
      finder_.set_counted(places[i].first, places[i].second, counted[i].counts.data());
  }
  for (size_t i = 0; i < found.size(); ++i)
    found[i]->split = finder_.choose_split(&scans[i], &scratch_);
}

// Counts the rows of leaves that are in the store, and those of other processes, by their codes.
void ChunkGrower::count_rows_of(std::vector<Counted>* leaves) const {
  std::vector<size_t> at(1, 0);
  for (const Counted& one : *leaves) at.push_back(at.back() + layout_.value_bins(one.feature) + 1);
  std::vector<int64_t> own(parts_.size() * at.back(), 0);
  store_.visit(
      workers_, {Field::codes, Field::weight, Field::rows}, {},
      [&](size_t chunk) {
        return std::any_of(leaves->begin(), leaves->end(),
                           [&](const Counted& one) { return range(*one.leaf, chunk).n() > 0; });
      },
      [&](const RowStore::Chunk& chunk, size_t worker) {
        const Bins bins = bins_of(chunk);
        const auto* const weight = chunk.get<const double>(Field::weight);
        for (size_t l = 0; l < leaves->size(); ++l) {
          const RowIndex rows = rows_of(chunk, *(*leaves)[l].leaf);
          const uint32_t feature = (*leaves)[l].feature;
          int64_t* const part = own.data() + worker * at.back() + at[l];
          for (size_t i = 0; i < rows.n; ++i)
            part[bins.code(rows[i], feature)] +=
                weight == nullptr ? 1 : weights_.units_of(weight[rows[i]]);
        }
      });
  std::vector<int64_t> all(at.back(), 0);
  for (size_t i = 0; i < own.size(); ++i) all[i % all.size()] += own[i];
  add_up(all);
  for (size_t l = 0; l < leaves->size(); ++l)
    (*leaves)[l].counts.assign(all.begin() + static_cast<ptrdiff_t>(at[l]),
                               all.begin() + static_cast<ptrdiff_t>(at[l + 1]));
}

void ChunkGrower::count(const Leaf& leaf, uint32_t feature, int64_t* counts) const {
  std::vector<Counted> one = {{&leaf, feature, {}}};
  count_rows_of(&one);
  std::copy(one[0].counts.begin(), one[0].counts.end(), counts);
}

}  // namespace stagewise

#include "binning/sparse_codes.hpp"

#include <algorithm>
#include <cstring>

#include "binning/feature_coder.hpp"

namespace stagewise {
namespace {

constexpr size_t kBlockSums = 65536;  // sums of a block: half a second-level cache
constexpr size_t kMinBlockSums = 2048;
constexpr size_t kBlocks = 8;      // minimum, so that threads can share them
constexpr double kRowCells = 4.0;  // minimal mean number of cells of a row in a block
constexpr size_t kTogether = 64;   // features per chunk of work

}  // namespace

SparseCodes::SparseCodes(Workers& workers, const Kernels& kernels, const SparseTable& table,
                         const std::vector<FeatureCoding>& codings)
    : rows_(table.rows()),
      default_bin_(codings.size()),
      has_missing_(codings.size(), 0),
      place_(codings.size()) {
  for (const FeatureCoding& c : codings) wide_ = wide_ || c.bins() + 1 > 256;
  for (size_t f = 0; f <= codings.size(); ++f) start_.push_back(f == 0 ? 0 : table.last(f - 1));
  index_ = table.own_index();
  if (index_ == nullptr) {
    auto copy = make_large_array<uint32_t>(start_.back() + 1);
    std::memcpy(copy.get(), table.index(), start_.back() * sizeof(uint32_t));
    index_ = std::shared_ptr<const uint32_t[]>(copy.release(), FreeMemory());
  }
  code_columns(workers, kernels, table, codings);
  make_blocks(codings);
  places_ = make_large_array<uint32_t>(start_.back() + 1);
  workers.run(blocks_.size(), [&](size_t b, int) { fill_block(&blocks_[b]); });
}

void SparseCodes::code_columns(Workers& workers, const Kernels& kernels, const SparseTable& table,
                               const std::vector<FeatureCoding>& codings) {
  const size_t p = codings.size();
  if (wide_) {
    codes16_ = make_large_array<uint16_t>(start_.back() + 1);
  } else {
    codes8_ = make_large_array<uint8_t>(start_.back() + 1);
  }
  workers.run((p + kTogether - 1) / kTogether, [&](size_t chunk, int) {
    for (size_t f = chunk * kTogether; f < std::min(p, (chunk + 1) * kTogether); ++f) {
      const OwnedCutTree<double> cuts(codings[f].cuts);
      const auto missing = static_cast<uint16_t>(codings[f].bins());
      const auto code = [&](const double* values, size_t n, uint16_t* out) {
        kernels.bin_doubles(values, n, cuts.tree, missing, out);
      };
      uint16_t codes[FeatureCoder::kMost];
      double values[FeatureCoder::kMost] = {table.default_value()};
      code(values, 1, codes);
      default_bin_[f] = codes[0];
      bool any = stored(f) < rows_ && default_bin_[f] == missing;
      for (size_t begin = start_[f]; begin < start_[f + 1]; begin += FeatureCoder::kMost) {
        const size_t n = std::min(FeatureCoder::kMost, start_[f + 1] - begin);
        for (size_t i = 0; i < n; ++i) values[i] = table.value(begin + i);
        code(values, n, codes);
        for (size_t i = 0; i < n; ++i) {
          any |= codes[i] == missing;
          if (wide_) {
            codes16_[begin + i] = codes[i];
          } else {
            codes8_[begin + i] = static_cast<uint8_t>(codes[i]);
          }
        }
      }
      has_missing_[f] = any ? 1 : 0;
    }
  });
}

// So many blocks that their sums fit a cache and threads can share them, but not so many that rows
// have hardly a cell in each.
void SparseCodes::make_blocks(const std::vector<FeatureCoding>& codings) {
  const size_t p = codings.size();
  std::vector<size_t> span(p);
  for (size_t f = 0; f < p; ++f) {
    span[f] = codings[f].bins() + has_missing_[f];
    place_[f] = n_sums_;
    n_sums_ += span[f];
  }
  const auto most = static_cast<size_t>(std::max(1.0, cells_per_row() / kRowCells));
  const size_t by_cache = std::max(kBlocks, (n_sums_ + kBlockSums - 1) / kBlockSums);
  const size_t wanted = std::min({most, by_cache, n_sums_ / kMinBlockSums + 1});
  constexpr size_t kLimit = 0xffffffffu;  // places and cells of a block are numbers of 32 bits
  const size_t most_words = std::min(n_sums_ / wanted + 1, kLimit);
  const size_t most_cells = start_.back() / wanted + 1;
  for (size_t f = 0; f < p;) {
    Block block;
    block.first_feature = f;
    do {
      block.n_sums += span[f++];
    } while (f < p && block.n_sums + span[f] <= most_words &&
             start_[f] - start_[block.first_feature] < most_cells &&
             start_[f + 1] - start_[block.first_feature] <= kLimit);
    block.last_feature = f;
    blocks_.push_back(std::move(block));
  }
}

void SparseCodes::fill_block(Block* block) {
  const size_t first = start_[block->first_feature], last = start_[block->last_feature];
  block->start.assign(rows_ + 1, 0);
  for (size_t cell = first; cell < last; ++cell) ++block->start[index_[cell] + size_t{1}];
  for (size_t row = 0; row < rows_; ++row) block->start[row + 1] += block->start[row];
  std::vector<uint32_t> next(block->start.begin(), block->start.end() - 1);
  uint32_t* const places = places_.get() + first;
  for (size_t f = block->first_feature; f < block->last_feature; ++f) {
    const auto base = static_cast<uint32_t>(place_[f] - place_[block->first_feature]);
    for (size_t k = 0; k < stored(f); ++k) places[next[rows_of(f)[k]]++] = base + code_of(f, k);
  }
  block->places = places;
}

size_t SparseCodes::first_at(size_t feature, size_t row) const {
  const uint32_t* const rows = rows_of(feature);
  return static_cast<size_t>(std::lower_bound(rows, rows + stored(feature), row) - rows);
}

uint32_t SparseCodes::code(size_t row, size_t feature) const {
  const size_t k = first_at(feature, row);
  const bool there = k < stored(feature) && rows_of(feature)[k] == row;
  return there ? code_of(feature, k) : default_bin_[feature];
}

}  // namespace stagewise

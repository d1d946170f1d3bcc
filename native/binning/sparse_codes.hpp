// The codes of a sparse table: of stored cells only, by columns and by rows. Partitions and counts
// read columns. Histograms read rows: a cell is stored as the position of its sum, and the sum of
// the default bin is the sum of all rows minus the sums of the other bins. Features are divided
// into blocks whose sums fit the second-level cache; each block has its own rows, so threads can
// work on different blocks. A stored cell may also have the code of the default bin.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "binning/feature_coding.hpp"
#include "binning/sparse_table.hpp"
#include "core/threads.hpp"
#include "kernels/kernels.hpp"

namespace stagewise {

class SparseCodes {
 public:
  // Some consecutive features, and their cells by rows.
  struct Block {
    size_t first_feature = 0, last_feature = 0;  // the last one excluded
    size_t n_sums = 0;                           // sums of all codes of its features
    std::vector<uint32_t> start;                 // per row: its first cell among those of the block
    const uint32_t* places = nullptr;            // per cell: the position of its sum in the block
  };

  // table: by columns. codings: of numbers, as many as the table has features.
  SparseCodes(Workers& workers, const Kernels& kernels, const SparseTable& table,
              const std::vector<FeatureCoding>& codings);

  size_t rows() const { return rows_; }
  bool has_missing(size_t feature) const { return has_missing_[feature] != 0; }
  uint32_t default_bin(size_t feature) const {
    return default_bin_[feature];
  }  // the code of cells that are not stored

  // The stored cells of a feature: increasing rows, and their codes.
  size_t stored(size_t feature) const { return start_[feature + 1] - start_[feature]; }
  const uint32_t* rows_of(size_t feature) const { return index_.get() + start_[feature]; }
  uint32_t code_of(size_t feature, size_t cell) const {
    const size_t at = start_[feature] + cell;
    return wide_ ? codes16_[at] : codes8_[at];
  }
  uint32_t code(size_t row, size_t feature) const;
  // body(row, code) for the stored cells of a feature in the rows [begin, end).
  template <class Body>
  void visit(size_t feature, size_t begin, size_t end, Body&& body) const {
    const uint32_t* const rows = rows_of(feature);
    const size_t n = stored(feature);
    for (size_t k = begin == 0 ? 0 : first_at(feature, begin); k < n && rows[k] < end; ++k)
      body(rows[k], code_of(feature, k));
  }

  const std::vector<Block>& blocks() const { return blocks_; }
  size_t n_sums() const { return n_sums_; }  // of all blocks
  // Where the sums of a feature begin among those of all blocks.
  size_t place(size_t feature) const { return place_[feature]; }
  double cells_per_row() const {
    return rows_ > 0 ? static_cast<double>(start_.back()) / static_cast<double>(rows_) : 0.0;
  }

 private:
  size_t first_at(size_t feature, size_t row) const;  // the first cell in this row or below
  void code_columns(Workers& workers, const Kernels& kernels, const SparseTable& table,
                    const std::vector<FeatureCoding>& codings);
  void make_blocks(const std::vector<FeatureCoding>& codings);
  void fill_block(Block* block);

  size_t rows_;
  bool wide_ = false;
  std::vector<size_t> start_;  // per feature: its first cell
  std::shared_ptr<const uint32_t[]> index_;
  LargeArray<uint8_t> codes8_;
  LargeArray<uint16_t> codes16_;
  std::vector<uint32_t> default_bin_;
  std::vector<uint8_t> has_missing_;
  std::vector<size_t> place_;
  std::vector<Block> blocks_;
  LargeArray<uint32_t> places_;
  size_t n_sums_ = 0;
};

}  // namespace stagewise

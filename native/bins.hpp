// The table as small integers: what the trees are grown on.
//
// One idea: the code of a value is the number of cuts below it; a missing value has the code after
// the last bin. Codes are kept twice, by columns (a partition reads one feature) and by rows (a
// histogram reads whole rows). By rows, features with few bins share a code (groups.hpp): one
// update of a histogram then serves them all.
#pragma once

#include <optional>

#include "arrays.hpp"
#include "groups.hpp"
#include "kernels.hpp"
#include "memory.hpp"
#include "threads.hpp"

namespace stagewise {

class Bins {
 public:
  // cuts[f]: the increasing cuts of feature f.
  Bins(Workers& workers, const Kernels& kernels, const Columns& table,
       std::vector<std::vector<double>> cuts);

  size_t rows() const { return rows_; }
  size_t features() const { return cuts_.size(); }
  bool wide() const { return wide_; }
  const std::vector<double>& cuts(size_t feature) const { return cuts_[feature]; }
  uint32_t value_bins(size_t feature) const {
    return static_cast<uint32_t>(cuts_[feature].size()) + 1;
  }
  bool has_missing(size_t feature) const { return has_missing_[feature] != 0; }
  uint32_t code(size_t row, size_t feature) const {
    return wide_ ? column16(feature)[row] : column8(feature)[row];
  }

  uint32_t span(size_t feature) const {  // different codes of the feature
    return value_bins(feature) + (has_missing(feature) ? 1 : 0);
  }

  // By rows, a row has one code per group of features.
  const Groups& groups() const { return *groups_; }
  size_t row_stride() const { return row_stride_; }
  const uint8_t* by_row8() const { return by_row_.get(); }
  const uint16_t* by_row16() const { return reinterpret_cast<const uint16_t*>(by_row_.get()); }
  const uint8_t* column8(size_t f) const { return by_column_.get() + f * rows_; }
  const uint16_t* column16(size_t f) const {
    return reinterpret_cast<const uint16_t*>(by_column_.get()) + f * rows_;
  }

 private:
  template <class Code>
  void fill_columns(Workers& workers, const Kernels& kernels, const Columns& table);
  template <class Code>
  void fill_rows(Workers& workers);

  size_t rows_;
  std::vector<std::vector<double>> cuts_;
  std::vector<uint8_t> has_missing_;
  std::optional<Groups> groups_;
  bool wide_ = false;
  size_t row_stride_ = 0;  // codes from one row to the next
  LargeArray<uint8_t> by_row_, by_column_;
};

}  // namespace stagewise

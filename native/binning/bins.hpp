// The binned table that trees are grown on. The code of a value is the number of cuts below it, or
// the bin of a category (feature_coding.hpp); a missing value has the code after the last bin.
// Codes are stored by rows, because a histogram reads whole rows; features with few bins share a
// code (feature_groups.hpp), so one update of a histogram serves them all. A partition reads one
// feature of many rows; extract() makes a column for it. Ranks are 32-bit codes by columns, one for
// each distinct value, without histograms. The codes of a sparse table are in sparse_codes.hpp.
#pragma once

#include <optional>

#include "binning/feature_coding.hpp"
#include "binning/feature_groups.hpp"
#include "binning/sparse_codes.hpp"
#include "core/columns.hpp"
#include "core/large_array.hpp"
#include "core/threads.hpp"
#include "kernels/kernels.hpp"

namespace stagewise {

class Bins {
 public:
  Bins(Workers& workers, const Kernels& kernels, const Columns& table,
       std::vector<FeatureCoding> codings);

  // table: by columns; codings: of numbers.
  Bins(Workers& workers, const Kernels& kernels, const SparseTable& table,
       std::vector<FeatureCoding> codings);

  // The ranks of all values; codings[f]: of a categorical feature; else empty.
  static Bins ranks(Workers& workers, const Columns& table, std::vector<FeatureCoding> codings);

  size_t rows() const { return rows_; }
  size_t features() const { return codings_.size(); }
  bool wide() const { return wide_; }
  bool ranked() const { return ranks_ != nullptr; }
  bool sparse() const { return sparse_.has_value(); }
  const SparseCodes& sparse_codes() const { return *sparse_; }
  const uint32_t* ranks_of(size_t feature) const { return ranks_.get() + feature * rows_; }
  const FeatureCoding& coding(size_t feature) const { return codings_[feature]; }
  uint32_t value_bins(size_t feature) const { return value_bins_[feature]; }
  bool has_missing(size_t feature) const { return has_missing_[feature] != 0; }
  uint32_t code(size_t row, size_t feature) const {
    if (ranked()) return ranks_of(feature)[row];
    if (sparse()) return sparse_->code(row, feature);
    const size_t at = row * row_stride_ + groups_->of(feature);
    const uint32_t shared = wide_ ? by_row16()[at] : by_row8()[at];
    return groups_->alone(feature) ? shared : groups_->decode(feature)[shared];
  }

  uint32_t span(size_t feature) const {  // different codes of the feature
    return value_bins(feature) + (has_missing(feature) ? 1 : 0);
  }

  // By rows, a row has one code per group of features.
  const FeatureGroups& groups() const { return *groups_; }
  size_t row_stride() const { return row_stride_; }
  const uint8_t* by_row8() const { return by_row_.get(); }
  const uint16_t* by_row16() const { return reinterpret_cast<const uint16_t*>(by_row_.get()); }

  // Where a partition finds the codes of a feature: in its group's place of every row.
  template <class Code>
  FeatureCodes<Code> codes_of(size_t feature) const {
    if constexpr (sizeof(Code) == sizeof(uint32_t)) return {ranks_of(feature)};
    const auto* codes = reinterpret_cast<const Code*>(by_row_.get()) + groups_->of(feature);
    return {codes, row_stride_, groups_->alone(feature) ? nullptr : groups_->decode(feature)};
  }
  // A feature's codes, one after the other.
  LargeArray<uint8_t> extract(Workers& workers, size_t feature) const;

  // Whether a feature has the same code in all rows.
  bool constant(size_t feature) const;

 private:
  explicit Bins(size_t rows) : rows_(rows) {}
  void check();
  void group_nothing();
  template <class Code>
  void fill(Workers& workers, const Kernels& kernels, const Columns& table);
  template <class Code>
  void extract_into(Workers& workers, size_t feature, Code* out) const;

  size_t rows_;
  std::vector<FeatureCoding> codings_;
  std::vector<uint32_t> value_bins_;  // not counting missing values
  std::vector<uint8_t> has_missing_;
  std::optional<FeatureGroups> groups_;
  bool wide_ = false;
  size_t row_stride_ = 0;  // codes from one row to the next
  LargeArray<uint8_t> by_row_;
  LargeArray<uint32_t> ranks_;
  std::optional<SparseCodes> sparse_;
};

}  // namespace stagewise

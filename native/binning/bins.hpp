// The binned table that trees are grown on. The code of a value is the number of cuts below it, or
// the bin of a category (feature_coding.hpp); a missing value has the code after the last bin.
// Codes are stored by rows, because a histogram reads whole rows; features with few bins share a
// code (feature_groups.hpp), so one update of a histogram serves them all. A partition reads one
// feature of many rows; extract() makes a column for it. Ranks are 32-bit codes by columns, one for
// each distinct value, without histograms. The codes of a sparse table are in sparse_codes.hpp.
#pragma once

#include <memory>
#include <optional>

#include "binning/bin_layout.hpp"
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

  // Other rows of a table with this layout, which must have `has_missing` where they need it.
  Bins(Workers& workers, const Kernels& kernels, const Columns& table,
       std::shared_ptr<const BinLayout> layout);

  // Codes of this layout in memory of the caller, followed by at least 64 bytes.
  Bins(std::shared_ptr<const BinLayout> layout, const uint8_t* codes, size_t rows)
      : rows_(rows), layout_(std::move(layout)), by_row_(codes) {}

  // The ranks of all values; codings[f]: of a categorical feature; else empty.
  static Bins ranks(Workers& workers, const Columns& table, std::vector<FeatureCoding> codings);

  size_t rows() const { return rows_; }
  const std::shared_ptr<const BinLayout>& layout() const { return layout_; }
  size_t features() const { return layout_->features(); }
  bool wide() const { return layout_->wide; }
  bool ranked() const { return ranks_ != nullptr; }
  bool sparse() const { return sparse_.has_value(); }
  const SparseCodes& sparse_codes() const { return *sparse_; }
  const uint32_t* ranks_of(size_t feature) const { return ranks_.get() + feature * rows_; }
  const FeatureCoding& coding(size_t feature) const { return layout_->codings[feature]; }
  uint32_t value_bins(size_t feature) const { return layout_->value_bins[feature]; }
  bool has_missing(size_t feature) const { return layout_->has_missing[feature] != 0; }
  uint32_t code(size_t row, size_t feature) const {
    if (ranked()) return ranks_of(feature)[row];
    if (sparse()) return sparse_->code(row, feature);
    const size_t at = row * row_stride() + groups().of(feature);
    const uint32_t shared = wide() ? by_row16()[at] : by_row8()[at];
    return groups().alone(feature) ? shared : groups().decode(feature)[shared];
  }

  uint32_t span(size_t feature) const { return layout_->span(feature); }

  // By rows, a row has one code per group of features.
  const FeatureGroups& groups() const { return *layout_->groups; }
  size_t row_stride() const { return layout_->row_stride; }
  const uint8_t* by_row8() const { return by_row_; }
  const uint16_t* by_row16() const { return reinterpret_cast<const uint16_t*>(by_row_); }

  // Where a partition finds the codes of a feature: in its group's place of every row.
  template <class Code>
  FeatureCodes<Code> codes_of(size_t feature) const {
    if constexpr (sizeof(Code) == sizeof(uint32_t)) return {ranks_of(feature)};
    const auto* codes = reinterpret_cast<const Code*>(by_row_) + groups().of(feature);
    return {codes, row_stride(), groups().alone(feature) ? nullptr : groups().decode(feature)};
  }
  // A feature's codes, one after the other.
  LargeArray<uint8_t> extract(Workers& workers, size_t feature) const;

  // Whether a feature has the same code in all rows.
  bool constant(size_t feature) const;

 private:
  explicit Bins(size_t rows) : rows_(rows) {}
  void check_rows() const;
  template <class Code>
  void fill(Workers& workers, const Kernels& kernels, const Columns& table, BinLayout* layout);
  template <class Code>
  void fill_with_layout(Workers& workers, const Kernels& kernels, const Columns& table);
  template <class Code>
  void extract_into(Workers& workers, size_t feature, Code* out) const;

  size_t rows_;
  std::shared_ptr<const BinLayout> layout_;
  LargeArray<uint8_t> own_codes_;
  const uint8_t* by_row_ = nullptr;
  LargeArray<uint32_t> ranks_;
  std::optional<SparseCodes> sparse_;
};

}  // namespace stagewise

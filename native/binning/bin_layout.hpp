// How the values of a table become codes: the coding of every feature, and the place of its code in
// a row. Several parts of a table have the same layout, so that their histograms can be added.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "binning/feature_coding.hpp"
#include "binning/feature_groups.hpp"

namespace stagewise {

struct BinLayout {
  explicit BinLayout(std::vector<FeatureCoding> own);
  // Of ranks, which may be more than bins and are not stored by rows.
  static std::shared_ptr<BinLayout> of_ranks(std::vector<FeatureCoding> own);

  size_t features() const { return codings.size(); }
  uint32_t span(size_t feature) const {  // different codes of the feature
    return value_bins[feature] + (has_missing[feature] != 0 ? 1 : 0);
  }
  // Sets the groups, and with them the length of a row.
  void set_groups(FeatureGroups own);
  // Groups for any rows: features with few bins share a byte, but no digit of it.
  void group_without_rows();
  size_t row_bytes() const { return row_stride * (wide ? 2 : 1); }

  std::vector<FeatureCoding> codings;
  std::vector<uint32_t> value_bins;  // not counting missing values
  std::vector<uint8_t> has_missing;
  bool wide = false;  // codes have 16 bits
  std::optional<FeatureGroups> groups;
  size_t row_stride = 0;  // codes from one row to the next
};

}  // namespace stagewise

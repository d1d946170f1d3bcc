// Which way the codes of a feature go at a split.
//
// One idea: a partition cuts codes at a bin. Of levels, whose bins go left and right as they
// please, the codes are decoded to 0 and 1 first and cut between them.
#pragma once

#include "bins.hpp"

namespace stagewise {

template <class Code>
struct Sides {
  FeatureCodes<Code> codes;
  uint32_t last_left = 0;            // codes up to it go left,
  uint32_t missing = kMissingRight;  // and this one
  std::vector<uint8_t> decoded;      // of levels: 0 or 1 for every code

  // right_bins: of levels, 1 for each bin that goes right; else empty.
  Sides(const Bins& bins, size_t feature, FeatureCodes<Code> own, uint32_t bin, bool missing_left,
        const std::vector<uint8_t>& right_bins)
      : codes(own) {
    if (right_bins.empty()) {
      last_left = bin;
      if (missing_left) missing = bins.value_bins(feature);
      return;
    }
    decoded = right_bins;
    decoded.push_back(missing_left ? 0 : 1);
    if (own.decode != nullptr) {
      std::vector<uint8_t> by_group;
      const uint32_t size = bins.groups().all()[bins.groups().of(feature)].size;
      for (uint32_t c = 0; c < size; ++c) by_group.push_back(decoded[own.decode[c]]);
      decoded = std::move(by_group);
    }
    codes.decode = decoded.data();
  }
  Sides(const Sides&) = delete;
};

}  // namespace stagewise

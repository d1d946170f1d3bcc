// Exclusive feature bundling: features that share one code. A byte holds 256 codes, and every byte
// of a row costs an update of a histogram. Features of which at most one differs from its most
// frequent code in any row (one-hot columns) share a digit: 0 if all have their most frequent code,
// else a number for the feature and its code. Several digits share a byte in mixed radix. The code
// and the histogram of each feature can be recovered exactly. LightGBM (Ke et al. 2017); here
// without conflicts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagewise {

struct Digit {
  std::vector<uint32_t> features;
  uint32_t codes = 1;  // number of codes
  uint32_t radix = 1;  // the digit of a group's code is code / radix % codes
};

struct Group {
  std::vector<Digit> digits;  // none: the group is one feature with its own codes
  uint32_t size = 1;          // number of codes
};

class FeatureGroups {
 public:
  static constexpr uint32_t kMostShared = 256;  // codes of a group of several features

  static constexpr uint32_t kSmall = 16;  // features with at most this many codes share one

  // column[f]: the codes of a feature that may share, or null; span[f]: the number of codes. The
  // span of a feature that does not share is set later.
  template <class Code>
  FeatureGroups(const std::vector<const Code*>& column, size_t rows,
                const std::vector<uint32_t>& span);
  // For any rows: features with few codes share a group, each with its own digit.
  explicit FeatureGroups(const std::vector<uint32_t>& span);
  void set_span(size_t feature, uint32_t span) { groups_[of(feature)].size = span; }

  const std::vector<Group>& all() const { return groups_; }
  uint32_t of(size_t feature) const { return place_[feature].group; }
  bool alone(size_t feature) const { return place_[feature].decode.empty(); }
  // Of a feature that is not alone: its part of the group's code by its own code, and back.
  const uint32_t* part(size_t feature) const { return place_[feature].part.data(); }
  const uint8_t* decode(size_t feature) const { return place_[feature].decode.data(); }

  // Computes the histograms of the features of a group from the joint one: own[at[f]...] for every
  // member f. Bins are `step` sums apart.
  void unbundle(const Group& group, const int64_t* joint, const size_t* at, int64_t* own,
                size_t step) const;

 private:
  struct Place {
    uint32_t group = 0;
    uint32_t usual = 0;  // its code in most rows
    uint32_t first = 1;  // the digit of its first other code
    uint32_t span = 1;
    std::vector<uint32_t> part;
    std::vector<uint8_t> decode;

    uint32_t digit(uint32_t code) const {
      return code == usual ? 0 : first + code - (code > usual ? 1 : 0);
    }
  };

  void add_lone_features(const std::vector<uint32_t>& span, const std::vector<uint8_t>& shares);
  template <class Code>
  std::vector<Digit> make_digits(const std::vector<const Code*>& column, size_t rows);
  void share(Digit digit);
  void fill_tables();

  std::vector<Group> groups_;
  std::vector<Place> place_;  // per feature
};

}  // namespace stagewise

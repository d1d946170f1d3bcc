// The condition of a split as kernels evaluate it: codes up to a bin go left. For categories, codes
// are first decoded to 0 (left) or 1 (right). For sparse tables, rows that do not go with the
// default bin are marked; they are few.
#pragma once

#include "binning/bins.hpp"

namespace stagewise {

template <class Code>
struct SplitCondition {
  FeatureCodes<Code> codes;
  uint32_t last_left = 0;            // codes up to it go left
  uint32_t missing = kMissingRight;  // this code goes left too
  std::vector<uint8_t> decoded;      // of a categorical feature: 0 or 1 for every code

  SplitCondition(FeatureCodes<Code> own, uint32_t last, uint32_t code_of_missing)
      : codes(own), last_left(last), missing(code_of_missing) {}
  // right_bins: of a categorical feature, 1 for each bin that goes right; else empty.
  SplitCondition(const Bins& bins, size_t feature, FeatureCodes<Code> own, uint32_t bin,
                 bool missing_left, const std::vector<uint8_t>& right_bins)
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
  SplitCondition(const SplitCondition&) = delete;
};

class SparseSplitCondition {
 public:
  // marks: a byte for each of the rows [begin, end), all 0; restored by the destructor.
  SparseSplitCondition(const Bins& bins, size_t feature, uint32_t bin, bool missing_left,
                       size_t begin, size_t end, uint8_t* marks)
      : codes_(bins.sparse_codes()), feature_(feature), begin_(begin), end_(end), marks_(marks) {
    const uint32_t missing = bins.value_bins(feature);
    const auto left = [&](uint32_t code) { return code == missing ? missing_left : code <= bin; };
    default_left_ = left(codes_.default_bin(feature));
    codes_.visit(feature, begin, end, [&](uint32_t row, uint32_t code) {
      marks_[row - begin_] = left(code) == default_left_ ? 0 : 1;
    });
  }
  ~SparseSplitCondition() {
    codes_.visit(feature_, begin_, end_, [&](uint32_t row, uint32_t) { marks_[row - begin_] = 0; });
  }
  SparseSplitCondition(const SparseSplitCondition&) = delete;
  SparseSplitCondition& operator=(const SparseSplitCondition&) = delete;

  // Codes by row, relative to `begin`.
  SplitCondition<uint8_t> sides() const {
    return {{marks_, 1, default_left_ ? nullptr : kOther}, 0, kMissingRight};
  }

 private:
  static constexpr uint8_t kOther[2] = {1, 0};

  const SparseCodes& codes_;
  size_t feature_, begin_, end_;
  uint8_t* marks_;
  bool default_left_;
};

}  // namespace stagewise

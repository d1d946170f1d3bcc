// What a tree must not do: fall where it shall rise, and mix features that shall not meet.
//
// One idea: a leaf is a region, a range of values for each feature that was split on above it, as
// new rows meet it: bounded by thresholds, not by the codes of training rows. Of two leaves the
// first must not have the larger value if a row of it could become a row of the second one by
// raising features that the function shall rise in (lowering those it shall fall in). So the values
// of the leaves around it bound those of a new leaf. These are bounds by neighbours, not by what a
// common parent's split left over ("intermediate" in LightGBM's words).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "binning/bins.hpp"

namespace stagewise {

struct Split;

struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool operator==(const Bounds&) const = default;
  bool any() const {
    return low > -std::numeric_limits<double>::infinity() ||
           high < std::numeric_limits<double>::infinity();
  }
};

// The values of one feature that lead to a leaf.
struct ValueRange {
  uint32_t feature = 0;
  // Of numbers, both included: positions among all doubles in increasing order (`ordinal`). Two
  // thresholds may lie between the same two training values; values between them are ordinary.
  int64_t first = 0, last = 0;
  std::vector<uint8_t> bins;  // of levels: 1 for each bin; else empty
  bool missing = true;        // missing values too
};

// The position of a double among all doubles; -0.0 and 0.0 have the same.
int64_t ordinal(double x);

using Region = std::vector<ValueRange>;  // by feature, in increasing order

struct ConstraintRules {
  std::vector<int8_t> monotone;  // per feature: 1 rises, -1 falls, 0 may do both
  std::vector<std::vector<uint32_t>>
      interaction_groups;            // groups of features that may meet on a path
  size_t max_interaction_order = 0;  // how many may; 0: any number
};

class Constraints {
 public:
  Constraints(const Bins& bins, const ConstraintRules& rules);

  bool monotone() const { return monotone_; }
  int direction(uint32_t feature) const { return monotone_ ? rules_.monotone[feature] : 0; }

  // The split is complete: it has its threshold, and the side of missing values.
  Region child(const Region& parent, const Split& split, bool left) const;
  // Whether the value of a must not be larger than that of b.
  bool below(const Region& a, const Region& b) const;

  bool groups() const {
    return !rules_.interaction_groups.empty() || rules_.max_interaction_order > 0;
  }
  // Which features may follow those of a region; a bit per feature.
  std::vector<uint8_t> allowed(const Region& region) const;

 private:
  const Bins& bins_;
  const ConstraintRules& rules_;
  bool monotone_ = false;
};

// The values of some leaves that come nearest to the given ones in this sense: the mean of the
// largest value at or below a leaf and the smallest at or above it. Both rise with the leaf, so
// their mean does; where nothing was wrong, nothing changes.
std::vector<double> enforce_monotone(const Constraints& constraints,
                                     const std::vector<Region>& regions,
                                     const std::vector<double>& values);

// Of every leaf, an interval around its value: up to half of the way to the values of the leaves
// around it. If they are in order, what leaves say within their intervals is in order too.
std::vector<Bounds> monotone_bounds(const Constraints& constraints,
                                    const std::vector<Region>& regions,
                                    const std::vector<double>& values);

}  // namespace stagewise

// Monotone and interaction constraints. A leaf is a region: a range of values for each feature that
// is split on above it, bounded by thresholds, not by codes of training rows. The value of leaf a
// must not exceed that of leaf b if a row of a could become a row of b by raising features with an
// increasing constraint (lowering those with a decreasing one). So the values of neighbouring
// leaves bound the value of a new leaf ("intermediate" monotone constraints of LightGBM).
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
  // Of a numeric feature, both included: ordinal() of the values. Two thresholds may lie between
  // the same two training values, so codes would not be enough.
  int64_t first = 0, last = 0;
  std::vector<uint8_t> bins;  // of a categorical feature: 1 for each bin; else empty
  bool missing = true;        // missing values reach the leaf
};

// The position of a double among all doubles; -0.0 and 0.0 have the same position.
int64_t ordinal(double x);

using Region = std::vector<ValueRange>;  // by feature, in increasing order

struct ConstraintRules {
  std::vector<int8_t> monotone;  // per feature: 1 increasing, -1 decreasing, 0 none
  // The bounds of a node never change: a split on a constrained feature divides them at the
  // midpoint of the values of its sides. Large trees are grown so, since no leaf is compared with
  // others.
  bool midpoint_bounds = false;
  std::vector<std::vector<uint32_t>> interaction_groups;  // features that may be on one path
  size_t max_interaction_order = 0;  // most distinct features on a path; 0: no limit
};

class Constraints {
 public:
  Constraints(const Bins& bins, const ConstraintRules& rules);

  bool monotone() const { return monotone_; }
  bool midpoint_bounds() const { return monotone_ && rules_.midpoint_bounds; }
  int direction(uint32_t feature) const { return monotone_ ? rules_.monotone[feature] : 0; }

  // The region of a child. The split has its threshold and the side of missing values.
  Region child(const Region& parent, const Split& split, bool left) const;
  // Whether the value of a must not be larger than that of b.
  bool below(const Region& a, const Region& b) const;

  bool groups() const {
    return !rules_.interaction_groups.empty() || rules_.max_interaction_order > 0;
  }
  // Per feature: 1 if it may be split on in the region.
  std::vector<uint8_t> allowed(const Region& region) const;

 private:
  const Bins& bins_;
  const ConstraintRules& rules_;
  bool monotone_ = false;
};

// Leaf values that satisfy the monotone constraints: the mean of the largest value at or below a
// leaf and the smallest value at or above it. Values that violate no constraint do not change.
std::vector<double> enforce_monotone(const Constraints& constraints,
                                     const std::vector<Region>& regions,
                                     const std::vector<double>& values);

// For each leaf an interval around its value, up to the midpoints to the values of its neighbours.
// If the values satisfy the constraints, all predictions within the intervals do.
std::vector<Bounds> monotone_bounds(const Constraints& constraints,
                                    const std::vector<Region>& regions,
                                    const std::vector<double>& values);

}  // namespace stagewise

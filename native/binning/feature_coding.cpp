#include "binning/feature_coding.hpp"

#include <limits>

#include "binning/cuts.hpp"

namespace stagewise {

double FeatureCoding::threshold(uint32_t last, uint32_t next) const {
  if (values.empty())
    return last < cuts.size() ? cuts[last] : std::numeric_limits<double>::infinity();
  return next < values.size() ? cut_between(values[last], values[next])
                              : std::numeric_limits<double>::infinity();
}

uint32_t FeatureCoding::middle_cut(uint32_t last, uint32_t next) const {
  if (!values.empty()) return last;  // threshold() is in the middle of the values
  return next < bins() ? last + (next - last) / 2 : bins() - 1;
}

uint32_t FeatureCoding::code_below(double threshold) const {
  if (!values.empty()) {
    const auto above = std::upper_bound(values.begin(), values.end(), threshold);
    return above == values.begin() ? 0 : static_cast<uint32_t>(above - values.begin() - 1);
  }
  if (cuts.empty()) return 0;
  const auto above = std::lower_bound(cuts.begin(), cuts.end(), threshold);
  if (above == cuts.end()) return static_cast<uint32_t>(cuts.size() - 1);
  const auto at = static_cast<uint32_t>(above - cuts.begin());
  return at > 0 && threshold - cuts[at - 1] < *above - threshold ? at - 1 : at;
}

}  // namespace stagewise

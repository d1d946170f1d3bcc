#include "binning/feature_groups.hpp"

#include <algorithm>

#include "core/interrupt.hpp"

namespace stagewise {
namespace {

constexpr size_t kOpen = 8;       // digits that a feature may join
constexpr size_t kSample = 4096;  // rows that determine the most frequent code
constexpr size_t kBlock = 4096;   // rows between two checks for a conflict

template <class Code>
uint32_t usual_code(const Code* column, size_t rows, uint32_t span) {
  std::vector<size_t> count(span, 0);
  const size_t step = std::max<size_t>(1, rows / kSample);
  for (size_t i = 0; i < rows; i += step) ++count[column[i]];
  return static_cast<uint32_t>(std::max_element(count.begin(), count.end()) - count.begin());
}

// Whether no row that is taken already differs from the most frequent code of the column.
template <class Code>
bool exclusive(const Code* column, uint32_t usual, const std::vector<uint8_t>& taken) {
  for (size_t begin = 0; begin < taken.size(); begin += kBlock) {
    const size_t end = std::min(taken.size(), begin + kBlock);
    unsigned conflict = 0;
    for (size_t i = begin; i < end; ++i)
      conflict |= static_cast<unsigned>(taken[i]) & static_cast<unsigned>(column[i] != usual);
    if (conflict != 0) return false;
  }
  return true;
}

}  // namespace

template <class Code>
FeatureGroups::FeatureGroups(const std::vector<const Code*>& column, size_t rows,
                             const std::vector<uint32_t>& span)
    : place_(span.size()) {
  std::vector<uint8_t> shares;
  for (size_t f = 0; f < span.size(); ++f)
    shares.push_back(column[f] != nullptr && span[f] <= kSmall ? 1 : 0);
  add_lone_features(span, shares);
  for (Digit& digit : make_digits(column, rows)) share(std::move(digit));
  fill_tables();
}

FeatureGroups::FeatureGroups(const std::vector<uint32_t>& span) : place_(span.size()) {
  std::vector<uint8_t> shares;
  for (const uint32_t n : span) shares.push_back(n <= kSmall ? 1 : 0);
  add_lone_features(span, shares);
  for (size_t f = 0; f < span.size(); ++f)
    if (shares[f] != 0) share({{static_cast<uint32_t>(f)}, span[f]});
  fill_tables();
}

void FeatureGroups::add_lone_features(const std::vector<uint32_t>& span,
                                      const std::vector<uint8_t>& shares) {
  for (size_t f = 0; f < span.size(); ++f) {
    place_[f].span = span[f];
    if (shares[f] != 0) continue;
    place_[f].group = static_cast<uint32_t>(groups_.size());
    groups_.push_back({{}, span[f]});
  }
}

template FeatureGroups::FeatureGroups(const std::vector<const uint8_t*>&, size_t,
                                      const std::vector<uint32_t>&);
template FeatureGroups::FeatureGroups(const std::vector<const uint16_t*>&, size_t,
                                      const std::vector<uint32_t>&);

template <class Code>
std::vector<Digit> FeatureGroups::make_digits(const std::vector<const Code*>& columns,
                                              size_t rows) {
  struct Open {
    size_t digit;
    std::vector<uint8_t> taken;  // rows in which some member differs from its most frequent code
  };
  std::vector<Digit> digits;
  std::vector<Open> open;
  for (size_t f = 0; f < place_.size(); ++f) {
    check_interrupt();
    Place& place = place_[f];
    const Code* const column = columns[f];
    if (column == nullptr || place.span > kSmall) continue;
    place.usual = usual_code(column, rows, place.span);
    auto home = std::find_if(open.begin(), open.end(), [&](const Open& o) {
      return digits[o.digit].codes + place.span - 1 <= kMostShared &&
             exclusive(column, place.usual, o.taken);
    });
    if (home == open.end()) {
      if (open.size() == kOpen) open.erase(open.begin());
      open.push_back({digits.size(), std::vector<uint8_t>(rows, 0)});
      digits.emplace_back();
      home = open.end() - 1;
    }
    for (size_t i = 0; i < rows; ++i)
      home->taken[i] |= static_cast<uint8_t>(column[i] != place.usual);
    Digit& digit = digits[home->digit];
    digit.features.push_back(static_cast<uint32_t>(f));
    place.first = digit.codes;
    digit.codes += place.span - 1;
  }
  return digits;
}

// Adds the digit to the first shared group that it fits into.
void FeatureGroups::share(Digit digit) {
  auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) {
    return !g.digits.empty() && g.size * digit.codes <= kMostShared;
  });
  if (group == groups_.end()) {
    groups_.push_back({});
    group = groups_.end() - 1;
  }
  for (const uint32_t f : digit.features)
    place_[f].group = static_cast<uint32_t>(group - groups_.begin());
  digit.radix = group->size;
  group->size *= digit.codes;
  group->digits.push_back(std::move(digit));
}

void FeatureGroups::fill_tables() {
  for (const Group& group : groups_)
    for (const Digit& digit : group.digits)
      for (const uint32_t f : digit.features) {
        Place& place = place_[f];
        place.decode.assign(group.size, static_cast<uint8_t>(place.usual));
        for (uint32_t own = 0; own < place.span; ++own) {
          place.part.push_back(place.digit(own) * digit.radix);
          for (uint32_t code = 0; code < group.size; ++code)
            if (own != place.usual && code / digit.radix % digit.codes == place.digit(own))
              place.decode[code] = static_cast<uint8_t>(own);
        }
      }
}

// From the last digit to the first. The joint sums are a matrix of (codes of the digit) x (codes of
// the digits before). The sums of its rows are the sums of the digit; the sum over its rows is the
// joint histogram of the digits before.
void FeatureGroups::unbundle(const Group& group, const int64_t* joint, const size_t* at,
                             int64_t* own, size_t step) const {
  int64_t rest[kMostShared], sums[kMostShared];
  for (size_t i = 0; i < group.size; ++i) rest[i] = joint[i * step];
  for (size_t k = group.digits.size(); k-- > 0;) {
    const Digit& digit = group.digits[k];
    int64_t total = 0;
    for (size_t code = 0; code < digit.codes; ++code) {
      const int64_t* const row = rest + code * digit.radix;
      sums[code] = 0;
      for (size_t i = 0; i < digit.radix; ++i) sums[code] += row[i];
      total += sums[code];
      if (code == 0) continue;
      for (size_t i = 0; i < digit.radix; ++i) rest[i] += row[i];
    }
    for (const uint32_t f : digit.features) {
      const Place& place = place_[f];
      int64_t* const bins = own + at[f] * step;
      int64_t others = 0;
      for (uint32_t code = 0; code < place.span; ++code) {
        if (code == place.usual) continue;
        bins[code * step] = sums[place.digit(code)];
        others += bins[code * step];
      }
      bins[place.usual * step] = total - others;
    }
  }
}

}  // namespace stagewise

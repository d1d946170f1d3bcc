#include "feature_choice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "random.hpp"

namespace stagewise {

void FeatureChoice::start_tree(uint64_t seed, uint64_t tree_number) {
  seed_ = seed;
  tree_number_ = tree_number;
  features_.resize(bins_.features());
  std::iota(features_.begin(), features_.end(), 0u);
  std::vector<uint8_t> some(features_.size(), 1);
  draw_some(rules_.columns_per_tree, draw_key(seed, Draw::columns, tree_number), &some);
  for (const ForcedSplit& s : rules_.forced) some[s.feature] = 1;
  std::erase_if(features_, [&](uint32_t f) { return some[f] == 0; });
}

// Leaves a share of those that are among them.
void FeatureChoice::draw_some(double share, uint64_t key, std::vector<uint8_t>* among) const {
  const auto n = static_cast<size_t>(std::count(among->begin(), among->end(), uint8_t{1}));
  const auto wanted =
      static_cast<size_t>(std::max(1.0, std::floor(share * static_cast<double>(n) + 0.5)));
  if (wanted >= n) return;
  if (rules_.feature_weights.empty())
    draw_by_lot(wanted, key, among);
  else
    draw_by_weight(wanted, key, among);
}

// Those with the smallest lots. A node of a sparse table draws among many thousands, so nothing is
// sorted: lots are spread evenly, and counting them by their leading bits tells where the first one
// that is left out must lie, so that only its neighbours are put in order.
void FeatureChoice::draw_by_lot(size_t wanted, uint64_t key, std::vector<uint8_t>* among) const {
  constexpr int shift = 56;
  std::array<size_t, 256> count{};
  std::vector<uint64_t> lots(features_.size());
  for (size_t i = 0; i < lots.size(); ++i) {
    lots[i] = draw(key, features_[i]);
    count[lots[i] >> shift] += (*among)[i];
  }
  size_t part = 0, below = 0;
  while (below + count[part] <= wanted) below += count[part++];  // fewer than all are wanted
  std::vector<std::pair<uint64_t, size_t>> near;
  for (size_t i = 0; i < lots.size(); ++i)
    if (lots[i] >> shift == part && (*among)[i] != 0) near.emplace_back(lots[i], i);
  const auto nth = near.begin() + static_cast<ptrdiff_t>(wanted - below);
  std::nth_element(near.begin(), nth, near.end());
  const auto [lot, place] = *nth;
  for (size_t i = 0; i < lots.size(); ++i)
    (*among)[i] &= static_cast<uint8_t>((lots[i] < lot) | ((lots[i] == lot) & (i < place)));
}

// One after the other, each with a probability in proportion to its weight among those left over;
// in whole numbers, because sums of them do not round.
void FeatureChoice::draw_by_weight(size_t wanted, uint64_t key, std::vector<uint8_t>* among) const {
  const auto& weights = rules_.feature_weights;
  const double unit = 0x1p32 / *std::max_element(weights.begin(), weights.end());
  const auto lots = [&](size_t i) { return static_cast<uint64_t>(weights[features_[i]] * unit); };
  uint64_t total = 0;
  std::vector<size_t> from;
  for (size_t i = 0; i < among->size(); ++i)
    if ((*among)[i] != 0) {
      from.push_back(i);
      total += lots(i);
    }
  std::fill(among->begin(), among->end(), uint8_t{0});
  for (size_t drawn = 0; drawn < wanted && total > 0; ++drawn) {
    auto ticket =
        static_cast<uint64_t>(static_cast<unsigned __int128>(draw(key, drawn)) * total >> 64);
    auto at = from.begin();
    for (; ticket >= lots(*at); ++at) ticket -= lots(*at);
    total -= lots(*at);
    (*among)[*at] = 1;
    from.erase(at);
  }
}

// Per position in features_; empty: all.
std::vector<uint8_t> FeatureChoice::allowed(const Leaf& leaf) const {
  if (leaf.forced >= 0) {
    const uint32_t feature = rules_.forced[static_cast<size_t>(leaf.forced)].feature;
    std::vector<uint8_t> one(features_.size(), 0);
    const auto at = std::lower_bound(features_.begin(), features_.end(), feature);
    one[static_cast<size_t>(at - features_.begin())] = 1;
    return one;
  }
  const bool drawn = rules_.columns_per_level < 1.0 || rules_.columns_per_node < 1.0;
  if (!drawn && !constraints_.groups()) return {};
  const uint64_t level = draw_key(seed_, Draw::columns, tree_number_, 1);
  const uint64_t node = draw_key(seed_, Draw::columns, tree_number_, 2);
  std::vector<uint8_t> some(features_.size(), 1);
  draw_some(rules_.columns_per_level, draw(level, static_cast<uint64_t>(leaf.depth)), &some);
  if (constraints_.groups()) {
    const std::vector<uint8_t> may = constraints_.allowed(leaf.region);
    for (size_t i = 0; i < some.size(); ++i)
      if (may[features_[i]] == 0) some[i] = 0;
  }
  draw_some(rules_.columns_per_node, draw(node, leaf.path), &some);
  return some;
}

}  // namespace stagewise

#include "feature_choice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "random.hpp"

namespace stagewise {

void FeatureChoice::start_tree(uint64_t seed, uint64_t tree_number) {
  seed_ = seed;
  tree_number_ = tree_number;
  std::vector<uint32_t> all(bins_.features());
  for (size_t f = 0; f < all.size(); ++f) all[f] = static_cast<uint32_t>(f);
  features_ = choose(all, rules_.columns_per_tree, draw_key(seed, Draw::columns, tree_number));
  for (const ForcedSplit& s : rules_.forced)
    if (!std::binary_search(features_.begin(), features_.end(), s.feature))
      features_.insert(std::lower_bound(features_.begin(), features_.end(), s.feature), s.feature);
}

// Some of the features, in order.
std::vector<uint32_t> FeatureChoice::choose(const std::vector<uint32_t>& from, double share,
                                            uint64_t key) const {
  const auto n = static_cast<double>(from.size());
  const auto wanted = static_cast<size_t>(std::max(1.0, std::floor(share * n + 0.5)));
  if (wanted >= from.size()) return from;
  if (!rules_.feature_weights.empty()) return choose_by_weight(from, wanted, key);
  return choose_by_lot(from, wanted, key);
}

// Those with the smallest lots. Nodes of sparse tables choose among many thousands, so nothing is
// sorted: lots are spread evenly, and counting them by their leading bits tells where the first one
// that is left out must lie, so that only its neighbours are put in order.
std::vector<uint32_t> FeatureChoice::choose_by_lot(const std::vector<uint32_t>& from, size_t wanted,
                                                   uint64_t key) {
  constexpr int shift = 56;
  using Lot = std::pair<uint64_t, uint32_t>;
  std::array<size_t, 256> count{};
  std::vector<Lot> lots;
  lots.reserve(from.size());
  for (const uint32_t f : from) {
    lots.emplace_back(draw(key, f), f);
    ++count[lots.back().first >> shift];
  }
  size_t part = 0, below = 0;
  while (below + count[part] <= wanted) below += count[part++];  // wanted < from.size()
  std::vector<Lot> near;
  for (const Lot& lot : lots)
    if (lot.first >> shift == part) near.push_back(lot);
  const auto left_out = near.begin() + static_cast<ptrdiff_t>(wanted - below);
  std::nth_element(near.begin(), left_out, near.end());
  std::vector<uint32_t> chosen;
  chosen.reserve(wanted);
  for (const Lot& lot : lots)
    if (lot < *left_out) chosen.push_back(lot.second);
  return chosen;
}

// One after the other, each with a probability in proportion to its weight among those left over;
// in whole numbers, because sums of them do not round.
std::vector<uint32_t> FeatureChoice::choose_by_weight(std::vector<uint32_t> from, size_t wanted,
                                                      uint64_t key) const {
  const auto& weights = rules_.feature_weights;
  const double unit = 0x1p32 / *std::max_element(weights.begin(), weights.end());
  const auto lots = [&](uint32_t f) { return static_cast<uint64_t>(weights[f] * unit); };
  uint64_t total = 0;
  for (const uint32_t f : from) total += lots(f);
  std::vector<uint32_t> chosen;
  while (chosen.size() < wanted && total > 0) {
    auto ticket = static_cast<uint64_t>(
        static_cast<unsigned __int128>(draw(key, chosen.size())) * total >> 64);
    auto at = from.begin();
    for (; ticket >= lots(*at); ++at) ticket -= lots(*at);
    total -= lots(*at);
    chosen.push_back(*at);
    from.erase(at);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

// Per position in features_; empty: all.
std::vector<uint8_t> FeatureChoice::allowed(const Leaf& leaf) const {
  const auto only = [&](const std::vector<uint32_t>& chosen) {
    std::vector<uint8_t> allowed(features_.size(), 0);
    for (size_t i = 0, next = 0; i < features_.size() && next < chosen.size(); ++i)
      if (features_[i] == chosen[next]) {
        allowed[i] = 1;
        ++next;
      }
    return allowed;
  };
  if (leaf.forced >= 0) return only({rules_.forced[static_cast<size_t>(leaf.forced)].feature});
  const bool drawn = rules_.columns_per_level < 1.0 || rules_.columns_per_node < 1.0;
  if (!drawn && !constraints_.groups()) return {};
  const uint64_t level = draw_key(seed_, Draw::columns, tree_number_, 1);
  const uint64_t node = draw_key(seed_, Draw::columns, tree_number_, 2);
  std::vector<uint32_t> chosen =
      choose(features_, rules_.columns_per_level, draw(level, static_cast<uint64_t>(leaf.depth)));
  if (constraints_.groups()) {
    const std::vector<uint8_t> may = constraints_.allowed(leaf.region);
    std::erase_if(chosen, [&](uint32_t f) { return may[f] == 0; });
  }
  return only(choose(chosen, rules_.columns_per_node, draw(node, leaf.path)));
}

}  // namespace stagewise

#include "feature_choice.hpp"

#include <algorithm>
#include <cmath>

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

size_t FeatureChoice::wanted(size_t from, double share) const {
  const double n = share * static_cast<double>(from);
  return std::min(from, static_cast<size_t>(std::max(1.0, std::floor(n + 0.5))));
}

// Some of the features, in order: the first of a shuffled list, or the next of it.
std::vector<uint32_t> FeatureChoice::choose(std::vector<uint32_t> from, double share, uint64_t key,
                                            size_t attempt) const {
  const size_t n = wanted(from.size(), share);
  if (n == from.size()) return from;
  if (!rules_.feature_weights.empty()) return choose_by_weight(std::move(from), n, key);
  const size_t first = std::min(from.size(), attempt * n), last = std::min(from.size(), first + n);
  for (size_t i = 0; i < last; ++i) {
    const auto ticket = static_cast<size_t>((draw(key, i) >> 32) * (from.size() - i) >> 32);
    std::swap(from[i], from[i + ticket]);
  }
  from.resize(last);
  from.erase(from.begin(), from.begin() + static_cast<ptrdiff_t>(first));
  std::sort(from.begin(), from.end());
  return from;
}

bool FeatureChoice::more(const Leaf& leaf, size_t attempt) const {
  if (!rules_.to_the_end || leaf.forced >= 0 || !rules_.feature_weights.empty()) return false;
  // Constraints may leave fewer to draw from; then the later attempts draw none.
  const size_t at_level = wanted(features_.size(), rules_.columns_per_level);
  return attempt * wanted(at_level, rules_.columns_per_node) < at_level;
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
std::vector<uint8_t> FeatureChoice::allowed(const Leaf& leaf, size_t attempt) const {
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
  return only(choose(chosen, rules_.columns_per_node, draw(node, leaf.path), attempt));
}

}  // namespace stagewise

#include "grow/nodes/feature_sampler.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/random.hpp"
#include "core/short_list.hpp"

namespace stagewise {

void FeatureSampler::start_tree(uint64_t seed, uint64_t tree_number) {
  seed_ = seed;
  tree_number_ = tree_number;
  features_.resize(bins_.features());
  std::iota(features_.begin(), features_.end(), 0u);
  std::vector<uint8_t> some(features_.size(), 1);
  draw_some(rules_.max_features_per_tree, draw_key(seed, Draw::features, tree_number), &some);
  for (const ForcedSplit& s : rules_.forced_splits) some[s.feature] = 1;
  std::erase_if(features_, [&](uint32_t f) { return some[f] == 0; });
}

size_t FeatureSampler::wanted(size_t from, double share) const {
  const double n = share * static_cast<double>(from);
  return std::min(from, static_cast<size_t>(std::max(1.0, std::floor(n + 0.5))));
}

// Keeps a share of the features that are set. attempt: skips that many shares before it.
void FeatureSampler::draw_some(double share, uint64_t key, std::vector<uint8_t>* among,
                               size_t attempt) const {
  if (share >= 1.0) return;
  const auto n = static_cast<size_t>(std::count(among->begin(), among->end(), uint8_t{1}));
  const size_t some = wanted(n, share);
  if (some >= n) return;
  if (rules_.feature_weights.empty())
    draw_by_shuffle(some, key, attempt, among);
  else
    draw_by_weight(some, key, among);
}

// The first part of a shuffled list, or one of the next parts. If a part is more than half of the
// list, the features that are left out are drawn instead.
void FeatureSampler::draw_by_shuffle(size_t wanted, uint64_t key, size_t attempt,
                                     std::vector<uint8_t>* among) const {
  ShortList list(among->size());
  size_t n = 0;
  for (size_t i = 0; i < among->size(); ++i) {
    list[n] = static_cast<uint32_t>(i);
    n += (*among)[i] != 0 ? 1 : 0;
  }
  const bool left_out = attempt == 0 && 2 * wanted > n;
  const size_t step = std::min(wanted, n - wanted);
  const size_t first = 2 * wanted > n ? 0 : std::min(n, attempt * step);
  const size_t last = 2 * wanted > n && attempt > 1 ? 0 : std::min(n, first + step);
  for (size_t i = 0; i < last; ++i) {
    const auto ticket = static_cast<size_t>((draw(key, i) >> 32) * (n - i) >> 32);
    std::swap(list[i], list[i + ticket]);
  }
  if (!left_out) std::fill(among->begin(), among->end(), uint8_t{0});
  for (size_t i = first; i < last; ++i) (*among)[list[i]] = left_out ? 0 : 1;
}

bool FeatureSampler::more(const Leaf& leaf, size_t attempt) const {
  if (!rules_.grow_until_pure || leaf.forced_split >= 0 || !rules_.feature_weights.empty())
    return false;
  // Constraints may leave fewer features; then later attempts sample none.
  const size_t at_level = wanted(features_.size(), rules_.max_features_per_level);
  return attempt * wanted(at_level, rules_.max_features) < at_level;
}

// One after the other, each with probability proportional to its weight among the remaining ones.
// Weights are integers, whose sums are exact.
void FeatureSampler::draw_by_weight(size_t wanted, uint64_t key,
                                    std::vector<uint8_t>* among) const {
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

void FeatureSampler::exclude(const Leaf& leaf, std::vector<uint8_t>* among) const {
  if (!constraints_.groups()) return;
  const std::vector<uint8_t> may = constraints_.allowed(leaf.region);
  for (size_t i = 0; i < among->size(); ++i)
    if (may[features_[i]] == 0) (*among)[i] = 0;
}

// Per position in features_; empty: all.
std::vector<uint8_t> FeatureSampler::allowed(const Leaf& leaf, size_t attempt) const {
  if (leaf.forced_split >= 0) {
    const uint32_t feature = rules_.forced_splits[static_cast<size_t>(leaf.forced_split)].feature;
    std::vector<uint8_t> one(features_.size(), 0);
    const auto at = std::lower_bound(features_.begin(), features_.end(), feature);
    one[static_cast<size_t>(at - features_.begin())] = 1;
    return one;
  }
  const bool drawn = rules_.max_features_per_level < 1.0 || rules_.max_features < 1.0;
  if (!drawn && !constraints_.groups()) return {};
  const uint64_t level = draw_key(seed_, Draw::features, tree_number_, 1);
  const uint64_t node = draw_key(seed_, Draw::features, tree_number_, 2);
  std::vector<uint8_t> some(features_.size(), 1);
  draw_some(rules_.max_features_per_level, draw(level, static_cast<uint64_t>(leaf.depth)), &some);
  exclude(leaf, &some);
  draw_some(rules_.max_features, draw(node, leaf.path), &some, attempt);
  return some;
}

}  // namespace stagewise

#include "predict/coded_walk.hpp"

#include <algorithm>
#include <bit>

namespace stagewise {
namespace {

constexpr size_t kMostThresholds = 65533;
constexpr uint16_t kMissing = 0xffff, kNothingAbove = 0xffff;
constexpr size_t kChains = 8, kSteps = 4;
constexpr size_t kBlocks = 8;              // of rows that see a tree while it is in the cache
constexpr size_t kMostBytes = 256u << 10;  // of their codes
constexpr size_t kLineCodes = 32;          // codes of a line of the cache

// The code of place by place, whose order is that of signed numbers.
int16_t signed_code(uint16_t code) { return static_cast<int16_t>(code - 0x8000); }

std::vector<std::vector<double>> thresholds_of(std::span<const SplitNode> nodes, size_t features) {
  std::vector<std::vector<double>> thresholds(features);
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].child != i) thresholds[nodes[i].feature()].push_back(nodes[i].threshold);
  for (auto& own : thresholds) {
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
  }
  return thresholds;
}

}  // namespace

std::optional<CodedWalk> CodedWalk::make(std::span<const SplitNode> nodes,
                                         std::span<const uint32_t> roots, size_t features) {
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].child != i && nodes[i].categorical()) return std::nullopt;
  const auto thresholds = thresholds_of(nodes, features);
  CodedWalk walk;
  size_t places = 0;
  for (const auto& own : thresholds) {
    if (own.size() > kMostThresholds) return std::nullopt;
    places += own.empty() ? 0 : 1;
  }
  if (places == 0 || places > 0xffff) return std::nullopt;
  walk.stride_ = places <= kLineCodes ? std::bit_ceil(places)
                                      : (places + kLineCodes - 1) / kLineCodes * kLineCodes;
  walk.add_nodes(nodes, thresholds);
  for (size_t f = 0; f < features; ++f)
    if (!thresholds[f].empty())
      walk.places_.push_back(
          {static_cast<uint32_t>(f), FeatureCoder(FeatureCoding::by_cuts(thresholds[f]))});
  walk.roots_.assign(roots.begin(), roots.end());
  for (const uint32_t root : roots) walk.add_top(root);
  return walk;
}

void CodedWalk::add_nodes(std::span<const SplitNode> nodes,
                          const std::vector<std::vector<double>>& cuts) {
  std::vector<uint16_t> place_of(cuts.size(), 0);
  uint16_t places = 0;
  for (size_t f = 0; f < cuts.size(); ++f)
    if (!cuts[f].empty()) place_of[f] = places++;
  nodes_.reserve(nodes.size());
  missing_left_.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const SplitNode& node = nodes[i];
    const bool leaf = node.child == i;
    missing_left_.push_back(leaf || node.missing_right() ? 0 : 1);
    if (leaf) {
      nodes_.push_back({kNothingAbove, 0, node.child});
      continue;
    }
    const auto& own = cuts[node.feature()];
    const auto at = std::lower_bound(own.begin(), own.end(), node.threshold) - own.begin();
    nodes_.push_back({static_cast<uint16_t>(at), place_of[node.feature()], node.child});
  }
}

// A leaf of a smaller depth is below tests that no row passes.
void CodedWalk::add_top(uint32_t root) {
  TopTests& top = tops_.emplace_back();
  uint32_t at[2 * kTopTests + 1];
  at[0] = root;
  for (size_t i = 0; i < kTopTests; ++i) {
    const Node& node = nodes_[at[i]];
    const bool leaf = node.child == at[i];
    top.at[i] = static_cast<uint32_t>(node.place * kScoredRows);
    top.code[i] = signed_code(node.code);
    at[2 * i + 1] = node.child;
    at[2 * i + 2] = node.child + (leaf ? 0 : 1);
  }
  for (size_t i = 0; i <= kTopTests; ++i)
    top.node[i] = static_cast<uint16_t>(at[kTopTests + i] - root);
}

size_t CodedWalk::rows_at_once() const {
  const size_t most = kMostBytes / (stride_ * sizeof(uint16_t) * kScoredRows);
  return kScoredRows * std::clamp<size_t>(most, 1, kBlocks);
}

CodedWalk::Codes CodedWalk::make_codes() const {
  const size_t rows = rows_at_once();
  return {make_large_array<uint16_t>(rows * stride_),
          make_large_array<int16_t>(rows * places_.size()),
          std::vector<uint8_t>(rows / kScoredRows)};
}

void CodedWalk::code(const Kernels& kernels, const Columns& table, size_t begin, size_t n,
                     Codes* codes) const {
  for (size_t at = 0; at < n; at += kScoredRows)
    code_block(kernels, table, begin + at, std::min(kScoredRows, n - at), at / kScoredRows, codes);
}

void CodedWalk::code_block(const Kernels& kernels, const Columns& table, size_t begin, size_t n,
                           size_t block, Codes* codes) const {
  static_assert(kScoredRows <= FeatureCoder::kMost);
  uint16_t own[kScoredRows] = {};
  uint16_t* const rows = codes->by_row.get() + block * kScoredRows * stride_;
  bool any_missing = false;
  for (size_t place = 0; place < places_.size(); ++place) {
    places_[place].coder.code(kernels, table, places_[place].feature, begin, n, kMissing, own);
    int16_t* const by_place =
        codes->by_place.get() + (block * places_.size() + place) * kScoredRows;
    for (size_t i = 0; i < kScoredRows; ++i) by_place[i] = signed_code(own[i]);
    for (size_t i = 0; i < n; ++i) {
      rows[i * stride_ + place] = own[i];
      any_missing = any_missing || own[i] == kMissing;
    }
  }
  codes->missing[block] = any_missing ? 1 : 0;
}

// `live` has the numbers of the rows that are not in leaves yet, `left` of them; returns how many
// there are after some steps. It has room for kChains more.
template <bool kAnyMissing>
size_t CodedWalk::walk_steps(const uint16_t* rows, size_t left, uint32_t* live,
                             uint32_t* at) const {
  const Node* const nodes = nodes_.data();
  const uint8_t* const missing_left = missing_left_.data();
  const size_t stride = stride_;
  // The last row fills the last group.
  const size_t padded = (left + kChains - 1) / kChains * kChains;
  for (size_t k = left; k < padded; ++k) live[k] = live[left - 1];
  const uint32_t last = live[left - 1];
  size_t kept = 0;
  for (size_t k = 0; k < padded; k += kChains) {
    uint32_t here[kChains], row[kChains];
    const uint16_t* codes[kChains];
    for (size_t j = 0; j < kChains; ++j) {
      row[j] = live[k + j];
      here[j] = at[row[j]];
      codes[j] = rows + row[j] * stride;
    }
#pragma GCC unroll 4
    for (size_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 8
      for (size_t j = 0; j < kChains; ++j) {
        const Node& node = nodes[here[j]];
        const uint16_t code = codes[j][node.place];
        if constexpr (kAnyMissing) {  // a missing value becomes 0 where it goes left
          const uint16_t shift = missing_left[here[j]];
          here[j] = node.child + (static_cast<uint16_t>(node.code + shift) <
                                  static_cast<uint16_t>(code + shift));
        } else {
          here[j] = node.child + (node.code < code);
        }
      }
    }
    for (size_t j = 0; j < kChains; ++j) {
      at[row[j]] = here[j];
      live[kept] = row[j];
      kept += nodes[here[j]].code != kNothingAbove;
    }
  }
  return kept - (nodes[at[last]].code != kNothingAbove ? padded - left : 0);
}

template <bool kAnyMissing>
void CodedWalk::walk(const uint16_t* rows, size_t n, uint32_t* at) const {
  uint32_t live[kScoredRows + kChains];
  for (size_t i = 0; i < n; ++i) live[i] = static_cast<uint32_t>(i);
  for (size_t left = n; left > 0;) left = walk_steps<kAnyMissing>(rows, left, live, at);
}

void CodedWalk::find_leaves(const Kernels& kernels, const Codes& codes, size_t block, size_t n,
                            size_t tree, uint32_t* leaf) const {
  const uint16_t* const rows = codes.by_row.get() + block * kScoredRows * stride_;
  const uint32_t root = roots_[tree];
  if (codes.missing[block] != 0) {
    std::fill_n(leaf, n, root);
    return walk<true>(rows, n, leaf);
  }
  uint16_t node[kScoredRows];
  kernels.top_nodes(tops_[tree], codes.by_place.get() + block * places_.size() * kScoredRows, n,
                    node);
  for (size_t i = 0; i < n; ++i) leaf[i] = root + node[i];
  walk<false>(rows, n, leaf);
}

}  // namespace stagewise

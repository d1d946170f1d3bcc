#include "shap/shap_tables.hpp"

#include <algorithm>
#include <bit>

#include "core/interrupt.hpp"
#include "shap/leaf_game.hpp"

namespace stagewise {
namespace {

constexpr size_t kMostBits = 14;           // of a pattern
constexpr size_t kGroupBytes = 32u << 10;  // of the table of several leaves

}  // namespace

// Makes the tables of one tree.
class TableMaker {
 public:
  TableMaker(const Kernels& kernels, const ShapTree& tree, const ShapRules& rules,
             const Background& background, TabledAttributions* out)
      : kernels_(kernels), tree_(tree), rules_(rules), background_(background), out_(*out) {
    inner_.assign(tree.nodes(), 0);
    for (size_t i = tree.nodes(); i-- > 0;)
      if (!tree.is_leaf(i))
        inner_[i] = 1 + inner_[static_cast<size_t>(tree.left[i])] +
                    inner_[static_cast<size_t>(tree.right[i])];
    for (size_t m = 0; m <= kMostBits; ++m) rules_of_.emplace_back((m + 1) / 2);
  }

  // False if they would be too large, which is found before any is made.
  bool run() {
    out_.stride_ = rules_.stride();
    if (tree_.is_leaf(0)) return true;
    std::vector<Draft> drafts;
    size_t total = 0;
    std::vector<size_t> roots = {0};
    while (!roots.empty()) {
      const size_t root = roots.back();
      roots.pop_back();
      Draft draft = draft_of(root);
      const bool few = draft.bits.size() <= kMostBits;
      const size_t bytes = few ? (draft.width << draft.bits.size()) * sizeof(double) : 0;
      if (!tree_.is_leaf(root) && (!few || bytes > kGroupBytes)) {
        roots.push_back(static_cast<size_t>(tree_.right[root]));
        roots.push_back(static_cast<size_t>(tree_.left[root]));
        continue;
      }
      total += bytes;
      if (!few || total > rules_.table_bytes) return false;
      drafts.push_back(std::move(draft));
    }
    for (const Draft& draft : drafts) add_group(draft);
    return true;
  }

 private:
  struct Bit {
    int32_t feature;
    double share;  // of a feature on the way to the group
    std::vector<Literal> literals;
  };
  // A leaf of a group: a row meets its conditions on the j-th feature where the pattern's bits in
  // care[j] are those of want[j].
  struct Leaf {
    size_t node;
    LeafGame game;
    std::vector<uint32_t> care, want;
    std::vector<size_t> place;  // of its features among those of the group
  };
  struct Draft {
    size_t root;
    std::vector<Bit> bits;  // features on the way, then splits
    size_t on_the_way = 0;
    std::vector<int32_t> features;  // of the group, increasing
    size_t width = 0;               // of a row of its table
  };

  Draft draft_of(size_t root) const {
    Draft draft{root, {}, 0, {}, 0};
    for (size_t node = root; tree_.parent[node] >= 0;
         node = static_cast<size_t>(tree_.parent[node])) {
      const int32_t f = tree_.split_feature(node);
      const auto known = std::find_if(draft.bits.begin(), draft.bits.end(),
                                      [=](const Bit& bit) { return bit.feature == f; });
      if (known == draft.bits.end()) {
        draft.bits.push_back({f, tree_.share[node], {tree_.literal(node)}});
      } else {
        known->share *= tree_.share[node];
        known->literals.push_back(tree_.literal(node));
      }
    }
    draft.on_the_way = draft.bits.size();
    if (draft.on_the_way + inner_[root] > kMostBits && !tree_.is_leaf(root)) {
      draft.bits.resize(kMostBits + 1);  // too many, whatever they are
      return draft;
    }
    for (const Bit& bit : draft.bits) draft.features.push_back(bit.feature);
    std::vector<size_t> below = {root};
    while (!below.empty()) {
      const size_t node = below.back();
      below.pop_back();
      if (tree_.is_leaf(node)) continue;
      draft.bits.push_back({tree_.feature[node], 1.0, {{tree_.split[node], 0}}});
      draft.features.push_back(tree_.feature[node]);
      below.push_back(static_cast<size_t>(tree_.right[node]));
      below.push_back(static_cast<size_t>(tree_.left[node]));
    }
    std::sort(draft.features.begin(), draft.features.end());
    draft.features.erase(std::unique(draft.features.begin(), draft.features.end()),
                         draft.features.end());
    draft.width =
        LeafGame::attributions(draft.features.size(), rules_.interactions) * tree_.outputs;
    return draft;
  }

  // The leaf's conditions in the bits of its group.
  Leaf leaf_of_group(const Draft& draft, size_t node) const {
    Leaf leaf{node, {}, {}, {}, {}};
    for (size_t b = 0; b < draft.on_the_way; ++b) {
      leaf.game.feature.push_back(draft.bits[b].feature);
      leaf.game.share.push_back(draft.bits[b].share);
      leaf.care.push_back(1u << b);
      leaf.want.push_back(1u << b);
    }
    for (size_t at = node; at != draft.root; at = static_cast<size_t>(tree_.parent[at])) {
      const Literal literal = tree_.literal(at);
      const auto split = std::find_if(
          draft.bits.begin() + static_cast<ptrdiff_t>(draft.on_the_way), draft.bits.end(),
          [&](const Bit& bit) { return bit.literals[0].split == literal.split; });
      const uint32_t bit = 1u << (split - draft.bits.begin());
      const size_t j = leaf.game.place(tree_.split_feature(at));
      if (j == leaf.care.size()) {
        leaf.care.push_back(0);
        leaf.want.push_back(0);
      }
      leaf.game.share[j] *= tree_.share[at];
      leaf.care[j] |= bit;
      if (literal.flip == 0) leaf.want[j] |= bit;
    }
    for (const int32_t f : leaf.game.feature)
      leaf.place.push_back(
          static_cast<size_t>(std::lower_bound(draft.features.begin(), draft.features.end(), f) -
                              draft.features.begin()));
    return leaf;
  }

  static uint32_t met(const Leaf& leaf, uint32_t pattern) {
    uint32_t mask = 0;
    for (size_t j = 0; j < leaf.care.size(); ++j)
      mask |= static_cast<uint32_t>((pattern & leaf.care[j]) == leaf.want[j]) << j;
    return mask;
  }

  void add_group(const Draft& draft) {
    TabledAttributions::Group group{draft.bits.size(), out_.bit_start_.size() - 1,
                                    out_.table_.size(), out_.slots_.size(), draft.width};
    for (const Bit& bit : draft.bits) {
      out_.literals_.insert(out_.literals_.end(), bit.literals.begin(), bit.literals.end());
      out_.bit_start_.push_back(static_cast<uint32_t>(out_.literals_.size()));
    }
    add_slots(draft);
    const size_t patterns = size_t{1} << draft.bits.size();
    out_.table_.resize(group.table + patterns * group.width, 0.0);
    const std::vector<double> seen = histogram(group, patterns);
    std::vector<size_t> below = {draft.root};
    while (!below.empty()) {
      const size_t node = below.back();
      below.pop_back();
      if (!tree_.is_leaf(node)) {
        below.push_back(static_cast<size_t>(tree_.right[node]));
        below.push_back(static_cast<size_t>(tree_.left[node]));
        continue;
      }
      add_leaf(group, draft, leaf_of_group(draft, node), seen);
    }
    out_.groups_.push_back(group);
  }

  void add_slots(const Draft& draft) {
    LeafGame::each_attribution(draft.features.size(), rules_.interactions, [&](size_t i, size_t j) {
      for (size_t k = 0; k < tree_.outputs; ++k)
        out_.slots_.push_back(rules_.slot(static_cast<size_t>(draft.features[i]),
                                          static_cast<size_t>(draft.features[j]),
                                          tree_.output + k));
    });
  }

  // The share of the background rows that has each pattern; empty if not needed.
  std::vector<double> histogram(const TabledAttributions::Group& group, size_t patterns) const {
    if (rules_.kind == ShapKind::path) return {};
    std::vector<size_t> count(patterns, 0);
    uint16_t pattern[kDecisionRows];
    for (size_t p = 0; p < background_.parts(); ++p) {
      kernels_.patterns(out_.bits_of(group), background_.part(p), pattern);
      for (size_t i = 0; i < background_.in_part(p); ++i) ++count[pattern[i]];
    }
    std::vector<double> seen(patterns);
    for (size_t c = 0; c < patterns; ++c)
      seen[c] = static_cast<double>(count[c]) / static_cast<double>(background_.rows);
    return seen;
  }

  void add_leaf(const TabledAttributions::Group& group, const Draft& draft, const Leaf& leaf,
                const std::vector<double>& seen) {
    const size_t m = leaf.game.feature.size(), n = LeafGame::attributions(m, rules_.interactions);
    check_interrupt();
    std::vector<double> attribution;
    if (rules_.kind == ShapKind::path) {
      attribution = leaf.game.by_shares(rules_of_[m], rules_.interactions);
    } else {
      std::vector<double> masks(size_t{1} << m, 0.0);
      for (size_t c = 0; c < seen.size(); ++c)
        if (seen[c] > 0.0) masks[met(leaf, static_cast<uint32_t>(c))] += seen[c];
      attribution = leaf.game.by_background(masks, rules_.interactions);
    }
    // The positions of the attributions of the leaf in a row of the table.
    std::vector<size_t> to;
    const size_t all = draft.features.size();
    LeafGame::each_attribution(m, rules_.interactions, [&](size_t i, size_t j) {
      to.push_back(
          LeafGame::attribution_of(all, rules_.interactions, leaf.place[i], leaf.place[j]));
    });
    const double* const value = tree_.value.data() + leaf.node * tree_.outputs;
    for (size_t pattern = 0; pattern < size_t{1} << group.bits; ++pattern) {
      const double* const from = attribution.data() + met(leaf, static_cast<uint32_t>(pattern)) * n;
      double* const row = out_.table_.data() + group.table + pattern * group.width;
      for (size_t c = 0; c < n; ++c)
        for (size_t k = 0; k < tree_.outputs; ++k)
          row[to[c] * tree_.outputs + k] += value[k] * from[c];
    }
  }

  const Kernels& kernels_;
  const ShapTree& tree_;
  const ShapRules& rules_;
  const Background& background_;
  TabledAttributions& out_;
  std::vector<size_t> inner_;         // splits at and below each node
  std::vector<Quadrature> rules_of_;  // for games of so many features
};

std::unique_ptr<TabledAttributions> TabledAttributions::make(const Kernels& kernels,
                                                             const ShapTree& tree,
                                                             const ShapRules& rules,
                                                             const Background& background) {
  std::unique_ptr<TabledAttributions> made(new TabledAttributions());
  if (!TableMaker(kernels, tree, rules, background, made.get()).run()) return nullptr;
  return made;
}

void TabledAttributions::add(const Kernels& kernels, const ShapRows& rows, double* out) const {
  uint16_t pattern[kDecisionRows];
  for (const Group& group : groups_) {
    kernels.patterns(bits_of(group), rows.decisions, pattern);
    kernels.add_patterns(table_.data() + group.table, slots_.data() + group.slots, group.width,
                         pattern, rows.n, stride_, out);
  }
}

}  // namespace stagewise

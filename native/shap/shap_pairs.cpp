#include "shap/shap_pairs.hpp"

#include <utility>

#include "core/interrupt.hpp"
#include "shap/leaf_game.hpp"
#include "shap/linear_leaf_game.hpp"

namespace stagewise {
namespace {

constexpr size_t kRowsPerLook = 64;  // of the background, between two checks of the interrupt

// The values of the features of the linear leaves of a tree, row by row.
class LineValues {
 public:
  explicit LineValues(const ShapTree& tree) : place_of_(tree.nodes()) {
    for (size_t node = 0; node < tree.nodes(); ++node)
      if (tree.has_model(node))
        for (const LinearLeaves::Term& term : tree.linear_leaves->terms(tree.line[node]))
          features_.push_back(term.feature);
    std::sort(features_.begin(), features_.end());
    features_.erase(std::unique(features_.begin(), features_.end()), features_.end());
    for (size_t node = 0; node < tree.nodes(); ++node)
      if (tree.has_model(node))
        for (const LinearLeaves::Term& term : tree.linear_leaves->terms(tree.line[node]))
          place_of_[node].push_back(static_cast<size_t>(
              std::lower_bound(features_.begin(), features_.end(), term.feature) -
              features_.begin()));
  }

  size_t width() const { return features_.size(); }
  // Where the feature of a leaf's k-th term is in a row.
  size_t place(size_t leaf, size_t k) const { return place_of_[leaf][k]; }
  void read(const Columns& table, size_t row, double* out) const {
    for (const int32_t f : features_) *out++ = table.at(static_cast<size_t>(f), row);
  }

 private:
  std::vector<int32_t> features_;
  std::vector<std::vector<size_t>> place_of_;
};

class Paired : public TreeAttributions {
 public:
  Paired(ShapTree tree, const ShapRules& rules, const Background& background)
      : tree_(std::move(tree)),
        rules_(rules),
        rows_(background.rows),
        splits_(background.splits),
        linear_leaves_(tree_) {
    // Bytes, row by row: a walk reads one row at a time.
    right_.resize(rows_ * splits_);
    values_.resize(rows_ * linear_leaves_.width());
    for (size_t row = 0; row < rows_; ++row) {
      const int16_t* const part = background.part(row / kDecisionRows);
      for (size_t s = 0; s < splits_; ++s)
        right_[row * splits_ + s] = part[s * kDecisionRows + row % kDecisionRows] != 0;
      linear_leaves_.read(*background.table, row, values_.data() + row * linear_leaves_.width());
    }
    for (size_t node = 0; node < tree_.nodes(); ++node)
      if (tree_.is_leaf(node)) most_ = std::max(most_, features_at(node));
    for (size_t gained = 0; gained <= most_; ++gained)
      for (size_t lost = 0; lost <= most_; ++lost) attributions_.emplace_back(gained, lost);
  }

  size_t bytes() const override {
    return right_.size() + values_.size() * sizeof(double) + tree_.nodes() * 96;
  }

  void add(const Kernels&, const ShapRows& rows, double* out) const override {
    std::vector<double> attribution(rules_.stride());
    Walk walk(splits_, linear_leaves_.width(), most_);
    for (size_t i = 0; i < rows.n; ++i) {
      for (size_t s = 0; s < splits_; ++s) walk.own[s] = rows.decisions[s * kDecisionRows + i] != 0;
      linear_leaves_.read(*rows.table, rows.begin + i, walk.values.data());
      std::fill(attribution.begin(), attribution.end(), 0.0);
      for (size_t row = 0; row < rows_; ++row) {
        if (row % kRowsPerLook == 0) check_interrupt();
        meet(row, &walk, attribution.data());
      }
      double* const to = out + i * rules_.stride();
      for (size_t slot = 0; slot < attribution.size(); ++slot)
        to[slot] += attribution[slot] / static_cast<double>(rows_);
    }
  }

 private:
  // A node that the two come to, and by which feature they parted last.
  struct Stop {
    size_t node, gained, lost;
    int32_t feature;
    bool gains;  // it is the row's side
  };
  struct Walk {
    Walk(size_t splits, size_t width, size_t most)
        : own(splits), values(width), gained(most + 1), lost(most + 1) {}
    std::vector<uint8_t> own;           // where the row goes at each split
    std::vector<double> values;         // of the row, for linear leaves
    std::vector<int32_t> gained, lost;  // features, in the order of the path
    std::vector<Stop> stops;
    std::vector<FreeTerm> free;
  };

  static bool held(const std::vector<int32_t>& list, size_t n, int32_t f) {
    const auto end = list.begin() + static_cast<ptrdiff_t>(n);
    return std::find(list.begin(), end, f) != end;
  }

  // How many features a leaf depends on: those of its path and of its model.
  size_t features_at(size_t leaf) const {
    std::vector<int32_t> all;
    for (size_t node = leaf; node != 0; node = static_cast<size_t>(tree_.parent[node]))
      if (!held(all, all.size(), tree_.split_feature(node)))
        all.push_back(tree_.split_feature(node));
    if (!tree_.has_model(leaf)) return all.size();
    for (const LinearLeaves::Term& term : tree_.linear_leaves->terms(tree_.line[leaf]))
      if (!held(all, all.size(), term.feature)) all.push_back(term.feature);
    return all.size();
  }

  void meet(size_t row, Walk* walk, double* attribution) const {
    const uint8_t *const own = walk->own.data(), *const other = right_.data() + row * splits_;
    walk->stops.push_back({0, 0, 0, -1, false});
    while (!walk->stops.empty()) {
      const Stop at = walk->stops.back();
      walk->stops.pop_back();
      // What lies behind these places belongs to paths that have been left.
      if (at.feature >= 0)
        (at.gains ? walk->gained[at.gained - 1] : walk->lost[at.lost - 1]) = at.feature;
      if (tree_.is_leaf(at.node)) {
        if (tree_.has_model(at.node)) {
          say_line(at, row, walk, attribution);
        } else {
          arrive(at.gained, at.lost, *walk, tree_.value.data() + at.node * tree_.outputs,
                 attribution);
        }
        continue;
      }
      const int32_t f = tree_.feature[at.node];
      const uint32_t split = tree_.split[at.node];
      const auto child = [&](uint8_t right) {
        return static_cast<size_t>(right != 0 ? tree_.right[at.node] : tree_.left[at.node]);
      };
      if (own[split] == other[split] || held(walk->gained, at.gained, f)) {
        walk->stops.push_back({child(own[split]), at.gained, at.lost, -1, false});
      } else if (held(walk->lost, at.lost, f)) {
        walk->stops.push_back({child(other[split]), at.gained, at.lost, -1, false});
      } else {
        walk->stops.push_back({child(other[split]), at.gained, at.lost + 1, f, false});
        walk->stops.push_back({child(own[split]), at.gained + 1, at.lost, f, true});
      }
    }
  }

  // A linear leaf: of features that have a side, and of others that may have either.
  void say_line(const Stop& at, size_t row, Walk* walk, double* attribution) const {
    const int32_t line = tree_.line[at.node];
    const double* const theirs = values_.data() + row * linear_leaves_.width();
    double sum = tree_.linear_leaves->head(line).intercept;
    walk->free.clear();
    size_t k = 0;
    for (const LinearLeaves::Term& term : tree_.linear_leaves->terms(line)) {
      const size_t place = linear_leaves_.place(at.node, k++);
      const double own = term.of(walk->values[place]), other = term.of(theirs[place]);
      if (held(walk->gained, at.gained, term.feature)) {
        sum += own;
      } else if (own == other || held(walk->lost, at.lost, term.feature)) {
        sum += other;
      } else {
        walk->free.push_back({term.feature, own, other});
      }
    }
    const auto arrives = [&](size_t gained, size_t lost, double value) {
      arrive(gained, lost, *walk, &value, attribution);
    };
    LinearLeafGame game(tree_.linear_leaves->head(line), tree_.value[at.node], walk->gained.data(),
                        walk->lost.data(), arrives);
    game.play(at.gained, at.lost, walk->free, sum);
  }

  // The game of a constant, which some features must bring and others must not; a value for each
  // output of the tree.
  void arrive(size_t gained, size_t lost, const Walk& walk, const double* value,
              double* attribution) const {
    const BackgroundAttributions& attributions = attributions_[gained * (most_ + 1) + lost];
    const auto gains = [&](size_t i) { return i < gained; };
    const auto feature = [&](size_t i) {
      return static_cast<size_t>(gains(i) ? walk.gained[i] : walk.lost[i - gained]);
    };
    LeafGame::each_attribution(gained + lost, rules_.interactions, [&](size_t i, size_t j) {
      const size_t f = std::min(feature(i), feature(j)), g = std::max(feature(i), feature(j));
      const double share =
          i == j ? attributions.single(gains(i)) : attributions.pair(gains(i), gains(j));
      for (size_t k = 0; k < tree_.outputs; ++k)
        attribution[rules_.slot(f, g, tree_.output + k)] += value[k] * share;
    });
  }

  ShapTree tree_;
  ShapRules rules_;
  size_t rows_, splits_;
  LineValues linear_leaves_;
  size_t most_ = 0;  // features that a leaf depends on
  std::vector<uint8_t> right_;
  std::vector<double> values_;                        // of the background, for linear leaves
  std::vector<BackgroundAttributions> attributions_;  // [gained * (most_ + 1) + lost]
};

}  // namespace

std::unique_ptr<TreeAttributions> paired_attributions(ShapTree tree, const ShapRules& rules,
                                                      const Background& background) {
  return std::make_unique<Paired>(std::move(tree), rules, background);
}

}  // namespace stagewise

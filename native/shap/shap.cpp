#include "shap/shap.hpp"

#include <algorithm>

#include "core/interrupt.hpp"
#include "shap/shap_pairs.hpp"
#include "shap/shap_tables.hpp"
#include "shap/shap_walks.hpp"

namespace stagewise {
namespace {

constexpr size_t kRows = 1024;      // that go through a tree while its tables are in the cache
constexpr size_t kMostSets = 4096;  // of categories, each with a code for every row
constexpr size_t kLeafBytes = 128u << 10;  // a group's or a leaf's table, seldom more
constexpr size_t kNodeBytes = 256;         // what a node of a walked tree needs, about

// How many trees can be held at once.
size_t last_tree(const FlatTrees& trees, const ShapRules& rules, size_t first,
                 size_t background_rows, size_t max_bytes) {
  size_t bytes = 0, sets = 0, t = first;
  for (; t + 1 < trees.start.size(); ++t) {
    const size_t nodes = trees.start[t + 1] - trees.start[t];
    for (size_t i = trees.start[t]; i < trees.start[t + 1]; ++i)
      sets += trees.feature[i] >= 0 && trees.categorical(static_cast<size_t>(trees.feature[i]));
    const size_t tables = std::min(rules.table_bytes, nodes / 2 * kLeafBytes);
    const size_t values =
        trees.linear_leaves == nullptr ? 0 : std::min(rules.features, nodes / 2 + 1);
    bytes += std::max(tables, nodes * (kNodeBytes + background_rows / 2));
    bytes += background_rows * values * sizeof(double);
    if (t > first && (bytes > max_bytes || sets > kMostSets)) break;
  }
  return t;
}

}  // namespace

Shap::Shap(Workers& workers, const Kernels& kernels, const FlatTrees& constants,
           std::span<const double> cover, const Columns* background, const ShapRules& rules,
           size_t first, size_t max_bytes, std::shared_ptr<const LinearLeaves> linear_leaves)
    : rules_(rules),
      linear_leaves_(std::move(linear_leaves)),
      first_(first),
      base_(rules.outputs, 0.0) {
  FlatTrees trees = constants;
  trees.linear_leaves = linear_leaves_.get();
  const size_t rows = background == nullptr ? 0 : background->rows;
  last_ = last_tree(trees, rules, first, rows, max_bytes);
  codes_.emplace(trees, rules.features, first, last_);
  std::vector<int16_t> codes;
  if (rows > 0) {
    const size_t parts = (rows + kDecisionRows - 1) / kDecisionRows;
    codes.assign(parts * codes_->places() * kDecisionRows, 0);
    codes_->code(kernels, *background, 0, rows, codes.data());
  }
  trees_.resize(last_ - first_);
  tree_base_.resize(last_ - first_);
  for (size_t t = first_; t < last_; ++t) most_splits_ = std::max(most_splits_, codes_->count(t));
  workers.run(last_ - first_,
              [&](size_t t, int) { ready(kernels, trees, cover, codes, background, first_ + t); });
  for (const auto& node_prediction : tree_base_)
    for (size_t k = 0; k < rules_.outputs; ++k) base_[k] += node_prediction[k];
}

void Shap::ready(const Kernels& kernels, const FlatTrees& trees, std::span<const double> cover,
                 const std::vector<int16_t>& codes, const Columns* others, size_t tree) {
  ShapTree shape(trees, cover, tree, rules_.outputs);
  std::vector<double>& node_prediction = tree_base_[tree - first_];
  node_prediction.assign(rules_.outputs, 0.0);
  const auto predict = [&](size_t leaf, double share) {
    for (size_t k = 0; k < shape.outputs; ++k)
      node_prediction[shape.output + k] += share * shape.value[leaf * shape.outputs + k];
  };
  const auto say_of = [&](size_t leaf, size_t row, double share) {
    if (!shape.has_model(leaf)) return predict(leaf, share);
    node_prediction[shape.output] +=
        share * shape.linear_leaves->predict(shape.line[leaf], shape.value[leaf],
                                             [&](size_t f) { return others->at(f, row); });
  };
  Background background{nullptr, others, others == nullptr ? 0 : others->rows, codes_->count(tree)};
  std::vector<int16_t> decisions(background.parts() * background.splits * kDecisionRows);
  background.decisions = decisions.data();
  for (size_t p = 0; p < background.parts(); ++p) {
    kernels.decisions(codes_->splits(tree), background.splits,
                      codes.data() + p * codes_->places() * kDecisionRows,
                      decisions.data() + p * background.splits * kDecisionRows);
    for (size_t i = 0; i < background.in_part(p); ++i)
      say_of(leaf_of(shape, background.part(p), i), p * kDecisionRows + i,
             1.0 / static_cast<double>(background.rows));
  }
  if (rules_.kind == ShapKind::path)
    for (size_t node = 0; node < shape.nodes(); ++node)
      if (shape.is_leaf(node)) predict(node, shape.reach[node]);
  std::unique_ptr<TreeAttributions>& made = trees_[tree - first_];
  if (shape.linear_leaves == nullptr)
    made = TabledAttributions::make(kernels, shape, rules_, background);
  if (made != nullptr) return;
  ++walked_;
  made = rules_.kind == ShapKind::path ? walked_attributions(std::move(shape), rules_)
                                       : paired_attributions(std::move(shape), rules_, background);
}

void Shap::add(Workers& workers, const Kernels& kernels, const Columns& table, size_t begin,
               size_t end, double* out) const {
  workers.run((end - begin + kRows - 1) / kRows, [&](size_t chunk, int) {
    const size_t from = begin + chunk * kRows, n = std::min(kRows, end - from);
    const size_t parts = (n + kDecisionRows - 1) / kDecisionRows, places = codes_->places();
    std::vector<int16_t> codes(parts * places * kDecisionRows, 0);
    codes_->code(kernels, table, from, n, codes.data());
    std::vector<int16_t> decisions(most_splits_ * kDecisionRows);
    double* const rows = out + (from - begin) * rules_.stride();
    for (size_t t = first_; t < last_; ++t)
      for (size_t p = 0; p < parts; ++p) {
        check_interrupt();
        kernels.decisions(codes_->splits(t), codes_->count(t),
                          codes.data() + p * places * kDecisionRows, decisions.data());
        const ShapRows split_feature{decisions.data(), &table, from + p * kDecisionRows,
                                     std::min(kDecisionRows, n - p * kDecisionRows)};
        trees_[t - first_]->add(kernels, split_feature, rows + p * kDecisionRows * rules_.stride());
      }
  });
}

}  // namespace stagewise

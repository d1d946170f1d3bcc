// Shapley values of a sum of trees. Trees are prepared one by one, with tables if they are small,
// else for walks, as many at once as memory allows; then blocks of rows are coded and processed
// tree by tree. The bits depend neither on threads nor on blocks, nor on the number of trees held
// at once. Immutable after construction: any number of threads may use it.
#pragma once

#include <atomic>
#include <optional>

#include "core/threads.hpp"
#include "predict/split_codes.hpp"
#include "shap/shap_tree.hpp"

namespace stagewise {

class Shap {
 public:
  // Of the trees [first, last()), which are at least one and at most as many as `max_bytes` hold.
  // cover: of the path kind; background: of the other, which alone supports linear leaves. The
  // trees are sound.
  Shap(Workers& workers, const Kernels& kernels, const FlatTrees& trees,
       std::span<const double> cover, const Columns* background, const ShapRules& rules,
       size_t first, size_t max_bytes, std::shared_ptr<const LinearLeaves> linear_leaves = nullptr);

  size_t last() const { return last_; }
  // The number of trees that are too large for tables or have linear leaves.
  size_t walked() const { return walked_; }
  const ShapRules& rules() const { return rules_; }
  // The expected prediction of each output.
  const std::vector<double>& base() const { return base_; }

  // out[(row - begin) * stride + slot] += the attributions of rows [begin, end).
  void add(Workers& workers, const Kernels& kernels, const Columns& table, size_t begin, size_t end,
           double* out) const;

 private:
  void ready(const Kernels& kernels, const FlatTrees& trees, std::span<const double> cover,
             const std::vector<int16_t>& codes, const Columns* others, size_t tree);

  ShapRules rules_;
  std::shared_ptr<const LinearLeaves> linear_leaves_;
  size_t first_, last_;
  std::optional<SplitCodes> codes_;
  size_t most_splits_ = 0;
  std::atomic<size_t> walked_ = 0;
  std::vector<std::unique_ptr<TreeAttributions>> trees_;
  std::vector<std::vector<double>> tree_base_;
  std::vector<double> base_;
};

}  // namespace stagewise

// Shapley values of small trees from tables. Attributions depend on a row only through the
// conditions that it meets. The leaves of a tree are divided into groups, subtrees; a group has a
// bit for each feature on the path to it and for each of its splits, and a table of the
// attributions for each pattern of bits (for single leaves: Yang 2021, Fast TreeSHAP v2). A row
// costs one lookup per group, for both kinds of values.
#pragma once

#include "shap/shap_tree.hpp"

namespace stagewise {

class TabledAttributions : public TreeAttributions {
 public:
  // Nothing if the tables would be too large. The leaves are constants.
  static std::unique_ptr<TabledAttributions> make(const Kernels& kernels, const ShapTree& tree,
                                                  const ShapRules& rules,
                                                  const Background& background);

  void add(const Kernels& kernels, const ShapRows& rows, double* out) const override;
  size_t bytes() const override { return table_.size() * sizeof(double); }

 private:
  struct Group {
    size_t bits, first_bit;  // in bit_start_
    size_t table, slots, width;
  };
  friend class TableMaker;

  TabledAttributions() = default;
  PatternBits bits_of(const Group& group) const {
    return {literals_.data(), bit_start_.data() + group.first_bit, group.bits};
  }

  size_t stride_ = 0;
  std::vector<Group> groups_;
  std::vector<Literal> literals_;
  std::vector<uint32_t> bit_start_ = {0};
  std::vector<double> table_;
  std::vector<uint32_t> slots_;
};

}  // namespace stagewise

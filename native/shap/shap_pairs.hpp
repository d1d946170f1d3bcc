// Interventional Shapley values of trees that are too large for tables or have linear leaves. A row
// and a background row go down together and part where they differ (Laberge & Pequignot 2022); a
// leaf is reached by the sets of features that bring one side of every parting, and its value is a
// game of these features, with the terms of a linear leaf (linear_leaf_game.hpp).
#pragma once

#include "shap/shap_tree.hpp"

namespace stagewise {

// Copies the decisions of the background rows, and the values that linear leaves need.
std::unique_ptr<TreeAttributions> paired_attributions(ShapTree tree, const ShapRules& rules,
                                                      const Background& background);

}  // namespace stagewise

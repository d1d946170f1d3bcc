// Shapley values against background rows, of trees that are too large for tables or say lines.
//
// One idea: a row and a background row go down together, and part where they differ (Laberge &
// Pequignot 2022); a leaf is reached by those sets of features that bring one side of every
// parting, and what it says is a game of these, perhaps with the terms of its line
// (linear_leaf_game.hpp). Must not: depend on how many rows are asked about.
#pragma once

#include "shap/shap_tree.hpp"

namespace stagewise {

// The answers of the background rows, and what lines need of their values, are copied.
std::unique_ptr<TreeAttributions> paired_attributions(ShapTree tree, const ShapRules& rules,
                                                      const Background& background);

}  // namespace stagewise

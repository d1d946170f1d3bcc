// Shapley values of trees that are too large for tables, by walks.
//
// Path kind: the products of all leaves below an edge are summed at the points of a quadrature, so
// that an edge costs a few operations for each point, and a row O(leaves * depth) (as Linear
// TreeSHAP does with polynomials, Yu et al. 2022). Interventional: a row and a background row go
// down together, and part where they differ (Laberge & Pequignot 2022).
// Must not: depend on how many rows are asked about.
#pragma once

#include "shap_tree.hpp"

namespace stagewise {

// By the shares of rows; without or with pairs.
std::unique_ptr<TreeCredits> walked_credits(ShapTree tree, const ShapRules& rules);
// Against background rows, whose answers are copied.
std::unique_ptr<TreeCredits> paired_credits(ShapTree tree, const ShapRules& rules,
                                            const Background& background);

}  // namespace stagewise

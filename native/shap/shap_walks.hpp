// Path-dependent Shapley values of trees that are too large for tables. The products of all leaves
// below an edge are summed at the points of a quadrature, so an edge costs a few operations per
// point, and a row O(leaves * depth), as in Linear TreeSHAP (Yu et al. 2022).
#pragma once

#include "shap/shap_tree.hpp"

namespace stagewise {

// Without or with pairs.
std::unique_ptr<TreeAttributions> walked_attributions(ShapTree tree, const ShapRules& rules);

}  // namespace stagewise

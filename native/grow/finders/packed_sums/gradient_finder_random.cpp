// Random thresholds among few rows: a feature has one cut, which needs no sums of bins.
#include <algorithm>

#include "grow/finders/packed_sums/gradient_finder.hpp"

namespace stagewise {

// Whether the cuts of features without missing values are those of random_cut(). A row that is
// packed as 0 counts as absent.
bool GradientFinder::has_random_cuts(const Scan& node, const Scratch& scratch) const {
  if (!rules_.random_thresholds || counts_needed_ || node.leaf->forced_split >= 0 ||
      !rules_.constraints.monotone.empty() || !node.rules.regularisation.plain())
    return false;
  const int64_t* const first = scratch.row_packed.data();
  return std::find(first, first + node.rows.n, 0) == first + node.rows.n;
}

// As scan_bins(), from the codes of the rows.
GradientFinder::Candidate GradientFinder::random_cut(const Scan& node, uint32_t feature,
                                                     const Scratch& scratch) const {
  Candidate candidate;
  candidate.exact = true;
  const uint16_t* const codes = scratch.row_codes.data();
  const size_t n = node.rows.n;
  const CodeRange range = kernels_.code_range(codes, n);
  if (range.least == range.most) return candidate;
  const size_t last = draw_position(node, feature, range.least, range.most);
  const CutSides sides =
      kernels_.cut_sides(codes, scratch.row_packed.data(), n, static_cast<uint16_t>(last));
  const int64_t all = node.leaf->packed_sum, left = sides.left_sum;
  const auto gl = static_cast<double>(packed_gradient(left));
  const auto hl = static_cast<double>(packed_hessian(left));
  const double gr = static_cast<double>(packed_gradient(all)) - gl;
  const double hr = static_cast<double>(packed_hessian(all)) - hl;
  if (hl < node.rules.min_hessian || hr < node.rules.min_hessian) return candidate;
  candidate.result.score = pair_score(gl, hl, gr, hr, node.rules.regularisation.l2);
  candidate.result.left_sum = left;
  set_cut(bins_.coding(feature), last, 0, sides.next, &candidate);
  return candidate;
}

}  // namespace stagewise

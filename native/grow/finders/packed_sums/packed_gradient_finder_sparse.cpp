// PackedGradientFinder: weights and missing values of nodes of sparse tables.
#include "grow/finders/packed_sums/packed_gradient_finder.hpp"

namespace stagewise {
namespace {

// Tests whether a row belongs to a node.
class NodeRows {
 public:
  NodeRows(const RowIndex& rows, std::vector<uint8_t>* marks) : rows_(rows), marks_(*marks) {
    set(1);
  }
  ~NodeRows() { set(0); }
  NodeRows(const NodeRows&) = delete;
  NodeRows& operator=(const NodeRows&) = delete;
  bool has(size_t row) const { return rows_.listed == nullptr || marks_[row] != 0; }

 private:
  void set(uint8_t mark) {
    if (rows_.listed != nullptr)
      for (size_t i = 0; i < rows_.n; ++i) marks_[rows_.listed[i]] = mark;
  }

  const RowIndex& rows_;
  std::vector<uint8_t>& marks_;
};

}  // namespace

// One side of any split has no row of the default bin, so the other rows must reach the minimal
// count.
void PackedGradientFinder::count_sparse_rows() {
  const SparseCodes& codes = bins_.sparse_codes();
  sparse_counts_.assign(bins_.features(), 0);
  for (size_t f = 0; f < bins_.features(); ++f)
    codes.visit(f, 0, codes.rows(), [&](uint32_t row, uint32_t code) {
      if (code != codes.default_bin(f)) sparse_counts_[f] += weights_[row];
    });
}

void PackedGradientFinder::count_cells(const Scan& node, uint32_t feature, Scratch* scratch) const {
  const SparseCodes& codes = bins_.sparse_codes();
  const NodeRows rows(node.rows, &scratch->row_marks);
  int64_t stored = 0;
  codes.visit(feature, 0, codes.rows(), [&](uint32_t row, uint32_t code) {
    if (!rows.has(row)) return;
    scratch->counts[code] += weights_[row];
    stored += weights_[row];
  });
  scratch->counts[codes.default_bin(feature)] += node.leaf->count - stored;
}

bool PackedGradientFinder::any_missing_cell(const Scan& node, uint32_t feature,
                                            Scratch* scratch) const {
  const SparseCodes& codes = bins_.sparse_codes();
  const NodeRows rows(node.rows, &scratch->row_marks);
  int64_t stored = 0, missing = 0;  // sums of weights
  codes.visit(feature, 0, codes.rows(), [&](uint32_t row, uint32_t code) {
    if (!rows.has(row)) return;
    stored += weights_[row];
    missing += code == bins_.value_bins(feature) ? weights_[row] : 0;
  });
  if (codes.default_bin(feature) == bins_.value_bins(feature)) missing += node.leaf->count - stored;
  return missing > 0;
}

}  // namespace stagewise

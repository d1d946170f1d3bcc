// A sparse table in compressed form, by rows (CSR) or by columns (CSC); cells that are not stored
// have the default value. Training reads columns and prediction reads rows; transposing takes time
// in proportion to the stored cells. The arrays belong to the caller, or to the table, which shares
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/large_array.hpp"

namespace stagewise {

class SparseTable {
 public:
  struct Cells {
    const int64_t* start =
        nullptr;  // per row or column: its first cell; one more entry for the end
    const uint32_t* index = nullptr;  // per cell: its column or row, each at most once
    const void* values = nullptr;
    bool single = false;  // float32 rather than float64
  };

  // default_value: of cells that are not stored, 0 or NaN. The cells are not checked.
  SparseTable(bool by_rows, size_t rows, size_t features, double default_value, const Cells& cells)
      : by_rows_(by_rows),
        rows_(rows),
        features_(features),
        default_value_(default_value),
        cells_(cells) {}

  // Throws std::invalid_argument unless every index of the cells is inside the table.
  static void check(const Cells& cells, size_t n_major, size_t n_minor, size_t stored);

  bool by_rows() const { return by_rows_; }
  size_t rows() const { return rows_; }
  size_t features() const { return features_; }
  double default_value() const { return default_value_; }
  bool single() const { return cells_.single; }
  size_t stored() const { return static_cast<size_t>(cells_.start[n_major()]); }

  size_t first(size_t major) const { return static_cast<size_t>(cells_.start[major]); }
  size_t last(size_t major) const { return static_cast<size_t>(cells_.start[major + 1]); }
  const uint32_t* index() const { return cells_.index; }
  double value(size_t cell) const {
    return cells_.single ? static_cast<double>(static_cast<const float*>(cells_.values)[cell])
                         : static_cast<const double*>(cells_.values)[cell];
  }
  // The indices, if the table owns them: they can then be shared without a copy.
  std::shared_ptr<const uint32_t[]> own_index() const { return own_index_; }

  // The same cells in the other order: CSR to CSC or back.
  SparseTable transposed() const;
  // Of a table by rows: row i of the result is row chosen[i].
  SparseTable take(const uint32_t* chosen, size_t n) const;

 private:
  size_t n_major() const { return by_rows_ ? rows_ : features_; }
  size_t n_minor() const { return by_rows_ ? features_ : rows_; }
  static SparseTable owning(bool by_rows, size_t rows, size_t features, double default_value,
                            bool single, std::vector<int64_t> start);
  template <class Real>
  void transpose_into(SparseTable* out) const;
  template <class Real>
  void take_into(const uint32_t* chosen, SparseTable* out) const;

  bool by_rows_;
  size_t rows_, features_;
  double default_value_;
  Cells cells_;
  std::shared_ptr<std::vector<int64_t>> own_start_;
  std::shared_ptr<uint32_t[]> own_index_;
  std::shared_ptr<char[]> own_values_;
};

}  // namespace stagewise

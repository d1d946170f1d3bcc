// Views of the caller's tables. A table is a list of columns, each with a pointer, a stride and a
// float width, so C and Fortran arrays, slices and columns of data frames have one form. A row
// subset is an index array. Owns no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagewise {

struct Column {
  const char* data = nullptr;
  ptrdiff_t stride = 0;  // bytes between two rows; may be zero or negative
  bool single = false;   // float32; else float64

  template <class Real = double>
  Real at(size_t row) const {
    const char* at = data + static_cast<ptrdiff_t>(row) * stride;
    return single ? static_cast<Real>(*reinterpret_cast<const float*>(at))
                  : static_cast<Real>(*reinterpret_cast<const double*>(at));
  }
};

struct Columns {
  std::vector<Column> columns;
  size_t rows = 0;
  const uint32_t* chosen = nullptr;  // row i of the table is row chosen[i] of the columns

  size_t features() const { return columns.size(); }

  double at(size_t feature, size_t row) const {
    return columns[feature].at(chosen != nullptr ? chosen[row] : row);
  }

  // out[i * step] = value of the feature in row begin + i
  template <class Real>
  void read(size_t feature, size_t begin, size_t n, Real* out, size_t step = 1) const {
    const Column& column = columns[feature];
    if (chosen != nullptr) {
      for (size_t i = 0; i < n; ++i) out[i * step] = column.at<Real>(chosen[begin + i]);
      return;
    }
    const char* at = column.data + static_cast<ptrdiff_t>(begin) * column.stride;
    if (column.single) {
      for (size_t i = 0; i < n; ++i, at += column.stride)
        out[i * step] = static_cast<Real>(*reinterpret_cast<const float*>(at));
    } else {
      for (size_t i = 0; i < n; ++i, at += column.stride)
        out[i * step] = static_cast<Real>(*reinterpret_cast<const double*>(at));
    }
  }
};

}  // namespace stagewise

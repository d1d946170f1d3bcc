#include "binning/sparse_table.hpp"

#include <cstring>
#include <stdexcept>

#include "core/interrupt.hpp"

namespace stagewise {

void SparseTable::check(const Cells& cells, size_t n_major, size_t n_minor, size_t stored) {
  if (cells.start[0] != 0) throw std::invalid_argument("the first major does not begin at 0");
  for (size_t major = 0; major < n_major; ++major)
    if (cells.start[major + 1] < cells.start[major])
      throw std::invalid_argument("a major ends before it begins");
  if (static_cast<size_t>(cells.start[n_major]) > stored)
    throw std::invalid_argument("the rows or columns have more cells than are stored");
  for (size_t cell = 0; cell < stored; ++cell)
    if (cells.index[cell] >= n_minor) throw std::invalid_argument("a cell is outside the table");
}

SparseTable SparseTable::owning(bool by_rows, size_t rows, size_t features, double default_value,
                                bool single, std::vector<int64_t> start) {
  SparseTable table(by_rows, rows, features, default_value, {});
  table.own_start_ = std::make_shared<std::vector<int64_t>>(std::move(start));
  const auto n = static_cast<size_t>(table.own_start_->back());
  table.own_index_ = make_large_array<uint32_t>(n + 1);
  table.own_values_ = make_large_array<char>((n + 1) * (single ? 4 : 8));
  table.cells_ = {table.own_start_->data(), table.own_index_.get(), table.own_values_.get(),
                  single};
  return table;
}

// Counting sort: cells of a row or column keep their order.
template <class Real>
void SparseTable::transpose_into(SparseTable* out) const {
  std::vector<int64_t> next(*out->own_start_);
  auto* const values = reinterpret_cast<Real*>(out->own_values_.get());
  const auto* const own = static_cast<const Real*>(cells_.values);
  size_t major = 0;
  for_each_block(stored(), [&](size_t begin, size_t end) {
    for (size_t cell = begin; cell < end; ++cell) {
      while (cell >= last(major)) ++major;
      const auto at = static_cast<size_t>(next[cells_.index[cell]]++);
      out->own_index_[at] = static_cast<uint32_t>(major);
      values[at] = own[cell];
    }
  });
}

SparseTable SparseTable::transposed() const {
  std::vector<int64_t> start(n_minor() + 1, 0);
  for_each_block(stored(), [&](size_t begin, size_t end) {
    for (size_t cell = begin; cell < end; ++cell) ++start[cells_.index[cell] + size_t{1}];
  });
  for (size_t major = 0; major < n_minor(); ++major) start[major + 1] += start[major];
  SparseTable out = owning(!by_rows_, rows_, features_, default_value_, single(), std::move(start));
  if (single()) {
    transpose_into<float>(&out);
  } else {
    transpose_into<double>(&out);
  }
  return out;
}

template <class Real>
void SparseTable::take_into(const uint32_t* chosen, SparseTable* out) const {
  auto* const values = reinterpret_cast<Real*>(out->own_values_.get());
  const auto* const own = static_cast<const Real*>(cells_.values);
  for (size_t i = 0; i < out->rows_; ++i) {
    const size_t from = first(chosen[i]), n = last(chosen[i]) - from, to = out->first(i);
    std::memcpy(out->own_index_.get() + to, cells_.index + from, n * sizeof(uint32_t));
    std::memcpy(values + to, own + from, n * sizeof(Real));
  }
}

SparseTable SparseTable::take(const uint32_t* chosen, size_t n) const {
  std::vector<int64_t> start(n + 1, 0);
  for (size_t i = 0; i < n; ++i)
    start[i + 1] = start[i] + static_cast<int64_t>(last(chosen[i]) - first(chosen[i]));
  SparseTable out = owning(true, n, features_, default_value_, single(), std::move(start));
  if (single()) {
    take_into<float>(chosen, &out);
  } else {
    take_into<double>(chosen, &out);
  }
  return out;
}

}  // namespace stagewise

// Sparse tables.
#include "bindings/bindings.hpp"

namespace stagewise {

SparseCells::SparseCells(const In<int64_t>& start, const In<uint32_t>& index,
                         const AnyArray& values, size_t rows, size_t features, bool by_rows,
                         double default_value)
    : table(by_rows, rows, features, default_value,
            {start.data(), index.data(), values.data(), values.dtype() == nb::dtype<float>()}),
      start_owner(start),
      index_owner(index),
      values_owner(values) {
  const size_t n_major = by_rows ? rows : features, n_minor = by_rows ? features : rows;
  require(values.dtype() == nb::dtype<float>() || values.dtype() == nb::dtype<double>(),
          "values are float32 or float64");
  require(values.ndim() == 1 && (values.shape(0) < 2 || values.stride(0) == 1),
          "values are a plain array");
  require(start.shape(0) == n_major + 1, "one start per row or column, and the end");
  require(index.shape(0) == values.shape(0), "one place per value");
  require(default_value == 0.0 || default_value != default_value, "the default value is 0 or NaN");
  require(rows < 0xffffffffu && features < 0xffffffffu, "less than 2^32 rows and features");
  SparseTable::check({start.data(), index.data(), nullptr, false}, n_major, n_minor,
                     values.shape(0));
}

const SparseTable& SparseCells::by_rows() const {
  if (table.by_rows()) return table;
  const std::lock_guard<std::mutex> guard(making_);
  if (!rows_) rows_.emplace(table.transposed());
  return *rows_;
}

namespace {

nb::object by_columns(nb::object self) {
  const auto& cells = nb::cast<const SparseCells&>(self);
  if (!cells.table.by_rows()) return self;
  SparseCells* turned = nullptr;
  {
    const GilRelease release;
    turned = new SparseCells(cells.table.transposed());
  }
  return nb::cast(turned, nb::rv_policy::take_ownership);
}

SparseCells* take(const SparseCells& cells, const In<uint32_t>& rows) {
  for (size_t i = 0; i < rows.shape(0); ++i)
    require(rows.data()[i] < cells.table.rows(), "a chosen row is out of range");
  const GilRelease release;
  return new SparseCells(cells.by_rows().take(rows.data(), rows.shape(0)));
}

}  // namespace

void bind_sparse(nb::module_& m) {
  nb::class_<SparseCells>(m, "SparseColumns")
      .def(nb::init<const In<int64_t>&, const In<uint32_t>&, const AnyArray&, size_t, size_t, bool,
                    double>(),
           "start"_a.noconvert(), "index"_a.noconvert(), "values"_a.noconvert(), "n_rows"_a,
           "n_features"_a, "by_rows"_a, "default_value"_a,
           nb::sig("def __init__(self, start: numpy.typing.NDArray[numpy.int64], index: "
                   "numpy.typing.NDArray[numpy.uint32], values: " STAGEWISE_REAL_ARRAY
                   ", n_rows: int, n_features: int, by_rows: bool, default_value: float) -> None"))
      .def("by_columns", &by_columns, nb::sig("def by_columns(self) -> SparseColumns"))
      .def("take", &take, "rows"_a.noconvert(), nb::rv_policy::take_ownership)
      .def_prop_ro("n_rows", [](const SparseCells& c) { return c.table.rows(); })
      .def_prop_ro("n_features", [](const SparseCells& c) { return c.table.features(); })
      .def_prop_ro("n_stored", [](const SparseCells& c) { return c.table.stored(); });
}

}  // namespace stagewise

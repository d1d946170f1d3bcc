// Tables, cuts, bins, and what is measured without a model.
#include <numeric>

#include "bindings.hpp"
#include "bins.hpp"
#include "cuts.hpp"
#include "descend.hpp"
#include "quantile.hpp"

namespace stagewise {
namespace {

bool is_single(const AnyArray& a) {
  if (a.dtype() == nb::dtype<float>()) return true;
  require(a.dtype() == nb::dtype<double>(), "columns are float32 or float64");
  return false;
}

std::vector<Out<double>> learn_cuts(Engine& engine, const Table& table,
                                    std::optional<In<double>> weight, size_t max_bins,
                                    size_t sample_limit, uint64_t seed) {
  const size_t p = table.columns.features();
  const double* w = weight ? weight->data() : nullptr;
  require(!weight || weight->shape(0) == table.columns.rows, "one weight per row");
  std::vector<std::vector<double>> cuts(p);
  {
    nb::gil_scoped_release release;
    const auto sample = sample_for_cuts(table.columns.rows, sample_limit, seed);
    cuts = find_cuts(engine.workers, table.columns, sample, w, max_bins);
  }
  std::vector<Out<double>> out;
  out.reserve(p);
  for (auto& c : cuts) out.push_back(to_numpy(std::move(c)));
  return out;
}

Bins* make_bins(Engine& engine, const Table& table, const std::vector<In<double>>& cuts) {
  std::vector<std::vector<double>> copies;
  copies.reserve(cuts.size());
  for (const auto& c : cuts) copies.emplace_back(c.data(), c.data() + c.shape(0));
  nb::gil_scoped_release release;
  return new Bins(engine.workers, engine.kernels, table.columns, std::move(copies));
}

nb::ndarray<nb::numpy, uint16_t, nb::ndim<2>> codes(const Bins& bins) {
  const size_t n = bins.rows(), p = bins.features();
  auto* owned = new std::vector<uint16_t>(n * p);
  for (size_t i = 0; i < n; ++i)
    for (size_t f = 0; f < p; ++f) (*owned)[i * p + f] = static_cast<uint16_t>(bins.code(i, f));
  nb::capsule owner(owned, [](void* x) noexcept { delete static_cast<std::vector<uint16_t>*>(x); });
  return {owned->data(), {n, p}, owner};
}

void bins_add(Engine& engine, const Bins& bins, const Tree& tree, const In<double>& value,
              const InOut<double>& score) {
  require(value.shape(0) == tree.nodes() && score.shape(0) == bins.rows(),
          "one value per node, one score per row");
  nb::gil_scoped_release release;
  engine.workers.run((bins.rows() + kDescentRows - 1) / kDescentRows, [&](size_t chunk, int) {
    const size_t first = chunk * kDescentRows;
    std::vector<uint32_t> rows(std::min(bins.rows() - first, kDescentRows));
    std::iota(rows.begin(), rows.end(), static_cast<uint32_t>(first));
    add_tree(engine.kernels, bins, {}, tree, value.data(), &rows, score.data());
  });
}

double quantile(const In<double>& values, const Weight& weight, double q) {
  std::vector<double> v(values.data(), values.data() + values.shape(0)), w;
  require(!weight || weight->shape(0) == v.size(), "one weight per value");
  if (weight) w.assign(weight->data(), weight->data() + weight->shape(0));
  nb::gil_scoped_release release;
  return weighted_quantile(&v, w, q);
}

}  // namespace

Table::Table(const Table& whole, const In<uint32_t>& rows)
    : columns(whole.columns), owners(whole.owners), index(rows) {
  require(whole.columns.chosen == nullptr, "rows are chosen from a whole table");
  for (size_t i = 0; i < rows.shape(0); ++i)
    require(rows.data()[i] < whole.columns.rows, "a chosen row is out of range");
  columns.chosen = rows.data();
  columns.rows = rows.shape(0);
}

Table::Table(const AnyArray& matrix) {
  require(matrix.ndim() == 2, "a table is a two-dimensional array or a list of columns");
  const bool single = is_single(matrix);
  const auto size = static_cast<ptrdiff_t>(matrix.itemsize());
  columns.rows = matrix.shape(0);
  columns.columns.resize(matrix.shape(1));
  for (size_t f = 0; f < matrix.shape(1); ++f)
    columns.columns[f] = {static_cast<const char*>(matrix.data()) +
                              static_cast<ptrdiff_t>(f) * matrix.stride(1) * size,
                          matrix.stride(0) * size, single};
  owners.push_back(matrix);
}

Table::Table(const std::vector<AnyArray>& list) : owners(list) {
  require(!list.empty(), "a table has at least one column");
  for (const AnyArray& a : list) {
    require(a.ndim() == 1, "a column is one-dimensional");
    if (columns.columns.empty()) columns.rows = a.shape(0);
    require(a.shape(0) == columns.rows, "columns are of one length");
    columns.columns.push_back({static_cast<const char*>(a.data()),
                               a.stride(0) * static_cast<ptrdiff_t>(a.itemsize()), is_single(a)});
  }
}
void bind_tables(nb::module_& m) {
  nb::class_<Table>(m, "Columns")
      .def(nb::init<const AnyArray&>(), "matrix"_a)
      .def(nb::init<const std::vector<AnyArray>&>(), "columns"_a)
      .def(
          "take", [](const Table& t, const In<uint32_t>& rows) { return Table(t, rows); },
          "rows"_a.noconvert())
      .def_prop_ro("n_rows", [](const Table& t) { return t.columns.rows; })
      .def_prop_ro("n_features", [](const Table& t) { return t.columns.features(); });

  m.def("learn_cuts", &learn_cuts, "workers"_a, "columns"_a, "weight"_a.noconvert().none(),
        "max_bins"_a, "sample_limit"_a, "seed"_a);
  m.def("cut_between", &cut_between, "a"_a, "b"_a);
  m.def("weighted_quantile", &quantile, "values"_a.noconvert(), "weight"_a.noconvert().none(),
        "q"_a);

  nb::class_<Bins>(m, "Bins")
      .def(nb::new_(&make_bins), "workers"_a, "columns"_a, "cuts"_a)
      .def_prop_ro("codes_per_row", [](const Bins& b) { return b.groups().all().size(); })
      .def_prop_ro("n_rows", &Bins::rows)
      .def_prop_ro("n_features", &Bins::features)
      .def_prop_ro("code_bytes", [](const Bins& b) { return b.wide() ? 2 : 1; })
      .def(
          "value_bins",
          [](const Bins& b, size_t f) {
            require(f < b.features(), "no such feature");
            return b.value_bins(f);
          },
          "feature"_a)
      .def(
          "has_missing",
          [](const Bins& b, size_t f) {
            require(f < b.features(), "no such feature");
            return b.has_missing(f);
          },
          "feature"_a)
      .def("codes", &codes)
      .def(
          "add_tree",
          [](const Bins& b, Engine& e, const Tree& t, const In<double>& v, const InOut<double>& s) {
            bins_add(e, b, t, v, s);
          },
          "workers"_a, "tree"_a, "value"_a.noconvert(), "score"_a.noconvert());
}

}  // namespace stagewise

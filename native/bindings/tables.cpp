// Bindings of tables, cuts, bins and quantiles.
#include <numeric>

#include "bindings/bindings.hpp"
#include "binning/bins.hpp"
#include "binning/cuts.hpp"
#include "core/quantile.hpp"
#include "gradients/residual_quantile.hpp"

namespace stagewise {
namespace {

bool is_single(const AnyArray& a) {
  if (a.dtype() == nb::dtype<float>()) return true;
  require(a.dtype() == nb::dtype<double>(), "columns are float32 or float64");
  return false;
}

template <class AnyTable>
ListOf<Out<double>> cuts_of(Engine& engine, const AnyTable& table, size_t rows,
                            const Weight& weight, size_t max_bins, size_t sample_limit,
                            uint64_t seed) {
  require(!weight || weight->shape(0) == rows, "one weight per row");
  std::vector<std::vector<double>> cuts;
  {
    const GilRelease release;
    const auto sample = sample_for_cuts(rows, {0, rows}, sample_limit, seed);
    cuts = find_cuts(engine.workers, table, sample, span_of(weight), max_bins);
  }
  ListOf<Out<double>> out;
  for (auto& c : cuts) out.append(to_numpy(std::move(c)));
  return out;
}

ListOf<Out<double>> learn_cuts(Engine& engine, const Table& table, const Weight& weight,
                               size_t max_bins, size_t sample_limit, uint64_t seed) {
  return cuts_of(engine, table.columns, table.columns.rows, weight, max_bins, sample_limit, seed);
}

const SparseTable& by_columns(const SparseCells& cells) {
  require(!cells.table.by_rows(), "what is learned goes by columns");
  return cells.table;
}

ListOf<Out<double>> learn_sparse_cuts(Engine& engine, const SparseCells& cells,
                                      const Weight& weight, size_t max_bins, size_t sample_limit,
                                      uint64_t seed) {
  return cuts_of(engine, by_columns(cells), cells.table.rows(), weight, max_bins, sample_limit,
                 seed);
}

Out<uint32_t> learn_category_bins(const Table& table, size_t feature, size_t n_categories,
                                  const Weight& weight, size_t max_bins) {
  require(feature < table.columns.features(), "no such feature");
  require(!weight || weight->shape(0) == table.columns.rows, "one weight per row");
  require(max_bins > 0, "at least one bin");
  std::vector<uint32_t> bins;
  {
    const GilRelease release;
    bins = find_category_bins(table.columns, feature, n_categories, span_of(weight), max_bins);
  }
  return to_numpy(std::move(bins));
}

Out<double> column_of(const Table& table, size_t feature) {
  require(feature < table.columns.features(), "no such feature");
  std::vector<double> values(table.columns.rows);
  {
    const GilRelease release;
    table.columns.read(feature, 0, values.size(), values.data());
  }
  return to_numpy(std::move(values));
}

FeatureCoding coding_of(const AnyArray& a) {
  require(a.ndim() == 1 && (a.shape(0) < 2 || a.stride(0) == 1), "a coding is a plain array");
  if (a.dtype() == nb::dtype<double>()) {
    const auto* cuts = static_cast<const double*>(a.data());
    return FeatureCoding::by_cuts({cuts, cuts + a.shape(0)});
  }
  require(a.dtype() == nb::dtype<uint32_t>(), "cuts are float64, bins of categories uint32");
  const auto* bin = static_cast<const uint32_t*>(a.data());
  for (size_t i = 0; i < a.shape(0); ++i)
    require(bin[i] < 65535, "at most 65,535 bins per feature");
  return FeatureCoding::by_categories({bin, bin + a.shape(0)});
}

}  // namespace

std::vector<FeatureCoding> codings_of(const nb::sequence& arrays) {
  std::vector<FeatureCoding> codings;
  codings.reserve(nb::len(arrays));
  for (nb::handle a : arrays) codings.push_back(coding_of(item_of<AnyArray>(nb::borrow(a))));
  return codings;
}

namespace {

void make_bins(Bins* self, Engine& engine, const Table& table, const nb::sequence& codings) {
  std::vector<FeatureCoding> copies = codings_of(codings);
  const GilRelease release;
  new (self) Bins(engine.workers, engine.kernels, table.columns, std::move(copies));
}

void make_sparse_bins(Bins* self, Engine& engine, const SparseCells& cells,
                      const nb::sequence& codings) {
  std::vector<FeatureCoding> copies = codings_of(codings);
  const SparseTable& table = by_columns(cells);
  const GilRelease release;
  new (self) Bins(engine.workers, engine.kernels, table, std::move(copies));
}

Bins* make_ranks(Engine& engine, const Table& table, const nb::sequence& codings) {
  std::vector<FeatureCoding> copies = codings_of(codings);
  const GilRelease release;
  return new Bins(Bins::ranks(engine.workers, table.columns, std::move(copies)));
}

nb::ndarray<nb::numpy, uint32_t, nb::ndim<2>> codes(const Bins& bins) {
  const size_t n = bins.rows(), p = bins.features();
  auto owned = std::make_unique<std::vector<uint32_t>>(n * p);
  for (size_t i = 0; i < n; ++i)
    for (size_t f = 0; f < p; ++f) (*owned)[i * p + f] = bins.code(i, f);
  uint32_t* const data = owned->data();
  return {data, {n, p}, capsule_of(std::move(owned))};
}

// The same for rows that have no codes.
void columns_add(const Table& table, Engine& engine, const Tree& tree, const In<double>& value,
                 const InOut<double>& score, const SharedLinearLeaves* linear_leaves) {
  const ScoreUpdate scores =
      scores_of(tree, value, score, table.columns.rows, linear_leaves, &table);
  for (const int32_t f : tree.feature)
    require(f < static_cast<int32_t>(table.columns.features()), "no such feature");
  const GilRelease release;
  add_tree(engine.workers, table.columns, tree, scores);
}

void bins_add(Engine& engine, const Bins& bins, const Tree& tree, const In<double>& value,
              const InOut<double>& score, const SharedLinearLeaves* linear_leaves,
              const Table* columns) {
  const ScoreUpdate scores = scores_of(tree, value, score, bins.rows(), linear_leaves, columns);
  const GilRelease release;
  add_tree(engine.workers, engine.kernels, bins, tree, scores);
}

// The same rows with the values of each column next to each other; columns that lie so are shared.
Table contiguous(const Table& table, Engine& engine) {
  const Columns& from = table.columns;
  Table made = table;
  made.index.reset();
  made.columns.chosen = nullptr;
  std::vector<size_t> copied;
  for (size_t f = 0; f < from.features(); ++f) {
    Column& column = made.columns.columns[f];
    const size_t size = column.single ? sizeof(float) : sizeof(double);
    if (from.chosen == nullptr && column.stride == static_cast<ptrdiff_t>(size)) continue;
    copied.push_back(f);
    made.copies.push_back(std::make_shared_for_overwrite<double[]>((from.rows * size + 7) / 8));
    column.data = reinterpret_cast<const char*>(made.copies.back().get());
    column.stride = static_cast<ptrdiff_t>(size);
  }
  constexpr size_t kRows = 1024;
  const GilRelease release;
  engine.workers.run((from.rows + kRows - 1) / kRows, [&](size_t chunk, int) {
    const size_t begin = chunk * kRows, n = std::min(kRows, from.rows - begin);
    for (const size_t f : copied) {
      char* const to = const_cast<char*>(made.columns.columns[f].data);
      if (made.columns.columns[f].single) {
        from.read(f, begin, n, reinterpret_cast<float*>(to) + begin);
      } else {
        from.read(f, begin, n, reinterpret_cast<double*>(to) + begin);
      }
    }
  });
  return made;
}

double quantile(const In<double>& values, const Weight& weight, double q) {
  std::vector<double> v(values.data(), values.data() + values.shape(0)), w;
  require(!weight || weight->shape(0) == v.size(), "one weight per value");
  if (weight) w.assign(weight->data(), weight->data() + weight->shape(0));
  const GilRelease release;
  return weighted_quantile(&v, w, q);
}

double width_of(Engine& engine, const In<double>& y, const In<double>& score, const Weight& weight,
                double q) {
  require(y.shape(0) == score.shape(0), "one score per row");
  require(!weight || weight->shape(0) == y.shape(0), "one weight per row");
  const GilRelease release;
  return residual_quantile(engine.workers, span_of(y), span_of(score), span_of(weight), q);
}

}  // namespace

Table::Table(const Table& whole, const In<uint32_t>& rows)
    : columns(whole.columns), owners(whole.owners), copies(whole.copies), index(rows) {
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

Table::Table(const nb::sequence& given) {
  const auto list = items_of<AnyArray>(given);
  require(!list.empty(), "a table has at least one column");
  columns.rows = list[0].ndim() == 1 ? list[0].shape(0) : 0;
  append(list);
}

Table::Table(const Table& table, const nb::sequence& more) : Table(table) {
  require(columns.chosen == nullptr, "columns are added to a whole table");
  append(items_of<AnyArray>(more));
}

void Table::append(const std::vector<AnyArray>& list) {
  for (const AnyArray& a : list) {
    require(a.ndim() == 1, "a column is one-dimensional");
    require(a.shape(0) == columns.rows, "columns are of one length");
    columns.columns.push_back({static_cast<const char*>(a.data()),
                               a.stride(0) * static_cast<ptrdiff_t>(a.itemsize()), is_single(a)});
    owners.push_back(a);
  }
}

void bind_tables(nb::module_& m) {
  nb::class_<Table>(m, "Columns")
      .def(nb::init<const AnyArray&>(), "columns"_a,
           nb::sig("def __init__(self, columns: " STAGEWISE_REAL_ARRAY ") -> None"))
      .def(nb::init<const nb::sequence&>(), "columns"_a,
           nb::sig("def __init__(self, columns: collections.abc.Sequence[" STAGEWISE_REAL_ARRAY
                   "]) -> None"))
      .def(
          "take", [](const Table& t, const In<uint32_t>& rows) { return Table(t, rows); },
          "rows"_a.noconvert())
      .def(
          "extended", [](const Table& t, const nb::sequence& more) { return Table(t, more); },
          "columns"_a,
          nb::sig("def extended(self, columns: collections.abc.Sequence[" STAGEWISE_REAL_ARRAY
                  "]) -> Columns"))
      .def(
          "by_columns", [](nb::object self) { return self; },
          nb::sig("def by_columns(self) -> Columns"))
      .def("contiguous", &contiguous, "workers"_a)
      .def("column", &column_of, "feature"_a)
      .def("add_tree", &columns_add, "workers"_a, "tree"_a, "value"_a.noconvert(),
           "score"_a.noconvert(), "linear_leaves"_a.none() = nb::none())
      .def_prop_ro("n_rows", [](const Table& t) { return t.columns.rows; })
      .def_prop_ro("n_features", [](const Table& t) { return t.columns.features(); });

  m.def("learn_cuts", &learn_cuts, "workers"_a, "columns"_a, "weight"_a.noconvert().none(),
        "max_bins"_a, "sample_limit"_a, "seed"_a);
  m.def("learn_cuts", &learn_sparse_cuts, "workers"_a, "columns"_a, "weight"_a.noconvert().none(),
        "max_bins"_a, "sample_limit"_a, "seed"_a);
  m.def(
      "category_bins",
      [](const In<int64_t>& total, size_t max_bins) {
        require(max_bins > 0, "at least one bin");
        return to_numpy(find_category_bins(span_of(total), max_bins));
      },
      "total"_a.noconvert(), "max_bins"_a);
  m.def(
      "sample_rows",
      [](size_t rows, uint64_t first_row, uint64_t table_rows, size_t limit, uint64_t seed) {
        return to_numpy(sample_for_cuts(rows, {first_row, table_rows}, limit, seed));
      },
      "rows"_a, "first_row"_a, "table_rows"_a, "limit"_a, "seed"_a);
  m.def("learn_category_bins", &learn_category_bins, "columns"_a, "feature"_a, "n_categories"_a,
        "weight"_a.noconvert().none(), "max_bins"_a);
  m.def("cut_between", &cut_between, "a"_a, "b"_a);
  m.def("weighted_quantile", &quantile, "values"_a.noconvert(), "weight"_a.noconvert().none(),
        "q"_a);
  m.def("residual_quantile", &width_of, "workers"_a, "y"_a.noconvert(), "score"_a.noconvert(),
        "weight"_a.noconvert().none(), "q"_a);

  nb::class_<Bins>(m, "Bins")
      .def("__init__", &make_bins, "workers"_a, "columns"_a, "codings"_a,
           nb::sig("def __init__(self, workers: Workers, columns: Columns, codings: "
                   "collections.abc.Sequence[" STAGEWISE_CODING "]) -> None"))
      .def("__init__", &make_sparse_bins, "workers"_a, "columns"_a, "codings"_a,
           nb::sig("def __init__(self, workers: Workers, columns: SparseColumns, codings: "
                   "collections.abc.Sequence[" STAGEWISE_CODING "]) -> None"))
      .def_static("ranks", &make_ranks, "workers"_a, "columns"_a, "codings"_a,
                  nb::rv_policy::take_ownership,
                  nb::sig("def ranks(workers: Workers, columns: Columns, codings: "
                          "collections.abc.Sequence[" STAGEWISE_CODING "]) -> Bins"))
      .def_prop_ro("codes_per_row", [](const Bins& b) { return b.groups().all().size(); })
      .def_prop_ro("n_rows", &Bins::rows)
      .def_prop_ro("n_features", &Bins::features)
      .def_prop_ro("code_bytes", [](const Bins& b) { return b.ranked() ? 4
                                                            : b.wide() ? 2
                                                                       : 1; })
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
      .def(
          "bin_below",  // the last bin on the left of the cut that is nearest to a threshold
          [](const Bins& b, size_t f, double threshold) {
            require(f < b.features(), "no such feature");
            return b.coding(f).code_below(threshold);
          },
          "feature"_a, "threshold"_a)
      .def(
          "is_constant",  // whether a feature has one code in all rows
          [](const Bins& b, size_t f) {
            require(f < b.features(), "no such feature");
            return b.constant(f);
          },
          "feature"_a)
      .def("codes", &codes)
      .def(
          "add_tree",
          [](const Bins& b, Engine& e, const Tree& t, const In<double>& v, const InOut<double>& s,
             const SharedLinearLeaves* linear_leaves,
             const Table* columns) { bins_add(e, b, t, v, s, linear_leaves, columns); },
          "workers"_a, "tree"_a, "value"_a.noconvert(), "score"_a.noconvert(),
          "linear_leaves"_a.none() = nb::none(), "columns"_a.none() = nb::none());
}

}  // namespace stagewise

// The thin face of the core towards Python: checks shapes, releases the GIL, calls.
//
// Must not: compute anything. Arrays come in without conversion (a wrong dtype is an error, not a
// hidden copy) and results go out as arrays that own their memory.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bins.hpp"
#include "cuts.hpp"
#include "gradients.hpp"
#include "grow.hpp"
#include "predict.hpp"
#include "quantile.hpp"
#include "random.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace stagewise {
namespace {

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using InOut = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;

template <class T>
Out<T> to_numpy(std::vector<T>&& values) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Out<T>(owned->data(), {owned->size()}, owner);
}

void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

// The threads and the kernels of one fit or one call.
struct Engine {
  Engine(int threads, const std::string& isa) : workers(threads), kernels(kernels_for(isa)) {}
  Workers workers;
  const Kernels& kernels;
};

// ---- tables -----------------------------------------------------------------------------------

bool is_single(const AnyArray& a) {
  if (a.dtype() == nb::dtype<float>()) return true;
  require(a.dtype() == nb::dtype<double>(), "columns are float32 or float64");
  return false;
}

struct Table {  // Columns and the arrays they point into
  Columns columns;
  std::vector<AnyArray> owners;
  std::optional<In<uint32_t>> index;

  Table(const Table& whole, const In<uint32_t>& rows)
      : columns(whole.columns), owners(whole.owners), index(rows) {
    require(whole.columns.chosen == nullptr, "rows are chosen from a whole table");
    for (size_t i = 0; i < rows.shape(0); ++i)
      require(rows.data()[i] < whole.columns.rows, "a chosen row is out of range");
    columns.chosen = rows.data();
    columns.rows = rows.shape(0);
  }

  explicit Table(const AnyArray& matrix) {
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

  explicit Table(const std::vector<AnyArray>& list) : owners(list) {
    require(!list.empty(), "a table has at least one column");
    for (const AnyArray& a : list) {
      require(a.ndim() == 1, "a column is one-dimensional");
      if (columns.columns.empty()) columns.rows = a.shape(0);
      require(a.shape(0) == columns.rows, "columns are of one length");
      columns.columns.push_back({static_cast<const char*>(a.data()),
                                 a.stride(0) * static_cast<ptrdiff_t>(a.itemsize()), is_single(a)});
    }
  }
};

// ---- bins -------------------------------------------------------------------------------------

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

// ---- losses -----------------------------------------------------------------------------------

using Weight = std::optional<In<double>>;

struct Rows {  // the common arguments of the loss kernels, checked
  Rows(const Gradients& gradients, size_t y, size_t score, const Weight& weight) {
    require(
        y == gradients.rows() && score >= gradients.rows() && (!weight || weight->shape(0) == y),
        "y, score and weight have one entry per row");
    w = weight ? weight->data() : nullptr;
  }
  const double* at(size_t begin) const { return w == nullptr ? nullptr : w + begin; }
  const double* w;
};

template <class Y, class Kernel>
double fill(Engine& engine, Gradients& gradients, const In<Y>& y, const In<double>& score,
            const Weight& weight, Kernel kernel) {
  const Rows rows(gradients, y.shape(0), score.shape(0), weight);
  nb::gil_scoped_release release;
  gradients.fill(engine.workers, [&](size_t begin, size_t n, GradientSlot* out, LossSums* sums) {
    kernel(y.data() + begin, score.data() + begin, rows.at(begin), n, out, sums);
  });
  return gradients.sums().loss;
}

// A method of Gradients for a loss of numbers, and of labels.
void def_loss(nb::class_<Gradients>& type, const char* name,
              Kernels::NumberLoss Kernels::* kernel) {
  type.def(
      name,
      [kernel](Gradients& g, Engine& e, const In<double>& y, const In<double>& score,
               const Weight& weight, double own) {
        const Kernels::NumberLoss loss = e.kernels.*kernel;
        return fill(e, g, y, score, weight,
                    [=](const double* t, const double* f, const double* w, size_t n,
                        GradientSlot* out, LossSums* sums) { loss(t, f, w, n, own, out, sums); });
      },
      "workers"_a, "y"_a.noconvert(), "score"_a.noconvert(), "weight"_a.noconvert().none(),
      "own"_a = 0.0);
}

void def_loss(nb::class_<Gradients>& type, const char* name, Kernels::LabelLoss Kernels::* kernel) {
  type.def(
      name,
      [kernel](Gradients& g, Engine& e, const In<int32_t>& y, const In<double>& score,
               const Weight& weight) { return fill(e, g, y, score, weight, e.kernels.*kernel); },
      "workers"_a, "y"_a.noconvert(), "score"_a.noconvert(), "weight"_a.noconvert().none());
}

double softmax_state(Engine& engine, const In<int32_t>& y, const In<double>& scores,
                     const Weight& weight, size_t outputs, const InOut<float>& state) {
  const size_t n = y.shape(0);
  require(scores.shape(0) == n * outputs && state.shape(0) == 2 * n, "scores are rows x outputs");
  require(!weight || weight->shape(0) == n, "one weight per row");
  for (size_t i = 0; i < n; ++i)
    require(y.data()[i] >= 0 && static_cast<size_t>(y.data()[i]) < outputs,
            "a class code is out of range");
  const double* w = weight ? weight->data() : nullptr;
  nb::gil_scoped_release release;
  return Gradients::sum_blocks(engine.workers, n,
                               [&](size_t begin, size_t m, LossSums* sums) {
                                 engine.kernels.softmax_state(y.data() + begin,
                                                              scores.data() + begin, n, outputs,
                                                              w == nullptr ? nullptr : w + begin, m,
                                                              state.data() + 2 * begin, sums);
                               })
      .loss;
}

void fill_softmax(Engine& engine, Gradients& gradients, const In<int32_t>& y,
                  const In<double>& score, const In<float>& state, int output,
                  const Weight& weight) {
  const Rows rows(gradients, y.shape(0), score.shape(0), weight);
  require(state.shape(0) == 2 * gradients.rows(), "state has two entries per row");
  nb::gil_scoped_release release;
  gradients.fill(engine.workers, [&](size_t begin, size_t n, GradientSlot* out, LossSums* sums) {
    engine.kernels.softmax(y.data() + begin, score.data() + begin, state.data() + 2 * begin, output,
                           rows.at(begin), n, out, sums);
  });
}

void fill_given(Engine& engine, Gradients& gradients, const In<double>& gradient,
                const In<double>& hessian, const Weight& weight) {
  const Rows rows(gradients, gradient.shape(0), hessian.shape(0), weight);
  nb::gil_scoped_release release;
  gradients.fill(engine.workers, [&](size_t begin, size_t n, GradientSlot* out, LossSums* sums) {
    for (size_t i = 0; i < n; ++i) {
      const double g = gradient.data()[begin + i], h = hessian.data()[begin + i];
      const double w = rows.w == nullptr ? 1.0 : rows.w[begin + i];
      out[i].pair.gradient = static_cast<float>(g);
      out[i].pair.hessian = static_cast<float>(h);
      sums->abs_gradient += w * (g < 0.0 ? -g : g);
      sums->hessian += w * h;
    }
  });
}

// ---- trees ------------------------------------------------------------------------------------

TreeRules tree_rules(size_t max_leaves, int max_depth, double min_samples_leaf, double min_hessian,
                     double min_gain, double l1, double l2, double max_step, bool depth_wise,
                     double per_tree, double per_level, double per_node, double hessian_bound,
                     bool hessian_is_weight) {
  TreeRules r;
  r.max_leaves = max_leaves;
  r.max_depth = max_depth;
  r.min_samples_leaf = min_samples_leaf;
  r.min_hessian = min_hessian;
  r.min_gain = min_gain;
  r.regularisation = {l1, l2, max_step};
  r.growth = depth_wise ? Growth::depth_wise : Growth::best_first;
  r.columns_per_tree = per_tree;
  r.columns_per_level = per_level;
  r.columns_per_node = per_node;
  r.hessian_bound = hessian_bound;
  r.hessian_is_weight = hessian_is_weight;
  return r;
}

Tree* grow(Grower& grower, Gradients& gradients, std::optional<In<uint32_t>> bag, uint64_t seed,
           uint64_t tree_number) {
  require(gradients.rows() == grower.table_rows(), "gradients of other rows");
  if (bag) {
    require(bag->shape(0) > 0, "the bag is empty");
    for (size_t i = 0; i < bag->shape(0); ++i)
      require(
          bag->data()[i] < grower.table_rows() && (i == 0 || bag->data()[i - 1] < bag->data()[i]),
          "the rows of a bag are increasing row numbers");
  }
  nb::gil_scoped_release release;
  return new Tree(grower.grow(gradients, bag ? bag->data() : nullptr, bag ? bag->shape(0) : 0, seed,
                              tree_number));
}

void grower_add(Grower& grower, const Tree& tree, const In<double>& value,
                const InOut<double>& score) {
  require(value.shape(0) == tree.nodes(), "one value per node");
  require(score.shape(0) == grower.table_rows(), "one score per row");
  require(grower.grew(tree), "only the tree that was grown last");
  nb::gil_scoped_release release;
  grower.add_to(score.data(), tree, value.data());
}

// One number per leaf.
Out<double> summarise(Grower& grower, const In<double>& residual, double own,
                      std::vector<double> (Grower::*summary)(const double*, double)) {
  require(residual.shape(0) == grower.table_rows(), "one residual per row");
  std::vector<double> out;
  {
    nb::gil_scoped_release release;
    out = (grower.*summary)(residual.data(), own);
  }
  return to_numpy(std::move(out));
}

void bins_add(Engine& engine, const Bins& bins, const Tree& tree, const In<double>& value,
              const InOut<double>& score) {
  require(value.shape(0) == tree.nodes() && score.shape(0) == bins.rows(),
          "one value per node, one score per row");
  constexpr size_t kRows = 4096;
  nb::gil_scoped_release release;
  engine.workers.run((bins.rows() + kRows - 1) / kRows, [&](size_t chunk, int) {
    add_tree(bins, tree, value.data(), chunk * kRows, std::min(bins.rows(), (chunk + 1) * kRows),
             score.data());
  });
}

Out<uint32_t> draw_rows(size_t rows, double share, uint64_t seed, uint64_t round) {
  const uint64_t key = draw_key(seed, Draw::rows, round);
  const auto below = share >= 1.0 ? ~0ull : static_cast<uint64_t>(std::ldexp(share, 64));
  std::vector<uint32_t> chosen;
  chosen.reserve(static_cast<size_t>(static_cast<double>(rows) * share * 1.1) + 16);
  {
    nb::gil_scoped_release release;
    for (size_t i = 0; i < rows; ++i)
      if (draw(key, i) <= below) chosen.push_back(static_cast<uint32_t>(i));
    if (chosen.empty() && rows > 0) chosen.push_back(static_cast<uint32_t>(draw(key, rows) % rows));
  }
  return to_numpy(std::move(chosen));
}

// ---- prediction -------------------------------------------------------------------------------

template <class T>
std::span<const T> span_of(const In<T>& a) {
  return {a.data(), a.shape(0)};
}

Forest* make_forest(const In<uint64_t>& start, const In<int32_t>& feature,
                    const In<double>& threshold, const In<uint8_t>& missing_left,
                    const In<int32_t>& left, const In<int32_t>& right, const In<double>& value,
                    size_t features, size_t outputs) {
  return new Forest({span_of(start), span_of(feature), span_of(threshold), span_of(missing_left),
                     span_of(left), span_of(right), span_of(value)},
                    features, outputs);
}

void check_trees(const Forest& forest, size_t first, size_t last) {
  require(first <= last && last <= forest.trees(), "no such trees");
}

void forest_add(const Forest& forest, Engine& engine, const Table& table, size_t first, size_t last,
                const InOut<double>& out) {
  require(table.columns.features() == forest.features() &&
              out.shape(0) == table.columns.rows * forest.outputs(),
          "the table or the result has the wrong shape");
  check_trees(forest, first, last);
  nb::gil_scoped_release release;
  forest.add_scores(engine.workers, engine.kernels, table.columns, first, last, out.data());
}

// Few rows of a plain float64 matrix: straight through, no threads, no descriptors.
void forest_add_rows(const Forest& forest,
                     nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> rows,
                     size_t first, size_t last, const InOut<double>& out) {
  require(rows.shape(1) == forest.features() && out.shape(0) == rows.shape(0) * forest.outputs(),
          "the table or the result has the wrong shape");
  check_trees(forest, first, last);
  for (size_t i = 0; i < rows.shape(0); ++i)
    forest.add_row(rows.data() + i * forest.features(), first, last,
                   out.data() + i * forest.outputs());
}

void forest_leaves(const Forest& forest, Engine& engine, const Table& table,
                   const InOut<int32_t>& out) {
  require(table.columns.features() == forest.features() &&
              out.shape(0) == table.columns.rows * forest.trees(),
          "the table or the result has the wrong shape");
  nb::gil_scoped_release release;
  forest.leaves(engine.workers, table.columns, out.data());
}

double quantile(const In<double>& values, const Weight& weight, double q) {
  std::vector<double> v(values.data(), values.data() + values.shape(0)), w;
  require(!weight || weight->shape(0) == v.size(), "one weight per value");
  if (weight) w.assign(weight->data(), weight->data() + weight->shape(0));
  nb::gil_scoped_release release;
  return weighted_quantile(&v, w, q);
}

}  // namespace
}  // namespace stagewise

NB_MODULE(_native, m) {
  using namespace stagewise;
  m.doc() = "The native core of Stagewise: arrays in, arrays out.";
  m.def("supported_isas", &supported_isas);

  nb::class_<Engine>(m, "Workers")
      .def(nb::init<int, const std::string&>(), "threads"_a, "isa"_a = "")
      .def_prop_ro("threads", [](const Engine& e) { return e.workers.threads(); })
      .def_prop_ro("isa", [](const Engine& e) { return std::string(e.kernels.name); });

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
  m.def("draw_rows", &draw_rows, "rows"_a, "share"_a, "seed"_a, "round_number"_a);

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

  auto gradients = nb::class_<Gradients>(m, "Gradients");
  def_loss(gradients, "squared", &Kernels::squared);
  def_loss(gradients, "absolute", &Kernels::absolute);
  def_loss(gradients, "quantile", &Kernels::quantile);
  def_loss(gradients, "huber", &Kernels::huber);
  def_loss(gradients, "poisson", &Kernels::poisson);
  def_loss(gradients, "gamma", &Kernels::gamma);
  def_loss(gradients, "tweedie", &Kernels::tweedie);
  def_loss(gradients, "logistic", &Kernels::logistic);
  def_loss(gradients, "exponential", &Kernels::exponential);
  gradients.def(nb::init<size_t>(), "n_rows"_a)
      .def_prop_ro("n_rows", &Gradients::rows)
      .def("pairs",
           [](const Gradients& g) {  // for tests: (gradient, hessian) of every row, flat
             std::vector<float> out;
             for (size_t i = 0; i < g.rows(); ++i) {
               out.push_back(g.slots()[i].pair.gradient);
               out.push_back(g.slots()[i].pair.hessian);
             }
             return to_numpy(std::move(out));
           })
      .def(
          "softmax",
          [](Gradients& g, Engine& e, const In<int32_t>& y, const In<double>& s,
             const In<float>& state, int output,
             const Weight& w) { fill_softmax(e, g, y, s, state, output, w); },
          "workers"_a, "y"_a.noconvert(), "score"_a.noconvert(), "state"_a.noconvert(), "output"_a,
          "weight"_a.noconvert().none())
      .def(
          "given",
          [](Gradients& g, Engine& e, const In<double>& gradient, const In<double>& hessian,
             const Weight& w) { fill_given(e, g, gradient, hessian, w); },
          "workers"_a, "gradient"_a.noconvert(), "hessian"_a.noconvert(),
          "weight"_a.noconvert().none());
  m.def("softmax_state", &softmax_state, "workers"_a, "y"_a.noconvert(), "scores"_a.noconvert(),
        "weight"_a.noconvert().none(), "outputs"_a, "state"_a.noconvert());

  nb::class_<TreeRules>(m, "TreeRules")
      .def(nb::new_([](size_t a, int b, double c, double d, double e, double f, double g, double h,
                       bool i, double j, double k, double l, double n, bool o) {
             return new TreeRules(tree_rules(a, b, c, d, e, f, g, h, i, j, k, l, n, o));
           }),
           "max_leaves"_a, "max_depth"_a, "min_samples_leaf"_a, "min_hessian"_a, "min_gain"_a,
           "l1"_a, "l2"_a, "max_step"_a, "depth_wise"_a, "columns_per_tree"_a,
           "columns_per_level"_a, "columns_per_node"_a, "hessian_bound"_a, "hessian_is_weight"_a);

  nb::class_<Tree>(m, "GrownTree").def("arrays", [](const Tree& t) {
    return nb::make_tuple(to_numpy(std::vector(t.feature)), to_numpy(std::vector(t.threshold)),
                          to_numpy(std::vector(t.missing_left)), to_numpy(std::vector(t.left)),
                          to_numpy(std::vector(t.right)), to_numpy(std::vector(t.value)),
                          to_numpy(std::vector(t.gain)), to_numpy(std::vector(t.cover)));
  });

  nb::class_<Grower>(m, "Grower")
      .def(
          "__init__",
          [](Grower* self, Engine& e, const Bins& bins, const Weight& weight,
             const TreeRules& rules) {
            require(!weight || weight->shape(0) == bins.rows(), "one weight per row");
            require(bins.features() > 0, "a tree needs a feature");
            new (self) Grower(e.workers, e.kernels, bins, weight ? weight->data() : nullptr, rules);
          },
          "workers"_a, "bins"_a, "weight"_a.noconvert().none(), "rules"_a, nb::keep_alive<1, 2>(),
          nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
      .def("grow", &grow, "gradients"_a, "bag"_a.noconvert().none(), "seed"_a, "tree_number"_a,
           nb::rv_policy::take_ownership)
      .def("add_to", &grower_add, "tree"_a, "value"_a.noconvert(), "score"_a.noconvert())
      .def("set_few_rows", &Grower::set_few_rows, "rows"_a)
      .def(
          "leaf_quantiles",
          [](Grower& g, const In<double>& residual, double q) {
            return summarise(g, residual, q, &Grower::leaf_quantiles);
          },
          "residual"_a.noconvert(), "q"_a)
      .def(
          "leaf_huber_means",
          [](Grower& g, const In<double>& residual, double width) {
            return summarise(g, residual, width, &Grower::leaf_huber_means);
          },
          "residual"_a.noconvert(), "width"_a)
      .def("leaf_nodes",
           [](const Grower& g) {
             std::vector<int32_t> nodes;
             for (const auto& leaf : g.leaves()) nodes.push_back(leaf.node);
             return to_numpy(std::move(nodes));
           })
      .def("leaf_rows", [](const Grower& g) {  // (rows, begin of each leaf's rows)
        std::vector<uint32_t> rows;
        std::vector<uint64_t> begin;
        for (const auto& leaf : g.leaves()) {
          begin.push_back(rows.size());
          rows.insert(rows.end(), leaf.rows, leaf.rows + leaf.n);
        }
        return nb::make_tuple(to_numpy(std::move(rows)), to_numpy(std::move(begin)));
      });

  nb::class_<Forest>(m, "Forest")
      .def(nb::new_(&make_forest), "start"_a.noconvert(), "feature"_a.noconvert(),
           "threshold"_a.noconvert(), "missing_left"_a.noconvert(), "left"_a.noconvert(),
           "right"_a.noconvert(), "value"_a.noconvert(), "n_features"_a, "n_outputs"_a)
      .def_prop_ro("n_trees", &Forest::trees)
      .def("add_scores", &forest_add, "workers"_a, "columns"_a, "first"_a, "last"_a,
           "out"_a.noconvert())
      .def("add_rows", &forest_add_rows, "rows"_a.noconvert(), "first"_a, "last"_a,
           "out"_a.noconvert())
      .def("leaves", &forest_leaves, "workers"_a, "columns"_a, "out"_a.noconvert());
}

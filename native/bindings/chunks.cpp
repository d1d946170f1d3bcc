// Rows in chunks, in memory or in a file, and trees that are grown on them.
#include "bindings/bindings.hpp"
#include "chunks/chunk_grower.hpp"
#include "chunks/chunk_losses.hpp"
#include "chunks/chunk_sampling.hpp"
#include "core/random.hpp"

namespace stagewise {
namespace {

using SharedLayout = std::shared_ptr<const BinLayout>;
struct Layout {  // as Python has it
  SharedLayout shared;
};

// Calls methods of a Python object, which has the other processes.
class PythonExchange : public Exchange {
 public:
  explicit PythonExchange(nb::object other) : other_(std::move(other)) {}
  void sum(std::span<int64_t> values) override { call("sum", values); }
  void max(std::span<int64_t> values) override { call("max", values); }

 private:
  void call(const char* method, std::span<int64_t> values) {
    const nb::gil_scoped_acquire gil;
    using Values = nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>;
    const Values view(values.data(), {values.size()}, nb::handle());
    other_.attr(method)(nb::cast(view, nb::rv_policy::reference));  // the default is a copy
  }
  nb::object other_;
};

// A grower and the exchange that it calls.
struct OwnedGrower {
  std::unique_ptr<PythonExchange> exchange;
  std::unique_ptr<ChunkGrower> grower;
};

void make_store(RowStore* self, size_t rows, uint64_t table_rows, size_t chunk_rows,
                const nb::sequence& widths, size_t memory, std::optional<const char*> folder,
                int threads, const std::optional<In<uint64_t>>& first_rows) {
  require(rows <= table_rows, "a store has rows of the table only");
  StoreOptions options;
  options.rows = rows;
  options.table_rows = table_rows;
  if (first_rows) options.first_rows.assign(span_of(first_rows).begin(), span_of(first_rows).end());
  options.chunk_rows = chunk_rows;
  const std::vector<size_t> given = items_of<size_t>(widths);
  require(given.size() == kFields, "one width per field");
  std::copy(given.begin(), given.end(), options.width.begin());
  options.memory = memory;
  options.folder = folder ? *folder : nullptr;
  options.threads = threads;
  const GilRelease release;
  new (self) RowStore(options);
}

template <class T>
void write_field(RowStore& store, Field field, size_t begin, const In<T>& values) {
  require(store.width(field) == sizeof(T), "values of another type");
  const GilRelease release;
  store.write(field, begin, values.shape(0), values.data());
}

void write_codes(RowStore& store, Engine& engine, const Layout& layout, const Table& table,
                 size_t begin) {
  require(store.width(Field::codes) == layout.shared->row_bytes(), "codes of another layout");
  const GilRelease release;
  const Bins bins(engine.workers, engine.kernels, table.columns, layout.shared);
  store.write(Field::codes, begin, bins.rows(), bins.by_row8());
}

Out<uint8_t> read_codes(RowStore& store, size_t begin, size_t n) {
  std::vector<uint8_t> codes(n * store.width(Field::codes));
  {
    const GilRelease release;
    store.read(Field::codes, begin, n, codes.data());
  }
  return to_numpy(std::move(codes));
}

// Codes that another store with the same layout has.
void copy_codes(RowStore& store, size_t begin, const In<uint8_t>& codes) {
  const size_t width = store.width(Field::codes);
  require(width > 0 && codes.shape(0) % width == 0, "codes of another layout");
  const GilRelease release;
  store.write(Field::codes, begin, codes.shape(0) / width, codes.data());
}

// A tree that rows of a layout can descend, from the arrays of a model.
Tree* tree_of(const Layout& layout, const In<int32_t>& feature, const In<double>& threshold,
              const In<uint8_t>& missing_left, const In<int32_t>& left, const In<int32_t>& right,
              const std::optional<In<int32_t>>& set_start,
              const std::optional<In<uint64_t>>& sets) {
  const size_t nodes = feature.shape(0), features = layout.shared->features();
  for (const size_t n : {threshold.shape(0), missing_left.shape(0), left.shape(0), right.shape(0)})
    require(n == nodes, "one value per node");
  require(nodes > 0 && (!set_start || set_start->shape(0) == nodes), "one value per node");
  auto tree = std::make_unique<Tree>();
  tree->n_categories.assign(features, 0);
  tree->sets.assign(span_of(sets).begin(), span_of(sets).end());
  const double zero = 0.0;
  for (size_t i = 0; i < nodes; ++i) {
    tree->add(&zero, 0.0);
    if (feature.data()[i] < 0) continue;
    const auto f = static_cast<size_t>(feature.data()[i]);
    const int32_t first = left.data()[i], second = right.data()[i];
    const auto is_child = [&](int32_t c) {
      return c > static_cast<int32_t>(i) && static_cast<size_t>(c) < nodes;
    };
    require(f < features && is_child(first) && is_child(second), "the arrays of a tree");
    const auto& coding = layout.shared->codings[f];
    const int32_t start = set_start ? set_start->data()[i] : -1;
    if (start >= 0) {
      tree->n_categories[f] = static_cast<uint32_t>(coding.n_categories());
      require(start + category_set_words(coding.n_categories()) <= tree->sets.size(),
              "a set of categories");
    }
    tree->feature[i] = feature.data()[i];
    tree->bin[i] = start >= 0 ? 0 : coding.code_below(threshold.data()[i]);
    tree->threshold[i] = threshold.data()[i];
    tree->set_start[i] = start;
    tree->missing_left[i] = missing_left.data()[i];
    tree->left[i] = first;
    tree->right[i] = second;
  }
  return tree.release();
}

Out<int64_t> loss_of(RowStore& store, Engine& engine, const char* name, double parameter) {
  const std::string_view loss = name;
  const Kernels& k = engine.kernels;
  LossIntegers integers;
  const auto of_numbers = [&](Kernels::NumberLoss kernel) {
    require(store.width(Field::target) == sizeof(double), "targets are float64");
    const GilRelease release;
    integers = fill_gradients(engine.workers, store, kernel, parameter);
  };
  const auto of_labels = [&](Kernels::LabelLoss kernel) {
    require(store.width(Field::target) == sizeof(int32_t), "targets are class codes");
    const GilRelease release;
    integers = fill_gradients(engine.workers, store, kernel);
  };
  if (loss == "squared") {
    of_numbers(k.squared);
  } else if (loss == "poisson") {
    of_numbers(k.poisson);
  } else if (loss == "gamma") {
    of_numbers(k.gamma);
  } else if (loss == "tweedie") {
    of_numbers(k.tweedie);
  } else if (loss == "cross_entropy") {
    of_numbers(k.cross_entropy);
  } else if (loss == "logistic") {
    of_labels(k.logistic);
  } else {
    require(false, "no such loss");
  }
  return to_numpy(std::move(integers));
}

// The targets, the weights (or None) and the scores of a chunk, those of the first output first.
nb::tuple read_chunk(RowStore& store, size_t index) {
  require(index < store.chunks(), "no such chunk");
  const bool labels = store.width(Field::target) == sizeof(int32_t);
  const bool weighted = store.has(Field::weight);
  std::vector<int32_t> codes;
  std::vector<double> target, weight, score;
  {
    const GilRelease release;
    store.visit_one(index, {Field::target, Field::weight, Field::score}, {},
                    [&](const RowStore::Chunk& c) {
                      const auto copy = [&](auto& out, Field field, size_t n) {
                        using Item = typename std::remove_reference_t<decltype(out)>::value_type;
                        const Item* const from = c.get<const Item>(field);
                        out.assign(from, from + n);
                      };
                      if (labels) {
                        copy(codes, Field::target, c.n);
                      } else {
                        copy(target, Field::target, c.n);
                      }
                      if (weighted) copy(weight, Field::weight, c.n);
                      copy(score, Field::score, c.n * (store.width(Field::score) / sizeof(double)));
                    });
  }
  nb::object y =
      labels ? nb::cast(to_numpy(std::move(codes))) : nb::cast(to_numpy(std::move(target)));
  nb::object w = weighted ? nb::cast(to_numpy(std::move(weight))) : nb::none();
  return nb::make_tuple(y, w, to_numpy(std::move(score)));
}

template <class Fill>
void draw_store(RowStore& store, Engine& engine, const nb::object& exchange, uint64_t seed,
                uint64_t round, bool by_importance, Fill fill) {
  require(store.has(Field::multiplier), "the store has no multipliers");
  require(!by_importance || store.has(Field::importance), "the store has no importances");
  std::unique_ptr<PythonExchange> peers;
  if (!exchange.is_none()) peers = std::make_unique<PythonExchange>(exchange);
  const GilRelease release;
  fill(StoreDraw{engine.workers, store, peers.get(), draw_key(seed, Draw::rows, round)});
}

void check_output(const RowStore& store, size_t output) {
  require(store.width(Field::score) > output * sizeof(double), "no such output");
}

void make_grower(OwnedGrower* self, Engine& engine, RowStore& store, const Layout& layout,
                 const TreeRules& rules, bool whole_weights, double total_weight,
                 size_t leaves_per_pass, bool has_absent_rows, const nb::object& exchange) {
  require(store.width(Field::codes) == layout.shared->row_bytes(), "codes of another layout");
  require(layout.shared->features() > 0, "a tree needs a feature");
  require(rules.grow_policy != GrowthPolicy::symmetric && !rules.grow_until_pure && !rules.medians,
          "trees of chunks do not support such a rule");
  require(leaves_per_pass > 0, "at least one leaf");
  check_rules(rules, layout.shared->features());
  new (self) OwnedGrower();
  if (!exchange.is_none()) self->exchange = std::make_unique<PythonExchange>(exchange);
  self->grower = std::make_unique<ChunkGrower>(ChunkGrowerInput{
      engine.workers, engine.kernels, store, layout.shared, RowWeights(whole_weights, total_weight),
      rules, leaves_per_pass, has_absent_rows, self->exchange.get()});
}

}  // namespace

void bind_chunks(nb::module_& m) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const StoreError& error) {
      errno = error.error;
      PyObject* const arguments = Py_BuildValue("(is)", error.error, error.what());
      if (arguments == nullptr) return;
      PyErr_SetObject(PyExc_OSError, arguments);
      Py_DECREF(arguments);
    }
  });
  nb::class_<Layout>(m, "BinLayout")
      .def(
          "__init__",
          [](Layout* self, const nb::sequence& codings, const nb::sequence& has_missing) {
            auto layout = std::make_shared<BinLayout>(codings_of(codings));
            const std::vector<uint8_t> missing = items_of<uint8_t>(has_missing);
            require(missing.size() == layout->features(), "one flag per feature");
            layout->has_missing = missing;
            layout->group_without_rows();
            new (self) Layout{std::move(layout)};
          },
          "codings"_a, "has_missing"_a,
          nb::sig("def __init__(self, codings: collections.abc.Sequence[" STAGEWISE_CODING
                  "], has_missing: collections.abc.Sequence[int]) -> None"))
      .def_prop_ro("row_bytes", [](const Layout& l) { return l.shared->row_bytes(); })
      .def(
          "value_bins",
          [](const Layout& l, size_t feature) {
            require(feature < l.shared->features(), "no such feature");
            return l.shared->value_bins[feature];
          },
          "feature"_a)
      .def(
          "has_missing",
          [](const Layout& l, size_t feature) {
            require(feature < l.shared->features(), "no such feature");
            return l.shared->has_missing[feature] != 0;
          },
          "feature"_a)
      .def(
          "bin_below",
          [](const Layout& l, size_t feature, double threshold) {
            require(feature < l.shared->features(), "no such feature");
            return l.shared->codings[feature].code_below(threshold);
          },
          "feature"_a, "threshold"_a)
      .def("tree", &tree_of, "feature"_a.noconvert(), "threshold"_a.noconvert(),
           "missing_left"_a.noconvert(), "left"_a.noconvert(), "right"_a.noconvert(),
           "set_start"_a.noconvert().none(), "sets"_a.noconvert().none(),
           nb::rv_policy::take_ownership)
      .def_prop_ro("n_features", [](const Layout& l) { return l.shared->features(); });

  nb::class_<RowStore>(m, "RowStore")
      .def("__init__", &make_store, "rows"_a, "table_rows"_a, "chunk_rows"_a, "widths"_a,
           "memory"_a, "folder"_a.none(), "threads"_a,
           "first_rows"_a.noconvert().none() = nb::none(),
           nb::sig("def __init__(self, rows: int, table_rows: int, chunk_rows: int, widths: "
                   "collections.abc.Sequence[int], memory: int, folder: str | None, threads: int, "
                   "first_rows: numpy.typing.NDArray[numpy.uint64] | None = None) -> None"))
      .def_prop_ro("n_rows", &RowStore::rows)
      .def_prop_ro("n_chunks", &RowStore::chunks)
      .def_prop_ro("chunks_in_memory", &RowStore::chunks_in_memory)
      .def("write_codes", &write_codes, "workers"_a, "layout"_a, "columns"_a, "begin"_a)
      .def("read_codes", &read_codes, "begin"_a, "n"_a)
      .def("copy_codes", &copy_codes, "begin"_a, "codes"_a.noconvert())
      .def(
          "write_target",
          [](RowStore& s, size_t begin, const In<double>& y) {
            write_field(s, Field::target, begin, y);
          },
          "begin"_a, "y"_a.noconvert())
      .def(
          "write_target",
          [](RowStore& s, size_t begin, const In<int32_t>& y) {
            write_field(s, Field::target, begin, y);
          },
          "begin"_a, "y"_a.noconvert())
      .def(
          "write_weight",
          [](RowStore& s, size_t begin, const In<double>& weight) {
            write_field(s, Field::weight, begin, weight);
          },
          "begin"_a, "weight"_a.noconvert())
      .def(
          "draw_bootstrap",
          [](RowStore& s, Engine& e, const nb::object& exchange, double rate, uint64_t seed,
             uint64_t round) {
            draw_store(s, e, exchange, seed, round, false,
                       [&](const StoreDraw& from) { draw_bootstrap(from, rate); });
          },
          "workers"_a, "exchange"_a.none(), "rate"_a, "seed"_a, "round_number"_a)
      .def(
          "draw_goss",
          [](RowStore& s, Engine& e, const nb::object& exchange, double top, double other,
             uint64_t seed, uint64_t round) {
            draw_store(s, e, exchange, seed, round, true,
                       [&](const StoreDraw& from) { draw_goss(from, top, other); });
          },
          "workers"_a, "exchange"_a.none(), "top"_a, "other"_a, "seed"_a, "round_number"_a)
      .def(
          "draw_mvs",
          [](RowStore& s, Engine& e, const nb::object& exchange, double share, uint64_t seed,
             uint64_t round) {
            draw_store(s, e, exchange, seed, round, true,
                       [&](const StoreDraw& from) { draw_mvs(from, share); });
          },
          "workers"_a, "exchange"_a.none(), "share"_a, "seed"_a, "round_number"_a)
      .def(
          "clear_squares",
          [](RowStore& s, Engine& e) {
            require(s.has(Field::importance), "the store has no importances");
            const GilRelease release;
            clear_squares(e.workers, s);
          },
          "workers"_a)
      .def(
          "add_squares",
          [](RowStore& s, Engine& e, double ridge) {
            require(s.has(Field::importance), "the store has no importances");
            const GilRelease release;
            add_squares(e.workers, s, ridge);
          },
          "workers"_a, "ridge"_a)
      .def(
          "multiply_gradients",
          [](RowStore& s, Engine& e) {
            require(s.has(Field::multiplier), "the store has no multipliers");
            LossIntegers integers;
            {
              const GilRelease release;
              integers = multiply_gradients(e.workers, s);
            }
            return to_numpy(std::move(integers));
          },
          "workers"_a)
      .def("drop_weights", [](RowStore& s) { s.drop(Field::weight); })
      .def(
          "read_scores",
          [](RowStore& s, size_t begin, size_t n) {  // with one output
            require(s.width(Field::score) == sizeof(double), "scores of one output");
            std::vector<double> out(n);
            s.read(Field::score, begin, n, out.data());
            return to_numpy(std::move(out));
          },
          "begin"_a, "n"_a)
      .def(
          "set_scores",
          [](RowStore& s, Engine& e, const In<double>& base) {
            require(s.width(Field::score) == base.shape(0) * sizeof(double),
                    "one score per output");
            const GilRelease release;
            set_scores(e.workers, s, span_of(base));
          },
          "workers"_a, "base"_a.noconvert())
      .def("loss", &loss_of, "workers"_a, "name"_a, "parameter"_a = 0.0)
      .def(
          "read_chunk", &read_chunk, "index"_a,
          nb::sig("def read_chunk(self, index: int) -> tuple[numpy.typing.NDArray[numpy.float64] | "
                  "numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.float64] | None, "
                  "numpy.typing.NDArray[numpy.float64]]"))
      .def(
          "put_gradients",
          [](RowStore& s, size_t chunk, const Gradients& gradients, size_t begin, size_t output) {
            require(chunk < s.chunks() && s.has(Field::gradient), "no such chunk");
            const size_t rows = std::min(s.chunk_rows(), s.rows() - chunk * s.chunk_rows());
            require(begin <= gradients.rows() && rows <= gradients.rows() - begin &&
                        gradients.are_pairs(),
                    "a pair per row");
            const size_t outputs = s.has(Field::state) ? s.width(Field::state) / 8 : 1;
            require(output < outputs, "no such output");
            const GilRelease release;
            put_gradients(s, chunk, gradients, begin, output);
          },
          "chunk"_a, "gradients"_a, "begin"_a, "output"_a)
      .def(
          "take_gradients",
          [](RowStore& s, Engine& e, size_t output) {
            require(s.has(Field::gradient) && output < s.width(Field::state) / 8, "no such output");
            const GilRelease release;
            take_gradients(e.workers, s, output);
          },
          "workers"_a, "output"_a)
      .def(
          "softmax_state",
          [](RowStore& s, Engine& e) {
            const size_t outputs = s.width(Field::score) / sizeof(double);
            require(outputs > 1 && s.width(Field::state) == 2 * sizeof(float) &&
                        s.width(Field::target) == sizeof(int32_t),
                    "there are two classes at least");
            LossIntegers integers;
            {
              const GilRelease release;
              integers = fill_softmax_state(e.workers, s, e.kernels, outputs);
            }
            return to_numpy(std::move(integers));
          },
          "workers"_a)
      .def(
          "softmax",
          [](RowStore& s, Engine& e, size_t output) {
            check_output(s, output);
            require(s.width(Field::state) == 2 * sizeof(float), "there is no state");
            LossIntegers integers;
            {
              const GilRelease release;
              integers = fill_softmax(e.workers, s, e.kernels, output);
            }
            return to_numpy(std::move(integers));
          },
          "workers"_a, "output"_a)
      .def(
          "add_tree",
          [](RowStore& s, Engine& e, const Layout& layout, const Tree& tree,
             const In<double>& value, size_t output) {
            check_output(s, output);
            require(value.shape(0) == tree.nodes(), "one value per node");
            const GilRelease release;
            add_tree(e.workers, s, e.kernels, layout.shared, tree, span_of(value), output);
          },
          "workers"_a, "layout"_a, "tree"_a, "value"_a.noconvert(), "output"_a);

  nb::class_<OwnedGrower>(m, "ChunkGrower")
      .def("__init__", &make_grower, "workers"_a, "store"_a, "layout"_a, "rules"_a,
           "whole_weights"_a, "total_weight"_a, "leaves_per_pass"_a, "has_absent_rows"_a,
           "exchange"_a.none(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def(
          "grow",
          [](OwnedGrower& g, double abs_gradient, double hessian, double share, bool multiplied,
             uint64_t seed, uint64_t round, uint64_t tree_number) {
            const GilRelease release;
            return new Tree(g.grower->grow({0.0, abs_gradient, hessian}, {share, round, multiplied},
                                           seed, tree_number));
          },
          "abs_gradient"_a, "hessian"_a, "share"_a, "multiplied"_a, "seed"_a, "round_number"_a,
          "tree_number"_a, nb::rv_policy::take_ownership)
      .def(
          "add_scores",
          [](OwnedGrower& g, const Tree& tree, const In<double>& value, size_t output) {
            require(g.grower->grew(tree), "only the tree that was grown last");
            require(value.shape(0) == tree.nodes(), "one value per node");
            const GilRelease release;
            g.grower->add_scores(tree, span_of(value), output);
          },
          "tree"_a, "value"_a.noconvert(), "output"_a);
}

}  // namespace stagewise

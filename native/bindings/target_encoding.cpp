// Bindings of target encoding.
#include "encoding/target_encoding.hpp"

#include <algorithm>
#include <functional>

#include "bindings/bindings.hpp"
#include "encoding/key_sums.hpp"

namespace stagewise {
namespace {

using KeySources = SequenceOf<TupleOf<size_t, size_t>>;  // as Python passes them
using Sources = std::vector<std::pair<size_t, size_t>>;  // feature, number of categories

Sources pairs_of(const nb::sequence& given) {
  Sources sources;
  for (nb::handle source : given) {
    const auto pair = items_of<size_t>(item_of<nb::sequence>(nb::borrow(source)));
    require(pair.size() == 2, "a source is a feature and a number of categories");
    sources.emplace_back(pair[0], pair[1]);
  }
  return sources;
}

CategorySources sources_of(size_t features, const Sources& given) {
  require(!given.empty(), "a key has a source");
  CategorySources sources;
  uint64_t keys = 1;
  for (const auto& [feature, n_categories] : given) {
    require(feature < features, "no such feature");
    require(n_categories < (size_t{1} << 31), "too many categories");
    sources.push_back({feature, n_categories});
    require(sources.back().places() < (uint64_t{1} << 63) / keys, "too many combinations");
    keys *= sources.back().places();
  }
  return sources;
}

// The rows of one table by several kinds of keys.
struct CategoryKeys {
  std::vector<CategorySources> sources;
  std::vector<KeyedRows> kinds;
  std::optional<In<uint32_t>> training_rows;
  size_t rows = 0, n_training_rows = 0;

  CategoryKeys(Engine& engine, const Table& table, const SequenceOf<KeySources>& given,
               std::optional<In<uint32_t>> rows_learned)
      : kinds(nb::len(given)), training_rows(std::move(rows_learned)), rows(table.columns.rows) {
    for (nb::handle source : given)
      sources.push_back(sources_of(table.columns.features(),
                                   pairs_of(item_of<nb::sequence>(nb::borrow(source)))));
    n_training_rows = training_rows ? training_rows->shape(0) : rows;
    const uint32_t* index = training_rows ? training_rows->data() : nullptr;
    for (size_t i = 0; i < n_training_rows && index != nullptr; ++i)
      require(index[i] < rows, "a row to learn from is out of range");
    const GilRelease release;
    engine.workers.run(kinds.size(), [&](size_t i, int) {
      kinds[i] = learn_keys(table.columns, sources[i], index, n_training_rows);
    });
  }

  Out<uint64_t> keys(size_t kind) const {
    require(kind < kinds.size(), "no such kind of keys");
    return to_numpy(std::vector<uint64_t>(kinds[kind].keys));
  }

  KeyTarget target(const In<float>& pairs) const {
    require(pairs.shape(0) == 2 * n_training_rows, "a pair for each row to learn from");
    return {training_rows ? training_rows->data() : nullptr, n_training_rows, pairs.data()};
  }

  std::vector<uint32_t> order_of(uint64_t seed, uint64_t version) const {
    const GilRelease release;
    return drawn_order(n_training_rows, seed, version);
  }

  // make(kind, numbers of the rows, how many keys there are)
  template <class T, class Make>
  std::vector<T> each(Engine& engine, Make make) const {
    std::vector<T> made(kinds.size());
    const GilRelease release;
    engine.workers.run(kinds.size(), [&](size_t i, int) {
      made[i] = make(i, kinds[i].number, count_keys(sources[i], kinds[i].keys));
    });
    return made;
  }

  ListOf<Out<float>> arrays(std::vector<std::vector<float>>&& made) const {
    nb::list out;
    for (auto& m : made) out.append(to_numpy(std::move(m)));
    return out;
  }

  ListOf<double> strengths(Engine& engine, const In<float>& pairs) const {
    const KeyTarget t = target(pairs);
    return list_of(each<double>(
        engine, [&](size_t, const auto& number, size_t n) { return key_strength(number, n, t); }));
  }

  ListOf<Out<float>> means(Engine& engine, const In<float>& pairs,
                           const SequenceOf<double>& given) const {
    const KeyTarget t = target(pairs);
    const auto strength = items_of<double>(given);
    require(strength.size() == kinds.size(), "a strength for each kind of keys");
    return arrays(each<std::vector<float>>(engine, [&](size_t i, const auto& number, size_t n) {
      return key_means(number, n, t, strength[i]);
    }));
  }

  ListOf<Out<float>> ordered_means(Engine& engine, const In<float>& pairs,
                                   const SequenceOf<double>& given, uint64_t seed,
                                   uint64_t version) const {
    const KeyTarget t = target(pairs);
    const auto strength = items_of<double>(given);
    require(strength.size() == kinds.size(), "a strength for each kind of keys");
    const std::vector<uint32_t> order = order_of(seed, version);
    return arrays(each<std::vector<float>>(engine, [&](size_t i, const auto& number, size_t n) {
      return stagewise::ordered_means(number, n, t, strength[i], order);
    }));
  }

  ListOf<TupleOf<double, double>> gains(Engine& engine, const In<float>& pairs, uint64_t seed,
                                        uint64_t version) const {
    const KeyTarget t = target(pairs);
    const std::vector<uint32_t> order = order_of(seed, version);
    using Gain = std::pair<double, double>;
    const auto gains = each<Gain>(engine, [&](size_t, const auto& number, size_t n) -> Gain {
      const OrderedGain found = ordered_gain(number, n, t, order);
      return {found.gain, found.error};
    });
    nb::list out;
    for (const auto& [gain, error] : gains) out.append(nb::make_tuple(gain, error));
    return out;
  }
};

// The keys of several kinds, and the rows of tables by them.
struct KeyIndices {
  std::vector<KeyIndex> kinds;
  size_t features = 0;

  explicit KeyIndices(const SequenceOf<KeySources>& given) {
    for (nb::handle source : given) {
      const Sources pairs = pairs_of(item_of<nb::sequence>(nb::borrow(source)));
      for (const auto& [feature, n_categories] : pairs) features = std::max(features, feature + 1);
      kinds.emplace_back(sources_of(features, pairs));
    }
  }

  void check(const Table& table) const {
    require(features <= table.columns.features(), "no such feature");
  }

  KeyIndex& kind(size_t number) {
    require(number < kinds.size(), "no such kind of keys");
    return kinds[number];
  }

  void find(Engine& engine, const Table& table) {
    check(table);
    const GilRelease release;
    engine.workers.run(kinds.size(), [&](size_t i, int) { kinds[i].find(table.columns); });
  }

  void set_keys(size_t number, const In<uint64_t>& keys) {
    const auto given = span_of(keys);
    require(std::is_sorted(given.begin(), given.end(), std::less_equal<>()), "keys increase");
    kind(number).set_keys(given);
  }

  ListOf<Out<uint32_t>> numbers(Engine& engine, const Table& table) const {
    check(table);
    std::vector<std::vector<uint32_t>> found(kinds.size());
    {
      const GilRelease release;
      engine.workers.run(kinds.size(),
                         [&](size_t i, int) { found[i] = kinds[i].numbers(table.columns); });
    }
    nb::list out;
    for (auto& own : found) out.append(to_numpy(std::move(own)));
    return out;
  }
};

// sums: for each kind, those of all numbers of each fold.
void add_sums(Engine& engine, const SequenceOf<In<uint32_t>>& numbers, const In<uint8_t>& folds,
              const In<float>& pairs, double g_scale, double h_scale,
              const SequenceOf<InOut<int64_t>>& sums) {
  const auto number = items_of<In<uint32_t>>(numbers);
  const auto sum = items_of<InOut<int64_t>>(sums);
  require(number.size() == sum.size(), "sums for each kind of keys");
  require(pairs.shape(0) == 2 * folds.shape(0), "a pair for each row");
  const KeyTerms terms{span_of(folds), pairs.data(), g_scale, h_scale};
  require(std::ranges::all_of(terms.fold, [](uint8_t fold) { return fold <= kNoFold; }),
          "no such fold");
  const GilRelease release;
  engine.workers.run(number.size(), [&](size_t i, int) {
    const size_t n_numbers = sum[i].shape(0) / (2 * kEncodingFolds);
    require(number[i].shape(0) == folds.shape(0), "a number for each row");
    require(std::ranges::all_of(span_of(number[i]), [&](uint32_t n) { return n < n_numbers; }),
            "no sum for a number");
    add_key_sums(span_of(number[i]), terms, n_numbers, sum[i].data());
  });
}

Out<float> look_up(const In<uint32_t>& number, const In<uint8_t>& folds, const In<float>& values) {
  const size_t n_numbers = values.shape(0) / (kEncodingFolds + 1);
  require(number.shape(0) == folds.shape(0), "a fold for each row");
  std::vector<float> found;
  {
    const GilRelease release;
    const auto fold = span_of(folds);
    const auto own = span_of(number);
    require(std::ranges::all_of(fold, [](uint8_t f) { return f <= kNoFold; }) &&
                std::ranges::all_of(own, [&](uint32_t n) { return n < n_numbers; }),
            "no value for a number");
    found = look_up_keys(own, fold, n_numbers, values.data());
  }
  return to_numpy(std::move(found));
}

double strength_by_sums(const In<double>& target, const In<double>& unit, double squares,
                        double rows) {
  require(target.shape(0) == unit.shape(0), "a unit for each key");
  return strength_of_sums(target.data(), unit.data(), target.shape(0), squares, rows);
}

Out<uint32_t> numbers_of(const Table& table, const KeySources& given, const In<uint64_t>& keys) {
  const CategorySources sources = sources_of(table.columns.features(), pairs_of(given));
  std::vector<uint32_t> numbers;
  {
    const GilRelease release;
    numbers = find_keys(table.columns, sources, keys.data(), keys.shape(0));
  }
  return to_numpy(std::move(numbers));
}

}  // namespace

void bind_target_encoding(nb::module_& m) {
  nb::class_<CategoryKeys>(m, "CategoryKeys")
      .def(nb::init<Engine&, const Table&, const SequenceOf<KeySources>&,
                    std::optional<In<uint32_t>>>(),
           "workers"_a, "columns"_a, "sources"_a, "training_rows"_a.noconvert().none())
      .def("keys", &CategoryKeys::keys, "kind"_a)
      .def("strengths", &CategoryKeys::strengths, "workers"_a, "pairs"_a.noconvert())
      .def("means", &CategoryKeys::means, "workers"_a, "pairs"_a.noconvert(), "strength"_a)
      .def("ordered_means", &CategoryKeys::ordered_means, "workers"_a, "pairs"_a.noconvert(),
           "strength"_a, "seed"_a, "version"_a)
      .def("gains", &CategoryKeys::gains, "workers"_a, "pairs"_a.noconvert(), "seed"_a,
           "version"_a);
  nb::class_<KeyIndices>(m, "KeyIndices")
      .def(nb::init<const SequenceOf<KeySources>&>(), "sources"_a)
      .def("find", &KeyIndices::find, "workers"_a, "columns"_a)
      .def(
          "keys", [](KeyIndices& own, size_t kind) { return to_numpy(own.kind(kind).keys()); },
          "kind"_a)
      .def("set_keys", &KeyIndices::set_keys, "kind"_a, "keys"_a.noconvert())
      .def(
          "n_keys", [](KeyIndices& own, size_t kind) { return own.kind(kind).n_keys(); }, "kind"_a)
      .def("numbers", &KeyIndices::numbers, "workers"_a, "columns"_a);
  m.attr("ENCODING_FOLDS") = kEncodingFolds;
  m.def(
      "draw_encoding_folds",
      [](size_t rows, uint64_t first_row, uint64_t seed, uint64_t version) {
        return to_numpy(draw_encoding_folds(rows, first_row, seed, version));
      },
      "rows"_a, "first_row"_a, "seed"_a, "version"_a);
  m.def("add_key_sums", &add_sums, "workers"_a, "numbers"_a, "folds"_a.noconvert(),
        "pairs"_a.noconvert(), "g_scale"_a, "h_scale"_a, "sums"_a);
  m.def("look_up_keys", &look_up, "number"_a.noconvert(), "folds"_a.noconvert(),
        "values"_a.noconvert());
  m.def("key_strength", &strength_by_sums, "target"_a.noconvert(), "unit"_a.noconvert(),
        "squares"_a, "rows"_a);
  m.def("encode_keys", &numbers_of, "columns"_a, "sources"_a, "keys"_a.noconvert());
}

}  // namespace stagewise

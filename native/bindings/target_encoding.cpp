// What levels say about a target.
#include "encoding/target_encoding.hpp"

#include "bindings/bindings.hpp"

namespace stagewise {
namespace {

using Sources = std::vector<std::pair<size_t, size_t>>;  // feature, how many levels

Sources pairs_of(const nb::sequence& given) {
  Sources sources;
  for (nb::handle source : given) {
    const auto pair = items_of<size_t>(item_of<nb::sequence>(nb::borrow(source)));
    require(pair.size() == 2, "a source is a feature and a number of levels");
    sources.emplace_back(pair[0], pair[1]);
  }
  return sources;
}

LevelSources sources_of(const Columns& table, const Sources& given) {
  require(!given.empty(), "a key has a source");
  LevelSources sources;
  uint64_t keys = 1;
  for (const auto& [feature, levels] : given) {
    require(feature < table.features(), "no such feature");
    require(levels < (size_t{1} << 31), "too many levels");
    sources.push_back({feature, levels});
    require(sources.back().places() < (uint64_t{1} << 63) / keys, "too many combinations");
    keys *= sources.back().places();
  }
  return sources;
}

// The rows of one table by several kinds of keys.
struct LevelKeys {
  std::vector<LevelSources> sources;
  std::vector<KeyedRows> kinds;
  std::optional<In<uint32_t>> learned;
  size_t rows = 0, n_learned = 0;

  LevelKeys(Engine& engine, const Table& table, const nb::sequence& given,
            std::optional<In<uint32_t>> rows_learned)
      : kinds(nb::len(given)), learned(std::move(rows_learned)), rows(table.columns.rows) {
    for (nb::handle source : given)
      sources.push_back(
          sources_of(table.columns, pairs_of(item_of<nb::sequence>(nb::borrow(source)))));
    n_learned = learned ? learned->shape(0) : rows;
    const uint32_t* index = learned ? learned->data() : nullptr;
    for (size_t i = 0; i < n_learned && index != nullptr; ++i)
      require(index[i] < rows, "a row to learn from is out of range");
    const Released release;
    engine.workers.run(kinds.size(), [&](size_t i, int) {
      kinds[i] = learn_keys(table.columns, sources[i], index, n_learned);
    });
  }

  Out<uint64_t> keys(size_t kind) const {
    require(kind < kinds.size(), "no such kind of keys");
    return to_numpy(std::vector<uint64_t>(kinds[kind].keys));
  }

  KeyTarget target(const In<float>& pairs) const {
    require(pairs.shape(0) == 2 * n_learned, "a pair for each row to learn from");
    return {learned ? learned->data() : nullptr, n_learned, pairs.data()};
  }

  std::vector<uint32_t> order_of(uint64_t seed, uint64_t version) const {
    const Released release;
    return drawn_order(n_learned, seed, version);
  }

  // make(kind, numbers of the rows, how many keys there are)
  template <class T, class Make>
  std::vector<T> each(Engine& engine, Make make) const {
    std::vector<T> made(kinds.size());
    const Released release;
    engine.workers.run(kinds.size(), [&](size_t i, int) {
      made[i] = make(i, kinds[i].number, count_keys(sources[i], kinds[i].keys));
    });
    return made;
  }

  nb::list arrays(std::vector<std::vector<float>>&& made) const {
    nb::list out;
    for (auto& m : made) out.append(to_numpy(std::move(m)));
    return out;
  }

  nb::list strengths(Engine& engine, const In<float>& pairs) const {
    const KeyTarget t = target(pairs);
    return list_of(each<double>(
        engine, [&](size_t, const auto& number, size_t n) { return key_strength(number, n, t); }));
  }

  nb::list means(Engine& engine, const In<float>& pairs, const nb::sequence& given) const {
    const KeyTarget t = target(pairs);
    const auto strength = items_of<double>(given);
    require(strength.size() == kinds.size(), "a strength for each kind of keys");
    return arrays(each<std::vector<float>>(engine, [&](size_t i, const auto& number, size_t n) {
      return key_means(number, n, t, strength[i]);
    }));
  }

  nb::list ordered(Engine& engine, const In<float>& pairs, const nb::sequence& given, uint64_t seed,
                   uint64_t version) const {
    const KeyTarget t = target(pairs);
    const auto strength = items_of<double>(given);
    require(strength.size() == kinds.size(), "a strength for each kind of keys");
    const std::vector<uint32_t> order = order_of(seed, version);
    return arrays(each<std::vector<float>>(engine, [&](size_t i, const auto& number, size_t n) {
      return ordered_means(number, n, t, strength[i], order);
    }));
  }

  nb::list gains(Engine& engine, const In<float>& pairs, uint64_t seed, uint64_t version) const {
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

Out<uint32_t> numbers_of(const Table& table, const nb::sequence& given, const In<uint64_t>& keys) {
  const LevelSources sources = sources_of(table.columns, pairs_of(given));
  std::vector<uint32_t> numbers;
  {
    const Released release;
    numbers = find_keys(table.columns, sources, keys.data(), keys.shape(0));
  }
  return to_numpy(std::move(numbers));
}

}  // namespace

void bind_statistics(nb::module_& m) {
  nb::class_<LevelKeys>(m, "LevelKeys")
      .def(nb::init<Engine&, const Table&, const nb::sequence&, std::optional<In<uint32_t>>>(),
           "workers"_a, "columns"_a, "sources"_a, "learned"_a.noconvert().none())
      .def("keys", &LevelKeys::keys, "kind"_a)
      .def("strengths", &LevelKeys::strengths, "workers"_a, "pairs"_a.noconvert())
      .def("means", &LevelKeys::means, "workers"_a, "pairs"_a.noconvert(), "strength"_a)
      .def("ordered", &LevelKeys::ordered, "workers"_a, "pairs"_a.noconvert(), "strength"_a,
           "seed"_a, "version"_a)
      .def("gains", &LevelKeys::gains, "workers"_a, "pairs"_a.noconvert(), "seed"_a, "version"_a);
  m.def("key_numbers", &numbers_of, "columns"_a, "sources"_a, "keys"_a.noconvert());
}

}  // namespace stagewise

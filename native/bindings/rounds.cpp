// Rounds of boosting in one call.
#include "boosting/rounds.hpp"

#include <cmath>
#include <string_view>

#include "bindings/bindings.hpp"

namespace stagewise {
namespace {

using OptionalRows = std::optional<In<uint32_t>>;

ScoredRows scored_rows(RowLoss& loss, const InOut<double>& score, double total_weight) {
  require(score.shape(0) == loss.scores(), "a score per row and output");
  return {loss, {score.data(), score.shape(0)}, total_weight};
}

RoundGrowers round_growers(const nb::sequence& rules, size_t rows, size_t outputs) {
  RoundGrowers growers{{}, 0};
  for (nb::handle tables : rules) {
    const auto own = items_of<Grower*>(nb::cast<nb::sequence>(tables));
    require(growers.tables == 0 || growers.tables == own.size(), "each rule has all tables");
    growers.tables = own.size();
    growers.all.insert(growers.all.end(), own.begin(), own.end());
  }
  for (const Grower* const grower : growers.all)
    require((outputs > 0 || grower->has_gradient_target()) && grower->outputs() == outputs &&
                grower->table_rows() == rows,
            "growers are of gradients of the same rows");
  return growers;
}

void check_only(const OptionalRows& only, size_t rows) {
  const std::span<const uint32_t> own = span_of(only);
  require(!only || !own.empty(), "there are rows to train on");
  for (size_t i = 0; i < own.size(); ++i)
    require(own[i] < rows && (i == 0 || own[i - 1] < own[i]), "rows are increasing row numbers");
}

// How rows are drawn, and up to two numbers of it.
Rounds::Sample sample_of(Engine& engine, size_t rows, std::span<const double> weight, uint64_t seed,
                         std::string_view name, double first, double second) {
  if (name == "all") return nullptr;
  const auto from = [=, &engine](uint64_t round) {
    return DrawnRows{engine.workers, rows, weight, seed, round};
  };
  if (name == "fraction")
    return [=](const Rounds::Importance&, uint64_t round) { return draw_rows(from(round), first); };
  if (name == "fixed_size") {
    require(first > 0.0 && first <= 1.0, "the share is above 0 and at most 1");
    return [=](const Rounds::Importance&, uint64_t round) {
      return draw_fixed_size(from(round), first);
    };
  }
  if (name == "bootstrap") {
    require(first > 0.0 && first <= 1.0, "the rate is above 0 and at most 1");
    return [=](const Rounds::Importance&, uint64_t round) {
      return draw_bootstrap(from(round), first);
    };
  }
  if (name == "goss") {
    require(first > 0.0 && second > 0.0 && first + second <= 1.0, "two shares of at most 1 in all");
    return [=](const Rounds::Importance& importance, uint64_t round) {
      return draw_goss(from(round), importance(0.0).data(), first, second);
    };
  }
  require(name == "mvs", "no such sampling");
  return [=](const Rounds::Importance& importance, uint64_t round) {
    return draw_mvs(from(round), importance(second).data(), first);
  };
}

void make_rounds(Rounds* self, Engine& engine, RowLoss& loss, const InOut<double>& score,
                 double total_weight, const Weight& weight,
                 const SequenceOf<SequenceOf<Grower>>& growers,
                 const SequenceOf<SequenceOf<Grower>>& other_growers, size_t location,
                 const OptionalRows& only, const char* sampling, double first, double second,
                 double learning_rate, uint64_t seed, bool joint) {
  const size_t rows = loss.rows();
  require(!weight || weight->shape(0) == rows, "one weight per row");
  check_only(only, rows);
  const RoundGrowers own = round_growers(growers, rows, joint ? loss.outputs() : 0),
                     others = round_growers(other_growers, rows, 0);
  require(!own.all.empty(), "there is a grower at least");
  new (self) Rounds({engine.workers, engine.kernels, scored_rows(loss, score, total_weight),
                     span_of(weight), own, others, location, span_of(only),
                     sample_of(engine, rows, span_of(weight), seed, sampling, first, second),
                     learning_rate, seed, joint});
}

// The arrays of all trees, one after the other, as Ensemble.flat has them; and the losses.
using BlockArrays =
    TupleOf<Out<uint64_t>, Out<int32_t>, Out<double>, Out<uint8_t>, Out<int32_t>, Out<int32_t>,
            Out<double>, Out<double>, Out<double>, Out<int64_t>, Out<uint64_t>, Out<double>>;

template <class T>
Out<T> joined(const std::vector<Tree>& trees, std::vector<T> Tree::* member) {
  std::vector<T> all;
  for (const Tree& tree : trees)
    all.insert(all.end(), (tree.*member).begin(), (tree.*member).end());
  return to_numpy(std::move(all));
}

Out<int64_t> joined_set_starts(const std::vector<Tree>& trees) {
  std::vector<int64_t> all;
  int64_t sets = 0;
  for (const Tree& tree : trees) {
    for (const int32_t start : tree.set_start) all.push_back(start < 0 ? -1 : sets + start);
    sets += static_cast<int64_t>(tree.sets.size());
  }
  return to_numpy(std::move(all));
}

Out<uint64_t> tree_starts(const std::vector<Tree>& trees) {
  std::vector<uint64_t> starts = {0};
  for (const Tree& tree : trees) starts.push_back(starts.back() + tree.nodes());
  return to_numpy(std::move(starts));
}

BlockArrays run_rounds(Rounds& rounds, uint64_t first, uint64_t count) {
  RoundBlock block;
  {
    const GilRelease release;
    block = rounds.run(first, count);
  }
  const std::vector<Tree>& trees = block.trees;
  return nb::make_tuple(
      tree_starts(trees), joined(trees, &Tree::feature), joined(trees, &Tree::threshold),
      joined(trees, &Tree::missing_left), joined(trees, &Tree::left), joined(trees, &Tree::right),
      joined(trees, &Tree::value), joined(trees, &Tree::gain), joined(trees, &Tree::cover),
      joined_set_starts(trees), joined(trees, &Tree::sets), to_numpy(std::move(block.losses)));
}

}  // namespace

void bind_rounds(nb::module_& m) {
  nb::class_<Rounds>(m, "Rounds")
      .def("__init__", &make_rounds, "workers"_a, "loss"_a, "score"_a.noconvert(), "total_weight"_a,
           "weight"_a.noconvert().none(), "growers"_a, "other_growers"_a, "location"_a,
           "only"_a.noconvert().none(), "sampling"_a, "first"_a, "second"_a, "learning_rate"_a,
           "seed"_a, "joint"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
           nb::keep_alive<1, 4>(), nb::keep_alive<1, 6>(), nb::keep_alive<1, 7>(),
           nb::keep_alive<1, 8>(), nb::keep_alive<1, 10>())
      .def(
          "measure",
          [](Rounds& self, RowLoss& loss, const InOut<double>& score, double total_weight,
             const Bins& bins) {
            require(bins.rows() == loss.rows(), "the bins have other rows");
            self.measure({scored_rows(loss, score, total_weight), &bins, nullptr});
          },
          "loss"_a, "score"_a.noconvert(), "total_weight"_a, "table"_a, nb::keep_alive<1, 2>(),
          nb::keep_alive<1, 3>(), nb::keep_alive<1, 5>())
      .def(
          "measure",
          [](Rounds& self, RowLoss& loss, const InOut<double>& score, double total_weight,
             const Table& table) {
            require(table.columns.rows == loss.rows(), "the columns have other rows");
            self.measure({scored_rows(loss, score, total_weight), nullptr, &table.columns});
          },
          "loss"_a, "score"_a.noconvert(), "total_weight"_a, "table"_a, nb::keep_alive<1, 2>(),
          nb::keep_alive<1, 3>(), nb::keep_alive<1, 5>())
      .def("run", &run_rounds, "first"_a, "count"_a);
}

}  // namespace stagewise

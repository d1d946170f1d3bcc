// Bags of rows, and which rounds are dropped.
#include "gradients/sampling.hpp"

#include "bindings/bindings.hpp"

namespace stagewise {
namespace {

DrawnRows drawn_rows(Engine& engine, size_t rows, const Weight& weight, uint64_t seed,
                     uint64_t round, uint64_t first_row = 0) {
  require(!weight || weight->shape(0) == rows, "one weight per row");
  return {engine.workers, rows, span_of(weight), seed, round, first_row};
}

// make() without the GIL; the rows alone, or the rows and how often each row of the table counts.
template <class Make>
Out<uint32_t> rows_of(Make make) {
  Bag bag;
  {
    const GilRelease release;
    bag = make();
  }
  return to_numpy(std::move(bag.rows));
}

template <class Make>
TupleOf<Out<uint32_t>, Out<float>> rows_and_multipliers(Make make) {
  Bag bag;
  {
    const GilRelease release;
    bag = make();
  }
  return nb::make_tuple(to_numpy(std::move(bag.rows)), to_numpy(std::move(bag.multiplier)));
}

}  // namespace

void bind_sampling(nb::module_& m) {
  m.def(
      "draw_rows",
      [](Engine& e, size_t rows, const Weight& weight, double share, uint64_t seed, uint64_t round,
         uint64_t first_row) {
        const DrawnRows from = drawn_rows(e, rows, weight, seed, round, first_row);
        return rows_of([&] { return draw_rows(from, share); });
      },
      "workers"_a, "rows"_a, "weight"_a.noconvert().none(), "share"_a, "seed"_a, "round_number"_a,
      "first_row"_a = 0);
  m.def(
      "draw_fixed_size",
      [](Engine& e, size_t rows, const Weight& weight, double share, uint64_t seed,
         uint64_t round) {
        require(share > 0.0 && share <= 1.0, "the share is above 0 and at most 1");
        const DrawnRows from = drawn_rows(e, rows, weight, seed, round);
        return rows_of([&] { return draw_fixed_size(from, share); });
      },
      "workers"_a, "rows"_a, "weight"_a.noconvert().none(), "share"_a, "seed"_a, "round_number"_a);
  m.def(
      "draw_groups",
      [](Engine& e, const In<uint32_t>& group, const Weight& weight, double share, uint64_t seed,
         uint64_t round) {
        const DrawnRows from = drawn_rows(e, group.shape(0), weight, seed, round);
        return rows_of([&] { return draw_groups(from, group.data(), share); });
      },
      "workers"_a, "groups"_a.noconvert(), "weight"_a.noconvert().none(), "share"_a, "seed"_a,
      "round_number"_a);
  m.def(
      "draw_bootstrap",
      [](Engine& e, size_t rows, const Weight& weight, double rate, uint64_t seed, uint64_t round,
         uint64_t first_row) {
        require(rate > 0.0 && rate <= 1.0, "the rate is above 0 and at most 1");
        const DrawnRows from = drawn_rows(e, rows, weight, seed, round, first_row);
        return rows_and_multipliers([&] { return draw_bootstrap(from, rate); });
      },
      "workers"_a, "rows"_a, "weight"_a.noconvert().none(), "rate"_a, "seed"_a, "round_number"_a,
      "first_row"_a = 0);
  m.def(
      "draw_goss",
      [](Engine& e, const In<double>& squares, const Weight& weight, double top, double other,
         uint64_t seed, uint64_t round) {
        require(top > 0.0 && other > 0.0 && top + other <= 1.0, "two shares of at most 1 in all");
        const DrawnRows from = drawn_rows(e, squares.shape(0), weight, seed, round);
        return rows_and_multipliers([&] { return draw_goss(from, squares.data(), top, other); });
      },
      "workers"_a, "squares"_a.noconvert(), "weight"_a.noconvert().none(), "top"_a, "other"_a,
      "seed"_a, "round_number"_a);
  m.def(
      "draw_mvs",
      [](Engine& e, const In<double>& squares, const Weight& weight, double share, uint64_t seed,
         uint64_t round) {
        const DrawnRows from = drawn_rows(e, squares.shape(0), weight, seed, round);
        return rows_and_multipliers([&] { return draw_mvs(from, squares.data(), share); });
      },
      "workers"_a, "squares"_a.noconvert(), "weight"_a.noconvert().none(), "share"_a, "seed"_a,
      "round_number"_a);
  m.def(
      "held_out_draws",
      [](size_t rows, uint64_t seed, uint64_t first_row) {
        return to_numpy(held_out_draws(rows, first_row, seed));
      },
      "rows"_a, "seed"_a, "first_row"_a = 0);
  m.def(
      "draw_dropout",
      [](size_t n, double share, size_t most, double skip, uint64_t seed, uint64_t round) {
        return to_numpy(draw_dropout(n, share, most, skip, seed, round));
      },
      "n"_a, "share"_a, "most"_a, "skip"_a, "seed"_a, "round_number"_a);
}

}  // namespace stagewise

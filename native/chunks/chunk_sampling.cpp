#include "chunks/chunk_sampling.hpp"

#include <algorithm>

#include "core/random.hpp"
#include "gradients/sampling_rules.hpp"
#include "kernels/kernels.hpp"

namespace stagewise {
namespace {

bool is_present(const double* weight, size_t i) { return weight == nullptr || weight[i] > 0.0; }

// body(chunk, i, row, worker) for every row of positive weight; i: in the chunk.
template <class Body>
void for_each_row(const StoreDraw& from, FieldSet reads, FieldSet writes, Body body) {
  from.store.visit(from.workers, reads, writes, [&](const RowStore::Chunk& chunk, size_t worker) {
    const auto* const weight = chunk.get<const double>(Field::weight);
    from.store.for_each_block(chunk, [&](size_t begin, size_t n, uint64_t first_row) {
      for (size_t i = begin; i < begin + n; ++i)
        if (is_present(weight, i)) body(chunk, i, first_row + (i - begin), worker);
    });
  });
}

void add_up(const StoreDraw& from, std::span<int64_t> values) {
  if (from.exchange != nullptr) from.exchange->sum(values);
}

uint32_t key_at(const RowStore::Chunk& chunk, size_t i) {
  return importance_key(chunk.get<const double>(Field::importance)[i]);
}

std::vector<Tally> tally(const StoreDraw& from, int step, uint32_t prefix) {
  const size_t buckets = KeySteps::buckets(step);
  std::vector<std::vector<Tally>> own(static_cast<size_t>(from.workers.threads()),
                                      std::vector<Tally>(buckets));
  for_each_row(from, {Field::weight, Field::importance}, {},
               [&](const RowStore::Chunk& chunk, size_t i, uint64_t, size_t worker) {
                 KeySteps::add(step, prefix, key_at(chunk, i), own[worker].data());
               });
  std::vector<int64_t> integers(2 * buckets, 0);
  for (const auto& part : own)
    for (size_t b = 0; b < buckets; ++b) {
      integers[2 * b] += static_cast<int64_t>(part[b].count);
      integers[2 * b + 1] += static_cast<int64_t>(part[b].low);
    }
  add_up(from, integers);
  std::vector<Tally> all(buckets);
  for (size_t b = 0; b < buckets; ++b)
    all[b] = {static_cast<uint64_t>(integers[2 * b]), static_cast<uint64_t>(integers[2 * b + 1])};
  return all;
}

// The number of the n-th (from 1) row of all processes for which has(chunk, i) is true: rows are
// counted in intervals, then in intervals of the right one.
template <class Has>
uint64_t nth_row(const StoreDraw& from, FieldSet reads, uint64_t n, Has has) {
  constexpr uint64_t kIntervals = 4096;
  uint64_t first = 0, width = from.store.table_rows();
  while (width > 1) {
    const uint64_t step = (width + kIntervals - 1) / kIntervals;
    std::vector<std::vector<int64_t>> own(static_cast<size_t>(from.workers.threads()),
                                          std::vector<int64_t>(kIntervals, 0));
    for_each_row(from, reads, {},
                 [&](const RowStore::Chunk& chunk, size_t i, uint64_t row, size_t worker) {
                   if (row < first || row >= first + width || !has(chunk, i)) return;
                   ++own[worker][(row - first) / step];
                 });
    std::vector<int64_t> counts(kIntervals, 0);
    for (const auto& part : own)
      for (size_t b = 0; b < kIntervals; ++b) counts[b] += part[b];
    add_up(from, counts);
    size_t b = 0;
    for (; b + 1 < kIntervals && static_cast<uint64_t>(counts[b]) < n; ++b)
      n -= static_cast<uint64_t>(counts[b]);
    first += b * step;
    width = std::min(step, width);
  }
  return first;
}

// multiplier_of(chunk, i, row) of every row. If no row is drawn, one random row counts once.
template <class MultiplierOf>
void fill(const StoreDraw& from, FieldSet reads, MultiplierOf multiplier_of) {
  std::vector<int64_t> drawn(static_cast<size_t>(from.workers.threads()), 0);
  from.store.visit(
      from.workers, reads, {Field::multiplier}, [&](const RowStore::Chunk& chunk, size_t worker) {
        auto* const multiplier = chunk.get<float>(Field::multiplier);
        const auto* const weight = chunk.get<const double>(Field::weight);
        from.store.for_each_block(chunk, [&](size_t begin, size_t n, uint64_t first_row) {
          for (size_t i = begin; i < begin + n; ++i) {
            multiplier[i] =
                is_present(weight, i) ? multiplier_of(chunk, i, first_row + (i - begin)) : 0.0f;
            drawn[worker] += multiplier[i] > 0.0f ? 1 : 0;
          }
        });
      });
  int64_t all = 0;
  for (const int64_t own : drawn) all += own;
  add_up(from, {&all, 1});
  if (all > 0) return;
  const uint64_t lone = lone_row(from);
  for_each_row(from, {Field::weight, Field::multiplier}, {Field::multiplier},
               [&](const RowStore::Chunk& chunk, size_t i, uint64_t row, size_t) {
                 if (row == lone) chunk.get<float>(Field::multiplier)[i] = 1.0f;
               });
}

constexpr FieldSet kImportance = {Field::weight, Field::importance};

}  // namespace

uint64_t lone_row(const StoreDraw& from) {
  std::vector<int64_t> own(static_cast<size_t>(from.workers.threads()), 0);
  for_each_row(from, {Field::weight}, {},
               [&](const RowStore::Chunk&, size_t, uint64_t, size_t worker) { ++own[worker]; });
  int64_t present = 0;
  for (const int64_t n : own) present += n;
  add_up(from, {&present, 1});
  if (present == 0) return from.store.table_rows();  // there is none
  const uint64_t place = draw(from.key, from.store.table_rows()) % static_cast<uint64_t>(present);
  return nth_row(from, {Field::weight}, place + 1,
                 [](const RowStore::Chunk&, size_t) { return true; });
}

void draw_bootstrap(const StoreDraw& from, double rate) {
  const PoissonRule rule(rate);
  fill(from, {Field::weight}, [&](const RowStore::Chunk&, size_t, uint64_t row) {
    return rule.multiplier(unit_draw(from.key, row));
  });
}

// The rows of positive weight: all of them are in the tallies of the first step.
double count_present(const std::vector<Tally>& tallies) {
  uint64_t n = 0;
  for (const Tally& own : tallies) n += own.count;
  return static_cast<double>(n);
}

void draw_goss(const StoreDraw& from, double top, double other) {
  const std::vector<Tally> first = tally(from, 0, 0);
  const double present = count_present(first);
  if (present == 0.0) return;
  const GossRule rule = goss_rule(
      present, top, other,
      [&](int step, uint32_t prefix) { return step == 0 ? first : tally(from, step, prefix); },
      [&](uint32_t key, uint64_t n) {
        return nth_row(from, kImportance, n, [&](const RowStore::Chunk& chunk, size_t i) {
          return key_at(chunk, i) == key;
        });
      });
  fill(from, kImportance, [&](const RowStore::Chunk& chunk, size_t i, uint64_t row) {
    return rule.multiplier(key_at(chunk, i), row, draw(from.key, row));
  });
}

void draw_mvs(const StoreDraw& from, double share) {
  const std::vector<Tally> first = tally(from, 0, 0);
  const MvsRule rule = mvs_rule(share * count_present(first), [&](int step, uint32_t prefix) {
    return step == 0 ? first : tally(from, step, prefix);
  });
  fill(from, kImportance, [&](const RowStore::Chunk& chunk, size_t i, uint64_t row) {
    return rule.multiplier(key_at(chunk, i), unit_draw(from.key, row));
  });
}

void clear_squares(Workers& workers, RowStore& store) {
  store.visit(workers, {}, {Field::importance}, [&](const RowStore::Chunk& chunk, size_t) {
    std::fill_n(chunk.get<double>(Field::importance), chunk.n, 0.0);
  });
}

void add_squares(Workers& workers, RowStore& store, double ridge) {
  store.visit(workers, {Field::weight, Field::gradient, Field::importance}, {Field::importance},
              [&](const RowStore::Chunk& chunk, size_t) {
                const auto* const slots = chunk.get<const GradientSlot>(Field::gradient);
                const auto* const weight = chunk.get<const double>(Field::weight);
                auto* const squares = chunk.get<double>(Field::importance);
                for (size_t i = 0; i < chunk.n; ++i) {
                  const double w = weight == nullptr ? 1.0 : weight[i];
                  const double g = w * static_cast<double>(slots[i].pair.gradient);
                  const double h = w * static_cast<double>(slots[i].pair.hessian);
                  squares[i] += g * g + ridge * (h * h);
                }
              });
}

LossIntegers multiply_gradients(Workers& workers, RowStore& store) {
  return sum_blocks(workers, store, {Field::weight, Field::gradient, Field::multiplier},
                    {Field::gradient},
                    [&](const RowStore::Chunk& chunk, size_t begin, size_t n, LossSums* sums) {
                      auto* const slots = chunk.get<GradientSlot>(Field::gradient);
                      const auto* const weight = chunk.get<const double>(Field::weight);
                      const auto* const multiplier = chunk.get<const float>(Field::multiplier);
                      for (size_t i = begin; i < begin + n; ++i) {
                        float& g = slots[i].pair.gradient;
                        float& h = slots[i].pair.hessian;
                        g *= multiplier[i];
                        h *= multiplier[i];
                        const double w = weight == nullptr ? 1.0 : weight[i];
                        sums->abs_gradient += w * static_cast<double>(g < 0.0f ? -g : g);
                        sums->hessian += w * static_cast<double>(h);
                      }
                    });
}

}  // namespace stagewise

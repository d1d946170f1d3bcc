#include "chunks/chunk_losses.hpp"

#include <algorithm>
#include <numeric>

#include "gradients/gradients.hpp"
#include "grow/leaves/score_update.hpp"

namespace stagewise {
namespace {

const double* weight_at(const RowStore::Chunk& chunk, size_t begin) {
  const auto* const weight = chunk.get<const double>(Field::weight);
  return weight == nullptr ? nullptr : weight + begin;
}

constexpr FieldSet kRead = {Field::target, Field::weight, Field::score};

}  // namespace

LossIntegers fill_gradients(Workers& workers, RowStore& store, LossKernels::NumberLoss loss,
                            double parameter) {
  return sum_blocks(workers, store, kRead, {Field::gradient},
                    [&](const RowStore::Chunk& c, size_t begin, size_t n, LossSums* sums) {
                      loss(c.get<const double>(Field::target) + begin,
                           c.get<const double>(Field::score) + begin, weight_at(c, begin), n,
                           parameter, c.get<GradientSlot>(Field::gradient) + begin, sums);
                    });
}

LossIntegers fill_gradients(Workers& workers, RowStore& store, LossKernels::LabelLoss loss) {
  return sum_blocks(workers, store, kRead, {Field::gradient},
                    [&](const RowStore::Chunk& c, size_t begin, size_t n, LossSums* sums) {
                      loss(c.get<const int32_t>(Field::target) + begin,
                           c.get<const double>(Field::score) + begin, weight_at(c, begin), n,
                           c.get<GradientSlot>(Field::gradient) + begin, sums);
                    });
}

LossIntegers fill_softmax_state(Workers& workers, RowStore& store, const Kernels& kernels,
                                size_t outputs) {
  return sum_blocks(workers, store, kRead, {Field::state},
                    [&](const RowStore::Chunk& c, size_t begin, size_t n, LossSums* sums) {
                      kernels.softmax_state(c.get<const int32_t>(Field::target) + begin,
                                            c.get<const double>(Field::score) + begin, c.n, outputs,
                                            weight_at(c, begin), n,
                                            c.get<float>(Field::state) + 2 * begin, sums);
                    });
}

LossIntegers fill_softmax(Workers& workers, RowStore& store, const Kernels& kernels,
                          size_t output) {
  return sum_blocks(
      workers, store, {Field::target, Field::weight, Field::score, Field::state}, {Field::gradient},
      [&](const RowStore::Chunk& c, size_t begin, size_t n, LossSums* sums) {
        kernels.softmax(c.get<const int32_t>(Field::target) + begin,
                        c.get<const double>(Field::score) + output * c.n + begin,
                        c.get<const float>(Field::state) + 2 * begin, static_cast<int32_t>(output),
                        weight_at(c, begin), n, c.get<GradientSlot>(Field::gradient) + begin, sums);
      });
}

void put_gradients(RowStore& store, size_t chunk, const Gradients& gradients, size_t begin,
                   size_t output) {
  const GradientSlot* const from = gradients.slots() + begin;
  if (!store.has(Field::state)) {
    store.visit_one(chunk, {}, {Field::gradient}, [&](const RowStore::Chunk& c) {
      std::copy_n(from, c.n, c.get<GradientSlot>(Field::gradient));
    });
    return;
  }
  store.visit_one(chunk, {Field::state}, {Field::state}, [&](const RowStore::Chunk& c) {
    std::copy_n(from, c.n, c.get<GradientSlot>(Field::state) + output * c.n);
  });
}

void take_gradients(Workers& workers, RowStore& store, size_t output) {
  store.visit(workers, {Field::state}, {Field::gradient}, [&](const RowStore::Chunk& c, size_t) {
    std::copy_n(c.get<const GradientSlot>(Field::state) + output * c.n, c.n,
                c.get<GradientSlot>(Field::gradient));
  });
}

void set_scores(Workers& workers, RowStore& store, std::span<const double> base) {
  store.visit(workers, {}, {Field::score}, [&](const RowStore::Chunk& chunk, size_t) {
    double* const score = chunk.get<double>(Field::score);
    for (size_t k = 0; k < base.size(); ++k) std::fill_n(score + k * chunk.n, chunk.n, base[k]);
  });
}

void add_tree(Workers& workers, RowStore& store, const Kernels& kernels,
              const std::shared_ptr<const BinLayout>& layout, const Tree& tree,
              std::span<const double> value, size_t output) {
  store.visit(workers, {Field::codes, Field::score}, {Field::score},
              [&](const RowStore::Chunk& chunk, size_t) {
                const Bins bins(layout, chunk.get<const uint8_t>(Field::codes), chunk.n);
                double* const score = chunk.get<double>(Field::score) + output * chunk.n;
                const ScoreUpdate update{value.data(), 1, score, chunk.n};
                for (size_t begin = 0; begin < chunk.n; begin += kDescentRows) {
                  std::vector<uint32_t> rows(std::min(kDescentRows, chunk.n - begin));
                  std::iota(rows.begin(), rows.end(), static_cast<uint32_t>(begin));
                  stagewise::add_tree(kernels, bins, {}, tree, update, &rows);
                }
              });
}

}  // namespace stagewise

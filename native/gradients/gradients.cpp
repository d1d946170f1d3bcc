#include "gradients/gradients.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>

namespace stagewise {
namespace {

// Up to this total weight, rounding to nearest cannot bias a sum.
constexpr double kNearestUpTo = 32768.0;
// Above this total weight, integer weights are multiplied before rounding, like other weights, so
// that the rounding error of a row counts once and not weight times.
constexpr double kWholeUpTo = 268435456.0;
// Up to this total weight, sums fit even if every row is rounded up by a whole unit and there is no
// random rounding.
constexpr double kMostNearest = 1073741824.0;
// The units that are reserved for the rounding errors of more than kWholeUpTo rows: a unit for each
// would leave too few for their values. The errors are random and nearly cancel: for 2^36 rows the
// standard deviation of their sum is at most 2^17, and its bias (draws have 16 bits) at most 2^19.
constexpr double kRandomErrors = 4194304.0;  // 2^22

}  // namespace

Gradients::Gradients(size_t rows, const Shard& shard)
    : rows_(rows), shard_(shard), slots_(make_large_array<GradientSlot>(rows)) {
  if (shard.first_row % kRowBlock != 0)
    throw std::invalid_argument("the rows of a shard begin at a multiple of 1024");
  if (shard.first_row > shard.table_rows || shard.table_rows - shard.first_row < rows)
    throw std::invalid_argument("a shard has rows of the table only");
}

void Gradients::require_pairs() const {
  if (state_ != State::pairs)
    throw std::invalid_argument("gradients are filled by a loss before each tree");
}

void Gradients::assign(Workers& workers, const double* gradient, const double* hessian,
                       const double* weight) {
  fill(workers, [&](size_t begin, size_t n, GradientSlot* out, LossSums* sums) {
    for (size_t i = 0; i < n; ++i) {
      const double g = gradient[begin + i], h = hessian[begin + i];
      const double w = weight == nullptr ? 1.0 : weight[begin + i];
      out[i].pair.gradient = static_cast<float>(g);
      out[i].pair.hessian = static_cast<float>(h);
      sums->abs_gradient += w * (g < 0.0 ? -g : g);
      sums->hessian += w * h;
    }
  });
}

void Gradients::transform(Workers& workers, const double* weight, const Response& response) {
  require_pairs();
  const double loss = sums_.loss;
  compute_sums(workers, [&](size_t begin, size_t n, LossSums* sums) {
    for (size_t i = begin; i < begin + n; ++i) {
      float& g = slots_[i].pair.gradient;
      float& h = slots_[i].pair.hessian;
      if (response.limit > 0.0) {
        const auto most = static_cast<float>(response.limit) * h;
        g = g > most ? most : (g < -most ? -most : g);
      }
      if (response.unit_hessians) h = 1.0f;
      if (response.absolute && g < 0.0f) g = -g;
      const double w = weight == nullptr ? 1.0 : weight[i];
      sums->abs_gradient += w * static_cast<double>(g < 0.0f ? -g : g);
      sums->hessian += w * static_cast<double>(h);
    }
  });
  sums_.loss = loss;
}

double Gradients::dispersion(Workers& workers, const double* weight) const {
  require_pairs();
  const auto blocks = sum_blocks(workers, rows_, [&](size_t begin, size_t n, LossSums* out) {
    for (size_t i = begin; i < begin + n; ++i) {
      const double w = weight == nullptr ? 1.0 : weight[i];
      const auto g = static_cast<double>(slots_[i].pair.gradient);
      out->abs_gradient += w * g * g;
      out->hessian += w * static_cast<double>(slots_[i].pair.hessian);
    }
  });
  const LossSums sums = rounded_sums(blocks);
  return sums.hessian > 0.0 ? sums.abs_gradient / sums.hessian : 0.0;
}

void Gradients::multiply(Workers& workers, const double* weight, const float* multiplier,
                         bool hessians) {
  require_pairs();
  const double loss = sums_.loss;
  std::vector<float> largest((rows_ + kRowBlock - 1) / kRowBlock);
  compute_sums(workers, [&](size_t begin, size_t n, LossSums* sums) {
    float most = 0.0f;
    for (size_t i = begin; i < begin + n; ++i) {
      float& g = slots_[i].pair.gradient;
      float& h = slots_[i].pair.hessian;
      g *= multiplier[i];
      h *= hessians ? multiplier[i] : 1.0f;
      most = h > most ? h : most;
      const double w = weight == nullptr ? 1.0 : weight[i];
      sums->abs_gradient += w * static_cast<double>(g < 0.0f ? -g : g);
      sums->hessian += w * static_cast<double>(h);
    }
    largest[begin / kRowBlock] = most;
  });
  sums_.loss = loss;
  const float most = largest.empty() ? 0.0f : *std::max_element(largest.begin(), largest.end());
  largest_hessian_ = hessians ? static_cast<double>(most) : 0.0;
}

void Gradients::find_largest_hessian(Workers& workers) {
  require_pairs();
  constexpr size_t kRows = 16384;
  std::vector<float> largest((rows_ + kRows - 1) / kRows, 0.0f);
  workers.run(largest.size(), [&](size_t chunk, int) {
    const size_t end = rows_ < (chunk + 1) * kRows ? rows_ : (chunk + 1) * kRows;
    float most = 0.0f;
    for (size_t i = chunk * kRows; i < end; ++i)
      most = slots_[i].pair.hessian > most ? slots_[i].pair.hessian : most;
    largest[chunk] = most;
  });
  for (const float h : largest)
    if (static_cast<double>(h) > largest_hessian_) largest_hessian_ = static_cast<double>(h);
}

void Gradients::add_squares(Workers& workers, const double* weight, double ridge,
                            double* out) const {
  require_pairs();
  constexpr size_t kRows = 16384;
  workers.run((rows_ + kRows - 1) / kRows, [&](size_t chunk, int) {
    const size_t end = rows_ < (chunk + 1) * kRows ? rows_ : (chunk + 1) * kRows;
    for (size_t i = chunk * kRows; i < end; ++i) {
      const double w = weight == nullptr ? 1.0 : weight[i];
      const double g = w * static_cast<double>(slots_[i].pair.gradient);
      const double h = w * static_cast<double>(slots_[i].pair.hessian);
      out[i] += g * g + ridge * (h * h);
    }
  });
}

Packing choose_packing(const LossSums& sums, uint64_t rows, bool whole_weights, double total_weight,
                       uint64_t key, bool nearest) {
  Packing packing;
  packing.whole_weights = whole_weights && total_weight <= kWholeUpTo;
  const double roundings = packing.whole_weights ? total_weight : static_cast<double>(rows);
  packing.stochastic = !nearest && roundings > kNearestUpTo;
  if (nearest && roundings > kMostNearest)
    throw std::invalid_argument(
        "trees that grow until their leaves are pure can be fitted to at most 2^30 rows");
  const double errors = nearest || roundings <= kWholeUpTo ? roundings : kRandomErrors;
  packing.scales = choose_scales(sums.abs_gradient, sums.hessian, errors);
  packing.key = static_cast<uint32_t>(key);
  return packing;
}

Scales Gradients::pack(Workers& workers, const Kernels& kernels, const double* weight,
                       bool whole_weights, double total_weight, uint64_t key, bool nearest) {
  require_pairs();
  const Packing packing =
      choose_packing(sums_, shard_.table_rows, whole_weights, total_weight, key, nearest);
  constexpr size_t kRows = 16384;
  std::atomic<int64_t> total{0};
  workers.run((rows_ + kRows - 1) / kRows, [&](size_t chunk, int) {
    const size_t begin = chunk * kRows, n = rows_ - begin < kRows ? rows_ - begin : kRows;
    total += kernels.pack(slots_.get() + begin, weight != nullptr ? weight + begin : nullptr, n,
                          shard_.first_row + begin, packing);
  });
  total_sum_ = total;
  state_ = State::packed;
  return packing.scales;
}

}  // namespace stagewise

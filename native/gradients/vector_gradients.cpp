#include "gradients/vector_gradients.hpp"

#include <algorithm>

namespace stagewise {

double VectorGradients::dispersion(Workers& workers, const double* weight) const {
  double sum = 0.0;
  for (const Gradients& plane : planes_) sum += plane.dispersion(workers, weight);
  return sum;
}

void VectorGradients::interleave(Workers& workers, const RowWeights& weights, bool counted) {
  const size_t k = outputs(), lanes = vector_lanes(k, counted);
  if (lanes != lanes_) packed_ = make_large_array<int64_t>(rows_ * lanes);
  lanes_ = lanes;
  constexpr size_t kRows = 256;  // whose vectors fit the first-level cache
  const size_t chunks = (rows_ + kRows - 1) / kRows;
  std::vector<int64_t> counts(chunks, 0);
  workers.run(chunks, [&](size_t chunk, int) {
    const size_t begin = chunk * kRows, n = std::min(kRows, rows_ - begin);
    int64_t* const out = packed_.get() + begin * lanes;
    size_t lane = 0;
    for (; lane + kLaneBlock <= k; lane += kLaneBlock) {  // a block of a row at once
      const GradientSlot* from[kLaneBlock];
      for (size_t j = 0; j < kLaneBlock; ++j) from[j] = planes_[lane + j].slots() + begin;
      for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < kLaneBlock; ++j) out[i * lanes + lane + j] = from[j][i].packed;
    }
    for (; lane < lanes; ++lane) {
      const GradientSlot* const from = lane < k ? planes_[lane].slots() + begin : nullptr;
      for (size_t i = 0; i < n; ++i) out[i * lanes + lane] = from != nullptr ? from[i].packed : 0;
    }
    if (!counted) return;
    for (size_t i = 0; i < n; ++i)
      counts[chunk] += out[i * lanes + k] = weights[static_cast<uint32_t>(begin + i)];
  });
  total_.assign(lanes, 0);
  for (size_t lane = 0; lane < k; ++lane) total_[lane] = planes_[lane].total_sum();
  if (counted)
    for (const int64_t n : counts) total_[k] += n;
}

}  // namespace stagewise

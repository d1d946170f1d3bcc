// The documents of one query in the order of their scores, and the random numbers that they draw.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "core/float_math.hpp"
#include "core/random.hpp"
#include "kernels/kernels.hpp"

namespace stagewise {

constexpr double kScoreSteps = 0x1p20;  // of random numbers, which ignore smaller differences

// A hash of a document: its score below the best one, and its gain.
inline uint64_t document_key(float below, float gain) {
  const auto steps = static_cast<int64_t>(std::llround(static_cast<double>(below) * kScoreSteps));
  return mix64(mix64(static_cast<uint64_t>(steps)) + std::bit_cast<uint32_t>(gain));
}

// A number in (0, 1).
inline float uniform_of(uint64_t hash) {
  return (static_cast<float>(hash >> 40) + 0.5f) * 0x1p-24f;
}

// A number of the logistic distribution: log(u / (1 - u)) of a uniform u in (0, 1).
inline float logistic_noise(uint64_t hash) {
  const float u = (static_cast<float>(hash >> 41) + 0.5f) * 0x1p-23f;
  const float odds = u / (1.0f - u);
  return odds >= 1.0f ? log_from_one(odds) : -log_from_one(1.0f / odds);
}

struct QueryScratch {
  std::vector<double> exact;    // scores, by places in the query
  std::vector<uint32_t> order;  // places in the query
  std::vector<uint32_t> drawn;  // places in that order, in the order of the scores + noise
  std::vector<uint32_t> pivots;
  std::vector<float> gain, up, down, score, strength, gradient, hessian;

  // Of n documents, with numbers behind them up to a multiple of kQueryLanes; derivatives are 0.
  void resize(size_t n) {
    exact.resize(n);
    order.resize(n);
    const size_t padded = (n + kQueryLanes - 1) / kQueryLanes * kQueryLanes;
    strength.resize(padded);
    for (auto* values : {&gain, &up, &down, &score}) {
      values->resize(padded);
      std::fill(values->begin() + static_cast<std::ptrdiff_t>(n), values->end(), 0.0f);
    }
    for (auto* values : {&gradient, &hessian}) values->assign(padded, 0.0f);
  }

  size_t size() const { return order.size(); }
  RankedDocuments documents() const {
    return {gain.data(), up.data(), down.data(), score.data(), strength.data(), size()};
  }

  // Sets the places of `exact`, the highest first, those of equal numbers in their order.
  void order_exact(const Kernels& kernels, std::vector<uint32_t>* places) const {
    constexpr size_t kFew = 128;  // below, n² steps of vectors are faster than n log n
    const size_t n = exact.size();
    places->resize(n);
    if (n <= kFew) {
      kernels.order_scores(exact.data(), n, places->data());
      return;
    }
    std::iota(places->begin(), places->end(), 0u);
    std::sort(places->begin(), places->end(), [&](uint32_t a, uint32_t b) {
      return exact[a] != exact[b] ? exact[a] > exact[b] : a < b;
    });
  }

  void list_pivots(float common_gain) {
    pivots.clear();
    for (size_t i = 0; i < size(); ++i)
      if (gain[i] != common_gain) pivots.push_back(static_cast<uint32_t>(i));
  }

  bool tied(size_t a, size_t b) const { return score[a] == score[b]; }
  bool equal(size_t a, size_t b) const { return tied(a, b) && gain[a] == gain[b]; }
  uint64_t key_of(size_t i) const { return document_key(score[i], gain[i]); }
  // Of all documents, in any order; it changes with their scores, from round to round.
  uint64_t key() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < size(); ++i) sum += key_of(i);
    return mix64(sum);
  }
};

}  // namespace stagewise

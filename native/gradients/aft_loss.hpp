// The loss of accelerated failure times (see losses/survival/aft.py).
//
// Rows never change, so they are sorted by what is known of their times; the kernel gets rows of
// one kind. Sums over rows are exact, so neither threads nor the order of the rows change a bit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/threads.hpp"
#include "kernels/kernels.hpp"

namespace stagewise {

struct AftTimes {  // logs of times of each row; `entry` of rows that entered later than at 0
  std::span<const double> time, upper, entry;
  std::span<const uint8_t> observation;  // all but `entered`
  std::span<const uint8_t> entered;
};

// How sigma is found: Newton steps of log sigma within limits, until one is shorter than tolerance.
struct SigmaSearch {
  double least, most, tolerance;
};

class AftLoss {
 public:
  AftLoss(const AftTimes& times, TimeDistribution distribution);

  size_t rows() const { return rows_; }

  // The terms of all rows, or only their spreads (see AftTerms); curvatures are at most 0. Scores
  // are finite.
  void terms(Workers& workers, const Kernels& kernels, std::span<const double> score, double sigma,
             const AftTerms& out) const;

  // The sigma that minimises the loss, from a first guess. weight: per row; empty: 1. slope: the
  // sum of the spreads at the guess, if it is known.
  double find_sigma(Workers& workers, const Kernels& kernels, std::span<const double> score,
                    std::span<const double> weight, double start, const SigmaSearch& search,
                    std::optional<double> slope = std::nullopt) const;

 private:
  struct Group {
    std::vector<uint32_t> rows;
    std::vector<double> low, high;
  };
  const Group& of(Observation observation) const {
    return groups_[static_cast<size_t>(observation)];
  }
  void add_group(Workers& workers, const Kernels& kernels, Observation observation,
                 std::span<const double> score, double sigma, const AftTerms& out) const;

  size_t rows_;
  TimeDistribution distribution_;
  std::array<Group, static_cast<size_t>(Observation::count)> groups_;
};

}  // namespace stagewise

// The game of a linear leaf between a row and a background row. A term has the value of one or of
// the other. If the model stays within its bounds for all mixtures, terms add up and each is a game
// of its own. If it may be clipped, or a value is missing, both cases of a term are followed, as at
// a split, until the result is known. So all ends in games of constants.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>
#include <string>

#include "grow/leaves/linear_leaves.hpp"

namespace stagewise {

// What a term adds if its feature comes from the row, and if from the other one.
struct FreeTerm {
  int32_t feature;
  double own, other;
};

// gained, lost: the features that must come from the row, and those that must not, with room for
// those of all terms; arrive(gained, lost, value) is called with how many of them count.
template <class Arrive>
class LinearLeafGame {
 public:
  LinearLeafGame(const LinearLeaves::Head& head, double constant, int32_t* gained, int32_t* lost,
                 Arrive& arrive)
      : head_(head), constant_(constant), gained_(gained), lost_(lost), arrive_(arrive) {}

  // sum: the intercept and all terms that are not free. Reorders the free ones.
  void play(size_t gained, size_t lost, std::span<FreeTerm> free, double sum) {
    if (++parts_ > kMostParts)
      throw std::overflow_error("A line is cut off, or not, in more than " +
                                std::to_string(kMostParts) +
                                " ways between a row and a background row.");
    if (free.empty() || !head_.counts(sum))
      return arrive_(gained, lost, LinearLeaves::choose_split(head_, constant_, sum));
    double low = sum, high = sum, base = sum;
    size_t widest = 0;
    for (size_t i = 0; i < free.size(); ++i) {
      const FreeTerm& term = free[i];
      if (!head_.counts(term.own) || !head_.counts(term.other))
        return part(gained, lost, free, i, sum);
      low += std::min(term.own, term.other);
      high += std::max(term.own, term.other);
      base += term.other;
      if (width(term) > width(free[widest])) widest = i;
    }
    const bool number = head_.counts(low) && head_.counts(high);
    if (number && (high <= head_.low || low >= head_.high))
      return arrive_(gained, lost, LinearLeaves::choose_split(head_, constant_, low));
    if (!number || low < head_.low || high > head_.high || !std::isfinite(high - low))
      return part(gained, lost, free, widest, sum);
    arrive_(gained, lost, LinearLeaves::choose_split(head_, constant_, base));
    for (const FreeTerm& term : free) {
      gained_[gained] = term.feature;
      arrive_(gained + 1, lost, term.own - term.other);
    }
  }

 private:
  static constexpr size_t kMostParts = 1u << 14;

  static double width(const FreeTerm& term) { return std::abs(term.own - term.other); }

  void part(size_t gained, size_t lost, std::span<FreeTerm> free, size_t at, double sum) {
    std::swap(free[at], free.back());
    const FreeTerm term = free.back();
    const std::span<FreeTerm> rest = free.first(free.size() - 1);
    gained_[gained] = term.feature;
    play(gained + 1, lost, rest, sum + term.own);
    lost_[lost] = term.feature;
    play(gained, lost + 1, rest, sum + term.other);
  }

  const LinearLeaves::Head& head_;
  double constant_;
  int32_t *gained_, *lost_;
  Arrive& arrive_;
  size_t parts_ = 0;
};

}  // namespace stagewise

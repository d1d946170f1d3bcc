// Evaluation of linear leaves: intercept + sum of slope * (x - centre), clipped to two bounds. Rows
// for which the result is not finite, because of missing or infinite values, get the constant of
// their leaf; under monotone constraints an infinite value leads to a bound instead. The terms are
// added in the order of the features in training and in every way to predict. Immutable: any number
// of threads may read it.
#pragma once

#include <cmath>
#include <limits>
#include <span>

#include "core/columns.hpp"

namespace stagewise {

// Flat arrays: a model for each of `node` (increasing), with its terms from start[i] to start[i +
// 1] and increasing features. beyond: 1 if infinite values lead to a bound, 0 if they count as
// missing. grain: predictions are rounded to a multiple of it, if it is above 0.
struct FlatLinearLeaves {
  std::span<const int64_t> node;
  std::span<const uint64_t> start;
  std::span<const int32_t> feature;
  std::span<const double> slope, centre;
  std::span<const double> intercept, low, high;
  std::span<const uint8_t> beyond;
  std::span<const double> grain;
};

class LinearLeaves {
 public:
  // Throws std::invalid_argument when an index is out of range.
  LinearLeaves(const FlatLinearLeaves& flat, size_t nodes, size_t features);

  size_t nodes() const { return of_node_.size(); }
  size_t features() const { return features_; }
  // The model of a node, or -1.
  int32_t of(size_t node) const { return of_node_[node]; }

  // Of a model: its terms are [begin, end).
  struct Head {
    size_t begin, end;
    double intercept, low, high, grain;
    double most;  // the largest valid absolute sum

    // Whether the model is valid for a row whose terms have this sum.
    bool counts(double sum) const { return std::abs(sum) <= most; }
  };
  struct Term {
    int32_t feature;
    double slope, centre;

    double of(double x) const { return slope * (x - centre); }
  };
  const Head& head(int32_t line) const { return heads_[static_cast<size_t>(line)]; }
  std::span<const Term> terms(int32_t line) const {
    return std::span(terms_).subspan(head(line).begin, head(line).end - head(line).begin);
  }

  // The prediction for a row whose terms, with the intercept, have this sum.
  static double choose_split(const Head& head, double constant, double sum) {
    if (!head.counts(sum)) return constant;
    const double v = sum < head.low ? head.low : (sum > head.high ? head.high : sum);
    return head.grain > 0.0 ? std::nearbyint(v / head.grain) * head.grain : v;
  }

  // value_of(feature): of the row. constant: the prediction for rows for which the model is not
  // valid.
  template <class ValueOf>
  double predict(int32_t line, double constant, ValueOf&& value_of) const {
    const Head& own = head(line);
    double sum = own.intercept;
    for (const Term& term : terms(line))
      sum += term.of(value_of(static_cast<size_t>(term.feature)));
    return choose_split(own, constant, sum);
  }

  // score[row] += the prediction, for the listed rows of a table.
  void add(int32_t line, double constant, const Columns& table, const uint32_t* rows, size_t n,
           double* score) const;

 private:
  size_t features_;
  std::vector<int32_t> of_node_;
  std::vector<Head> heads_;
  std::vector<Term> terms_;
};

}  // namespace stagewise

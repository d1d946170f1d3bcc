// The best cut of one feature of one node whose rows have classes.
//
// One idea: running sums of every class from bin to bin; a side is as good as the criterion says of
// the weights of its classes. Sums are integers, so equal sides are exactly equal.
#pragma once

#include "kernels.hpp"
#include "kernels/packing.hpp"

namespace stagewise {
namespace {

// Of the gradient halves of n words.
double class_score(const int64_t* words, size_t n, ClassCriterion criterion) {
  if (criterion == ClassCriterion::misclassification) {
    int64_t most = 0;
    for (size_t k = 0; k < n; ++k) {
      const int64_t w = word_gradient(words[k]);
      most = w > most ? w : most;
    }
    return static_cast<double>(most);
  }
  double squares = 0.0, sum = 0.0;
  for (size_t k = 0; k < n; ++k) {
    const auto w = static_cast<double>(word_gradient(words[k]));
    squares += w * w;
    sum += w;
  }
  return sum > 0.0 ? squares / sum : 0.0;
}

// One side of a candidate and the other.
struct ClassSides {
  const int64_t* all;
  int64_t* left;
  int64_t* right;
  size_t classes;

  // Offers the cut behind a bin; the first of equals stays.
  void offer(const ScanRules& rules, int64_t all_word, size_t position, bool missing_left,
             ScanResult* best) const {
    int64_t left_word = 0;
    for (size_t k = 0; k < classes; ++k) left_word += left[k];
    const auto hl = static_cast<double>(word_hessian(left_word));
    const auto hr = static_cast<double>(word_hessian(all_word - left_word));
    if (hl < rules.min_hessian || hr < rules.min_hessian) return;
    for (size_t k = 0; k < classes; ++k) right[k] = all[k] - left[k];
    const double score =
        class_score(left, classes, rules.criterion) + class_score(right, classes, rules.criterion);
    if (score > best->score) *best = {score, position, missing_left, left_word};
  }
};

ScanResult scan_classes(const ClassScanInput& in, const ScanRules& rules, int64_t* scratch) {
  int64_t* const all = scratch;
  const ClassSides sides{all, scratch + in.classes, scratch + 2 * in.classes, in.classes};
  int64_t all_word = 0, missing_word = 0;
  for (size_t k = 0; k < in.classes; ++k) {
    const int64_t* const plane = in.words + k * in.plane_words;
    all[k] = 0;
    for (size_t i = 0; i < in.bins; ++i) all[k] += plane[i];
    if (in.has_missing) {
      all[k] += plane[in.bins];
      missing_word += plane[in.bins];
    }
    all_word += all[k];
  }
  ScanResult best[2];  // missing values to the right, to the left
  for (int to_left = 0; to_left < (missing_word != 0 ? 2 : 1); ++to_left) {
    const Positions& part = to_left != 0 ? in.missing_left : in.missing_right;
    for (size_t k = 0; k < in.classes; ++k)
      sides.left[k] = to_left != 0 ? in.words[k * in.plane_words + in.bins] : 0;
    for (size_t i = 0; i < part.last; ++i) {
      for (size_t k = 0; k < in.classes; ++k) sides.left[k] += in.words[k * in.plane_words + i];
      if (i >= part.first) sides.offer(rules, all_word, i, to_left != 0, &best[to_left]);
    }
  }
  ScanResult result = best[1].score > best[0].score ? best[1] : best[0];
  result.unsplit = class_score(all, in.classes, rules.criterion);
  result.missing_seen = missing_word != 0;
  return result;
}

}  // namespace
}  // namespace stagewise

// Rounds of boosting in one call: a tree is fitted to the gradients of a loss, its values times the
// learning rate are added to the scores, and the losses of all sets of rows are measured.
//
// This is the loop of stagewise/boosting/loop.py for fits in which a round needs nothing else, with
// the same bytes. A round of few rows takes less time than its calls from Python would.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "gradients/row_loss.hpp"
#include "gradients/sampling.hpp"
#include "gradients/vector_gradients.hpp"
#include "grow/grower.hpp"
#include "grow/nodes/tree.hpp"

namespace stagewise {

// A set of rows with their scores.
struct ScoredRows {
  RowLoss& loss;
  std::span<double> score;
  double total_weight;

  double mean_loss(Workers& workers) const { return loss.evaluate(workers, score) / total_weight; }
};

// Rows that are measured and not trained on; they have bins, or the columns themselves.
struct MeasuredRows {
  ScoredRows rows;
  const Bins* bins;
  const Columns* columns;
};

// The growers of the trees: those of each rule in turn, by rounds, and of each table of the rows in
// turn, by trees.
struct RoundGrowers {
  std::vector<Grower*> all;  // the tables of the first rule, then those of the next
  size_t tables;

  Grower& of(uint64_t round, uint64_t tree) const {
    const uint64_t rules = all.size() / tables;
    const uint64_t table = (tree + tree / tables) % tables;
    return *all[(round % rules) * tables + table];
  }
};

// The trees of rounds, one for each output or one with a value for each, whose values include the
// learning rate, and the mean losses after each round: of the training rows, then of each measured
// set.
struct RoundBlock {
  std::vector<Tree> trees;
  std::vector<double> losses;
};

class Rounds {
 public:
  // Draws the rows of a round. importance(ridge): Gradients::add_squares of all outputs.
  using Importance = std::function<std::vector<double>(double ridge)>;
  using Sample = std::function<Bag(const Importance& importance, uint64_t round)>;

  // What the parts refer to must live as long. other_growers: of all outputs but `location`; empty:
  // all have the same. only: the rows to train on, increasing; empty: all. Without a sample, every
  // round has all of them.
  struct Parts {
    Workers& workers;
    const Kernels& kernels;
    ScoredRows train;
    std::span<const double> weight;  // of the training rows; empty: all ones
    RoundGrowers growers, other_growers;
    size_t location;
    std::span<const uint32_t> only;
    Sample sample;
    double learning_rate;
    uint64_t seed;
    bool joint;  // a round has one tree, whose leaves have a value for each output
  };
  explicit Rounds(Parts parts) : parts_(std::move(parts)) {
    if (parts_.joint) vectors_.emplace(parts_.train.loss.rows(), parts_.train.loss.outputs());
  }

  void measure(const MeasuredRows& rows) { measured_.push_back(rows); }
  size_t sets() const { return 1 + measured_.size(); }

  // Rounds [first, first + count); fewer if a loss is not finite.
  RoundBlock run(uint64_t first, uint64_t count);

 private:
  Bag draw(uint64_t round);
  Gradients& gradients(size_t output, const Bag& drawn);
  std::span<const uint32_t> rows(const Bag& drawn) const {
    return parts_.sample ? std::span<const uint32_t>(drawn.rows) : parts_.only;
  }
  Tree grow(uint64_t round, size_t output, const Bag& drawn);
  Tree grow_joint(uint64_t round, const Bag& drawn);
  void add(Grower& grower, size_t output, Tree& tree);
  void add_to(const MeasuredRows& rows, size_t output, const Tree& tree) const;

  Parts parts_;
  std::vector<MeasuredRows> measured_;
  std::optional<VectorGradients> vectors_;  // of joint trees
  Gradients* read_ = nullptr;  // by the sample: those of the last output, not changed yet
};

}  // namespace stagewise

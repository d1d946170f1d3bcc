#include "boosting/rounds.hpp"

#include <algorithm>
#include <cmath>

#include "grow/leaves/score_update.hpp"

namespace stagewise {

Bag Rounds::draw(uint64_t round) {
  if (!parts_.sample) return {};
  const ScoredRows& train = parts_.train;
  const double* const weight = parts_.weight.empty() ? nullptr : parts_.weight.data();
  return parts_.sample(
      [&](double ridge) {
        std::vector<double> squares(train.loss.rows(), 0.0);
        for (size_t k = 0; k < train.loss.outputs(); ++k) {
          read_ = &train.loss.gradients(parts_.workers, train.score, k);
          read_->add_squares(parts_.workers, weight, ridge, squares.data());
        }
        return squares;
      },
      round);
}

// The gradients of an output, times how often each row counts.
Gradients& Rounds::gradients(size_t output, const Bag& drawn) {
  const ScoredRows& train = parts_.train;
  const bool is_read = train.loss.outputs() == 1 && read_ != nullptr;
  Gradients& own = is_read ? *read_ : train.loss.gradients(parts_.workers, train.score, output);
  read_ = nullptr;
  if (!drawn.multiplier.empty())
    own.multiply(parts_.workers, parts_.weight.empty() ? nullptr : parts_.weight.data(),
                 drawn.multiplier.data(), true);
  return own;
}

Tree Rounds::grow(uint64_t round, size_t output, const Bag& drawn) {
  const uint64_t number = round * parts_.train.loss.outputs() + output;
  const bool own = output == parts_.location || parts_.other_growers.all.empty();
  Grower& grower = (own ? parts_.growers : parts_.other_growers).of(round, number);
  Tree tree = grower.grow(gradients(output, drawn), rows(drawn), parts_.seed, number);
  add(grower, output, tree);
  return tree;
}

Tree Rounds::grow_joint(uint64_t round, const Bag& drawn) {
  for (size_t k = 0; k < parts_.train.loss.outputs(); ++k) vectors_->take(k, gradients(k, drawn));
  Grower& grower = parts_.growers.of(round, round);
  Tree tree = grower.grow(*vectors_, rows(drawn), parts_.seed, round);
  add(grower, 0, tree);
  return tree;
}

// Multiplies the values of the tree by the learning rate, and adds them to the scores of its
// outputs, from `output` on.
void Rounds::add(Grower& grower, size_t output, Tree& tree) {
  for (double& value : tree.value) value *= parts_.learning_rate;
  const size_t n = parts_.train.loss.rows();
  grower.add_scores({tree.value.data(), tree.outputs, parts_.train.score.data() + output * n, n},
                    tree);
  for (const MeasuredRows& rows : measured_) add_to(rows, output, tree);
}

void Rounds::add_to(const MeasuredRows& rows, size_t output, const Tree& tree) const {
  const size_t n = rows.rows.loss.rows();
  const ScoreUpdate scores{tree.value.data(), tree.outputs, rows.rows.score.data() + output * n, n};
  if (rows.bins != nullptr) {
    add_tree(parts_.workers, parts_.kernels, *rows.bins, tree, scores);
  } else {
    add_tree(parts_.workers, *rows.columns, tree, scores);
  }
}

RoundBlock Rounds::run(uint64_t first, uint64_t count) {
  RoundBlock block;
  const size_t trees = parts_.joint ? 1 : parts_.train.loss.outputs();
  block.trees.reserve(count * trees);
  for (uint64_t round = first; round < first + count; ++round) {
    check_interrupt();
    const Bag drawn = draw(round);
    for (size_t k = 0; k < trees; ++k)
      block.trees.push_back(parts_.joint ? grow_joint(round, drawn) : grow(round, k, drawn));
    const size_t begin = block.losses.size();
    block.losses.push_back(parts_.train.mean_loss(parts_.workers));
    for (const MeasuredRows& rows : measured_)
      block.losses.push_back(rows.rows.mean_loss(parts_.workers));
    if (!std::all_of(block.losses.begin() + static_cast<ptrdiff_t>(begin), block.losses.end(),
                     [](double loss) { return std::isfinite(loss); }))
      break;
  }
  return block;
}

}  // namespace stagewise

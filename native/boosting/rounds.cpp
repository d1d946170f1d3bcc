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

Tree Rounds::grow(uint64_t round, size_t output, const Bag& drawn) {
  Workers& workers = parts_.workers;
  const ScoredRows& train = parts_.train;
  const size_t outputs = train.loss.outputs(), n = train.loss.rows();
  const bool is_read = outputs == 1 && read_ != nullptr;
  Gradients& gradients = is_read ? *read_ : train.loss.gradients(workers, train.score, output);
  read_ = nullptr;
  if (!drawn.multiplier.empty())
    gradients.multiply(workers, parts_.weight.empty() ? nullptr : parts_.weight.data(),
                       drawn.multiplier.data(), true);
  const uint64_t number = round * outputs + output;
  const bool own = output == parts_.location || parts_.other_growers.all.empty();
  Grower& grower = (own ? parts_.growers : parts_.other_growers).of(round, number);
  const std::span<const uint32_t> rows = parts_.sample ? drawn.rows : parts_.only;
  Tree tree = grower.grow(gradients, rows, parts_.seed, number);
  for (double& value : tree.value) value *= parts_.learning_rate;
  grower.add_scores({tree.value.data(), 1, train.score.data() + output * n, n}, tree);
  return tree;
}

void Rounds::add_to(const MeasuredRows& rows, size_t output, const Tree& tree) const {
  const size_t n = rows.rows.loss.rows();
  const ScoreUpdate scores{tree.value.data(), 1, rows.rows.score.data() + output * n, n};
  if (rows.bins != nullptr) {
    add_tree(parts_.workers, parts_.kernels, *rows.bins, tree, scores);
  } else {
    add_tree(parts_.workers, *rows.columns, tree, scores);
  }
}

RoundBlock Rounds::run(uint64_t first, uint64_t count) {
  RoundBlock block;
  const size_t outputs = parts_.train.loss.outputs();
  block.trees.reserve(count * outputs);
  for (uint64_t round = first; round < first + count; ++round) {
    check_interrupt();
    const Bag drawn = draw(round);
    for (size_t output = 0; output < outputs; ++output) {
      block.trees.push_back(grow(round, output, drawn));
      for (const MeasuredRows& rows : measured_) add_to(rows, output, block.trees.back());
    }
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

#include "boosting/rounds.hpp"

#include <algorithm>
#include <cmath>

#include "grow/leaves/score_update.hpp"

namespace stagewise {

Tree Rounds::grow(uint64_t round) {
  Workers& workers = parts_.workers;
  Gradients& gradients = parts_.train.loss.gradients(workers, parts_.train.score);
  Grower& grower = parts_.growers.of(round);
  std::span<const uint32_t> rows = parts_.only;
  Bag drawn;
  if (parts_.sample) {
    drawn = parts_.sample(gradients, round);
    rows = drawn.rows;
    if (!drawn.multiplier.empty())
      gradients.multiply(workers, parts_.weight.empty() ? nullptr : parts_.weight.data(),
                         drawn.multiplier.data(), true);
  }
  Tree tree = grower.grow(gradients, rows, parts_.seed, round);
  for (double& value : tree.value) value *= parts_.learning_rate;
  grower.add_scores({tree.value.data(), 1, parts_.train.score.data(), parts_.train.score.size()},
                    tree);
  return tree;
}

void Rounds::add_to(const MeasuredRows& rows, const Tree& tree) const {
  const std::span<double> score = rows.rows.score;
  const ScoreUpdate scores{tree.value.data(), 1, score.data(), score.size()};
  if (rows.bins != nullptr) {
    add_tree(parts_.workers, parts_.kernels, *rows.bins, tree, scores);
  } else {
    add_tree(parts_.workers, *rows.columns, tree, scores);
  }
}

RoundBlock Rounds::run(uint64_t first, uint64_t count) {
  RoundBlock block;
  block.trees.reserve(count);
  for (uint64_t round = first; round < first + count; ++round) {
    check_interrupt();
    Tree tree = grow(round);
    for (const MeasuredRows& rows : measured_) add_to(rows, tree);
    block.trees.push_back(std::move(tree));
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

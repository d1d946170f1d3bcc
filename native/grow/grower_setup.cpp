// Grower: the finder and the search strategy of its target.
#include <concepts>
#include <stdexcept>

#include "grow/grower.hpp"

namespace stagewise {
namespace {

// With a smaller share of features per node, a thread reads these features of the rows.
constexpr double kShareOfHistograms = 0.5;

Planes planes_of(const TreeTarget& target) {
  const auto* const classes = std::get_if<ClassTarget>(&target);
  return classes != nullptr ? Planes{classes->class_of.data(), 0, classes->n_classes} : Planes{};
}

size_t lanes_of(const TreeTarget& target, const TreeRules& rules, const RowWeights& weights) {
  const auto* const vectors = std::get_if<VectorTarget>(&target);
  return vectors == nullptr ? 1 : vector_lanes(vectors->outputs, rows_counted(rules, weights));
}

}  // namespace

Grower::Grower(const GrowerInput& input)
    : workers_(input.workers),
      kernels_(input.kernels),
      bins_(input.bins),
      rules_(input.rules),
      weights_(input.weight, bins_.rows()),
      constraints_(bins_, rules_.constraints),
      growing_(bins_, rules_, constraints_, weights_.unit(), input.leaves),
      sampler_(bins_, rules_, constraints_),
      rows_(workers_, kernels_, bins_),
      histograms_(bins_, kernels_, planes_of(input.target),
                  lanes_of(input.target, rules_, weights_)),
      finder_(make_finder(input.target)),
      search_(make_search()) {
  // With one thread and few features per node, reading these costs less than histograms of all.
  if (workers_.threads() == 1 && !bins_.sparse() && sampler_.share_of_node() < kShareOfHistograms)
    set_few_rows(SIZE_MAX);
  for (size_t f = 0; f < bins_.features(); ++f)
    categorical_ = categorical_ || bins_.coding(f).categorical();
}

Grower::AnyFinder Grower::make_finder(const TreeTarget& target) const {
  if (const auto* const own = std::get_if<AbsoluteErrorTarget>(&target))
    return AnyFinder(std::in_place_type<MedianFinder>, bins_, rules_, weights_, own->y);
  if (const auto* const own = std::get_if<ImpurityTarget>(&target))
    return AnyFinder(std::in_place_type<ImpurityFinder>, bins_, rules_, weights_, *own);
  if (const auto* const own = std::get_if<VectorTarget>(&target))
    return AnyFinder(std::in_place_type<VectorFinder>, bins_, kernels_, rules_, weights_,
                     histograms_, own->outputs);
  if (std::holds_alternative<ClassTarget>(target))
    return AnyFinder(std::in_place_type<ClassFinder>, bins_, kernels_, rules_, weights_,
                     histograms_);
  return AnyFinder(std::in_place_type<GradientFinder>, bins_, kernels_, rules_, weights_,
                   histograms_);
}

template <class F>
Grower::AnySearch Grower::make_search_for(const F& finder) {
  const int threads = workers_.threads();
  if constexpr (std::same_as<F, GradientFinder>) {
    if (bins_.ranked())
      return AnySearch(std::in_place_type<PresortedGradientSearch>, finder, rows_, sampler_,
                       threads, bins_, weights_, rules_.proposal);
  } else if constexpr (ScansSortedRows<F>) {
    if (bins_.ranked())
      return AnySearch(std::in_place_type<PresortedRowSearch<F>>, finder, rows_, sampler_, threads,
                       bins_);
  }
  if (bins_.ranked()) throw std::logic_error("this target has no search of presorted rows");
  if (bins_.sparse() && !ScansSparseHistograms<F>)
    throw std::logic_error("this target has no search of sparse tables");
  if constexpr (ScoresCuts<F>) {
    if (rules_.grow_policy == GrowthPolicy::symmetric)
      return AnySearch(std::in_place_type<SymmetricSearch<F>>, finder, rows_, sampler_, threads,
                       histograms_, bins_);
  }
  if constexpr (ScansHistograms<F>) {
    return AnySearch(std::in_place_type<HistogramSearch<F>>, finder, rows_, sampler_, threads,
                     histograms_);
  } else {
    return AnySearch(std::in_place_type<RowSearch<F>>, finder, rows_, sampler_, threads);
  }
}

Grower::AnySearch Grower::make_search() {
  return std::visit([&](const auto& finder) { return make_search_for(finder); }, finder_);
}

}  // namespace stagewise

// Losses of distributions: values, natural gradients and Fisher information.
#include <algorithm>
#include <string_view>

#include "bindings/bindings.hpp"

namespace stagewise {
namespace {

// The family of a loss with its parameter and the bounds of its scores.
class DistributionRule {
 public:
  DistributionRule(const char* family, double parameter, const In<double>& low,
                   const In<double>& high) {
    const auto* const found =
        std::find(std::begin(kFamilyNames), std::end(kFamilyNames), std::string_view(family));
    require(found != std::end(kFamilyNames), "the family of distributions is unknown");
    const auto number = static_cast<size_t>(found - kFamilyNames);
    scores_ = kFamilyScores[number];
    require(low.shape(0) == scores_ && high.shape(0) == scores_, "each score has two bounds");
    spec_.family = static_cast<Family>(number);
    spec_.parameter = parameter;
    std::copy_n(low.data(), scores_, spec_.low);
    std::copy_n(high.data(), scores_, spec_.high);
  }
  size_t scores() const { return scores_; }

  // block(kernels, spec, rows, first row) for all rows, with the threads of the engine, if any.
  template <class Block>
  void run(Engine* engine, const In<double>& y, const In<double>& scores, Block block) const {
    const Kernels& kernels = engine == nullptr ? kernels_for("") : engine->kernels;
    const size_t n = y.shape(0);
    const auto part = [&](size_t begin, size_t end) {
      block(kernels, spec_,
            DistributionRows{y.data() + begin, scores.data() + begin, n, end - begin}, begin);
    };
    const GilRelease release;
    if (engine == nullptr) {
      for (size_t begin = 0; begin < n; begin += kRows) {
        check_interrupt();
        part(begin, std::min(n, begin + kRows));
      }
    } else {
      engine->workers.run((n + kRows - 1) / kRows, [&](size_t chunk, int) {
        part(chunk * kRows, std::min(n, (chunk + 1) * kRows));
      });
    }
  }

  void check(const In<double>& y, const In<double>& scores) const {
    require(scores.shape(0) == y.shape(0) * scores_, "scores are rows x scores");
  }

 private:
  static constexpr size_t kRows = 4096;
  DistributionSpec spec_;
  size_t scores_ = 0;
};

}  // namespace

void bind_distributions(nb::module_& m) {
  nb::class_<DistributionRule>(m, "DistributionRule")
      .def(nb::init<const char*, double, const In<double>&, const In<double>&>(), "family"_a,
           "parameter"_a, "low"_a.noconvert(), "high"_a.noconvert())
      .def(
          "losses",
          [](const DistributionRule& rule, Engine* engine, const In<double>& y,
             const In<double>& scores, const InOut<double>& loss) {
            rule.check(y, scores);
            require(loss.shape(0) == y.shape(0), "one loss per row");
            rule.run(engine, y, scores,
                     [&](const Kernels& kernels, const DistributionSpec& spec,
                         const DistributionRows& rows, size_t begin) {
                       kernels.distribution_losses(spec, rows, loss.data() + begin);
                     });
          },
          "workers"_a.none(), "y"_a.noconvert(), "scores"_a.noconvert(), "loss"_a.noconvert())
      .def(
          "steps",
          [](const DistributionRule& rule, Engine* engine, const In<double>& y,
             const In<double>& scores, const InOut<double>& loss, const InOut<double>& gradient,
             const InOut<double>& hessian) {
            rule.check(y, scores);
            require(loss.shape(0) == y.shape(0), "one loss per row");
            require(gradient.shape(0) == scores.shape(0) && hessian.shape(0) == scores.shape(0),
                    "one derivative per score");
            rule.run(engine, y, scores,
                     [&](const Kernels& kernels, const DistributionSpec& spec,
                         const DistributionRows& rows, size_t begin) {
                       kernels.distribution_steps(spec, rows, loss.data() + begin,
                                                  gradient.data() + begin, hessian.data() + begin);
                     });
          },
          "workers"_a.none(), "y"_a.noconvert(), "scores"_a.noconvert(), "loss"_a.noconvert(),
          "gradient"_a.noconvert(), "hessian"_a.noconvert())
      .def(
          "information",
          [](const DistributionRule& rule, Engine* engine, const In<double>& y,
             const In<double>& scores, const InOut<double>& gradient,
             const InOut<double>& information) {
            rule.check(y, scores);
            require(gradient.shape(0) == scores.shape(0), "one derivative per score");
            require(information.shape(0) == scores.shape(0) * rule.scores(),
                    "information is a matrix per row");
            rule.run(engine, y, scores,
                     [&](const Kernels& kernels, const DistributionSpec& spec,
                         const DistributionRows& rows, size_t begin) {
                       kernels.distribution_information(spec, rows, gradient.data() + begin,
                                                        information.data() + begin);
                     });
          },
          "workers"_a.none(), "y"_a.noconvert(), "scores"_a.noconvert(), "gradient"_a.noconvert(),
          "information"_a.noconvert());
}

}  // namespace stagewise

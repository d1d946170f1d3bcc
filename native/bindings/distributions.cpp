// Losses of distributions: values, natural gradients and Fisher information.
#include <algorithm>
#include <string_view>

#include "bindings/bindings.hpp"
#include "core/exact_sum.hpp"
#include "gradients/row_loss.hpp"

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

  // block(rows, first row) for all rows of y, with the threads of workers, if there are any.
  template <class Block>
  static void run(Workers* workers, std::span<const double> y, const double* scores, Block block) {
    const size_t n = y.size();
    const auto part = [&](size_t begin, size_t end) {
      block(DistributionRows{y.data() + begin, scores + begin, n, end - begin}, begin);
    };
    if (workers == nullptr) {
      for (size_t begin = 0; begin < n; begin += kRows) {
        check_interrupt();
        part(begin, std::min(n, begin + kRows));
      }
    } else {
      workers->run((n + kRows - 1) / kRows, [&](size_t chunk, int) {
        part(chunk * kRows, std::min(n, (chunk + 1) * kRows));
      });
    }
  }
  void losses(const Kernels& kernels, Workers* workers, std::span<const double> y,
              const double* scores, double* loss) const {
    run(workers, y, scores, [&](const DistributionRows& rows, size_t begin) {
      kernels.distribution_losses(spec_, rows, loss + begin);
    });
  }
  void steps(const Kernels& kernels, Workers* workers, std::span<const double> y,
             const double* scores, double* loss, double* gradient, double* hessian) const {
    run(workers, y, scores, [&](const DistributionRows& rows, size_t begin) {
      kernels.distribution_steps(spec_, rows, loss + begin, gradient + begin, hessian + begin);
    });
  }
  void information(const Kernels& kernels, Workers* workers, std::span<const double> y,
                   const double* scores, double* gradient, double* information) const {
    run(workers, y, scores, [&](const DistributionRows& rows, size_t begin) {
      kernels.distribution_information(spec_, rows, gradient + begin, information + begin);
    });
  }

  void check(const In<double>& y, const In<double>& scores) const {
    require(scores.shape(0) == y.shape(0) * scores_, "scores are rows x scores");
  }

 private:
  static constexpr size_t kRows = 4096;
  DistributionSpec spec_;
  size_t scores_ = 0;
};

const Kernels& kernels_of(const Engine* engine) {
  return engine == nullptr ? kernels_for("") : engine->kernels;
}
Workers* workers_of(Engine* engine) { return engine == nullptr ? nullptr : &engine->workers; }

// The losses, and for training rows the natural gradients, in one pass over the rows.
DerivativeLoss* row_loss(const DistributionRule& rule, const Engine& engine, const In<double>& y,
                         const Weight& weight) {
  require(!weight || weight->shape(0) == y.shape(0), "one weight per row");
  return new DerivativeLoss(
      y.shape(0), rule.scores(), span_of(weight), false,
      [rule, kernels = &engine.kernels, y = span_of(y), weight = span_of(weight),
       loss = std::vector<double>(y.shape(0))](Workers& workers, std::span<const double> score,
                                               std::span<double> gradient,
                                               std::span<double> hessian) mutable {
        if (gradient.empty()) {
          rule.losses(*kernels, &workers, y, score.data(), loss.data());
        } else {
          rule.steps(*kernels, &workers, y, score.data(), loss.data(), gradient.data(),
                     hessian.data());
        }
        ExactSum sum;
        sum.add_all(loss.data(), weight.empty() ? nullptr : weight.data(), loss.size());
        return sum.value();
      });
}

}  // namespace

void bind_distributions(nb::module_& m) {
  nb::class_<DistributionRule>(m, "DistributionRule")
      .def(nb::init<const char*, double, const In<double>&, const In<double>&>(), "family"_a,
           "parameter"_a, "low"_a.noconvert(), "high"_a.noconvert())
      .def("row_loss", &row_loss, "workers"_a, "y"_a.noconvert(), "weight"_a.noconvert().none(),
           nb::rv_policy::take_ownership, nb::keep_alive<0, 3>(), nb::keep_alive<0, 4>())
      .def(
          "losses",
          [](const DistributionRule& rule, Engine* engine, const In<double>& y,
             const In<double>& scores, const InOut<double>& loss) {
            rule.check(y, scores);
            require(loss.shape(0) == y.shape(0), "one loss per row");
            const GilRelease release;
            rule.losses(kernels_of(engine), workers_of(engine), span_of(y), scores.data(),
                        loss.data());
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
            const GilRelease release;
            rule.steps(kernels_of(engine), workers_of(engine), span_of(y), scores.data(),
                       loss.data(), gradient.data(), hessian.data());
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
            const GilRelease release;
            rule.information(kernels_of(engine), workers_of(engine), span_of(y), scores.data(),
                             gradient.data(), information.data());
          },
          "workers"_a.none(), "y"_a.noconvert(), "scores"_a.noconvert(), "gradient"_a.noconvert(),
          "information"_a.noconvert());
}

}  // namespace stagewise

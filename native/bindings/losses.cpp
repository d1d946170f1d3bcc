// Gradients, and the losses that fill them.
#include "gradients/gradients.hpp"

#include <string_view>

#include "bindings/bindings.hpp"
#include "core/row_weights.hpp"
#include "gradients/cumulative.hpp"
#include "gradients/row_loss.hpp"

namespace stagewise {
namespace {

struct LossArguments {  // the common arguments of the loss kernels, checked
  LossArguments(const Gradients& gradients, size_t y, size_t score, const Weight& weight) {
    require(
        y == gradients.rows() && score >= gradients.rows() && (!weight || weight->shape(0) == y),
        "y, score and weight have one entry per row");
    w = weight ? weight->data() : nullptr;
  }
  const double* at(size_t begin) const { return w == nullptr ? nullptr : w + begin; }
  const double* w;
};

template <class Y, class Kernel>
double fill(Engine& engine, Gradients& gradients, const In<Y>& y, const In<double>& score,
            const Weight& weight, Kernel kernel) {
  const LossArguments rows(gradients, y.shape(0), score.shape(0), weight);
  const GilRelease release;
  gradients.fill(engine.workers, [&](size_t begin, size_t n, GradientSlot* out, LossSums* sums) {
    kernel(y.data() + begin, score.data() + begin, rows.at(begin), n, out, sums);
  });
  return gradients.sums().loss;
}

// A method of Gradients for a loss of numbers, and of labels.
void def_loss(nb::class_<Gradients>& type, const char* name,
              Kernels::NumberLoss Kernels::* kernel) {
  type.def(
      name,
      [kernel](Gradients& g, Engine& e, const In<double>& y, const In<double>& score,
               const Weight& weight, double parameter) {
        const Kernels::NumberLoss loss = e.kernels.*kernel;
        return fill(
            e, g, y, score, weight,
            [=](const double* t, const double* f, const double* w, size_t n, GradientSlot* out,
                LossSums* sums) { loss(t, f, w, n, parameter, out, sums); });
      },
      "workers"_a, "y"_a.noconvert(), "score"_a.noconvert(), "weight"_a.noconvert().none(),
      "parameter"_a = 0.0);
}

void def_loss(nb::class_<Gradients>& type, const char* name, Kernels::LabelLoss Kernels::* kernel) {
  type.def(
      name,
      [kernel](Gradients& g, Engine& e, const In<int32_t>& y, const In<double>& score,
               const Weight& weight) { return fill(e, g, y, score, weight, e.kernels.*kernel); },
      "workers"_a, "y"_a.noconvert(), "score"_a.noconvert(), "weight"_a.noconvert().none());
}

// The losses of one score by their names.
struct NumberLossName {
  const char* name;
  Kernels::NumberLoss Kernels::* kernel;
};
constexpr NumberLossName kNumberLosses[] = {
    {"squared", &Kernels::squared},   {"absolute", &Kernels::absolute},
    {"quantile", &Kernels::quantile}, {"huber", &Kernels::huber},
    {"poisson", &Kernels::poisson},   {"gamma", &Kernels::gamma},
    {"tweedie", &Kernels::tweedie},   {"cross_entropy", &Kernels::cross_entropy},
};
struct LabelLossName {
  const char* name;
  Kernels::LabelLoss Kernels::* kernel;
};
constexpr LabelLossName kLabelLosses[] = {
    {"logistic", &Kernels::logistic},
    {"exponential", &Kernels::exponential},
};

template <class Names>
auto loss_named(const Kernels& kernels, std::string_view name, const Names& names) {
  for (const auto& each : names)
    if (name == each.name) return kernels.*each.kernel;
  throw std::invalid_argument("no such loss");
}

void make_number_loss(KernelLoss* self, const Engine& engine, const char* kernel,
                      const In<double>& y, const Weight& weight, double parameter) {
  require(!weight || weight->shape(0) == y.shape(0), "one weight per row");
  const Kernels::NumberLoss loss = loss_named(engine.kernels, kernel, kNumberLosses);
  const double* const target = y.data();
  const double* const w = weight ? weight->data() : nullptr;
  new (self) KernelLoss(y.shape(0), [=](const double* score, size_t begin, size_t n,
                                        GradientSlot* out, LossSums* sums) {
    loss(target + begin, score + begin, w == nullptr ? nullptr : w + begin, n, parameter, out,
         sums);
  });
}

void make_label_loss(KernelLoss* self, const Engine& engine, const char* kernel,
                     const In<int32_t>& y, const Weight& weight) {
  require(!weight || weight->shape(0) == y.shape(0), "one weight per row");
  const Kernels::LabelLoss loss = loss_named(engine.kernels, kernel, kLabelLosses);
  const int32_t* const labels = y.data();
  const double* const w = weight ? weight->data() : nullptr;
  new (self) KernelLoss(y.shape(0), [=](const double* score, size_t begin, size_t n,
                                        GradientSlot* out, LossSums* sums) {
    loss(labels + begin, score + begin, w == nullptr ? nullptr : w + begin, n, out, sums);
  });
}

std::span<const double> scores_of_rows(const RowLoss& loss, const In<double>& score) {
  require(score.shape(0) == loss.scores(), "a score per row and output");
  return span_of(score);
}

// What a loss of K classes keeps of every row, `numbers` of them.
using StateKernel = void (*)(const int32_t*, const double*, size_t, size_t, const double*, size_t,
                             float*, LossSums*);

// The sum of the losses; fills the states of all rows.
double evaluate_state(Workers& workers, std::span<const int32_t> y, const double* scores,
                      const double* w, size_t outputs, float* state, size_t numbers,
                      StateKernel kernel) {
  const size_t n = y.size();
  const auto blocks =
      Gradients::sum_blocks(workers, n, [&](size_t begin, size_t m, LossSums* sums) {
        kernel(y.data() + begin, scores + begin, n, outputs, w == nullptr ? nullptr : w + begin, m,
               state + numbers * begin, sums);
      });
  return Gradients::rounded_sums(blocks).loss;
}

void check_labels(const In<int32_t>& y, size_t outputs) {
  require(outputs > 1, "there are two classes at least");
  for (const int32_t label : span_of(y))
    require(label >= 0 && static_cast<size_t>(label) < outputs, "a class code is out of range");
}

double fill_state(Engine& engine, const In<int32_t>& y, const In<double>& scores,
                  const Weight& weight, size_t outputs, const InOut<float>& state, size_t numbers,
                  StateKernel kernel) {
  const size_t n = y.shape(0);
  require(scores.shape(0) == n * outputs && state.shape(0) == numbers * n,
          "scores are rows x outputs");
  require(!weight || weight->shape(0) == n, "one weight per row");
  check_labels(y, outputs);
  const double* const w = weight ? weight->data() : nullptr;
  const GilRelease release;
  return evaluate_state(engine.workers, span_of(y), scores.data(), w, outputs, state.data(),
                        numbers, kernel);
}

void make_softmax_loss(StateLoss* self, const Engine& engine, const In<int32_t>& y,
                       const Weight& weight, size_t outputs) {
  require(!weight || weight->shape(0) == y.shape(0), "one weight per row");
  check_labels(y, outputs);
  const std::span<const int32_t> labels = span_of(y);
  const double* const w = weight ? weight->data() : nullptr;
  const Kernels* const kernels = &engine.kernels;
  const auto state = std::make_shared<std::vector<float>>(2 * labels.size());
  new (self) StateLoss(
      labels.size(), outputs,
      [=](Workers& workers, std::span<const double> score) {
        return evaluate_state(workers, labels, score.data(), w, outputs, state->data(), 2,
                              kernels->softmax_state);
      },
      [=](Workers& workers, std::span<const double> score, size_t output, Gradients& gradients) {
        gradients.fill(workers, [&](size_t begin, size_t n, GradientSlot* out, LossSums* sums) {
          kernels->softmax(labels.data() + begin, score.data() + begin, state->data() + 2 * begin,
                           static_cast<int32_t>(output), w == nullptr ? nullptr : w + begin, n, out,
                           sums);
        });
      });
}

void fill_softmax(Engine& engine, Gradients& gradients, const In<int32_t>& y,
                  const In<double>& score, const In<float>& state, int output,
                  const Weight& weight) {
  const LossArguments rows(gradients, y.shape(0), score.shape(0), weight);
  require(state.shape(0) == 2 * gradients.rows(), "state has two entries per row");
  const GilRelease release;
  gradients.fill(engine.workers, [&](size_t begin, size_t n, GradientSlot* out, LossSums* sums) {
    engine.kernels.softmax(y.data() + begin, score.data() + begin, state.data() + 2 * begin, output,
                           rows.at(begin), n, out, sums);
  });
}

void fill_exponential(Engine& engine, Gradients& gradients, const In<int32_t>& y,
                      const In<float>& state, int output, size_t outputs, const Weight& weight) {
  const LossArguments rows(gradients, y.shape(0), state.shape(0), weight);
  require(outputs > 1, "there are two classes at least");
  const GilRelease release;
  gradients.fill(engine.workers, [&](size_t begin, size_t n, GradientSlot* out, LossSums* sums) {
    engine.kernels.multiclass_exponential(y.data() + begin, state.data() + begin, output, outputs,
                                          rows.at(begin), n, out, sums);
  });
}

void fill_assigned(Engine& engine, Gradients& gradients, const In<double>& gradient,
                   const In<double>& hessian, const Weight& weight) {
  const LossArguments rows(gradients, gradient.shape(0), hessian.shape(0), weight);
  const GilRelease release;
  gradients.assign(engine.workers, gradient.data(), hessian.data(), rows.w);
}

// The rows of a loss of ordered classes, checked.
CumulativeRows cumulative_rows(const In<int32_t>& y, const In<double>& score, const Weight& weight,
                               const In<double>& thresholds, bool normal) {
  require(score.shape(0) == y.shape(0) && (!weight || weight->shape(0) == y.shape(0)),
          "y, score and weight have one entry per row");
  for (size_t i = 0; i < y.shape(0); ++i)
    require(y.data()[i] >= 0 && static_cast<size_t>(y.data()[i]) <= thresholds.shape(0),
            "a class code is out of range");
  return {span_of(y), span_of(score), span_of(weight), span_of(thresholds),
          normal ? Latent::normal : Latent::logistic};
}

// A compiled formula: its steps are four numbers each, and no step reads a register before it is
// written.
struct Formula {
  Formula(const In<uint8_t>& numbers, const In<float>& values, const In<uint8_t>& results)
      : constants(values.data(), values.data() + values.shape(0)) {
    require(numbers.shape(0) % 4 == 0 && results.shape(0) == 3, "steps have four numbers");
    require(constants.size() + 2 <= kFormulaRegisters, "a formula has too many constants");
    std::vector<bool> written(kFormulaRegisters, false);
    for (size_t r = 0; r < constants.size() + 2; ++r) written[r] = true;
    for (size_t i = 0; i < numbers.shape(0); i += 4) {
      const uint8_t* const own = numbers.data() + i;
      require(own[0] < static_cast<uint8_t>(FormulaOperation::count), "an operation is unknown");
      require(own[1] >= constants.size() + 2 && own[1] < kFormulaRegisters &&
                  own[2] < kFormulaRegisters && own[3] < kFormulaRegisters && written[own[2]] &&
                  written[own[3]] && own[1] != own[2] && own[1] != own[3],
              "a register is out of range");
      steps.push_back({static_cast<FormulaOperation>(own[0]), own[1], own[2], own[3]});
      written[own[1]] = true;
    }
    for (size_t i = 0; i < 3; ++i)
      require(results.data()[i] < kFormulaRegisters && written[results.data()[i]],
              "a result is no register");
    program = {steps.data(),      steps.size(),      constants.data(), constants.size(),
               results.data()[0], results.data()[1], results.data()[2]};
  }
  std::vector<FormulaStep> steps;
  std::vector<float> constants;
  FormulaProgram program;
};

double fill_formula(Engine& engine, Gradients& gradients, const In<double>& y,
                    const In<double>& score, const Weight& weight, const In<uint8_t>& steps,
                    const In<float>& constants, const In<uint8_t>& results) {
  const Formula formula(steps, constants, results);
  return fill(
      engine, gradients, y, score, weight,
      [&](const double* t, const double* f, const double* w, size_t n, GradientSlot* out,
          LossSums* sums) { engine.kernels.formula(&formula.program, t, f, w, n, out, sums); });
}

}  // namespace

void bind_losses(nb::module_& m) {
  auto gradients = nb::class_<Gradients>(m, "Gradients");
  for (const NumberLossName& each : kNumberLosses) def_loss(gradients, each.name, each.kernel);
  for (const LabelLossName& each : kLabelLosses) def_loss(gradients, each.name, each.kernel);
  gradients.def(nb::init<size_t>(), "n_rows"_a)
      .def(
          "__init__",
          [](Gradients* self, size_t rows, uint64_t first_row, uint64_t table_rows) {
            new (self) Gradients(rows, {first_row, table_rows});
          },
          "n_rows"_a, "first_row"_a, "table_rows"_a)
      .def_prop_ro("n_rows", &Gradients::rows)
      .def(
          "transform",
          [](Gradients& g, Engine& e, const Weight& weight, double limit, bool unit_hessians,
             bool absolute) {
            require(!weight || weight->shape(0) == g.rows(), "one weight per row");
            const GilRelease release;
            g.transform(e.workers, weight ? weight->data() : nullptr,
                        {limit, unit_hessians, absolute});
          },
          "workers"_a, "weight"_a.noconvert().none(), "limit"_a = 0.0, "unit_hessians"_a = false,
          "absolute"_a = false)
      .def(
          "multiply",
          [](Gradients& g, Engine& e, const Weight& weight, const In<float>& multiplier,
             bool hessians) {
            require(!weight || weight->shape(0) == g.rows(), "one weight per row");
            require(multiplier.shape(0) == g.rows(), "one multiplier per row");
            const GilRelease release;
            g.multiply(e.workers, weight ? weight->data() : nullptr, multiplier.data(), hessians);
          },
          "workers"_a, "weight"_a.noconvert().none(), "multiplier"_a.noconvert(),
          "hessians"_a = true)
      .def(
          "add_squares",
          [](const Gradients& g, Engine& e, const Weight& weight, double ridge,
             const InOut<double>& out) {
            require(!weight || weight->shape(0) == g.rows(), "one weight per row");
            require(out.shape(0) == g.rows(), "one sum per row");
            const GilRelease release;
            g.add_squares(e.workers, weight ? weight->data() : nullptr, ridge, out.data());
          },
          "workers"_a, "weight"_a.noconvert().none(), "ridge"_a, "out"_a.noconvert())
      .def("exact_sums",
           [](const Gradients& g) {  // of the losses, of |g| and of h: integers, as ExactSums has
             LossTotals totals = g.totals();
             std::vector<int64_t> out;
             for (ExactSum* sum : {&totals.loss, &totals.abs_gradient, &totals.hessian})
               out.insert(out.end(), sum->integers().begin(), sum->integers().end());
             return to_numpy(std::move(out));
           })
      .def(
          "set_sums",
          [](Gradients& g, double loss, double abs_gradient, double hessian) {
            g.set_sums({loss, abs_gradient, hessian});
          },
          "loss"_a, "abs_gradient"_a, "hessian"_a)
      .def(
          "packed",
          [](Gradients& g, Engine& e, const Weight& weight, double total_weight, uint64_t key) {
            // For tests: packs the pairs; (gradient, hessian) of every row, flat.
            require(!weight || weight->shape(0) == g.rows(), "one weight per row");
            const RowWeights weights(span_of(weight), g.rows());
            g.pack(e.workers, e.kernels, weights.data(), weights.whole(), total_weight, key);
            std::vector<int64_t> out;
            for (size_t i = 0; i < g.rows(); ++i) {
              out.push_back(packed_gradient(g.slots()[i].packed));
              out.push_back(packed_hessian(g.slots()[i].packed));
            }
            return to_numpy(std::move(out));
          },
          "workers"_a, "weight"_a.noconvert().none(), "total_weight"_a, "key"_a)
      .def("pairs",
           [](const Gradients& g) {  // for tests: (gradient, hessian) of every row, flat
             std::vector<float> out;
             for (size_t i = 0; i < g.rows(); ++i) {
               out.push_back(g.slots()[i].pair.gradient);
               out.push_back(g.slots()[i].pair.hessian);
             }
             return to_numpy(std::move(out));
           })
      .def(
          "softmax",
          [](Gradients& g, Engine& e, const In<int32_t>& y, const In<double>& s,
             const In<float>& state, int output,
             const Weight& w) { fill_softmax(e, g, y, s, state, output, w); },
          "workers"_a, "y"_a.noconvert(), "score"_a.noconvert(), "state"_a.noconvert(), "output"_a,
          "weight"_a.noconvert().none())
      .def(
          "multiclass_exponential",
          [](Gradients& g, Engine& e, const In<int32_t>& y, const In<float>& state, int output,
             size_t outputs,
             const Weight& w) { fill_exponential(e, g, y, state, output, outputs, w); },
          "workers"_a, "y"_a.noconvert(), "state"_a.noconvert(), "output"_a, "outputs"_a,
          "weight"_a.noconvert().none())
      .def(
          "assign",
          [](Gradients& g, Engine& e, const In<double>& gradient, const In<double>& hessian,
             const Weight& w) { fill_assigned(e, g, gradient, hessian, w); },
          "workers"_a, "gradient"_a.noconvert(), "hessian"_a.noconvert(),
          "weight"_a.noconvert().none());
  gradients.def(
      "formula",
      [](Gradients& g, Engine& e, const In<double>& y, const In<double>& score,
         const Weight& weight, const In<uint8_t>& steps, const In<float>& constants,
         const In<uint8_t>& results) {
        return fill_formula(e, g, y, score, weight, steps, constants, results);
      },
      "workers"_a, "y"_a.noconvert(), "score"_a.noconvert(), "weight"_a.noconvert().none(),
      "steps"_a.noconvert(), "constants"_a.noconvert(), "results"_a.noconvert());
  gradients.def(
      "cumulative",
      [](Gradients& g, Engine& e, const In<int32_t>& y, const In<double>& score,
         const Weight& weight, const In<double>& thresholds, bool normal) {
        require(y.shape(0) == g.rows(), "one class per row");
        const CumulativeRows rows = cumulative_rows(y, score, weight, thresholds, normal);
        const GilRelease release;
        return rows.fill(e.workers, g);
      },
      "workers"_a, "y"_a.noconvert(), "score"_a.noconvert(), "weight"_a.noconvert().none(),
      "thresholds"_a.noconvert(), "normal"_a);
  m.def(
      "cumulative_sums",
      [](Engine& e, const In<int32_t>& y, const In<double>& score, const Weight& weight,
         const In<double>& thresholds, bool normal) {
        const CumulativeRows rows = cumulative_rows(y, score, weight, thresholds, normal);
        std::vector<double> found;
        {
          const GilRelease release;
          found = rows.sums(e.workers);
        }
        return to_numpy(std::move(found));
      },
      "workers"_a, "y"_a.noconvert(), "score"_a.noconvert(), "weight"_a.noconvert().none(),
      "thresholds"_a.noconvert(), "normal"_a);
  nb::class_<RowLoss>(m, "RowLoss")
      .def_prop_ro("n_rows", &RowLoss::rows)
      .def_prop_ro("n_outputs", &RowLoss::outputs)
      .def(
          "evaluate",
          [](RowLoss& loss, Engine& e, const In<double>& score) {
            const std::span<const double> scores = scores_of_rows(loss, score);
            const GilRelease release;
            return loss.evaluate(e.workers, scores);
          },
          "workers"_a, "score"_a.noconvert())
      .def(
          "gradients",
          [](RowLoss& loss, Engine& e, const In<double>& score, size_t output) -> Gradients& {
            const std::span<const double> scores = scores_of_rows(loss, score);
            require(output < loss.outputs(), "no such output");
            const GilRelease release;
            return loss.gradients(e.workers, scores, output);
          },
          "workers"_a, "score"_a.noconvert(), "output"_a, nb::rv_policy::reference_internal);
  nb::class_<KernelLoss, RowLoss>(m, "KernelLoss")
      .def("__init__", &make_number_loss, "workers"_a, "kernel"_a, "y"_a.noconvert(),
           "weight"_a.noconvert().none(), "parameter"_a = 0.0, nb::keep_alive<1, 4>(),
           nb::keep_alive<1, 5>())
      .def("__init__", &make_label_loss, "workers"_a, "kernel"_a, "y"_a.noconvert(),
           "weight"_a.noconvert().none(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>())
      .def("loss_sums", [](const KernelLoss& loss) {  // of the last evaluation, not rounded
        const auto& integers = loss.totals().loss.integers();
        return to_numpy(std::vector<int64_t>(integers.begin(), integers.end()));
      });
  nb::class_<DerivativeLoss, RowLoss>(m, "DerivativeLoss");
  nb::class_<StateLoss, RowLoss>(m, "StateLoss")
      .def("__init__", &make_softmax_loss, "workers"_a, "y"_a.noconvert(),
           "weight"_a.noconvert().none(), "outputs"_a, nb::keep_alive<1, 3>(),
           nb::keep_alive<1, 4>());
  const auto def_state = [&](const char* name, size_t numbers, StateKernel Kernels::* kernel) {
    m.def(
        name,
        [=](Engine& e, const In<int32_t>& y, const In<double>& scores, const Weight& weight,
            size_t outputs, const InOut<float>& state) {
          return fill_state(e, y, scores, weight, outputs, state, numbers, e.kernels.*kernel);
        },
        "workers"_a, "y"_a.noconvert(), "scores"_a.noconvert(), "weight"_a.noconvert().none(),
        "outputs"_a, "state"_a.noconvert());
  };
  def_state("softmax_state", 2, &Kernels::softmax_state);
  def_state("exponential_state", 1, &Kernels::exponential_state);
}

}  // namespace stagewise

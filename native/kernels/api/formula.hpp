// A loss as a program: a formula that was compiled to steps on registers. A register holds one
// number for each of some rows, so that a step is one loop of elementwise arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stagewise {

// The order is that of `OPERATIONS` in losses/formula/program.py.
enum class FormulaOperation : uint8_t {
  residual,  // y - F, subtracted in double
  add,
  subtract,
  multiply,
  divide,
  power,
  maximum,
  minimum,
  less,  // 1 if a < b, else 0
  negate,
  absolute,
  sign,
  exp,
  expm1,
  log,
  log1p,
  sqrt,
  tanh,
  sigmoid,
  softplus,
  log_cosh,
  decay,  // e^-|a|
  gate,   // b if a < 0, else 1
  raise,  // max(a, 0) + log(1 + b), 0 <= b <= 1
  count
};

struct FormulaStep {
  FormulaOperation operation;
  uint8_t out, a, b;  // registers
};

// Registers: y, F, the constants, then those of the steps.
struct FormulaProgram {
  const FormulaStep* steps;
  size_t n_steps;
  const float* constants;
  size_t n_constants;
  uint8_t loss, gradient, hessian;  // the registers of the results
};

constexpr size_t kFormulaRegisters = 96;

}  // namespace stagewise

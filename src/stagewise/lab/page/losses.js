// Losses: derivatives as the core computes them, in single precision and with its exponential, and
// losses for the curves in double precision.

const single = Math.fround;

const [LOG2_E, LN2_HIGH, LN2_LOW] = [1.44269504, 0.693359375, -2.1219444e-4].map(single);
const [EXP_7, EXP_6, EXP_5, EXP_4, EXP_3] = [1.98412698e-4, 1.38888889e-3, 8.33333333e-3, 4.16666667e-2, 1.66666667e-1].map(single);

/** e^x in single precision: x = k ln 2 + r, and e^r by its Taylor polynomial. */
function singleExp(x) {
  const bounded = Math.min(Math.max(x, -87), 87);
  const shift = 12582912; // adding 1.5 · 2^23 rounds to an integer
  const k = single(single(single(bounded * LOG2_E) + shift) - shift);
  const r = single(single(bounded - single(k * LN2_HIGH)) - single(k * LN2_LOW));
  let p = single(single(EXP_7 * r) + EXP_6);
  p = single(single(p * r) + EXP_5);
  p = single(single(p * r) + EXP_4);
  p = single(single(p * r) + EXP_3);
  p = single(single(p * r) + 0.5);
  p = single(single(p * r) + 1);
  p = single(single(p * r) + 1);
  return single(p * 2 ** k);
}

/** The smallest value at or below which a share q of the values lies; between two values, their middle. */
function quantile(values, q) {
  const sorted = Float64Array.from(values).sort();
  const reach = q * sorted.length;
  const up = Math.ceil(reach);
  const k = up < 1 ? 0 : Math.min(sorted.length - 1, up - 1);
  const low = sorted[k];
  return up !== reach || up < 1 || k + 1 >= sorted.length ? low : low + (sorted[k + 1] - low) / 2;
}

/** log(a / b), no further from 0 than `most`. */
function boundedLogRatio(a, b, most) {
  if (a <= 0 && b <= 0) return 0;
  const far = Math.exp(most);
  if (a >= b * far || b >= a * far) return a > b ? most : -most;
  return Math.log(a / b);
}

const MAX_STEP = 16;
const newtonStep = (g, h) => (h > 0 ? Math.min(Math.max(-g / h, -MAX_STEP), MAX_STEP) : 0);

/**
 * A loss: its name, whether it is for classes, its best constant, the derivatives of every row, the
 * optimum of a region, and L(y, F). Classes are 0 and 1; numbers are scaled.
 */
const LOSSES = {
  log_loss: {
    name: "log loss",
    formula: "log(1 + e^(−y f))",
    classes: true,
    curved: true,
    constant: (y) => logOdds(y),
    derivatives(y, score, out) {
      for (let i = 0; i < y.length; i++) {
        const f = single(score[i]);
        const wrong = y[i] ? -f : f;
        const e = singleExp(-Math.abs(wrong));
        const inverse = single(1 / single(1 + e));
        const p = wrong < 0 ? single(e * inverse) : inverse;
        out.gradient[i] = y[i] ? -p : p;
        out.hessian[i] = single(single(e * inverse) * inverse);
      }
    },
    optimum: (rows, { gradient, hessian }) => newtonStep(sumOf(rows, gradient), sumOf(rows, hessian)),
    loss: (y, f) => Math.log1p(Math.exp(-Math.abs(f))) + Math.max(y ? -f : f, 0),
  },
  exponential: {
    name: "exponential loss",
    formula: "e^(−y f)",
    classes: true,
    curved: true,
    constant: (y) => 0.5 * logOdds(y),
    derivatives(y, score, out) {
      for (let i = 0; i < y.length; i++) {
        const f = single(score[i]);
        const e = singleExp(Math.min(y[i] ? -f : f, 60));
        out.gradient[i] = y[i] ? -e : e;
        out.hessian[i] = e;
      }
    },
    optimum(rows, { gradient, hessian }) {
      const [g, h] = [sumOf(rows, gradient), sumOf(rows, hessian)];
      return 0.5 * boundedLogRatio(h - g, h + g, 8);
    },
    loss: (y, f) => Math.exp(y ? -f : f),
  },
  squared_error: {
    name: "squared error",
    formula: "½ (y − f)²",
    classes: false,
    curved: true,
    constant: () => 0, // numbers are centred
    derivatives(y, score, out) {
      for (let i = 0; i < y.length; i++) out.gradient[i] = single(score[i] - y[i]);
      out.hessian.fill(1);
    },
    optimum(rows, { gradient, hessian }) {
      const h = sumOf(rows, hessian);
      return h > 0 ? -sumOf(rows, gradient) / h : 0;
    },
    loss: (y, f) => 0.5 * (y - f) ** 2,
  },
  absolute_error: {
    name: "absolute error",
    formula: "|y − f|",
    classes: false,
    curved: false,
    constant: (y) => quantile(y, 0.5),
    derivatives(y, score, out) {
      for (let i = 0; i < y.length; i++) out.gradient[i] = Math.sign(single(score[i] - y[i]));
      out.hessian.fill(1);
    },
    optimum: (rows, { y, score }) => quantile(Array.from(rows, (i) => y[i] - score[i]), 0.5),
    loss: (y, f) => Math.abs(y - f),
  },
  huber: {
    name: "Huber loss",
    formula: "½ r² up to |r| = δ, then linear; r = y − f",
    classes: false,
    curved: false,
    constant: (y) => quantile(y, 0.5),
    derivatives(y, score, out) {
      out.delta = quantile(Array.from(y, (value, i) => Math.abs(value - score[i])), 0.9);
      const d = single(out.delta);
      for (let i = 0; i < y.length; i++) out.gradient[i] = Math.min(Math.max(single(score[i] - y[i]), -d), d);
      out.hessian.fill(1);
    },
    optimum(rows, { y, score, delta }) {
      const residuals = Array.from(rows, (i) => y[i] - score[i]);
      const middle = quantile(residuals, 0.5);
      let sum = 0;
      for (const r of residuals) sum += Math.min(Math.max(r - middle, -delta), delta);
      return middle + sum / residuals.length;
    },
    loss(y, f, delta) {
      const r = Math.abs(y - f);
      return r <= delta ? 0.5 * r * r : delta * (r - 0.5 * delta);
    },
  },
};

function sumOf(rows, values) {
  let sum = 0;
  for (const row of rows) sum += values[row];
  return sum;
}

function logOdds(y) {
  const ones = sumOf(y.keys(), y);
  const bound = 2 ** 53; // with one class only, the optimum is infinite
  const odds = ones < y.length ? ones / (y.length - ones) : bound;
  return Math.log(Math.min(Math.max(odds, 1 / bound), bound));
}

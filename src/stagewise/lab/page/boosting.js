// The loop: f_m = f_(m-1) + ν · step_m · b_m. A step is what a tree is fitted to and how its leaves
// get their values.

const Z_MAX = 4; // of LogitBoost's working response
const NEGLIGIBLE = 1e-6; // a smaller share of the weight counts as 0
const SMALLEST_SUM = 2 ** -60; // of AdaBoost's weights as they are

/**
 * A step: the losses that it can have, why not the others, whether f starts at 0, `fit` (grows a
 * tree) and `values` (sets its leaves; returns why there can be no further round, or "").
 */
const STEPS = {
  gradient: {
    name: "gradient",
    text: "A tree is fitted to the negative gradient of the loss; each region then gets its best constant.",
    refuses: () => "",
    fit: (boosting, bag) => boosting.leastSquares(boosting.gradient, boosting.ones, bag),
    values(boosting, tree) {
      for (const leaf of tree.leaves) leaf.value = boosting.loss.optimum(leaf.rows, boosting);
      return "";
    },
  },
  newton: {
    name: "Newton",
    text: "A tree is fitted to −g/h with weights h; the value of a leaf is −Σg/Σh.",
    refuses: (loss) => (LOSSES[loss].curved ? "" : "the loss has no useful second derivative"),
    fit: (boosting, bag) => boosting.leastSquares(boosting.gradient, boosting.hessian, bag),
    values: () => "",
  },
  ada_boost: {
    name: "AdaBoost",
    text: "A classification tree is fitted with weights e^(−y f); all its leaves vote with ½ log((1 − err)/err).",
    refuses: (loss) => (loss === "exponential" ? "" : "it minimises the exponential loss"),
    fromZero: true,
    fit(boosting, bag) {
      boosting.weights = rowWeights(boosting);
      return growTree(boosting.table, new Gini(boosting.y, boosting.weights), bag, boosting.leaves);
    },
    values(boosting, tree) {
      let [right, wrong, rows] = [0, 0, 0];
      for (const leaf of tree.leaves) {
        const sums = [0, 0];
        for (const row of leaf.rows) sums[boosting.y[row]] += boosting.weights[row];
        leaf.vote = sums[1] > sums[0] ? 1 : -1;
        right += Math.max(...sums);
        wrong += Math.min(...sums);
        rows += leaf.rows.length;
      }
      if (!(right > wrong * (1 + NEGLIGIBLE))) {
        for (const leaf of tree.leaves) leaf.value = 0;
        return boosting.draws ? "" : "no tree is better than chance";
      }
      const perfect = wrong <= NEGLIGIBLE * right;
      const odds = perfect ? Math.max(2 * rows - 1, 3) : right / wrong;
      for (const leaf of tree.leaves) leaf.value = 0.5 * Math.log(odds) * leaf.vote;
      tree.error = wrong / (right + wrong);
      return perfect && !boosting.draws ? "a tree without errors was found" : "";
    },
  },
  gentle: {
    name: "Gentle AdaBoost",
    text: "A tree is fitted to y = ±1 by least squares with weights e^(−y f); a leaf is a weighted mean.",
    refuses: (loss) => (loss === "exponential" ? "" : "it minimises the exponential loss"),
    fromZero: true,
    fit: (boosting, bag) => boosting.leastSquares(boosting.gradient, boosting.hessian, bag),
    values: () => "",
  },
  logit_boost: {
    name: "LogitBoost",
    text: "A tree is fitted to z = (y − p)/(p(1 − p)), |z| ≤ 4, by least squares with weights p(1 − p).",
    refuses: (loss) => (loss === "log_loss" ? "" : "it minimises the log loss"),
    fromZero: true,
    fit(boosting, bag) {
      const { gradient, hessian } = boosting;
      const bounded = gradient.map((value, i) => {
        const most = single(Z_MAX * hessian[i]);
        return Math.min(Math.max(value, -most), most);
      });
      return boosting.leastSquares(bounded, hessian, bag);
    },
    values: () => "",
  },
};

/** AdaBoost's weights e^(−y f). Tiny ones are multiplied by a constant, so that no digits are lost. */
function rowWeights({ loss, y, score, hessian }) {
  let [sum, smallest] = [0, Infinity];
  for (let i = 0; i < y.length; i++) {
    sum += hessian[i];
    smallest = Math.min(smallest, y[i] ? score[i] : -score[i]);
  }
  if (sum >= SMALLEST_SUM) return hessian;
  const shifted = score.map((f, i) => (y[i] ? f - smallest : f + smallest));
  const out = { gradient: new Float64Array(y.length), hessian: new Float64Array(y.length) };
  loss.derivatives(y, shifted, out);
  return out.hessian;
}

/** Random numbers from 0 to 1; the same seed gives the same numbers (mulberry32). */
function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** An affine map of numbers to a standard deviation of about 1: the scale is a power of two. */
function targetScale(y) {
  const offset = sumOf(y.keys(), y) / y.length;
  let squares = 0;
  for (const value of y) squares += (value - offset) ** 2;
  const deviation = Math.sqrt(squares / y.length);
  if (!(deviation > 0)) return { offset, scale: 1 };
  let power = Math.ceil(Math.log2(deviation));
  if (2 ** (power - 1) >= deviation) power -= 1;
  if (2 ** power < deviation) power += 1;
  return { offset, scale: 2 ** power };
}

/**
 * A model that is being boosted.
 *
 * sample: { classes, x: [column, ...], y }; settings: { loss, step, rate, leaves, subsample, rounds }.
 * `scores[m]` are the scores of the training rows after m rounds, in the units of y.
 */
class Boosting {
  constructor(sample, settings) {
    this.settings = settings;
    this.loss = LOSSES[settings.loss];
    this.step = STEPS[settings.step];
    this.leaves = settings.leaves;
    this.rows = sample.y.length;
    this.x = sample.x;
    this.table = new Table(sample.x);
    this.allRows = Int32Array.from(sample.y, (_, row) => row);
    this.ones = new Float64Array(this.rows).fill(1);
    this.draws = settings.subsample < 1;
    this.map = sample.classes ? { offset: 0, scale: 1 } : targetScale(sample.y);
    this.y = Float64Array.from(sample.y, (value) => (value - this.map.offset) / this.map.scale);
    this.base = this.step.fromZero ? 0 : this.loss.constant(this.y);
    this.score = new Float64Array(this.rows).fill(this.base);
    this.gradient = new Float64Array(this.rows);
    this.hessian = new Float64Array(this.rows);
    this.delta = 0;
    this.trees = [];
    this.stopReason = "";
    this.scores = [this.restored()];
    this.deltas = [];
    this.loss.derivatives(this.y, this.score, this);
    this.deltas.push(this.delta);
  }

  get done() {
    return this.stopReason !== "" || this.trees.length >= this.settings.rounds;
  }

  /** Scores in the units of y. */
  restored() {
    const { offset, scale } = this.map;
    const restored = new Float64Array(this.rows);
    for (let i = 0; i < this.rows; i++) restored[i] = offset + scale * this.score[i];
    return restored;
  }

  leastSquares(gradient, hessian, bag) {
    return growTree(this.table, new LeastSquares(gradient, hessian), bag, this.leaves);
  }

  /** The rows of a round, drawn without replacement. */
  bag() {
    if (!this.draws) return this.allRows;
    const rows = this.allRows.slice();
    const random = randomNumbers(1 + this.trees.length);
    const size = Math.max(1, Math.round(this.settings.subsample * this.rows));
    for (let i = 0; i < size; i++) {
      const j = i + Math.floor(random() * (this.rows - i));
      [rows[i], rows[j]] = [rows[j], rows[i]];
    }
    return rows.slice(0, size).sort();
  }

  /** Add one tree. */
  round() {
    const tree = this.step.fit(this, this.bag());
    this.stopReason = this.step.values(this, tree);
    if (this.stopReason === "no tree is better than chance") return;
    for (const leaf of tree.leaves) leaf.value *= this.settings.rate;
    const x = new Float64Array(this.x.length);
    if (this.draws) {
      for (let row = 0; row < this.rows; row++) {
        for (let k = 0; k < x.length; k++) x[k] = this.x[k][row];
        this.score[row] += tree.leafOf(x).value;
      }
    } else {
      for (const leaf of tree.leaves) for (const row of leaf.rows) this.score[row] += leaf.value;
    }
    for (const leaf of tree.leaves) leaf.shown = leaf.value * this.map.scale;
    this.trees.push(tree);
    this.scores.push(this.restored());
    this.loss.derivatives(this.y, this.score, this);
    this.deltas.push(this.delta);
  }

  /** Scores of other points after every round: one array for each number of rounds from 0 on. */
  *scoresOf(columns) {
    const n = columns[0].length;
    const score = new Float64Array(n).fill(this.base);
    const x = new Float64Array(columns.length);
    for (let m = 0; ; m++) {
      yield score.map((f) => this.map.offset + this.map.scale * f);
      while (m >= this.trees.length) yield null; // not fitted yet
      for (let i = 0; i < n; i++) {
        for (let k = 0; k < x.length; k++) x[k] = columns[k][i];
        score[i] += this.trees[m].leafOf(x).value;
      }
    }
  }

  /** What the tree after m rounds is fitted to: gradient and hessian of every row, and its weight. */
  rowsAt(m) {
    const { offset, scale } = this.map;
    const score = this.scores[m].map((f) => (f - offset) / scale);
    const rows = { gradient: new Float64Array(this.rows), hessian: new Float64Array(this.rows), delta: 0 };
    this.loss.derivatives(this.y, score, rows);
    return { ...rows, weight: this.settings.step === "gradient" ? rows.gradient : rows.hessian };
  }

  /** The mean loss of scores in the units of y. */
  meanLoss(y, scores, m) {
    const { offset, scale } = this.map;
    const unit = this.loss.classes ? 1 : this.settings.loss === "absolute_error" ? scale : scale * scale;
    let sum = 0;
    for (let i = 0; i < y.length; i++) sum += this.loss.loss((y[i] - offset) / scale, (scores[i] - offset) / scale, this.deltas[m]);
    return y.length ? (unit * sum) / y.length : NaN;
  }
}

// Trees: best first, every value is a candidate, sums are integers as in the core.
//
// The core of the library packs the gradient and the hessian of every row as integers, so that sums
// do not depend on the order of the rows. The page does the same: its trees have the same splits and
// the same leaf values as those of Python.

const LARGEST_SUM = 2147483647;
const RELATIVE_GAIN = 1e-10; // a smaller gain is a rounding error

/** The features of the training rows: distinct values, the cuts between them, and the rows in order. */
class Table {
  constructor(columns) {
    this.rows = columns[0].length;
    this.features = columns.map((column) => {
      const values = Float64Array.from(new Set(column)).sort();
      const rankOf = new Map(Array.from(values, (value, rank) => [value, rank]));
      const ranks = Int32Array.from(column, (value) => rankOf.get(value));
      const order = Int32Array.from(column, (_, row) => row).sort((a, b) => ranks[a] - ranks[b] || a - b);
      const cuts = Float64Array.from(values.subarray(1), (value, k) => values[k] / 2 + value / 2);
      return { values, ranks, order, cuts };
    });
  }
}

/** The largest power of two by which a sum of rounded terms stays below 2^31. */
function largestScale(total, rows) {
  if (!(total > 0)) return 1;
  const ratio = (LARGEST_SUM - rows) / (total * 1.0001);
  let power = Math.floor(Math.log2(ratio));
  if (2 ** power > ratio) power -= 1;
  if (2 ** (power + 1) <= ratio) power += 1;
  return 2 ** Math.min(Math.max(power, -101), 99);
}

/** Gradients and hessians as integers. */
function pack(gradient, hessian) {
  const n = gradient.length;
  let [sizes, weights] = [0, 0];
  for (let i = 0; i < n; i++) {
    sizes += Math.abs(gradient[i]);
    weights += hessian[i];
  }
  const scales = { gradient: largestScale(sizes, n), hessian: largestScale(weights, n) };
  const packed = { g: new Float64Array(n), h: new Float64Array(n), scales };
  for (let i = 0; i < n; i++) {
    packed.g[i] = Math.floor(Math.fround(gradient[i] * scales.gradient + 0.5));
    packed.h[i] = Math.floor(Math.fround(hessian[i] * scales.hessian + 0.5));
  }
  return packed;
}

/**
 * Least squares with weights: the score of a split is G_L²/H_L + G_R²/H_R, and a leaf has the value -G/H
 * (Chen & Guestrin 2016, eqs. 5 to 7, without penalties).
 */
class LeastSquares {
  constructor(gradient, hessian) {
    this.packed = pack(gradient, hessian);
    this.sides = null;
  }

  start(rows) {
    let [g, h] = [0, 0];
    for (const row of rows) {
      g += this.packed.g[row];
      h += this.packed.h[row];
    }
    return this.sums(g, h);
  }

  sums(g, h) {
    const { gradient, hessian } = this.packed.scales;
    return { g, h, value: h > 0 ? -(g / gradient) / (h / hessian) : 0 };
  }

  splittable(node) {
    return node.h >= 2;
  }

  unsplit({ g, h, value }) {
    const w = value * (this.packed.scales.gradient / this.packed.scales.hessian);
    return -(2 * g * w + h * w * w);
  }

  gain(difference) {
    const { gradient, hessian } = this.packed.scales;
    return 0.5 * difference * (hessian / (gradient * gradient));
  }

  magnitude(node, score) {
    return Math.abs(score);
  }

  /** Start to move rows from the right side to the left one. */
  begin(node) {
    this.node = node;
    this.g = 0;
    this.h = 0;
  }

  /** Move a row; returns whether it has any weight. */
  move(row) {
    this.g += this.packed.g[row];
    this.h += this.packed.h[row];
    return this.packed.h[row] !== 0 || this.packed.g[row] !== 0;
  }

  score() {
    const { g, h, node } = this;
    const [gr, hr] = [node.g - g, node.h - h];
    return h >= 1 && hr >= 1 ? (g * g * hr + gr * gr * h) / (h * hr) : -Infinity;
  }

  left() {
    return this.sums(this.g, this.h);
  }

  right(node, left) {
    return this.sums(node.g - left.g, node.h - left.h);
  }
}

/** Classes with row weights: the decrease of the Gini index, Σ W_k² / W of both sides. */
class Gini {
  constructor(classes, weight) {
    this.classes = classes;
    this.packed = pack(weight, new Float64Array(weight.length).fill(1));
  }

  start(rows) {
    const sums = [0, 0];
    for (const row of rows) sums[this.classes[row]] += this.packed.g[row];
    return { zero: sums[0], one: sums[1], value: 0 };
  }

  splittable({ zero, one }) {
    return zero > 0 && one > 0;
  }

  static purity(zero, one) {
    return zero + one > 0 ? (zero * zero + one * one) / (zero + one) : 0;
  }

  unsplit({ zero, one }) {
    return Gini.purity(zero, one);
  }

  gain(difference) {
    return difference / this.packed.scales.gradient;
  }

  magnitude({ zero, one }) {
    return zero + one;
  }

  begin(node) {
    this.node = node;
    this.zero = 0;
    this.one = 0;
  }

  move(row) {
    if (this.classes[row] === 1) this.one += this.packed.g[row];
    else this.zero += this.packed.g[row];
    return true;
  }

  score() {
    const { zero, one, node } = this;
    return Gini.purity(zero, one) + Gini.purity(node.zero - zero, node.one - one);
  }

  left() {
    return { zero: this.zero, one: this.one, value: 0 };
  }

  right(node, left) {
    return { zero: node.zero - left.zero, one: node.one - left.one, value: 0 };
  }
}

/** The best split of a node; ties go to the first feature and the smallest value. Null: there is none. */
function bestSplit(table, criterion, node, sorted) {
  if (node.end - node.begin < 2 || !criterion.splittable(node.sums)) return null;
  let best = null;
  for (let feature = 0; feature < table.features.length; feature++) {
    const { ranks } = table.features[feature];
    const rows = sorted[feature];
    criterion.begin(node.sums);
    let open = null; // the best split, if it is the last one that was tried: where its gap ends is not known
    for (let i = node.begin; i < node.end;) {
      const rank = ranks[rows[i]];
      let moved = false;
      while (i < node.end && ranks[rows[i]] === rank) moved = criterion.move(rows[i++]) || moved;
      if (!moved) continue;
      if (open) open.next = rank;
      open = null;
      if (i === node.end) break;
      const score = criterion.score();
      if (score > -Infinity && (best === null || score > best.score)) {
        best = open = { feature, score, last: rank, next: rank + 1, left: criterion.left() };
      }
    }
  }
  if (best === null) return null;
  const difference = best.score - criterion.unsplit(node.sums);
  best.gain = criterion.gain(difference);
  if (!(difference > RELATIVE_GAIN * criterion.magnitude(node.sums, best.score) && best.gain > 0)) return null;
  // Of several cuts that divide the rows equally, the middle one.
  best.cut = best.last + ((best.next - best.last) >> 1);
  best.threshold = table.features[best.feature].cuts[best.cut];
  return best;
}

/** Move the rows of the left side before those of the right side, in the order of every feature. */
function divide(sorted, node, goesLeft) {
  const aside = new Int32Array(node.end - node.begin);
  let middle = node.begin;
  for (const rows of sorted) {
    let right = 0;
    middle = node.begin;
    for (let i = node.begin; i < node.end; i++) {
      if (goesLeft(rows[i])) rows[middle++] = rows[i];
      else aside[right++] = rows[i];
    }
    rows.set(aside.subarray(0, right), middle);
  }
  return middle;
}

/** Grow a tree of at most `leaves` leaves; the leaf with the largest gain is split next. */
function growTree(table, criterion, bag, leaves) {
  const inBag = new Uint8Array(table.rows);
  for (const row of bag) inBag[row] = 1;
  const all = bag.length === table.rows;
  const sorted = table.features.map(({ order }) => (all ? order.slice() : order.filter((row) => inBag[row])));
  const root = { begin: 0, end: bag.length, sums: criterion.start(bag), depth: 0 };
  const nodes = [root];
  root.split = bestSplit(table, criterion, root, sorted);
  for (let count = 1; count < leaves; count++) {
    let next = null;
    for (const node of nodes) if (node.split && !node.left && (!next || node.split.gain > next.split.gain)) next = node;
    if (!next) break;
    const { feature, left, cut } = next.split;
    const { ranks } = table.features[feature];
    const middle = divide(sorted, next, (row) => ranks[row] <= cut);
    next.left = { begin: next.begin, end: middle, sums: left, depth: next.depth + 1 };
    next.right = { begin: middle, end: next.end, sums: criterion.right(next.sums, left), depth: next.depth + 1 };
    nodes.push(next.left, next.right);
    if (count + 1 === leaves) break;
    for (const child of [next.left, next.right]) child.split = bestSplit(table, criterion, child, sorted);
  }
  return new Tree(root, nodes.filter((node) => !node.left), sorted[0]);
}

/** A grown tree; a step sets the values of its leaves. */
class Tree {
  constructor(root, leaves, rows) {
    this.root = root;
    this.leaves = leaves;
    for (const leaf of leaves) {
      leaf.rows = rows.slice(leaf.begin, leaf.end).sort();
      leaf.value = leaf.sums.value;
    }
  }

  leafOf(x) {
    let node = this.root;
    while (node.left) node = x[node.split.feature] <= node.split.threshold ? node.left : node.right;
    return node;
  }

  /** visit(leaf, ranges) with the interval (from, to] of every feature. */
  eachRegion(features, visit) {
    const walk = (node, ranges) => {
      if (!node.left) return visit(node, ranges);
      const { feature, threshold } = node.split;
      const [from, to] = ranges[feature];
      walk(node.left, ranges.with(feature, [from, threshold]));
      return walk(node.right, ranges.with(feature, [threshold, to]));
    };
    walk(this.root, Array.from({ length: features }, () => [-Infinity, Infinity]));
  }
}

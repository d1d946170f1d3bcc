// Shapley values of trees: which feature deserves how much of what is said of a row.
//
// One idea: where a feature is unknown rows go both ways, by cover (Lundberg et al. 2020). So the
// value v of a leaf is reached with the product, over the features of its path, of `met` (1 if the
// row meets all their conditions, else 0) for known ones and of `share` (of the training rows that
// do) for the others. If features become known at uniform times, feature i is credited
//
//     v (met_i - share_i) ∫ Π_{j ≠ i} (met_j t + share_j (1 - t)) dt        over [0, 1],
//
// and a quadrature with enough points makes the integral of a polynomial exact.

class Credits {
  constructor(trees, outputs, columns) {
    this.trees = trees;
    this.outputs = outputs;
    this.columns = columns;
    const deepest = trees.depth.reduce((a, b) => Math.max(a, b), 0);
    const most = Math.min(deepest, columns);
    this.length = 0; // how many features the path to a node has
    this.feature = new Int32Array(most);
    for (const name of ["met", "share", "before", "weight"]) this[name] = new Float64Array(most);
    this.quadratures = []; // for paths of n features, once there is one
  }

  // Credits of columns: of column j for output k at j * outputs + k.
  of(row) {
    const credit = new Float64Array(this.columns * this.outputs);
    for (let t = 0; t < this.trees.count; t++) {
      this.#visit(this.trees.start[t], t % this.outputs, row, credit);
    }
    return credit;
  }

  #visit(node, output, row, credit) {
    const { trees, feature, met, share } = this, f = trees.feature[node];
    if (f < 0) return this.#creditLeaf(node, output, credit);
    let i = 0;
    while (i < this.length && feature[i] !== f) i++;
    const isNew = i === this.length;
    const metBefore = isNew ? 1 : met[i], shareBefore = isNew ? 1 : share[i];
    if (isNew) feature[this.length++] = f;
    const left = trees.leftShare(node), goesLeft = trees.goesLeft(node, row[f]);
    met[i] = goesLeft ? metBefore : 0;
    share[i] = shareBefore * left;
    this.#visit(trees.left[node], output, row, credit);
    met[i] = goesLeft ? 0 : metBefore;
    share[i] = shareBefore * (1 - left);
    this.#visit(trees.right[node], output, row, credit);
    met[i] = metBefore;
    share[i] = shareBefore;
    if (isNew) this.length--;
  }

  #creditLeaf(leaf, output, credit) {
    const { length: n, feature, met, share, before, weight, outputs } = this;
    const [points, weights] = (this.quadratures[n] ??= quadrature(Math.ceil(n / 2)));
    weight.fill(0, 0, n);
    for (let q = 0; q < points.length; q++) {
      const t = points[q];
      let product = weights[q];
      for (let i = 0; i < n; i++) {
        before[i] = product;
        product *= met[i] * t + share[i] * (1 - t);
      }
      let behind = 1;
      for (let i = n - 1; i >= 0; i--) {
        weight[i] += before[i] * behind;
        behind *= met[i] * t + share[i] * (1 - t);
      }
    }
    const { width } = this.trees, value = this.trees.arrays.leafValue;
    const at = this.trees.place[leaf] * width;
    for (let i = 0; i < n; i++) {
      const part = (met[i] - share[i]) * weight[i], to = feature[i] * outputs;
      if (width === 1) credit[to + output] += part * value[at];
      else for (let k = 0; k < width; k++) credit[to + k] += part * value[at + k];
    }
  }

  // What trees add to each output when nothing is known of a row.
  expected() {
    const { trees, outputs } = this, { width } = trees, out = new Float64Array(outputs);
    const reached = new Float64Array(trees.left.length);
    for (let t = 0; t < trees.count; t++) {
      reached[trees.start[t]] = 1;
      for (let node = trees.start[t]; node < trees.start[t + 1]; node++) {
        if (trees.feature[node] >= 0) {
          const left = trees.leftShare(node);
          reached[trees.left[node]] = reached[node] * left;
          reached[trees.right[node]] = reached[node] * (1 - left);
          continue;
        }
        for (let k = 0; k < width; k++) {
          const value = trees.arrays.leafValue[trees.place[node] * width + k];
          out[width > 1 ? k : t % outputs] += reached[node] * value;
        }
      }
    }
    return out;
  }
}

// Gauss and Legendre's points and weights on [0, 1]: n of them are exact for degree 2n - 1.
function quadrature(n) {
  const points = new Float64Array(n), weights = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    let x = Math.cos((Math.PI * (i + 0.75)) / (n + 0.5)), slope = 1;
    for (let step = 0; step < 8; step++) {
      let p = 1, last = 0; // the Legendre polynomials of degrees k and k - 1
      for (let k = 1; k <= n; k++) [p, last] = [((2 * k - 1) * x * p - (k - 1) * last) / k, p];
      slope = (n * (x * p - last)) / (x * x - 1);
      x -= p / slope;
    }
    points[i] = (1 + x) / 2;
    weights[i] = 1 / ((1 - x * x) * slope * slope);
  }
  return [points, weights];
}

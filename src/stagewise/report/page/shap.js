// Tree-path-dependent Shapley values of trees.
//
// At a split on a feature outside the coalition both children are followed, weighted by cover
// (Lundberg et al. 2020). So the value v of a leaf is reached with the product, over the features of
// its path, of `met` (1 if the row meets all their conditions, else 0) for features in the coalition
// and of `share` (of the training rows that do) for the others. If features join at uniform random
// times, the Shapley value of feature i is
//
//     v (met_i - share_i) ∫ Π_{j ≠ i} (met_j t + share_j (1 - t)) dt        over [0, 1],
//
// and Gauss-Legendre quadrature with enough points integrates the polynomial exactly.

class TreeShap {
  constructor(trees, outputs, columns) {
    this.trees = trees;
    this.outputs = outputs;
    this.columns = columns;
    const deepest = trees.depth.reduce((a, b) => Math.max(a, b), 0);
    const most = Math.min(deepest, columns);
    this.length = 0; // the number of features on the path
    this.feature = new Int32Array(most);
    for (const name of ["met", "share", "before", "weight"]) this[name] = new Float64Array(most);
    this.quadratures = []; // cached by the number of features
  }

  // Shapley values: that of column j for output k is at j * outputs + k.
  of(row) {
    const values = new Float64Array(this.columns * this.outputs);
    for (let t = 0; t < this.trees.count; t++) {
      this.#visit(this.trees.start[t], t % this.outputs, row, values);
    }
    return values;
  }

  #visit(node, output, row, values) {
    const { trees, feature, met, share } = this, f = trees.feature[node];
    if (f < 0) return this.#addLeaf(node, output, values);
    let i = 0;
    while (i < this.length && feature[i] !== f) i++;
    const isNew = i === this.length;
    const metBefore = isNew ? 1 : met[i], shareBefore = isNew ? 1 : share[i];
    if (isNew) feature[this.length++] = f;
    const left = trees.leftShare(node), goesLeft = trees.goesLeft(node, row[f]);
    met[i] = goesLeft ? metBefore : 0;
    share[i] = shareBefore * left;
    this.#visit(trees.left[node], output, row, values);
    met[i] = goesLeft ? 0 : metBefore;
    share[i] = shareBefore * (1 - left);
    this.#visit(trees.right[node], output, row, values);
    met[i] = metBefore;
    share[i] = shareBefore;
    if (isNew) this.length--;
  }

  #addLeaf(leaf, output, values) {
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
    const { width } = this.trees, leafValue = this.trees.arrays.leafValue;
    const at = this.trees.place[leaf] * width;
    for (let i = 0; i < n; i++) {
      const part = (met[i] - share[i]) * weight[i], to = feature[i] * outputs;
      if (width === 1) values[to + output] += part * leafValue[at];
      else for (let k = 0; k < width; k++) values[to + k] += part * leafValue[at + k];
    }
  }

  // The expected sum of the trees for each output, without any feature.
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

// Gauss-Legendre points and weights on [0, 1]: n points are exact for degree 2n - 1.
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

// The trees of a model as flat arrays.
//
// Nodes are in the order of their numbers, tree after tree and children after their parents. Children
// are numbered through all trees; `place` is the index of a node among the leaves, or among the inner
// nodes, for packed arrays that have only these.

class Trees {
  // arrays: packed by `stagewise.report.exported_model`. nCategories: of each column; falsy: numeric.
  constructor(arrays, nCategories, width) {
    this.arrays = arrays;
    this.nCategories = nCategories;
    this.width = width; // the number of values of a leaf: 1, or one for each output
    this.count = arrays.size.length;
    this.start = new Int32Array(this.count + 1); // the first node of each tree, and the end of the last
    const n = arrays.left.length;
    for (const name of ["left", "right", "feature", "setStart"]) {
      this[name] = new Int32Array(n).fill(-1);
    }
    this.threshold = new Float64Array(n).fill(NaN); // NaN in leaves and categorical splits
    this.missingLeft = new Uint8Array(n);
    this.place = new Int32Array(n);
    this.depth = new Int32Array(n);
    this.#layNodes();
    this.cover = this.#covers();
    this.line = this.#lines(); // the linear model of each leaf, or -1; null: all leaves are constants
  }

  #layNodes() {
    const { size, left, right, feature, missingLeft, threshold, thresholds } = this.arrays;
    const first = this.#firstThresholds();
    let inner = 0, leaves = 0, sets = 0, node = 0;
    for (let t = 0; t < this.count; t++) {
      const begin = node;
      for (; node < begin + size[t]; node++) {
        if (left[node] === 0) {
          this.place[node] = leaves++;
          continue;
        }
        const f = feature[inner];
        const a = begin + left[node], b = right === undefined ? a + 1 : begin + right[inner];
        this.feature[node] = f;
        this.left[node] = a;
        this.right[node] = b;
        this.depth[a] = this.depth[b] = this.depth[node] + 1;
        this.missingLeft[node] = missingLeft[inner];
        if (first[f] < 0) {
          this.setStart[node] = sets;
          sets += (this.nCategories[f] >> 3) + 1;
        } else {
          this.threshold[node] = thresholds[first[f] + threshold[inner]];
        }
        this.place[node] = inner++;
      }
      this.start[t + 1] = node;
    }
  }

  // The first threshold of each column; -1 for a categorical column.
  #firstThresholds() {
    let next = 0;
    return Array.from(this.arrays.thresholdCount, (count, f) => {
      const first = next;
      next += count;
      return this.nCategories[f] ? -1 : first;
    });
  }

  // The covers of all nodes; packed for all nodes, or for leaves if the others are their sums.
  #covers() {
    const packed = this.arrays.cover, n = this.left.length, cover = new Float64Array(n);
    for (let node = n - 1; node >= 0; node--) {
      if (packed.length === n) cover[node] = packed[node];
      else if (this.feature[node] < 0) cover[node] = packed[this.place[node]];
      else cover[node] = cover[this.left[node]] + cover[this.right[node]];
    }
    return cover;
  }

  #lines() {
    const nodes = this.arrays.lineNode;
    if (nodes === undefined) return null;
    const line = new Int32Array(this.left.length).fill(-1);
    nodes.forEach((node, i) => (line[node] = i));
    return line;
  }

  // ---- traversal --------------------------------------------------------------------------------

  leafOf(t, row) {
    const { feature, threshold, left, right } = this;
    let node = this.start[t];
    for (let f = feature[node]; f >= 0; f = feature[node]) {
      const x = row[f], cut = threshold[node];
      node = x <= cut || (!(x > cut) && this.goesLeft(node, x)) ? left[node] : right[node];
    }
    return node;
  }

  // The numbers, within the tree, of the nodes from the root to the leaf.
  path(t, row) {
    const first = this.start[t], nodes = [];
    for (let node = first; ; ) {
      nodes.push(node - first);
      const f = this.feature[node];
      if (f < 0) return nodes;
      node = this.goesLeft(node, row[f]) ? this.left[node] : this.right[node];
    }
  }

  goesLeft(node, x) {
    const cut = this.threshold[node];
    if (x <= cut || x > cut) return x <= cut;
    return x !== x ? this.missingLeft[node] === 1 : this.hasCategory(node, x);
  }

  hasCategory(node, x) {
    const n = this.nCategories[this.feature[node]];
    const category = x >= 0 && x < n ? Math.trunc(x) : n; // n stands for unknown categories
    return ((this.arrays.sets[this.setStart[node] + (category >> 3)] >> (category & 7)) & 1) === 1;
  }

  // The share of the training rows in a node that went left.
  leftShare(node) {
    const left = this.cover[this.left[node]], right = this.cover[this.right[node]];
    return left / (left + right);
  }

  // ---- leaf values ------------------------------------------------------------------------------

  // out += the values of all trees for a row, in their order.
  addScores(row, out) {
    const { width, line, place } = this, value = this.arrays.leafValue, outputs = out.length;
    for (let t = 0; t < this.count; t++) {
      const leaf = this.leafOf(t, row), at = place[leaf] * width;
      if (width > 1) {
        for (let k = 0; k < width; k++) out[k] += value[at + k];
      } else {
        out[t % outputs] += line === null ? value[at] : this.#leafValue(leaf, value[at], row);
      }
    }
  }

  // The value of a leaf that may have a linear model; its constant if that is not a number.
  #leafValue(leaf, constant, row) {
    const i = this.line[leaf], a = this.arrays;
    if (i < 0) return constant;
    let sum = a.lineIntercept[i];
    for (let k = a.lineStart[i]; k < a.lineStart[i + 1]; k++) {
      sum += a.lineSlope[k] * (row[a.lineFeature[k]] - a.lineCentre[k]);
    }
    // An infinite value counts as missing, except in a monotone linear model, where it saturates.
    const most = a.lineBeyond[i] ? Infinity : Number.MAX_VALUE;
    if (!(Math.abs(sum) <= most)) return constant;
    const kept = sum < a.lineLow[i] ? a.lineLow[i] : sum > a.lineHigh[i] ? a.lineHigh[i] : sum;
    const grain = a.lineGrain[i];
    return grain > 0 ? Trees.#roundEven(kept / grain) * grain : kept;
  }

  static #roundEven(x) {
    const down = Math.floor(x), rest = x - down;
    return rest < 0.5 || (rest === 0.5 && down % 2 === 0) ? down : down + 1;
  }

  // The same for a single tree with missing_strategy="probability": rows with a missing value follow both
  // children, weighted by cover. Summed by depth, left children first, as in Python.
  addFractional(row, out) {
    const { width } = this, value = this.arrays.leafValue, sum = new Float64Array(width);
    let front = this.count > 0 ? [[0, 1]] : [];
    while (front.length > 0) {
      const lefts = [], rights = [];
      for (const [node, share] of front) {
        const x = row[this.feature[node]], at = this.place[node] * width;
        if (this.feature[node] < 0) {
          for (let k = 0; k < width; k++) sum[k] += share * value[at + k];
          continue;
        }
        const part = x !== x ? this.leftShare(node) : Number(this.goesLeft(node, x));
        if (part > 0) lefts.push([this.left[node], share * part]);
        if (1 - part > 0) rights.push([this.right[node], share * (1 - part)]);
      }
      front = lefts.concat(rights);
    }
    for (let k = 0; k < width; k++) out[k] += sum[k];
  }
}

// A fitted model in a web page: predictions, trees, Shapley values.
//
// Sums are computed in the same order as in Python, so that scores are identical bit for bit. A row
// is an array of codes, one for each feature; see rows.js. `stagewise.report.exported_model` writes
// the format that is read here.

class Model {
  static datetimes = Datetimes; // formats and parses dates and times
  #facts; // everything except arrays
  #trees;
  #rows;
  #treeShap = null; // created when the first row is explained

  // Opens a parsed payload. `features` are {name, kind: "number", "integer" (too wide for a double) or
  // "category", categories: their labels or null, temporalType: "date", "duration", "time of day" if
  // numbers are nanoseconds, or null}.
  static open(payload) {
    if (payload.format !== 1) {
      throw new Error(`This page reads models of format 1, not of format ${payload.format}.`);
    }
    return new Model(payload, unpack(payload.packed, payload.arrays));
  }

  constructor(facts, arrays) {
    this.#facts = facts;
    this.features = JSON.parse(new TextDecoder().decode(arrays.features));
    const counts = [...this.features, ...facts.derived].map((column) => column.categories?.length);
    this.#trees = new Trees(arrays, counts, facts.width);
    this.#rows = new Rows(this.features, facts, arrays);
    this.outputs = facts.outputs; // the names of the predictions
    this.scoreOutputs = facts.scoreOutputs; // the names of the scores
    this.complete = facts.complete; // false: only the first trees are included, for display
    this.treeCount = facts.treeCount;
    this.nTrees = this.#trees.count;
    this.explainable = facts.reason === null;
    this.reason = facts.reason;
    this.handleUnknown = facts.handleUnknown; // the rule for unknown categories
    this.predictable = facts.link !== null; // false: a custom loss with an unknown link
    this.isIdentity = facts.link?.kind === "identity"; // predictions are scores in units of the target
    this.hasOffset = facts.hasOffset; // whether rows need an offset, a number for each output
  }

  // Encodes the typed value of a feature: {code}, or {error} with a message.
  encode(j, text) {
    return this.#rows.encode(j, text);
  }

  // ---- predicting -------------------------------------------------------------------------------

  // F(x) plus the offset of the row, one number for each output.
  score(codes, rowOffset = null) {
    if (this.hasOffset && rowOffset === null) {
      throw new Error("This model was fitted with an offset or an exposure, so rows need it, too.");
    }
    if (!this.complete) {
      throw new Error(`The page contains ${this.nTrees} of ${this.treeCount} trees, so it cannot predict.`);
    }
    const row = this.#rows.extended(codes), out = new Float64Array(this.#facts.base);
    if (this.#facts.fractionalRows) this.#trees.addFractional(row, out);
    else this.#trees.addScores(row, out);
    if (rowOffset !== null) rowOffset.forEach((value, k) => (out[k] += value));
    return out;
  }

  // The offset of a row in the units of Shapley values.
  offsetTerm(rowOffset) {
    return rowOffset.map((value, k) => this.#facts.scale[k] * value);
  }

  // Predictions from scores: numbers, or the probabilities of all classes.
  predictionOf(score) {
    const { link } = this.#facts;
    if (link === null) {
      throw new Error("The predictions of this loss are not available on a page.");
    }
    const values = LINKS[link.kind](Array.from(score, (s) => s / link.divisor));
    return values.map((s, k) => link.offset[k] + link.scale[k] * s);
  }

  predict(codes, rowOffset = null) {
    return this.predictionOf(this.score(codes, rowOffset));
  }

  // Predictions from sums of Shapley values, whose units are offset + scale * score.
  predictionOfExplained(values) {
    const { offset, scale } = this.#facts;
    return this.predictionOf(Array.from(values, (value, k) => (value - offset[k]) / scale[k]));
  }

  // ---- explaining -------------------------------------------------------------------------------

  // Exact Shapley values: base[k] is the base value, values[j][k] the Shapley value of feature j.
  // Their sum is the score; for a regression in the units of the target.
  explain(codes) {
    if (!this.explainable) throw new Error(this.reason);
    const { base, offset, scale, derived } = this.#facts, n = this.features.length;
    const row = this.#rows.extended(codes), outputs = base.length;
    this.#treeShap ??= new TreeShap(this.#trees, outputs, row.length);
    const shap = this.#treeShap.of(row);
    const values = this.features.map((_, j) => base.map((_, k) => shap[j * outputs + k]));
    // The value of a derived column is divided equally among its source features.
    derived.forEach(({ sources }, d) => {
      for (const j of sources) {
        base.forEach((_, k) => (values[j][k] += shap[(n + d) * outputs + k] / sources.length));
      }
    });
    const expected = this.#treeShap.expected();
    return {
      base: base.map((constant, k) => offset[k] + scale[k] * (constant + expected[k])),
      values: values.map((own) => own.map((value, k) => scale[k] * value)),
    };
  }

  // ---- trees ------------------------------------------------------------------------------------

  // One tree in the units of the data: {nodes, valueKind, names}; see stagewise.export.tree_facts.
  tree(t) {
    const trees = this.#trees, first = trees.start[t], { base, units, width } = this.#facts;
    if (!(t >= 0 && t < this.nTrees)) {
      throw new Error(`There is no tree ${t}; they are numbered from 0 to ${this.nTrees - 1}.`);
    }
    const { valueKind, names, times, offset, scale } = units[t % units.length];
    const { leafValue, innerValue, gain } = trees.arrays;
    const output = width === 1 && base.length > 1 ? t % base.length : null;
    const nodes = Array.from({ length: trees.start[t + 1] - first }, (_, id) => {
      const node = first + id, place = trees.place[node], isLeaf = trees.feature[node] < 0;
      const value = (isLeaf ? leafValue : innerValue).subarray(place * width, (place + 1) * width);
      return {
        id,
        left: isLeaf ? -1 : trees.left[node] - first,
        right: isLeaf ? -1 : trees.right[node] - first,
        feature: trees.feature[node],
        split: isLeaf ? null : this.#split(node),
        value: names.map((_, k) => offset[k] + scale[k] * (times * value[width > 1 ? k : 0])),
        cover: trees.cover[node],
        gain: isLeaf ? 0 : gain[place],
        depth: trees.depth[node],
        output,
        line: trees.line !== null && trees.line[node] >= 0,
      };
    });
    return { nodes, valueKind, names };
  }

  // Rows with a number of at most `threshold` (text for dates, times and integers too wide for a
  // double), or one of `leftCategories`, go left; missing values go left if `missingLeft` (null: both).
  #split(node) {
    const trees = this.#trees, f = trees.feature[node], threshold = trees.threshold[node];
    const missingLeft = this.#facts.fractionalRows ? null : trees.missingLeft[node] === 1;
    if (f >= this.features.length) {
      return { name: this.#facts.derived[f - this.features.length].name, threshold, missingLeft };
    }
    const { name, categories, cuts, temporalType } = this.features[f];
    if (categories === null) {
      const cut = cuts === null || !Number.isFinite(threshold) ? threshold : cuts[Math.floor(threshold)];
      return { name, threshold: temporalType ? Datetimes.formatShort(cut, temporalType, 4) : cut, missingLeft };
    }
    const goes = categories.map((_, k) => trees.hasCategory(node, k));
    const leftCategories = categories.filter((_, k) => goes[k]);
    const rightCategories = categories.filter((_, k) => !goes[k]);
    return { name, leftCategories, rightCategories, missingLeft };
  }

  // The numbers of the nodes on the path of a row, from the root to the leaf.
  path(t, codes) {
    return this.#trees.path(t, this.#rows.extended(codes));
  }
}

// The links, as functions of the scores divided by the divisor.
const LINKS = {
  identity: (score) => score,
  exp: (score) => score.map(Math.exp),
  sigmoid: (score) => score.map((s) => 1 / (1 + Math.exp(-s))),
  labels: (score) => score.flatMap((s) => [1 / (1 + Math.exp(s)), 1 / (1 + Math.exp(-s))]),
  // The expected number of intervals after an event, from the log odds of its hazard in each.
  intervals: (score) => {
    let hazard = 0;
    return [score.reduce((sum, s) => {
      hazard += Math.max(s, 0) + Math.log1p(Math.exp(-Math.abs(s)));
      return sum - Math.expm1(-hazard);
    }, 0)];
  },
  certain: () => [1],
  logistic: ([s]) => [1 / (1 + Math.exp(s)), 1 / (1 + Math.exp(-s))],
  margin: ([s]) => {
    const p = Math.min(Math.max(0.5 + 0.5 * s, 0), 1);
    return [1 - p, p];
  },
  softmax: (score) => {
    const most = Math.max(...score);
    return shares(score.map((s) => Math.exp(s - most)));
  },
  shares: (score) => shares(score.map((s) => Math.max(s, 0))),
};

function shares(parts) {
  const total = parts.reduce((sum, part) => sum + part, 0);
  return parts.map((part) => (total > 0 ? part / total : 1 / parts.length));
}

// Unpacks arrays; see stagewise.report.packing.
function unpack(text, places) {
  const letters = atob(text), zipped = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) zipped[i] = letters.charCodeAt(i);
  const bytes = inflate(zipped);
  const kinds = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, u8: BigUint64Array };
  Object.assign(kinds, { f4: Float32Array, f8: Float64Array });
  const arrays = {};
  let at = 0;
  for (const [name, kind, length] of places) {
    const width = kinds[kind].BYTES_PER_ELEMENT, own = new Uint8Array(length * width);
    // Bytes are grouped: first all first bytes, then all second bytes, and so on.
    for (let b = 0; b < width; b++) {
      for (let i = b; i < own.length; i += width) own[i] = bytes[at++];
    }
    arrays[name] = new kinds[kind](own.buffer);
  }
  return arrays;
}

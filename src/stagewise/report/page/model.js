// A fitted model inside a page: it predicts as Python does, shows its trees, explains rows.
//
// One idea: every sum is made in the order in which Python makes it, so that scores are the same
// bits. A row is an array of codes, one for each feature; see rows.js. Must not touch the page.
// `stagewise.report.exported_model` writes what is read here.

class Model {
  static moments = Moments; // moments in words, and back
  #facts; // what is not an array
  #trees;
  #rows;
  #credits = null; // made when a row is explained

  // The model that a payload holds, as JSON.parse gives it. Its `features` are {name, kind: "number",
  // "integer" (too wide for a double) or "category", levels: what these are called, or null, moment:
  // "date", "duration", "time of day" where numbers are nanoseconds, or null}.
  static async open(payload) {
    if (payload.format !== 1) {
      throw new Error(`This page reads models of format 1, not of format ${payload.format}.`);
    }
    return new Model(payload, await unpack(payload.packed, payload.arrays));
  }

  constructor(facts, arrays) {
    this.#facts = facts;
    this.features = JSON.parse(new TextDecoder().decode(arrays.features));
    const levels = [...this.features, ...facts.derived].map((column) => column.levels?.length);
    this.#trees = new Trees(arrays, levels, facts.width);
    this.#rows = new Rows(this.features, facts, arrays);
    this.outputs = facts.outputs; // what `answer` is about
    this.scoreOutputs = facts.scoreOutputs; // what `score` and `explain` are about
    this.complete = facts.complete; // false: only the first trees are here, to be looked at
    this.treeCount = facts.treeCount;
    this.nTrees = this.#trees.count;
    this.explainable = facts.whyNot === null;
    this.whyNot = facts.whyNot;
    this.onUnseen = facts.onUnseen; // what becomes of a level that no training row had
    this.answerable = facts.link !== null; // false: of a loss of one's own, with a link of its own
  }

  // What a person typed as the value of a feature: {code}, or {error} that says what is wrong.
  encode(j, text) {
    return this.#rows.encode(j, text);
  }

  // ---- predicting -------------------------------------------------------------------------------

  // F(x), one number for each output.
  score(codes) {
    if (!this.complete) {
      throw new Error(`${this.nTrees} of ${this.treeCount} trees are here, which cannot predict.`);
    }
    const row = this.#rows.extended(codes), out = new Float64Array(this.#facts.base);
    if (this.#facts.bothWays) this.#trees.addBothWays(row, out);
    else this.#trees.addScores(row, out);
    return out;
  }

  // What scores predict: numbers, or the probabilities of all classes.
  answer(score) {
    const { link } = this.#facts;
    if (link === null) {
      throw new Error("What the scores of this model's own loss mean is not known on a page.");
    }
    const said = LINKS[link.kind](Array.from(score, (s) => s / link.divisor));
    return said.map((s, k) => link.offset[k] + link.scale[k] * s);
  }

  predict(codes) {
    return this.answer(this.score(codes));
  }

  // ---- explaining -------------------------------------------------------------------------------

  // Exact Shapley values: base[k] is what is said when nothing is known of a row, values[j][k] what
  // feature j adds; together they are the score, of a regression in the units of the target.
  explain(codes) {
    if (!this.explainable) throw new Error(this.whyNot);
    const { base, offset, scale, derived } = this.#facts, n = this.features.length;
    const row = this.#rows.extended(codes), outputs = base.length;
    this.#credits ??= new Credits(this.#trees, outputs, row.length);
    const credit = this.#credits.of(row);
    const values = this.features.map((_, j) => base.map((_, k) => credit[j * outputs + k]));
    // What levels say belongs to the features that these are of, in equal parts.
    derived.forEach(({ sources }, d) => {
      for (const j of sources) {
        base.forEach((_, k) => (values[j][k] += credit[(n + d) * outputs + k] / sources.length));
      }
    });
    const expected = this.#credits.expected();
    return {
      base: base.map((constant, k) => offset[k] + scale[k] * (constant + expected[k])),
      values: values.map((own) => own.map((value, k) => scale[k] * value)),
    };
  }

  // ---- trees ------------------------------------------------------------------------------------

  // One tree in the words and units of the data: {nodes, says, names}; see stagewise.export.tree_facts.
  tree(t) {
    const trees = this.#trees, first = trees.start[t], { base, units, width } = this.#facts;
    if (!(t >= 0 && t < this.nTrees)) {
      throw new Error(`There is no tree ${t}; they are numbered from 0 to ${this.nTrees - 1}.`);
    }
    const { says, names, times, offset, scale } = units[t % units.length];
    const { leafValue, innerValue, gain } = trees.arrays;
    const output = width === 1 && base.length > 1 ? t % base.length : null;
    const nodes = Array.from({ length: trees.start[t + 1] - first }, (_, id) => {
      const node = first + id, place = trees.place[node], isLeaf = trees.feature[node] < 0;
      const told = (isLeaf ? leafValue : innerValue).subarray(place * width, (place + 1) * width);
      return {
        id,
        left: isLeaf ? -1 : trees.left[node] - first,
        right: isLeaf ? -1 : trees.right[node] - first,
        feature: trees.feature[node],
        question: isLeaf ? null : this.#question(node),
        value: names.map((_, k) => offset[k] + scale[k] * (times * told[width > 1 ? k : 0])),
        cover: trees.cover[node],
        gain: isLeaf ? 0 : gain[place],
        depth: trees.depth[node],
        output,
        line: trees.line !== null && trees.line[node] >= 0,
      };
    });
    return { nodes, says, names };
  }

  // Rows with a number of at most `threshold` (a text where integers are too wide for a double, and of
  // moments), or one of `leftLevels`, go left; rows without one do if `missingLeft` (null: these go
  // both ways).
  #question(node) {
    const trees = this.#trees, f = trees.feature[node], threshold = trees.threshold[node];
    const missingLeft = this.#facts.bothWays ? null : trees.missingLeft[node] === 1;
    if (f >= this.features.length) {
      return { name: this.#facts.derived[f - this.features.length].name, threshold, missingLeft };
    }
    const { name, levels, cuts, moment } = this.features[f];
    if (levels === null) {
      const asked = cuts === null || !Number.isFinite(threshold) ? threshold : cuts[Math.floor(threshold)];
      return { name, threshold: moment ? Moments.shortWords(asked, moment, 4) : asked, missingLeft };
    }
    const goes = levels.map((_, level) => trees.hasLevel(node, level));
    const leftLevels = levels.filter((_, level) => goes[level]);
    const rightLevels = levels.filter((_, level) => !goes[level]);
    return { name, leftLevels, rightLevels, missingLeft };
  }

  // The numbers of the nodes that a row passes in a tree, from the root to the leaf.
  path(t, codes) {
    return this.#trees.path(t, this.#rows.extended(codes));
  }
}

// What scores, divided as the link says, mean.
const LINKS = {
  identity: (score) => score,
  exp: (score) => score.map(Math.exp),
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

// The arrays of a text; see stagewise.report.packing.
async function unpack(text, places) {
  const letters = atob(text), zipped = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) zipped[i] = letters.charCodeAt(i);
  const stream = new Blob([zipped]).stream().pipeThrough(new DecompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const kinds = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, u8: BigUint64Array };
  Object.assign(kinds, { f4: Float32Array, f8: Float64Array });
  const arrays = {};
  let at = 0;
  for (const [name, kind, length] of places) {
    const width = kinds[kind].BYTES_PER_ELEMENT, own = new Uint8Array(length * width);
    // The first bytes of all numbers come first, then the second ones, and so on.
    for (let b = 0; b < width; b++) {
      for (let i = b; i < own.length; i += width) own[i] = bytes[at++];
    }
    arrays[name] = new kinds[kind](own.buffer);
  }
  return arrays;
}

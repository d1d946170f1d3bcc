// The scores on a grid after any number of rounds. A tree adds a constant to every rectangle of its
// leaves, so a grid of thousands of cells takes microseconds; copies are kept every few rounds.

const KEPT_EVERY = 16;

/** Numbers in the middle of `size` cells between -1 and 1. */
function cellCentres(size) {
  return Float64Array.from({ length: size }, (_, k) => (2 * k + 1) / size - 1);
}

/** The number of centres that are at most a threshold. */
function countUpTo(centres, threshold) {
  let [low, high] = [0, centres.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (centres[middle] <= threshold) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** visit(leaf, columns, rows) for the cells [from, to) of the region of every leaf. */
function eachRectangle(tree, features, centres, visit) {
  tree.eachRegion(features, (leaf, ranges) => {
    const spans = ranges.map(([from, to]) => [countUpTo(centres, from), countUpTo(centres, to)]);
    visit(leaf, spans[0], features > 1 ? spans[1] : [0, 1]);
  });
}

/** Scores of a boosted model on a grid: of two features a square, of one a line. */
class Surface {
  constructor(boosting, size) {
    this.boosting = boosting;
    this.size = size;
    this.features = boosting.x.length;
    this.centres = cellCentres(size);
    this.cells = this.features > 1 ? size * size : size;
    this.kept = [new Float64Array(this.cells).fill(boosting.base)];
    this.now = this.kept[0].slice();
    this.round = 0;
  }

  /** The scores after m rounds, before they are restored to the units of y. */
  at(m) {
    const copy = Math.min(Math.floor(m / KEPT_EVERY), this.kept.length - 1);
    if (m < this.round || copy * KEPT_EVERY > this.round) {
      this.now.set(this.kept[copy]);
      this.round = copy * KEPT_EVERY;
    }
    while (this.round < m) {
      this.add(this.boosting.trees[this.round]);
      this.round += 1;
      if (this.round === this.kept.length * KEPT_EVERY) this.kept.push(this.now.slice());
    }
    return this.now;
  }

  add(tree) {
    const { now, size } = this;
    eachRectangle(tree, this.features, this.centres, (leaf, [left, right], [bottom, top]) => {
      const { value } = leaf;
      for (let row = bottom; row < top; row++) {
        const end = row * size + right;
        for (let cell = row * size + left; cell < end; cell++) now[cell] += value;
      }
    });
  }
}

// The plane: f as colours or as a curve, the points, and how they are added, moved and removed.

const PAD = { left: 40, right: 12, top: 12, bottom: 34 };
const TICKS = [-1, -0.5, 0, 0.5, 1];
const KEY_STEP = 1 / 64;

class Plane {
  constructor(lab, colours) {
    this.lab = lab;
    this.colours = colours;
    this.image = h("canvas", { class: "image", width: CELLS, height: CELLS, "aria-hidden": "true" });
    this.canvas = h("canvas", { class: "marks", tabindex: 0, role: "application", "aria-label": "Plane with points", "aria-describedby": "plane-help" });
    this.status = h("p", { class: "visually-hidden", role: "status" });
    this.caption = h("p", { class: "note" });
    this.element = h("div", { class: "plane" }, this.image, this.canvas, this.status,
      h("p", { id: "plane-help", class: "visually-hidden" }, HELP));
    this.pixels = new ImageData(CELLS, CELLS);
    this.words = new Uint32Array(this.pixels.data.buffer);
    this.listen();
  }

  // ---- places -----------------------------------------------------------------------------------

  resize() {
    const width = Math.round(this.element.clientWidth);
    const height = Math.round(this.element.clientHeight);
    const ratio = Math.min(window.devicePixelRatio || 1, 3);
    if (this.width === width && this.height === height && this.ratio === ratio) return false;
    Object.assign(this, { width, height, ratio });
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.box = { left: PAD.left, top: PAD.top, width: width - PAD.left - PAD.right, height: height - PAD.top - PAD.bottom };
    const { left, top, width: w, height: t } = this.box;
    this.radius = Math.min(Math.max(w / 105, 3.3), 4.8);
    Object.assign(this.image.style, { left: `${left}px`, top: `${top}px`, width: `${w}px`, height: `${t}px` });
    return true;
  }

  /** Whether the vertical axis has residuals. */
  get residuals() {
    return !this.lab.classes && this.lab.view.show === "tree";
  }

  toX(x) {
    return this.box.left + ((x + 1) / 2) * this.box.width;
  }

  toY(y) {
    return this.box.top + ((1 - y / this.reach) / 2) * this.box.height;
  }

  placeOf(event) {
    const area = this.canvas.getBoundingClientRect();
    const [px, py] = [event.clientX - area.left, event.clientY - area.top];
    const x = ((px - this.box.left) / this.box.width) * 2 - 1;
    const y = 1 - ((py - this.box.top) / this.box.height) * 2;
    return { px, py, x, y, inside: Math.abs(x) <= 1 && Math.abs(y) <= 1 };
  }

  /** The nearest point within reach of the pointer, or -1. */
  hit({ px, py }, reach) {
    let [best, least] = [-1, reach * reach];
    this.lab.points.forEach((point, i) => {
      const d = (this.toX(point.x) - px) ** 2 + (this.toY(point.y) - py) ** 2;
      if (d <= least) [best, least] = [i, d];
    });
    return best;
  }

  // ---- pointer and keys -------------------------------------------------------------------------

  listen() {
    const { canvas, lab } = this;
    const reach = (event) => (event.pointerType === "touch" ? 22 : 11);
    let drag = null;
    canvas.addEventListener("touchstart", (event) => {
      // A finger on a point moves the point; elsewhere it scrolls the page.
      if (!this.residuals && this.hit(this.placeOf(event.touches[0]), 22) >= 0) event.preventDefault();
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || this.residuals) return;
      const place = this.placeOf(event);
      drag = { index: this.hit(place, reach(event)), from: place, moved: false };
      if (drag.index >= 0) {
        canvas.setPointerCapture(event.pointerId);
        lab.select(drag.index);
      }
    });
    canvas.addEventListener("pointermove", (event) => {
      const place = this.placeOf(event);
      if (!drag) {
        canvas.style.cursor = this.residuals ? "default" : this.hit(place, reach(event)) >= 0 ? "grab" : "crosshair";
        return;
      }
      if (Math.hypot(place.px - drag.from.px, place.py - drag.from.py) > 5) drag.moved = true;
      if (drag.index < 0 || !drag.moved) return;
      canvas.style.cursor = "grabbing";
      lab.edit(drag.index, { x: snap(place.x), y: snap(place.y) });
    });
    canvas.addEventListener("pointerup", (event) => {
      const place = this.placeOf(event);
      if (drag && drag.index < 0 && !drag.moved && place.inside) this.add(place.x, place.y);
      else if (drag && drag.index >= 0) this.announce();
      drag = null;
    });
    canvas.addEventListener("pointercancel", () => {
      drag = null;
    });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  add(x, y) {
    if (this.lab.add(x, y)) this.announce();
    else this.status.textContent = FULL;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.residuals) return;
    const { lab } = this;
    const point = lab.points[lab.selected];
    const step = event.shiftKey ? 1 / 256 : KEY_STEP;
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (moves[name]) {
      if (point) lab.edit(lab.selected, { x: snap(point.x + moves[name][0]), y: snap(point.y + moves[name][1]) });
      else if (lab.points.length) lab.select(0);
    } else if (name === "n") {
      event.preventDefault();
      this.add(point ? point.x + 1 / 16 : 0, point ? point.y : 0); // announces the point, or that there is no room
      return;
    } else if ((name === "Delete" || name === "Backspace") && point) lab.remove(lab.selected);
    else if (name === "c" && point && lab.classes) lab.edit(lab.selected, { label: 1 - point.label });
    else if (name === "PageDown" || name === "PageUp") {
      const n = lab.points.length;
      if (n) lab.select((lab.selected + (name === "PageDown" ? 1 : n - 1) + n) % n);
    } else if (name === "Escape") lab.select(-1);
    else return;
    event.preventDefault();
    this.announce();
  }

  announce() {
    const { lab } = this;
    const point = lab.points[lab.selected];
    if (!point) this.status.textContent = `${lab.points.length} points, none selected.`;
    else {
      const label = lab.classes ? `, class ${point.label ? "+1" : "−1"}` : "";
      this.status.textContent = `Point ${lab.selected + 1} of ${lab.points.length}: ${formatNumber(point.x, 3)}, ${formatNumber(point.y, 3)}${label}.`;
    }
  }

  // ---- drawing ----------------------------------------------------------------------------------

  draw() {
    this.reach = 1;
    const { lab, canvas, ratio } = this;
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    this.image.style.visibility = lab.classes ? "visible" : "hidden";
    if (lab.classes) this.paint();
    else if (this.residuals) this.reach = this.residualReach();
    this.axes(pen);
    pen.save();
    pen.beginPath();
    pen.rect(this.box.left, this.box.top, this.box.width, this.box.height);
    pen.clip();
    if (lab.classes && lab.view.show === "tree") this.borders(pen);
    else if (lab.classes) this.zeroLine(pen);
    if (!lab.classes && !this.residuals) this.stems(pen);
    if (lab.view.tests && !this.residuals) this.tests(pen);
    pen.restore();
    this.points(pen);
    if (!lab.classes) this.curve(pen);
    this.caption.textContent = lab.points.length < MOST_POINTS ? captionOf(lab) : `${captionOf(lab)} ${FULL}`;
    this.canvas.setAttribute("aria-label", `Plane with ${amount(lab.points.length, "point")}`);
  }

  axes(pen) {
    const { left, top, width, height } = this.box;
    const { colours, lab } = this;
    if (!lab.classes) {
      pen.fillStyle = colours.css("card");
      pen.fillRect(left, top, width, height);
    }
    pen.font = "11.5px system-ui, sans-serif";
    pen.fillStyle = colours.css("soft");
    pen.strokeStyle = colours.css("line");
    pen.textBaseline = "middle";
    for (const tick of TICKS) {
      const [x, y] = [this.toX(tick), this.toY(tick * this.reach)];
      pen.textAlign = "center";
      pen.fillText(formatNumber(tick, 2), x, top + height + 12);
      pen.textAlign = "right";
      pen.fillText(formatNumber(tick * this.reach, 2), left - 6, y);
      if (lab.classes) continue;
      pen.beginPath();
      pen.moveTo(left, y);
      pen.lineTo(left + width, y);
      pen.moveTo(x, top);
      pen.lineTo(x, top + height);
      pen.stroke();
    }
    pen.textAlign = "center";
    pen.fillText(lab.classes ? "x₁" : "x", left + width / 2, top + height + 25);
    pen.save();
    pen.translate(9, top + height / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(lab.classes ? "x₂" : this.residuals ? "y − f before the round" : "y", 0, 0);
    pen.restore();
    pen.strokeRect(left, top, width, height);
  }

  /** f, its sign or the current tree as colours. */
  paint() {
    const { lab, words, colours } = this;
    const { shown, view, round } = lab;
    const { table } = colours;
    if (!shown) words.fill(table[128]);
    else if (view.show === "tree") this.paintTree(shown.boosting.trees[round - 1]);
    else {
      const scores = shown.surface.at(round);
      // tanh of f, or of f/2: twice the probability less 1.
      const unit = lab.settings.loss === "exponential" ? 1 : 0.5;
      const sign = view.show === "sign";
      for (let row = 0; row < CELLS; row++) {
        const out = (CELLS - 1 - row) * CELLS;
        for (let k = 0, cell = row * CELLS; k < CELLS; k++, cell++) {
          const f = scores[cell];
          words[out + k] = table[sign ? (f > 0 ? 194 : 62) : Math.round(128 + 128 * tanh(unit * f))];
        }
      }
    }
    this.image.getContext("2d").putImageData(this.pixels, 0, 0);
  }

  paintTree(tree) {
    const { words, colours } = this;
    words.fill(colours.table[128]);
    if (!tree) return;
    const most = Math.max(...tree.leaves.map((leaf) => Math.abs(leaf.value))) || 1;
    eachRectangle(tree, 2, this.lab.shown.surface.centres, (leaf, [left, right], [bottom, top]) => {
      const pixel = colours.table[Math.round(128 + (112 * leaf.value) / most)];
      for (let row = bottom; row < top; row++) {
        const out = (CELLS - 1 - row) * CELLS;
        words.fill(pixel, out + left, out + right);
      }
    });
  }

  /** The line f = 0, along the edges of the cells. */
  zeroLine(pen) {
    const { shown, round } = this.lab;
    if (!shown) return;
    const scores = shown.surface.at(round);
    const edge = (k) => (2 * k) / CELLS - 1;
    pen.strokeStyle = this.colours.css("ink");
    pen.lineWidth = 1.6;
    pen.lineCap = "square";
    pen.beginPath();
    // Edges behind a column (stride 1) and above a row (stride CELLS), joined where they continue.
    for (const [across, along] of [[1, CELLS], [CELLS, 1]]) {
      for (let k = 0; k + 1 < CELLS; k++) {
        let start = -1;
        for (let j = 0; j <= CELLS; j++) {
          const cell = k * across + j * along;
          const differs = j < CELLS && scores[cell] > 0 !== scores[cell + across] > 0;
          if (differs && start < 0) start = j;
          if (differs || start < 0) continue;
          const ends = [[edge(k + 1), edge(start)], [edge(k + 1), edge(j)]].map((end) => (across === 1 ? end : end.reverse()));
          pen.moveTo(this.toX(ends[0][0]), this.toY(ends[0][1]));
          pen.lineTo(this.toX(ends[1][0]), this.toY(ends[1][1]));
          start = -1;
        }
      }
    }
    pen.stroke();
  }

  /** The borders between the regions of the current tree. */
  borders(pen) {
    const tree = this.lab.shown?.boosting.trees[this.lab.round - 1];
    if (!tree) return;
    pen.strokeStyle = this.colours.css("ink", 0.75);
    pen.lineWidth = 1.5;
    tree.eachRegion(2, (_, [[left, right], [bottom, top]]) => {
      const [x, y] = [this.toX(Math.max(left, -2)), this.toY(Math.min(top, 2))];
      pen.strokeRect(x, y, this.toX(Math.min(right, 2)) - x, this.toY(Math.max(bottom, -2)) - y);
    });
  }

  residualReach() {
    const { shown, round } = this.lab;
    if (!shown || round === 0) return 1;
    const scores = shown.boosting.scores[round - 1];
    let most = 0;
    shown.train.y.forEach((y, i) => {
      most = Math.max(most, Math.abs(y - scores[i]));
    });
    return most > 0 ? most * 1.08 : 1;
  }

  /** The residuals of a regression as thin lines. */
  stems(pen) {
    const { shown, round } = this.lab;
    if (!shown) return;
    const fitted = shown.boosting.scores[round];
    pen.strokeStyle = this.colours.css("faint", 0.45);
    pen.lineWidth = 1;
    pen.beginPath();
    shown.train.y.forEach((y, i) => {
      const x = this.toX(shown.train.x[0][i]);
      pen.moveTo(x, this.toY(y));
      pen.lineTo(x, this.toY(fitted[i]));
    });
    pen.stroke();
  }

  /** f of a regression, or what the current tree adds before shrinkage. */
  curve(pen) {
    const { lab, colours } = this;
    const { shown, round } = lab;
    if (!shown || (this.residuals && round === 0)) return;
    const { boosting, surface } = shown;
    const line = (heightAt, colour, width, dash = []) => {
      pen.beginPath();
      for (let k = 0; k < surface.size; k++) {
        const y = this.toY(heightAt(k));
        pen.lineTo(this.toX((2 * k) / surface.size - 1), y);
        pen.lineTo(this.toX((2 * k + 2) / surface.size - 1), y);
      }
      pen.setLineDash(dash);
      pen.lineWidth = width;
      pen.strokeStyle = colour;
      pen.stroke();
      pen.setLineDash([]);
    };
    if (this.residuals) {
      const tree = boosting.trees[round - 1];
      const steps = Array.from(surface.centres, (x) => tree.leafOf([x]).shown);
      line((k) => steps[k] / lab.settings.rate, colours.css("other"), 2.5);
      line((k) => steps[k], colours.css("other"), 1.5, [5, 4]);
      return;
    }
    const { offset, scale } = boosting.map;
    const scores = surface.at(round);
    line((k) => offset + scale * scores[k], colours.css("other"), 2.5);
  }

  tests(pen) {
    const { lab, colours } = this;
    const { x, y } = lab.test;
    pen.lineWidth = 1.1;
    for (let i = 0; i < y.length; i++) {
      pen.strokeStyle = colours.css(lab.classes ? colours.label(y[i]) : "third", 0.85);
      mark(pen, this.toX(x[0][i]), this.toY(lab.classes ? x[1][i] : y[i]), 2.4, lab.classes && y[i] === 0);
      pen.stroke();
    }
  }

  points(pen) {
    const { lab, colours, residuals } = this;
    const { shown, round, points, view } = lab;
    const fresh = shown && shown.train.y.length === points.length;
    const before = fresh && residuals ? shown.boosting.scores[Math.max(round - 1, 0)] : null;
    const scores = fresh ? shown.boosting.scores[round] : null;
    const sizes = view.sizes && fresh ? relativeWeights(shown.boosting, round) : null;
    points.forEach((point, i) => {
      const square = lab.classes && !point.label;
      const [x, y] = [this.toX(point.x), this.toY(before ? point.y - before[i] : point.y)];
      const r = sizes ? Math.min(Math.max(this.radius * Math.sqrt(sizes[i]), 1.7), 3.2 * this.radius) : this.radius;
      pen.fillStyle = colours.css(lab.classes ? colours.label(point.label) : "accent", lab.classes ? 1 : 0.8);
      const wrong = lab.classes && scores && scores[i] > 0 !== (point.label === 1);
      pen.strokeStyle = wrong ? colours.css("ink") : colours.css("card");
      pen.lineWidth = Math.min(wrong ? 2 : 1.2, r / 3);
      mark(pen, x, y, r, square);
      pen.fill();
      pen.stroke();
      if (i === lab.selected) {
        pen.strokeStyle = colours.css("ink");
        pen.lineWidth = 2;
        pen.beginPath();
        pen.arc(x, y, r + 5, 0, 2 * Math.PI);
        pen.stroke();
      }
    });
  }
}

/** A circle, or a diamond of the same area. */
function mark(pen, x, y, r, diamond) {
  pen.beginPath();
  if (!diamond) {
    pen.arc(x, y, r, 0, 2 * Math.PI);
    return;
  }
  const half = r * 1.25;
  pen.moveTo(x, y - half);
  pen.lineTo(x + half, y);
  pen.lineTo(x, y + half);
  pen.lineTo(x - half, y);
  pen.closePath();
}

/** A fast tanh, accurate to a hundredth: only for colours. */
function tanh(x) {
  if (x > 3) return 1;
  if (x < -3) return -1;
  return (x * (27 + x * x)) / (27 + 9 * x * x);
}

/** What the next tree is fitted to, relative to its mean: row weights, or absolute gradients. */
function relativeWeights(boosting, m) {
  const rows = boosting.rowsAt(m);
  const values = rows.weight.map(Math.abs);
  const mean = sumOf(values.keys(), values) / values.length || 1;
  return values.map((value) => value / mean);
}

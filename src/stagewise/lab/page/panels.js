// The panels beside the plane: learning curves, margins, the current tree and the selected point.

/** Learning curves; the marker of the current round moves without drawing them again. */
class CurvesPanel {
  constructor(lab) {
    this.lab = lab;
    this.kind = new Choice("loss");
    this.readings = h("dl", { class: "readings" });
    this.figure = figure(null, (width) => this.draw(width), { class: "curves" });
    this.choose = buttons("Curve", [["loss", "loss"], ["error", "error"]], this.kind);
    this.element = h("section", { class: "panel", "aria-label": "Learning curves" },
      h("div", { class: "head" }, h("h2", {}, "Learning curves"), this.choose),
      legend([["training", "train"], ["test", "test"]]), this.figure, this.readings);
    this.kind.watch(() => this.refit());
  }

  refit() {
    this.figure.redraw();
    this.move();
  }

  draw(width) {
    const { shown } = this.lab;
    const last = Math.max(shown?.rounds ?? ROUNDS, 1);
    const curves = shown?.curves ?? { trainLoss: [], testLoss: [], trainError: [], testError: [] };
    const [train, test] = this.kind.value === "loss" ? [curves.trainLoss, curves.testLoss] : [curves.trainError, curves.testError];
    this.values = [train, test];
    // Losses far above the first one leave the chart, so that they do not hide the rest.
    const largest = train.length ? Math.max(...train, ...test, 1e-9) : 1;
    const most = Math.min(largest, 2.5 * Math.max(train[0] ?? 1, test[0] ?? 1));
    this.chart = new Chart(width, 190, { x: [0, last], y: [0, most * 1.04], right: 10, top: 8, bottom: 40, label: "Training and test curves", whole: true })
      .axes({ xLabel: "round" });
    const rounds = train.map((_, m) => m);
    const inside = (value) => (value <= most * 1.04 ? value : NaN);
    this.chart.line(rounds, train.map(inside), { class: "train" });
    this.chart.line(rounds, test.map(inside), { class: "test" });
    this.rule = g("line", { class: "rule", y1: this.chart.box.top, y2: this.chart.box.bottom });
    this.dots = ["train", "test"].map((name) => g("circle", { class: `dot ${name}`, r: 4 }));
    this.chart.add(this.rule, ...this.dots);
    this.most = most;
    this.move();
    return this.chart.svg;
  }

  move() {
    const { shown, round, classes } = this.lab;
    if (!this.chart) return;
    const x = this.chart.x(round);
    this.rule.setAttribute("x1", x);
    this.rule.setAttribute("x2", x);
    this.dots.forEach((dot, i) => {
      const value = this.values[i][round];
      dot.setAttribute("cx", x);
      dot.setAttribute("cy", this.chart.y(Math.min(value ?? 0, this.most)));
      dot.setAttribute("visibility", value <= this.most * 1.04 ? "visible" : "hidden");
    });
    const at = (name) => shown?.curves[name][round] ?? NaN;
    const error = (name) => (classes ? share(at(name), 3) : formatNumber(at(name), 3));
    const cells = [["training loss", formatNumber(at("trainLoss"), 3)], ["test loss", formatNumber(at("testLoss"), 3)],
      [classes ? "training error" : "training RMSE", error("trainError")], [classes ? "test error" : "test RMSE", error("testError")]];
    this.readings.replaceChildren(...cells.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  }
}

const BINS = 26;

/** The distribution of margins, or of residuals, of training and test points. */
class MarginsPanel {
  constructor(lab) {
    this.lab = lab;
    this.reach = 1;
    this.title = h("h2", {});
    this.note = h("p", { class: "note" });
    this.figure = figure(null, (width) => this.draw(width), { class: "margins" });
    this.element = h("section", { class: "panel", "aria-label": "Margins" }, this.title, this.figure, this.note);
  }

  /** Margins y f(x), or residuals y - f(x). */
  numbers(sample, scores) {
    return sample.classes
      ? scores.map((f, i) => (sample.y[i] ? f : -f))
      : scores.map((f, i) => sample.y[i] - f);
  }

  refit() {
    this.title.textContent = this.lab.classes ? "Margins y·f(x)" : "Residuals y − f(x)";
    this.figure.redraw();
  }

  /** The end of the axis: a round number above the margins of the training points. */
  reachOf(numbers) {
    const most = numbers.reduce((largest, value) => Math.max(largest, Math.abs(value)), 1e-3);
    const power = 10 ** Math.floor(Math.log10(most));
    return power * [1, 2, 3, 5, 10].find((m) => m * power >= most);
  }

  draw(width) {
    const { reach } = this;
    this.chart = new Chart(width, 158, { x: [-reach, reach], y: [0, 1], left: 8, right: 8, top: 6, bottom: 38,
      label: this.lab.classes ? "Histogram of margins" : "Histogram of residuals" });
    this.chart.axes({ ys: [], xLabel: this.lab.classes ? "margin" : "residual" });
    const step = (2 * reach) / BINS;
    this.bars = Array.from({ length: BINS }, (_, k) => {
      const x = this.chart.x(-reach + k * step) + 1;
      const wrong = this.lab.classes && k < BINS / 2;
      const bar = g("rect", { class: wrong ? "bar wrong" : "bar", x, width: Math.max(this.chart.x(-reach + (k + 1) * step) - x, 1), rx: 1 });
      this.chart.add(bar);
      return bar;
    });
    this.outline = g("path", { class: "line test" });
    this.chart.add(this.outline);
    this.chart.rule({ x: 0, class: "solid" });
    this.move();
    return this.chart.svg;
  }

  counts(numbers) {
    const counts = new Float64Array(BINS);
    for (const value of numbers) {
      const k = Math.floor(((value + this.reach) / (2 * this.reach)) * BINS);
      counts[Math.min(Math.max(k, 0), BINS - 1)] += 1 / numbers.length;
    }
    return counts;
  }

  move() {
    const { shown, round, classes } = this.lab;
    if (!this.chart) return;
    if (!shown) {
      this.note.textContent = "";
      return;
    }
    const own = this.numbers(shown.train, shown.boosting.scores[round]);
    const reach = this.reachOf(own);
    if (reach !== this.reach) {
      this.reach = reach;
      this.figure.redraw();
      return;
    }
    const counts = [this.counts(own), this.counts(this.numbers(shown.test, shown.testScores[round]))];
    const most = Math.max(...counts[0], ...counts[1]);
    const { top, bottom } = this.chart.box;
    this.bars.forEach((bar, k) => {
      const tall = (counts[0][k] / most) * (bottom - top);
      bar.setAttribute("y", bottom - tall);
      bar.setAttribute("height", tall);
    });
    let path = `M${this.chart.x(-this.reach).toFixed(1)} ${bottom}`;
    const step = (2 * this.reach) / BINS;
    counts[1].forEach((part, k) => {
      const y = (bottom - (part / most) * (bottom - top)).toFixed(1);
      path += `L${this.chart.x(-this.reach + k * step).toFixed(1)} ${y}L${this.chart.x(-this.reach + (k + 1) * step).toFixed(1)} ${y}`;
    });
    this.outline.setAttribute("d", `${path}L${this.chart.x(this.reach).toFixed(1)} ${bottom}`);
    const least = Math.min(...own);
    const outside = this.numbers(shown.test, shown.testScores[round]).some((value) => Math.abs(value) > this.reach);
    this.note.textContent = (classes ? `Left of 0: misclassified. The smallest training margin is ${formatNumber(least, 3)}. ` : "")
      + `Bars: training points; line: test points${outside ? "; those beyond an end are counted there" : ""}.`;
  }
}

const LEAF_WIDTH = 65;

/** The current tree as a drawing. */
class TreePanel {
  constructor(lab) {
    this.lab = lab;
    this.title = h("h2", {});
    this.note = h("p", { class: "note" });
    this.more = h("p", { class: "note", hidden: true }, "The tree is wider than the page: scroll it sideways.");
    this.figure = figure(null, (width) => this.draw(width), { class: "tree-figure" });
    this.element = h("section", { class: "panel", "aria-label": "Tree" }, this.title, this.figure, this.more, this.note);
  }

  refit() {
    this.move();
  }

  move() {
    const { round, shown } = this.lab;
    this.title.textContent = round ? `Tree ${round}` : "No tree yet";
    const tree = shown?.boosting.trees[round - 1];
    const error = tree?.error === undefined ? "" : ` Its weighted error is ${share(tree.error, 3).replace(" ", "\u00a0")}.`;
    this.note.textContent = round ? `A leaf shows what it adds to f, and its number of rows.${error}` : shown ? "f is a constant." : "There is no model without points.";
    this.figure.redraw();
  }

  draw(width) {
    const { shown, round, classes } = this.lab;
    const tree = shown?.boosting.trees[round - 1];
    this.more.hidden = true;
    if (!tree) return g("svg", { viewBox: `0 0 ${width} 8`, role: "img", "aria-label": "No tree" });
    const depth = Math.max(...tree.leaves.map((leaf) => leaf.depth));
    const [gap, top] = [46, 14];
    // A tree that is wider than its panel is scrolled, so that its leaves do not overlap.
    const wide = Math.max(width, tree.leaves.length * LEAF_WIDTH);
    this.more.hidden = wide <= width;
    const tall = top + depth * gap + 32;
    const svg = g("svg", { viewBox: `0 0 ${wide} ${tall}`, style: { width: `${wide}px` }, role: "img", "aria-label": this.words(tree) });
    const [edges, boxes] = [g("g", {}), g("g", {})];
    const slot = wide / tree.leaves.length;
    let next = 0;
    const most = Math.max(...tree.leaves.map((leaf) => Math.abs(leaf.value))) || 1;
    const place = (node) => {
      const y = top + node.depth * gap;
      if (!node.left) {
        const x = (next++ + 0.5) * slot;
        const part = Math.abs(node.value) / most;
        const box = Math.min(slot - 3, 76);
        boxes.append(g("rect", { class: node.value > 0 ? "leaf up" : "leaf down", x: x - box / 2, y: y - 11, width: box, height: 34, rx: 7, style: { "--part": part.toFixed(3) } }),
          g("text", { class: "leaf-value", x, y: y + 4, "text-anchor": "middle" }, signed(node.shown, 2)),
          g("text", { class: "leaf-rows", x, y: y + 17, "text-anchor": "middle" }, String(node.rows.length)));
        return x;
      }
      const [a, b] = [place(node.left), place(node.right)];
      const x = (a + b) / 2;
      for (const child of [a, b]) edges.append(g("path", { class: "edge", d: `M${x} ${y + 6}C${x} ${y + 26} ${child} ${y + 14} ${child} ${y + gap - 11}` }));
      const name = classes ? ["x₁", "x₂"][node.split.feature] : "x";
      boxes.append(g("text", { class: "split", x, y: y + 4, "text-anchor": "middle" }, `${name} ≤ ${formatNumber(node.split.threshold, 3)}`));
      return x;
    };
    place(tree.root);
    svg.append(edges, boxes);
    return svg;
  }

  words(tree) {
    return `Tree with ${amount(tree.leaves.length, "leaf").replace("leafs", "leaves")}; leaf values ${tree.leaves.map((leaf) => formatNumber(leaf.shown, 3)).join(", ")}`;
  }
}

/** The selected point: coordinates, score, margin or residual, and weight. */
class PointPanel {
  constructor(lab) {
    this.lab = lab;
    this.list = h("dl", { class: "readings" });
    this.flip = h("button", { type: "button", onclick: () => {
      const point = lab.points[lab.selected];
      lab.edit(lab.selected, { label: 1 - point.label });
    } }, "Other class");
    this.remove = h("button", { type: "button", onclick: () => lab.remove(lab.selected) }, "Delete");
    this.hint = h("p", { class: "note" }, "Click a point of the plane to select it. Click elsewhere to add one.");
    const keys = h("details", { class: "note" }, h("summary", {}, "Keys on the plane"), h("dl", { class: "keys" },
      KEYS.map(([key, effect]) => h("div", {}, h("dt", {}, key), h("dd", {}, effect)))));
    this.element = h("section", { class: "panel point", "aria-label": "Selected point" }, h("h2", {}, "Selected point"),
      this.hint, this.list, h("div", { class: "row" }, this.flip, this.remove), keys);
  }

  refit() {
    this.move();
  }

  move() {
    const { lab } = this;
    const { shown, round, selected, points, classes } = lab;
    const point = points[selected];
    this.hint.hidden = Boolean(point);
    this.list.hidden = this.remove.hidden = !point;
    this.flip.hidden = !point || !classes;
    if (!point) return;
    const cells = classes
      ? [["x₁, x₂", `${formatNumber(point.x, 3)}, ${formatNumber(point.y, 3)}`], ["class y", point.label ? "+1" : "−1"]]
      : [["x", formatNumber(point.x, 3)], ["y", formatNumber(point.y, 3)]];
    if (shown && shown.train.y.length === points.length) {
      const f = shown.boosting.scores[round][selected];
      const rows = shown.boosting.rowsAt(round);
      Object.assign(this.list.dataset, { x: point.x, y: point.y, score: f });
      cells.push(["f(x)", formatNumber(f, 4)], classes ? ["margin y·f", formatNumber(point.label ? f : -f, 4)] : ["residual y − f", formatNumber(point.y - f, 4)]);
      const scale = shown.boosting.map.scale;
      if (shown.boosting.settings.step === "gradient") cells.push(["−gradient", formatNumber(-rows.gradient[selected] * (classes || lab.settings.loss === "absolute_error" ? 1 : scale), 3)]);
      else cells.push(["weight / mean", formatNumber((rows.weight[selected] * points.length) / sumOf(rows.weight.keys(), rows.weight), 3)]);
    }
    this.list.replaceChildren(...cells.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  }
}

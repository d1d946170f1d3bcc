// Charts as SVG: scales, axes and marks. Colours come from style.css, so that charts follow the
// theme and print styles. A chart is redrawn when its width changes, so that text stays legible
// on a small screen.

const LOW_HIGH = ["#2f74c9", "#8d84b5", "#e0642c"];
const SURFACE = ["#f6f0d8", "#bfdcae", "#6dbaa4", "#368ca3", "#2b5f8e", "#243a6b", "#1c1f45"];

/** Interpolate colours for a part from 0 to 1. */
function blend(colours, part) {
  const at = Math.min(Math.max(part, 0), 1) * (colours.length - 1);
  const k = Math.min(Math.floor(at), colours.length - 2);
  const channel = (colour, c) => parseInt(colour.slice(1 + 2 * c, 3 + 2 * c), 16);
  const mixed = [0, 1, 2].map((c) =>
    Math.round(channel(colours[k], c) + (at - k) * (channel(colours[k + 1], c) - channel(colours[k], c))));
  return `rgb(${mixed.join(" ")})`;
}

/** A linear scale from numbers to pixels. */
function scale([least, most], [from, to]) {
  // Halves, so that differences do not overflow.
  const span = most / 2 - least / 2 || 1;
  const place = (x) => from + ((x / 2 - least / 2) / span) * (to - from);
  place.back = (pixel) => 2 * (least / 2 + ((pixel - from) / (to - from)) * span);
  return place;
}

/** About this many round numbers between two ends. */
function ticks(least, most, about = 5) {
  const rough = (most / 2 - least / 2) / (about / 2);
  if (!(rough > 1e-12 * Math.max(Math.abs(least), Math.abs(most))) || !Number.isFinite(rough)) return [least];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? 10 * power;
  const first = Math.ceil(least / step - 1e-9);
  const found = [];
  // Counted from the first one: adding a small step to a large number may not change it.
  for (let k = 0; k <= 4 * about; k++) {
    const t = Number(((first + k) * step).toPrecision(12));
    if (t > most + step * 1e-9) break;
    found.push(t);
  }
  return found.length ? found : [least];
}

/** A bar of so many times the length of the median bar is cut: the others could not be compared. */
const FAR_BAR = 8;

/** The range of numbers, with a margin. */
function ends(numbers, air = 0.04) {
  let [least, most] = [Infinity, -Infinity];
  for (const x of numbers) {
    if (x < least) least = x;
    if (x > most) most = x;
  }
  if (!(most >= least)) return [0, 1];
  const margin = most > least ? (most - least) * air : Math.abs(most) * 0.05 || 1;
  return [least - margin, most + margin];
}

/** The range without numbers that are far from most others, with a margin; see axis_limits.py. */
function robustEnds(numbers, air = 0.04) {
  const sorted = Float64Array.from(numbers).filter(Number.isFinite).sort();
  const n = sorted.length;
  const trimmed = Math.max(1, Math.floor(n / 100));
  const [low, high] = [sorted[trimmed], sorted[n - 1 - trimmed]];
  if (n < 10 || !(high > low)) return ends(sorted, air);
  const span = high - low;
  return ends(sorted.filter((x) => x >= low - span && x <= high + span), air);
}

/** The largest bar that is not cut: one that is not far longer than the median bar; Infinity: no bar is. */
function longestBar(lengths) {
  const sorted = Float64Array.from(lengths).filter(Number.isFinite).sort();
  const most = FAR_BAR * sorted[(sorted.length - 1) >> 1];
  const kept = sorted.filter((x) => x <= most);
  return kept.length < sorted.length && most > 0 ? 1.25 * kept[kept.length - 1] : Infinity;
}

/** A chart area; `x` and `y` are the shown ranges. With `clip`, marks end at the axes. */
class Chart {
  static clips = 0;

  constructor(width, height, { x, y, left, right = 16, top = 14, bottom = 44, label, whole = false, clip = false }) {
    this.width = width;
    this.height = height;
    this.yTicks = ticks(...y, Math.max(2, Math.round((height - top - bottom) / 60)));
    // Space for the tick labels, and a line for the axis title.
    left ??= 34 + 6.8 * Math.max(...this.yTicks.map((t) => formatNumber(t, 4).length));
    this.box = { left, right: width - right, top, bottom: height - bottom };
    const found = ticks(...x, Math.max(3, Math.round((width - left - right) / 80)));
    const round = found.filter(Number.isInteger);
    this.xTicks = whole && round.length > 1 ? round : found;
    this.x = scale(x, [left, width - right]);
    this.y = scale(y, [height - bottom, top]);
    this.back = g("g", {});
    this.marks = g("g", {});
    this.svg = g("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
      this.back, this.marks);
    if (clip) {
      const id = `clip-${Chart.clips++}`;
      const { left: x0, top: y0, right: x1, bottom: y1 } = this.box;
      this.svg.prepend(g("clipPath", { id }, g("rect", { x: x0, y: y0, width: Math.max(x1 - x0, 0), height: Math.max(y1 - y0, 0) })));
      this.marks.setAttribute("clip-path", `url(#${id})`);
    }
  }

  /** Note that some marks are outside the axes. */
  outside(count, noun) {
    if (count) this.svg.append(g("text", { class: "note", "data-outside": count, x: this.box.right, y: this.box.top - 3, "text-anchor": "end" }, `${amount(count, noun)} outside`));
    return this;
  }

  /** The position of a mark, moved to the border if it is outside; `far` draws such a mark. */
  placed(x, y) {
    const { left, right, top, bottom } = this.box;
    const [cx, cy] = [Math.min(Math.max(x, left), right), Math.min(Math.max(y, top), bottom)];
    return { cx, cy, inside: cx === x && cy === y };
  }

  /** Draw axes with titles; `xs` and `ys` are ticks [value, text], or undefined for the default. */
  axes({ xLabel, yLabel, xs, ys, grid = true }) {
    const { left, right, top, bottom } = this.box;
    const plain = (found) => found.map((t) => [t, formatNumber(t, 4)]);
    for (const [t, text] of ys ?? plain(this.yTicks)) {
      const y = this.y(t);
      if (grid) this.back.append(g("line", { class: "grid", x1: left, x2: right, y1: y, y2: y }));
      this.back.append(g("text", { class: "tick", x: left - 8, y: y + 4, "text-anchor": "end" }, text));
    }
    for (const [t, text] of xs ?? plain(this.xTicks)) {
      const x = this.x(t);
      if (grid) this.back.append(g("line", { class: "grid", x1: x, x2: x, y1: top, y2: bottom }));
      this.back.append(g("text", { class: "tick", x, y: bottom + 17, "text-anchor": "middle" }, text));
    }
    const letter = 6.9;
    if (xLabel) {
      // A long title is centred on the chart, a short one on the axis.
      const half = (Math.min(xLabel.length, this.width / letter) * letter) / 2;
      const x = Math.min(Math.max((left + right) / 2, half), this.width - half);
      this.back.append(g("text", { class: "axis", x, y: this.height - 6, "text-anchor": "middle" }, cutText(xLabel, Math.floor(this.width / letter))));
    }
    if (yLabel) {
      const text = cutText(yLabel, Math.floor(this.height / letter));
      this.back.append(g("text", { class: "axis", transform: `translate(13 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, text));
    }
    return this;
  }

  add(...marks) {
    this.marks.append(...marks);
    return this;
  }

  path(xs, ys) {
    let d = "";
    let open = false;
    for (let i = 0; i < xs.length; i++) {
      if (!Number.isFinite(ys[i]) || !Number.isFinite(xs[i])) {
        open = false;
        continue;
      }
      d += `${open ? "L" : "M"}${this.x(xs[i]).toFixed(1)} ${this.y(ys[i]).toFixed(1)}`;
      open = true;
    }
    return d;
  }

  line(xs, ys, attributes) {
    return this.add(g("path", { ...attributes, class: `line ${attributes?.class ?? ""}`, d: this.path(xs, ys) }));
  }

  /** The area between two curves. */
  band(xs, low, high, attributes) {
    const back = [...xs].reverse();
    const d = `${this.path(xs, low)}${this.path(back, [...high].reverse()).replace("M", "L")}Z`;
    return this.add(g("path", { ...attributes, class: `band ${attributes?.class ?? ""}`, d }));
  }

  dot(x, y, attributes) {
    const made = g("circle", { r: 3, ...attributes, cx: this.x(x).toFixed(1), cy: this.y(y).toFixed(1) });
    this.add(made);
    return made;
  }

  rule(attributes) {
    const { left, right, top, bottom } = this.box;
    const { x, y, ...rest } = attributes;
    const at = x !== undefined
      ? { x1: this.x(x), x2: this.x(x), y1: top, y2: bottom }
      : { x1: left, x2: right, y1: this.y(y), y2: this.y(y) };
    return this.add(g("line", { ...rest, class: `rule ${rest.class ?? ""}`, ...at }));
  }

  text(x, y, text, attributes) {
    return this.add(g("text", { class: "note", ...attributes, x, y }, text));
  }

  /** The coordinates of the pointer. */
  pointed(event) {
    const box = this.svg.getBoundingClientRect();
    const ratio = this.width / box.width;
    const [px, py] = [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio];
    const inside = px >= this.box.left - 4 && px <= this.box.right + 4 && py >= this.box.top - 4 && py <= this.box.bottom + 4;
    return { x: this.x.back(px), y: this.y.back(py), px, py, inside };
  }
}

/** A diamond: the mark of something outside the axes. */
function far(cx, cy, attributes) {
  return g("path", { ...attributes, class: "far", d: `M${cx - 5} ${cy}L${cx} ${cy - 5}L${cx + 5} ${cy}L${cx} ${cy + 5}Z` });
}

/**
 * A figure that is drawn with the width of its container.
 *
 * `draw(width)` returns an SVG element, kept as `shown`; `redraw()` draws it again.
 */
function figure(caption, draw, attributes = {}) {
  const holder = h("div", { class: "plot" });
  const made = h("figure", attributes, holder, caption ? h("figcaption", {}, caption) : null);
  let drawn = 0;
  made.redraw = () => {
    const width = Math.round(holder.clientWidth);
    if (width < 40) return;
    drawn = width;
    made.shown = draw(width);
    holder.replaceChildren(made.shown);
  };
  new ResizeObserver(() => {
    if (Math.abs(Math.round(holder.clientWidth) - drawn) > 1) made.redraw();
  }).observe(holder);
  return made;
}

/** A legend of colours. */
function legend(entries) {
  return h("ul", { class: "legend" }, entries.map(([text, name]) => h("li", {}, h("i", { class: name }), text)));
}

/**
 * Horizontal bars with names; rows {name, value, low, high, lines, note}; a line at `rule`.
 *
 * Names are on the left; with `stacked`, on a narrow screen they are above the bars.
 */
function bars(rows, width, { label, unit, most = 0.32, rule, stacked = false, cut = Infinity }) {
  const above = stacked && width < 520 ? 18 : 0;
  const line = 24 + above;
  const longest = Math.max(...rows.map((row) => row.name.length));
  const names = above ? 4 : Math.min(Math.max(60, 7 * longest + 12), width * most);
  const isCut = (row) => row.value > cut;
  const reach = rows.flatMap((row) => (isCut(row) ? [cut] : [row.value, Math.min(row.high, cut), row.low])).filter(Number.isFinite);
  const x = [Math.min(0, ...reach), Math.max(0, ...reach) || 1];
  const right = rows.some((row) => row.note) ? 128 : 62;
  const chart = new Chart(width, rows.length * line + 56, { x, y: [rows.length, 0], left: names, right, top: 6, bottom: 46, label })
    .axes({ xLabel: unit, ys: [] });
  const drawRule = () => Number.isFinite(rule) && rule <= x[1] && chart.rule({ x: rule, class: "mark" });
  const end = chart.box.right;
  if (above) drawRule(); // behind the names
  rows.forEach((row, i) => {
    const y = chart.y(i);
    const [from, to] = [chart.x(Math.min(0, row.value)), isCut(row) ? end : chart.x(Math.max(0, row.value))];
    const letters = Math.floor((above ? width : names) / 7.2);
    const bar = g("g", { class: "hover" },
      g("rect", { class: "hit", x: 0, y, width, height: line }),
      g("text", { class: "name", x: above ? names : names - 8, y: y + 16, "text-anchor": above ? "start" : "end" }, cutText(row.name, letters)),
      g("rect", { class: row.value < 0 ? "bar down" : "bar", x: from, y: y + 4 + above, width: Math.max(to - from, 0.5), height: 16, rx: 2 }));
    if (isCut(row)) bar.append(far(end, y + 12 + above, {}));
    else if (Number.isFinite(row.low)) {
      bar.append(g("line", { class: "whisker", x1: chart.x(row.low), x2: Math.min(chart.x(row.high), end), y1: y + 12 + above, y2: y + 12 + above }));
    }
    // At the end of the bar, or in the free space after its interval.
    const free = Number.isFinite(row.high) ? width - right + 8 : chart.x(Math.max(row.value, 0)) + 6;
    bar.append(g("text", { class: "tick", x: free, y: y + 16 + above }, formatNumber(row.value, 3)));
    if (row.note) bar.append(g("text", { class: "tick", x: width, y: y + 16 + above, "text-anchor": "end" }, row.note));
    addTip(bar, row.lines ?? [`${row.name}: ${formatNumber(row.value, 5)}`]);
    chart.add(bar);
  });
  if (!above) drawRule();
  return chart.svg;
}

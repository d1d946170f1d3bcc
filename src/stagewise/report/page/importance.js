// Feature importance and partial dependence.

const MEASURES = {
  squared_improvement: "Square root of the summed improvements of the splits on the feature, scaled so that the largest is 100 (Friedman 2001). Computed on the training rows.",
  gain: "The share of the total gain of all splits, on the training rows.",
  shap: "The mean absolute Shapley value over the sampled rows of this table.",
  permutation: "The increase of the loss on this table when the values of the feature are permuted; lines are 95 % confidence intervals. Correlated features can replace each other, which lowers their importance.",
  splits: "The number of splits on the feature.",
  cover: "The share of the total cover: the training rows that pass through the splits on the feature.",
};

function importanceSection({ facts }) {
  const names = facts.overview.features;
  const kind = new Choice(facts.importance[0].kind);
  const output = new Choice(-1);
  const now = () => facts.importance.find((one) => one.kind === kind.value);
  const rowsOf = (one) => Array.from(one.feature, (j, i) => ({
    name: names[j],
    value: output.value >= 0 && one.by_output ? one.by_output.at(output.value, i) : one.value[i],
    low: output.value < 0 && one.low ? one.low[i] : NaN,
    high: output.value < 0 && one.high ? one.high[i] : NaN,
  })).sort((a, b) => b.value - a.value);
  const caption = h("p", { class: "soft small" });
  const chart = figure(null, (width) => bars(rowsOf(now()).slice(0, 20), width, { label: `Importance of features: ${now().label}`, unit: now().unit }));
  const several = h("span", {});
  kind.watch(() => {
    output.set(-1);
    caption.textContent = MEASURES[kind.value];
    const { outputs } = now();
    several.replaceChildren(outputs.length ? menu("Output", [[-1, "all outputs"], ...outputs.map((name, k) => [k, name])], output) : "");
  });
  output.watch(() => chart.redraw());
  const unused = facts.dependence.unused.length;
  return h("section", { id: "importance", "aria-labelledby": "importance-title" },
    h("h2", { id: "importance-title" }, "Importance"),
    h("p", { class: "lead" }, `The importance of each feature by several measures.${unused ? ` The model does not use ${formatNumber(unused)} of ${amount(names.length, "feature")}.` : ""} The measures can disagree, because they measure different things.`),
    h("div", { class: "controls" }, buttons("Measure", facts.importance.map((one) => [one.kind, one.label]), kind), several),
    caption, chart,
    asTable("Show the numbers", "Importance of all features shown, by every measure", [
      { title: "feature", cell: (j) => names[j] },
      ...facts.importance.map((one) => ({ title: one.label, number: true,
        cell: (j) => formatNumber(one.value[Array.from(one.feature).indexOf(j)], 5), key: (j) => one.value[Array.from(one.feature).indexOf(j)] ?? NaN })),
    ], () => Array.from(facts.importance[0].feature)));
}

// ---- dependence ---------------------------------------------------------------------------------

function outputMenu(page, label = "Output", choice = page.output, names = page.facts.dependence.outputs) {
  if (page.facts.overview.task === "classification" ? names.length <= 2 : names.length < 2) return null;
  return menu(label, names.map((name, k) => [k, name]), choice);
}

function dependenceSection(page) {
  const d = page.facts.dependence;
  const names = page.facts.overview.features;
  const section = h("section", { id: "dependence", "aria-labelledby": "dependence-title" },
    h("h2", { id: "dependence-title" }, "Dependence"));
  if (!d.curves.length) {
    put(section, h("p", { class: "lead" }, "The model uses no feature, so all curves are constant."));
    return section;
  }
  const first = new Choice(0);
  const second = new Choice(-1);
  const centred = new Choice(false);
  const offered = d.curves.map((curve, k) => [k, names[curve.axis.feature]]);
  const check = h("input", { type: "checkbox", onchange: () => centred.set(check.checked) });
  const unit = () => (["classification", "labels"].includes(page.facts.overview.task) ? `probability of ${d.outputs[page.output.value]}` : d.outputs.length > 1 ? d.outputs[page.output.value] : page.facts.overview.prediction);
  const note = h("p", { class: "soft small", "aria-live": "polite" });
  const chart = figure(null, (width) => {
    const [a, b] = [d.curves[first.value], d.curves[second.value]];
    note.textContent = "";
    if (!b || a === b) return curveOf(a, width);
    const map = mapOf(page, a, b);
    if (map) return surface(map, width);
    note.textContent = "This pair was not computed in advance, and the model is too large for this page. Select two of the most important features.";
    return g("svg", { viewBox: `0 0 ${width} 10` });
  });
  const numbers = h("div", {});
  const listed = (curve) => asTable("Show the numbers", label(curve), [
    { title: names[curve.axis.feature], cell: (i) => formatPoint(curve.axis, i) },
    { title: unit(), number: true, cell: (i) => formatNumber(curve.mean.at(i, page.output.value), 6) },
  ], () => Array.from(curve.axis.x, (_, i) => i));
  const curveOf = (curve, width) => (curve.axis.labels ? categoriesChart(curve, width) : numbersChart(curve, width));
  const label = (curve) => `Partial dependence of ${unit()} on ${names[curve.axis.feature]}`;

  function numbersChart(curve, width) {
    const k = page.output.value;
    const x = Array.from(curve.axis.x);
    const shift = (values) => (centred.value ? values.map((v) => v - values[0]) : values);
    const mean = shift(x.map((_, i) => curve.mean.at(i, k)));
    const own = Array.from({ length: curve.rows.shape[0] }, (_, r) => shift(x.map((_, i) => curve.rows.at(r, i, k))));
    const [xs, ys] = [xRange(page, curve.axis), joined(robustEnds(own.flat()), ends(mean))];
    const chart = new Chart(width, 360, { x: xs, y: ys, label: label(curve), whole: x.every(Number.isInteger), clip: true })
      .axes({ xLabel: names[curve.axis.feature], yLabel: centred.value ? `change of ${unit()}` : unit(), xs: datetimeTicks(curve.axis, xs, width / 110) });
    chart.outside(x.filter((v) => v < xs[0] || v > xs[1]).length, "grid point");
    for (const values of own) chart.line(x, values, { class: "thin" });
    chart.line(x, mean, { "stroke-width": 3 });
    for (const t of curve.axis.deciles) chart.add(g("line", { class: "rug", x1: chart.x(t), x2: chart.x(t), y1: chart.box.bottom, y2: chart.box.bottom - 7 }));
    const picked = g("path", { class: "line picked" });
    chart.add(picked);
    addTip(chart.svg, (event) => {
      const at = chart.pointed(event);
      const i = x.reduce((near, v, n) => (Math.abs(v - at.x) < Math.abs(x[near] - at.x) ? n : near), 0);
      const nearest = own.reduce((near, values, r) => (Math.abs(values[i] - at.y) < Math.abs(own[near][i] - at.y) ? r : near), 0);
      picked.setAttribute("d", chart.path(x, own[nearest]));
      return [`${names[curve.axis.feature]} ${formatPoint(curve.axis, i)}`, `average prediction ${formatNumber(mean[i], 5)}`, `nearest row ${formatNumber(own[nearest][i], 5)}`];
    });
    chart.svg.addEventListener("pointerleave", () => picked.setAttribute("d", ""));
    return chart.svg;
  }

  function categoriesChart(curve, width) {
    const k = page.output.value;
    const n = curve.rows.shape[0];
    const rows = curve.axis.labels.map((name, i) => {
      const own = Array.from({ length: n }, (_, r) => curve.rows.at(r, i, k)).sort((a, b) => a - b);
      return { name, value: curve.mean.at(i, k), low: own[Math.floor(0.1 * (n - 1))], high: own[Math.ceil(0.9 * (n - 1))] };
    });
    for (const row of rows) row.lines = [row.name, `average prediction ${formatNumber(row.value, 5)}`, `80 % of the rows: ${formatNumber(row.low, 4)} to ${formatNumber(row.high, 4)}`];
    const most = 25;
    note.textContent = `Bars: average prediction when all rows have this category. Lines: the middle 80 % of the rows.${rows.length > most ? ` Only ${most} of ${formatNumber(rows.length)} categories are shown; the table below has all.` : ""}`;
    return bars(rows.sort((a, b) => b.value - a.value).slice(0, most), width, { label: label(curve), unit: unit() });
  }

  function surface(map, width) {
    const k = page.output.value;
    const [xs, ys] = [map.first, map.second];
    const [xe, ye] = [edges(xs), edges(ys)];
    const values = [];
    for (let i = 0; i < xs.x.length; i++) for (let j = 0; j < ys.x.length; j++) values.push(map.mean.at(i, j, k));
    const [least, most] = ends(values, 0);
    const named = (axis, letters) => axis.labels?.map((text, i) => [axis.x[i], cutText(text, letters)]);
    const timed = (axis, borders, about) => datetimeTicks(axis, [borders[0], borders[borders.length - 1]], about);
    const title = `Partial dependence of ${unit()} on ${names[xs.feature]} and ${names[ys.feature]}`;
    const chart = new Chart(width, 420, { x: [xe[0], xe[xe.length - 1]], y: [ye[0], ye[ye.length - 1]], label: title, left: ys.labels ? 40 + 6.6 * Math.min(14, Math.max(...ys.labels.map((text) => text.length))) : ys.temporal_type ? 110 : undefined })
      .axes({ xLabel: names[xs.feature], yLabel: names[ys.feature], xs: named(xs, Math.max(3, Math.floor(width / xs.x.length / 7))) ?? timed(xs, xe, width / 110), ys: named(ys, 14) ?? timed(ys, ye, 7), grid: false });
    for (let i = 0; i < xs.x.length; i++) {
      for (let j = 0; j < ys.x.length; j++) {
        const value = map.mean.at(i, j, k);
        const [x0, x1, y0, y1] = [chart.x(xe[i]), chart.x(xe[i + 1]), chart.y(ye[j + 1]), chart.y(ye[j])];
        const cell = g("rect", { x: x0, y: y0, width: Math.max(x1 - x0, 0) + 0.6, height: Math.max(y1 - y0, 0) + 0.6, fill: blend(SURFACE, (value - least) / (most - least || 1)) });
        chart.add(addTip(cell, [`${names[xs.feature]} ${formatPoint(xs, i)}`, `${names[ys.feature]} ${formatPoint(ys, j)}`, `average prediction ${formatNumber(value, 5)}`]));
      }
    }
    note.replaceChildren(formatNumber(least, 4), h("span", { class: "ramp surface" }), formatNumber(most, 4), ` ${unit()}`);
    return chart.svg;
  }

  const empty = d.empty.length ? h("p", { class: "soft small" }, `Features without a finite value in these rows: ${d.empty.slice(0, 50).join(", ")}.`) : null;
  const unused = d.unused.length ? h("details", {}, h("summary", {}, `${amount(d.unused.length, "unused feature")}`),
    h("p", { class: "soft small" }, `Their curves are constant: ${d.unused.slice(0, 100).join(", ")}${d.unused.length > 100 ? ", …" : ""}.`)) : null;
  put(section,
    h("p", { class: "lead" }, `Average prediction when a feature is set to each value for all of ${amount(d.n_rows, "row")} (partial dependence). Thin lines are single rows (ICE); ticks at the bottom are deciles. Lines that are not parallel indicate interactions.`),
    h("div", { class: "controls" }, menu("Feature", offered, first), menu("Second feature", [[-1, "none"], ...offered], second),
      outputMenu(page), h("label", { class: "control check" }, check, "centred at the first point")),
    note, chart, numbers, unused, empty);
  for (const choice of [first, second, centred, page.output]) {
    choice.watch(() => {
      chart.redraw();
      numbers.replaceChildren(d.curves[second.value] ? "" : listed(d.curves[first.value]));
    });
  }
  return section;
}

/** The range of an axis, without extreme values if they would take more than two thirds of it. */
function xRange(page, axis) {
  const whole = ends(axis.x, 0.01);
  const some = robustEnds(Array.from(page.facts.rows.row, (_, i) => page.code(i, axis.feature)), 0.02);
  const plain = page.model.features[axis.feature].kind === "number" && some[1] > some[0];
  return plain && some[1] - some[0] < (whole[1] - whole[0]) / 3 ? some : whole;
}

/** Format a point of an axis. */
function formatPoint(axis, i) {
  if (axis.labels) return axis.labels[i];
  if (!axis.temporal_type) return formatNumber(axis.x[i], 5);
  const [least, most] = ends(axis.x, 0);
  return Model.datetimes.format(axis.x[i], axis.temporal_type, most - least);
}

/** Ticks of an axis of dates or times; undefined for other axes. */
function datetimeTicks(axis, [least, most], about) {
  if (!axis.temporal_type) return undefined;
  const found = Model.datetimes.ticks(least, most, axis.temporal_type, Math.max(2, Math.round(about)));
  return found.map((t) => [t, Model.datetimes.format(t, axis.temporal_type, most - least)]);
}

/** The borders of the cells around grid points. */
function edges(axis) {
  const x = Array.from(axis.x);
  if (axis.labels || x.length === 1) return [...x.map((v) => v - 0.5), x[x.length - 1] + 0.5];
  const between = x.slice(1).map((v, i) => (v + x[i]) / 2);
  return [x[0] - (between[0] - x[0]), ...between, 2 * x[x.length - 1] - between[between.length - 1]];
}

/** The map of two features: computed in advance, or by the model on this page; null if neither is possible. */
function mapOf(page, a, b) {
  const [one, two] = [a.axis.feature, b.axis.feature];
  for (const map of page.facts.dependence.maps) {
    if (map.first.feature === one && map.second.feature === two) return map;
    if (map.first.feature === two && map.second.feature === one) return turned(map);
  }
  if (!page.model.complete || !page.model.predictable) return null;
  const [first, second] = [thinned(a.axis), thinned(b.axis)];
  const rows = Math.min(page.facts.rows.row.length, 60);
  const outputs = page.facts.dependence.outputs.length;
  const mean = new Tensor(new Float64Array(first.x.length * second.x.length * outputs), [first.x.length, second.x.length, outputs]);
  for (let r = 0; r < rows; r++) {
    const codes = page.codesOf(r), offset = page.offsetOf(r);
    for (let i = 0; i < first.x.length; i++) {
      codes[one] = first.codes[i];
      for (let j = 0; j < second.x.length; j++) {
        codes[two] = second.codes[j];
        page.model.predict(codes, offset).forEach((p, k) => { mean.data[(i * second.x.length + j) * outputs + k] += p / rows; });
      }
    }
  }
  return { first, second, mean };
}

function thinned(axis, most = 14) {
  const n = axis.x.length;
  const kept = [...new Set(Array.from({ length: Math.min(n, most) }, (_, i) => Math.round((i * (n - 1)) / (Math.min(n, most) - 1 || 1))))];
  const pick = (values) => kept.map((i) => values[i]);
  return { ...axis, codes: pick(axis.codes), x: pick(axis.x), labels: axis.labels && pick(axis.labels) };
}

function turned(map) {
  const [n, m, outputs] = map.mean.shape;
  const mean = new Tensor(new Float64Array(n * m * outputs), [m, n, outputs]);
  for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) for (let k = 0; k < outputs; k++) mean.data[(j * n + i) * outputs + k] = map.mean.at(i, j, k);
  return { first: map.second, second: map.first, mean };
}

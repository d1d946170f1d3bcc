// Shapley values of the sampled rows: all rows together, then one row.

function explainSection(page) {
  const { rows, overview } = page.facts;
  const section = h("section", { id: "explain", "aria-labelledby": "explain-title" },
    h("h2", { id: "explain-title" }, "Explanations"));
  const some = rows.row.length < overview.n_rows ? `${amount(rows.row.length, "row")} sampled from ${formatNumber(overview.n_rows, 9)}, including the worst prediction` : `all ${amount(rows.row.length, "row")}`;
  if (rows.reason) {
    put(section, h("p", { class: "lead" }, "Shapley values are not available for this model."), notes([[null, rows.reason]]), rowExplorer(page));
    return section;
  }
  put(section,
    h("p", { class: "lead" }, `Shapley values: the contribution of each feature to the model output of a row, relative to the baseline (the average model output over ${rows.baseline}). The plot shows ${some} and the ${Math.min(SHOWN, rows.explained.length)} features with the largest mean absolute Shapley values. Every dot is a row; click a dot to select its row below.${page.hasLink() ? ` The waterfall below adds the Shapley values one after the other, the largest first; on the scale of the ${page.predictionUnit()} the steps depend on this order, on that of the ${rows.unit} they do not.` : ""}`),
    h("div", { class: "controls" }, outputMenu(page, "Output", page.explained, page.explainedNames())),
    h("p", { class: "soft small" }, "feature value: low", h("span", { class: "ramp low-high" }), "high (categories in their order); grey: missing"));
  const chart = figure(null, (width) => beeswarm(page, width));
  put(section, chart, rowExplorer(page));
  page.explained.watch(() => chart.redraw());
  page.row.watch((i) => chart.shown?.mark(i));
  return section;
}

const SHOWN = 12;

function beeswarm(page, width) {
  const { rows } = page.facts;
  const k = page.shapOutput();
  const n = rows.row.length;
  const size = Array.from(rows.explained, (_, f) => {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += Math.abs(rows.shap.at(i, f, k));
    return sum / n;
  });
  const top = Array.from(rows.explained, (_, f) => f).sort((a, b) => size[b] - size[a]).filter((f) => size[f] > 0).slice(0, SHOWN);
  const line = 34;
  const names = Math.min(170, Math.max(84, width * 0.26));
  const x = robustEnds(top.flatMap((f) => Array.from({ length: n }, (_, i) => rows.shap.at(i, f, k))));
  const chart = new Chart(width, Math.max(top.length, 1) * line + 62, { x, y: [top.length, 0], left: names, right: 12, top: 16, bottom: 44, label: `Shapley values of the ${top.length} features with the largest mean absolute value` })
    .axes({ xLabel: `Shapley value (${page.shapUnit()})`, ys: [] }).rule({ x: 0, class: "solid" });
  const dots = g("g", {});
  const chosen = g("g", {});
  const at = top.map(() => new Array(n)); // the positions of the dots
  top.forEach((f, place) => {
    const j = rows.explained[f];
    const name = page.facts.overview.features[j];
    chart.add(g("text", { class: "name", x: names - 10, y: chart.y(place + 0.5) + 4, "text-anchor": "end" }, cutText(name, Math.floor(names / 7.4))));
    const rank = ranks(Array.from({ length: n }, (_, i) => page.code(i, j)));
    const piles = new Map();
    const order = Array.from({ length: n }, (_, i) => i).sort((a, b) => rows.shap.at(a, f, k) - rows.shap.at(b, f, k));
    for (const i of order) {
      const { cx, inside } = chart.placed(chart.x(rows.shap.at(i, f, k)), chart.y(place + 0.5));
      const bin = Math.round(cx / 3.2);
      const above = piles.get(bin) ?? 0;
      piles.set(bin, above + 1);
      // Alternately above and below; dots that do not fit overlap the last ones.
      const offset = Math.min(Math.ceil(above / 2) * 2.9, line / 2 - 6) * (above % 2 ? 1 : -1);
      const fill = Number.isNaN(rank[i]) ? "var(--faint)" : blend(LOW_HIGH, rank[i]);
      at[place][i] = { cx: cx.toFixed(1), cy: (chart.y(place + 0.5) + offset).toFixed(1), fill };
      if (inside) dots.append(g("circle", { ...at[place][i], r: 2.7, opacity: 0.8, "data-i": i, "data-f": f }));
      else dots.append(far(cx, chart.y(place + 0.5), { "data-i": i, "data-f": f }));
    }
  });
  dots.addEventListener("pointermove", (event) => {
    const [i, f] = [Number(event.target.dataset.i), Number(event.target.dataset.f)];
    const j = rows.explained[f];
    showTip(event, [`row ${formatNumber(rows.row[i], 12)}`, `${page.facts.overview.features[j]} = ${page.cell(i, j)}`, signed(rows.shap.at(i, f, k), 4)]);
  });
  dots.addEventListener("pointerleave", hideTip);
  dots.addEventListener("click", (event) => page.row.set(Number(event.target.dataset.i)));
  chart.outside(dots.querySelectorAll(".far").length, "dot");
  chart.add(dots, chosen).svg.mark = (i) => chosen.replaceChildren(...at.map((places) => g("circle", { ...places[i], r: 5, class: "chosen" })));
  chart.svg.mark(page.row.value);
  return chart.svg;
}

/** Ranks from 0 to 1 of values that are not missing; ties have equal ranks. */
function ranks(values) {
  const sorted = [...new Set(values.filter((v) => !Number.isNaN(v)))].sort((a, b) => a - b);
  const place = new Map(sorted.map((v, i) => [v, sorted.length > 1 ? i / (sorted.length - 1) : 0.5]));
  return values.map((v) => place.get(v) ?? NaN);
}

// ---- one row ------------------------------------------------------------------------------------

function rowMenu(page) {
  const n = page.facts.rows.row.length;
  const options = Array.from({ length: n }, (_, i) => [i, page.rowLabel(i)]);
  const step = (by) => () => page.row.set((page.row.value + by + n) % n);
  return [menu("Row", options, page.row),
    h("button", { type: "button", onclick: step(-1), "aria-label": "previous row" }, "‹"),
    h("button", { type: "button", onclick: step(1), "aria-label": "next row" }, "›")];
}

function rowExplorer(page) {
  const { rows } = page.facts;
  const outputs = Array.from(rows.base, (_, k) => k);
  const chart = figure(null, (width) => {
    const i = page.row.value;
    const parts = Array.from(rows.explained, (j, f) => ({ feature: j, text: page.cell(i, j), shap: outputs.map((k) => rows.shap.at(i, f, k)) }));
    return waterfall(page, parts, outputs.map((k) => rows.other_shap.at(i, k)), rows.base, width, page.offsetStep(i));
  });
  const cells = h("div", {});
  const at = new Map(Array.from(rows.explained, (j, f) => [j, f]));
  const selectWorst = () => {
    const errors = Array.from(rows.row, (_, i) => [rows.error[i], i]).sort((a, b) => b[0] - a[0]);
    page.row.set(errors[0][1]);
  };
  page.row.watch((i) => {
    const names = page.facts.overview.features;
    cells.replaceChildren(asTable("Show the values", `The values of row ${formatNumber(rows.row[i], 12)}`, [
      { title: "feature", cell: (j) => names[j], key: (j) => names[j] },
      { title: "value", cell: (j) => page.cell(i, j) },
      { title: "Shapley value", number: true, cell: (j) => (at.has(j) ? signed(rows.shap.at(i, at.get(j), page.shapOutput()), 4) : "–") },
    ], () => Array.from(rows.features)));
    chart.redraw();
  });
  for (const choice of [page.explained, page.inPredictions]) choice.watch(() => chart.redraw());
  return h("div", { id: "row" }, h("h3", {}, "One row"),
    h("div", { class: "controls" }, rowMenu(page), h("button", { type: "button", onclick: selectWorst }, "Worst prediction"), scaleButtons(page)),
    rows.reason ? null : chart, cells);
}

/** Buttons for the scale of waterfalls: that of the Shapley values, or predictions; null if these are the same. */
function scaleButtons(page) {
  if (!page.hasLink()) return null;
  return buttons("Scale", [[true, page.predictionUnit()], [false, page.facts.rows.unit]], page.inPredictions);
}

/**
 * A waterfall chart from the baseline to the prediction of a row.
 *
 * Shapley values and `base` have a number for each explained output. They are added one after the
 * other, the largest first; on the scale of predictions, each sum is then converted by the link. The
 * offset of the row, if it has one, is the first step.
 */
function waterfall(page, parts, rest, base, width, offsetStep = null) {
  const most = 10;
  const k = page.shapOutput();
  const order = [...parts].sort((a, b) => Math.abs(b.shap[k]) - Math.abs(a.shap[k]));
  const shown = order.slice(0, most).filter((part) => part.shap[k] !== 0);
  const add = (sums, shap) => sums.map((sum, o) => sum + shap[o]);
  const left = order.slice(shown.length).reduce((sums, part) => add(sums, part.shap), Array.from(rest));
  const names = page.facts.overview.features;
  const narrow = width < 520; // names above values
  const steps = shown.map((part) => ({ name: names[part.feature], value: part.text, shap: part.shap }));
  const others = names.length - shown.length;
  if (others > 0 && left.some((value) => value !== 0)) steps.push({ name: `${amount(others, "other feature")}`, shap: left });
  if (offsetStep) steps.unshift(offsetStep); // before all features
  const line = narrow ? 38 : 28;
  const room = Math.min(230, Math.max(110, width * 0.36));
  const letters = Math.floor(room / 7.4);
  const sums = [Array.from(base)];
  for (const step of steps) sums.push(add(sums[sums.length - 1], step.shap));
  const converted = page.hasLink() && page.inPredictions.value;
  const at = sums.map((values) => (converted ? page.predictionOf(values) : values[k]));
  const moved = steps.map((_, i) => at[i + 1] - at[i]);
  const total = at[at.length - 1];
  const unit = converted ? page.predictionUnit(true) : page.shapUnit();
  const chart = new Chart(width, (steps.length + 2) * line + 52, { x: ends(at, 0.1), y: [steps.length + 2, 0], left: room, right: 58, top: 4, bottom: 44, label: "Waterfall chart from the baseline to the prediction of this row" })
    .axes({ xLabel: unit, ys: [] });
  const named = (place, text, kind, down = 4) => chart.add(g("text", { class: kind, x: room - 10, y: chart.y(place + 0.5) + down, "text-anchor": "end" }, cutText(text, letters)));
  const end = (place, x, text) => {
    named(place, text, "strong");
    chart.add(g("circle", { class: "point", r: 6, cx: chart.x(x), cy: chart.y(place + 0.5) }),
      g("text", { class: "strong", x: chart.x(x) + 11, y: chart.y(place + 0.5) + 4 }, formatNumber(x, 4)));
  };
  end(0, at[0], "baseline");
  steps.forEach((step, i) => {
    const whole = step.value === undefined ? step.name : `${step.name} = ${step.value}`;
    if (narrow && step.value !== undefined) {
      named(i + 1, step.name, "name", -3);
      named(i + 1, step.value, "tick", 12);
    } else named(i + 1, whole, "name");
    const [x0, x1] = [chart.x(at[i]), chart.x(at[i + 1])];
    const y = chart.y(i + 1) + 5;
    const bar = g("rect", { class: moved[i] > 0 ? "up" : "downward", x: Math.min(x0, x1), width: Math.max(Math.abs(x1 - x0), 1), y, height: line - 10, rx: 3, "data-step": moved[i] });
    chart.add(g("line", { class: "join", x1: x0, x2: x0, y1: y - line / 2, y2: y }), addTip(bar, [whole, signed(moved[i], 4), `sum so far ${formatNumber(at[i + 1], 4)}`]),
      g("text", { class: "tick", x: Math.max(x0, x1) + 6, y: y + line / 2 - 1 }, signed(moved[i], 3)));
  });
  end(steps.length + 1, total, "prediction");
  chart.svg.dataset.base = at[0];
  chart.svg.dataset.total = total;
  return chart.svg;
}

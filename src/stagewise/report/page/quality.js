// Learning curves, and the quality of predictions of classes and of numbers.

function learningSection({ facts }) {
  const section = h("section", { id: "learning", "aria-labelledby": "learning-title" },
    h("h2", { id: "learning-title" }, "Learning curves"));
  const l = facts.learning;
  if (!l) {
    put(section, h("p", { class: "lead" }, "No losses were recorded by round. Fit with early stopping or a validation set to get learning curves. A single tree has no rounds."));
    return section;
  }
  put(section, h("p", { class: "lead" }, facts.rounds_note));
  put(section, ...learningCurves(l));
  const metric = facts.learning_metric;
  if (metric) put(section, h("h3", {}, metric.loss), ...learningCurves(metric));
  return section;
}

/** The legend, the chart and the table of a loss, or of a metric, on all sets of rows. */
function learningCurves(l) {
  const curves = [["training rows", l.train, ""], ["validation rows", l.validation, "other"], ["out-of-bag rows", l.out_of_bag, "third"],
    ...Object.entries(l.sets).map(([name, values]) => [name, values, "other"])]
    .filter(([, values]) => values && values.length);
  const longest = Math.max(...curves.map(([, values]) => values.length));
  return [
    legend(curves.map(([name, , colour]) => [name, colour])),
    figure(`${l.loss} after each round; the vertical line marks the number of ${l.unit} that predictions use.`, (width) => {
      const all = curves.flatMap(([, values]) => Array.from(values)).filter(Number.isFinite);
      const chart = new Chart(width, 300, { x: [1, Math.max(longest, 2)], y: ends(all), label: `Learning curves: ${l.loss} by round` })
        .axes({ xLabel: l.unit, yLabel: l.loss });
      if (l.chosen <= longest) chart.rule({ x: l.chosen, class: "mark" });
      for (const [, values, colour] of curves) chart.line(Array.from(values, (_, i) => i + 1), values, { class: colour });
      addTip(chart.svg, (event) => {
        const at = Math.min(Math.max(Math.round(chart.pointed(event).x), 1), longest);
        return [`${l.unit} ${formatNumber(at)}`, ...curves.map(([name, values]) => `${name}: ${formatNumber(values[at - 1], 5)}`)];
      });
      return chart.svg;
    }),
    asTable("Show the numbers", `${l.loss} after each round`, [
      { title: l.unit, cell: (i) => formatNumber(i + 1) },
      ...curves.map(([name, values]) => ({ title: name, number: true, cell: (i) => formatNumber(values[i], 6) })),
    ], () => Array.from({ length: longest }, (_, i) => i)),
  ];
}

function qualitySection(page) {
  const { quality } = page.facts;
  const section = h("section", { id: "quality", "aria-labelledby": "quality-title" },
    h("h2", { id: "quality-title" }, "Quality"));
  if (quality.queries) queriesQuality(section, quality.queries);
  else if (quality.labels.length) labelsQuality(section, quality.labels, page);
  else if (quality.events.length) eventsQuality(section, quality.events);
  else if (quality.numbers.length) {
    numbersQuality(section, quality.numbers);
    if (quality.spread) spreadQuality(section, quality.spread);
  } else classesQuality(section, quality, page);
  if (quality.coverage) coverageOf(section, quality.coverage);
  return section;
}

// The coverage of prediction intervals, or of sets of classes.
function coverageOf(section, c) {
  const sets = c.of_classes;
  const size = (i) => (sets ? `${formatNumber(c.size[i], 3)} classes per set` : `mean width ${formatNumber(c.size[i], 4)}`);
  const chart = figure(`Coverage of ${sets ? "prediction sets" : "prediction intervals"}: the share of the rows whose ${sets ? "class is in the set" : "target is in the interval"}. Bars are 95 % confidence intervals.`, (width) => {
    const own = new Chart(Math.min(width, 460), Math.min(width, 320), { x: [0, 1], y: [0, 1], label: "Observed against nominal coverage" })
      .axes({ xLabel: "nominal coverage", yLabel: "observed coverage" });
    own.line([0, 1], [0, 1], { class: "thin" });
    Array.from(c.nominal).forEach((p, i) => {
      own.add(g("line", { class: "whisker", x1: own.x(p), x2: own.x(p), y1: own.y(c.low[i]), y2: own.y(c.high[i]) }));
    });
    own.line(c.nominal, c.observed, { class: "third" });
    Array.from(c.nominal).forEach((p, i) => addTip(own.dot(p, c.observed[i], { r: 4, class: "point" }),
      [`nominal ${share(p)}`, `observed ${share(c.observed[i])}`, size(i)]));
    return own.svg;
  });
  put(section, h("div", { class: "trio" }, chart), asTable("Show the coverage", `Coverage of ${sets ? "prediction sets" : "prediction intervals"}`, [
    { title: "nominal", cell: (i) => share(c.nominal[i]) },
    { title: "observed", number: true, cell: (i) => share(c.observed[i]) },
    { title: "95 % interval", number: true, cell: (i) => `${share(c.low[i])} to ${share(c.high[i])}` },
    { title: sets ? "classes per set" : "mean width", number: true, cell: (i) => formatNumber(c.size[i], 4) },
  ], () => Array.from(c.nominal, (_, i) => i)));
}

// ---- numbers ------------------------------------------------------------------------------------

function numbersQuality(section, all) {
  const chosen = new Choice(0);
  put(section, h("p", { class: "lead" }, "Predicted and observed values. Dots are a sample of the rows; bands and bars use all rows. Values far outside do not determine the axes: they are diamonds at the border."));
  if (all.length > 1) put(section, h("div", { class: "controls" }, menu("Target", all.map((n, k) => [k, n.target]), chosen)));
  const now = () => all[chosen.value];
  const scatter = figure("Points on the line are perfect predictions.", (width) => {
    const n = now();
    const both = joined(robustEnds(n.predicted), robustEnds(n.observed));
    const chart = new Chart(width, Math.min(width, 380), { x: both, y: both, label: "Observed against predicted values" })
      .axes({ xLabel: "predicted", yLabel: "observed" });
    chart.line(both, both, { class: "thin picked" });
    addDots(chart, n.predicted, n.observed, n, (i) => [`predicted ${formatNumber(n.predicted[i])}`, `observed ${formatNumber(n.observed[i])}`]);
    return chart.svg;
  });
  const fan = figure("Residuals (observed − predicted) with their median and quartiles. A median away from 0 shows bias; a wider band shows larger errors.", (width) => {
    const n = now();
    const { residual } = n;
    const chart = new Chart(width, Math.min(width, 380), { x: robustEnds(n.predicted), y: joined(robustEnds(residual), ends([...n.lower, ...n.upper], 0)), label: "Residuals against predicted values", clip: true }).axes({ xLabel: "predicted", yLabel: "residual" });
    addDots(chart, n.predicted, residual, n, (i) => [`predicted ${formatNumber(n.predicted[i])}`, `residual ${signed(residual[i])}`]);
    chart.band(n.middle, n.lower, n.upper).line(n.middle, n.median, {}).rule({ y: 0 });
    return chart.svg;
  });
  const shape = figure("Distribution of the residuals.", (width) => {
    const n = now();
    const chart = new Chart(width, 260, { x: [n.edges[0], n.edges[n.edges.length - 1]], y: [0, Math.max(...n.share) * 1.06], label: "Distribution of residuals" })
      .axes({ xLabel: "residual", yLabel: "share of rows" });
    n.share.forEach((part, i) => {
      const [x0, x1, y] = [chart.x(n.edges[i]), chart.x(n.edges[i + 1]), chart.y(part)];
      chart.add(addTip(g("rect", { class: "bar", x: x0 + 0.5, width: Math.max(x1 - x0 - 1, 0.5), y, height: chart.box.bottom - y }),
        [`${formatNumber(n.edges[i], 3)} to ${formatNumber(n.edges[i + 1], 3)}`, `${share(part)} of rows`]));
    });
    return chart.rule({ x: 0 }).svg;
  });
  const normal = figure("Normal Q-Q plot of the residuals, standardized by their median and quartiles, with the line through the quartiles. Ends that leave the line show tails heavier or lighter than normal.", (width) => {
    const n = now();
    const [x, y] = [ends(n.normal), robustEnds(n.quantile)];
    const chart = new Chart(width, 260, { x, y, label: "Quantiles of residuals against normal quantiles", clip: true })
      .axes({ xLabel: "normal quantile", yLabel: "standardized residual" });
    // The line through the quartiles, which outliers do not move.
    const quartile = (q) => n.quantile[Array.from(n.normal).findLastIndex((z) => z <= q)] ?? n.quantile[0];
    const [low, high] = [quartile(-0.6745), quartile(0.6745)];
    const slope = (high - low) / 1.349;
    chart.line(x, x.map((z) => (low + high) / 2 + slope * z), { class: "thin picked" });
    addDots(chart, n.normal, n.quantile, null, (i) => [`standardized residual ${formatNumber(n.quantile[i], 3)}`, `normal ${formatNumber(n.normal[i], 3)}`]);
    return chart.svg;
  });
  const figures = all[0].deviance ? devianceFigures(now) : [scatter, fan, shape, normal];
  put(section, h("div", { class: "pair" }, figures));
  const numbers = h("div", {});
  put(section, numbers);
  chosen.watch(() => {
    figures.forEach((f) => f.redraw());
    const n = now();
    numbers.replaceChildren(n.deviance ? decileTable(n.deviance.deciles) : asTable("Show the numbers", "Quartiles of the residuals by predicted value", [
      { title: "predicted", cell: (i) => formatNumber(n.middle[i]) },
      { title: "lower quartile", number: true, cell: (i) => signed(n.lower[i]) },
      { title: "median", number: true, cell: (i) => signed(n.median[i]) },
      { title: "upper quartile", number: true, cell: (i) => signed(n.upper[i]) },
    ], () => Array.from(n.middle, (_, i) => i)));
  });
}

const joined = (one, two) => [Math.min(one[0], two[0]), Math.max(one[1], two[1])];

/** Add dots of rows; those outside the axes are diamonds at the border, and counted. */
function addDots(chart, xs, ys, n, lines) {
  const [dots, others] = [g("g", { class: "dots" }), g("g", {})];
  for (let i = 0; i < xs.length; i++) {
    const { cx, cy, inside } = chart.placed(chart.x(xs[i]), chart.y(ys[i]));
    if (inside) dots.append(g("circle", { r: 2.4, cx: cx.toFixed(1), cy: cy.toFixed(1), "data-i": i }));
    else others.append(far(cx, cy, { "data-i": i }));
  }
  for (const group of [dots, others]) {
    group.addEventListener("pointermove", (event) => {
      const i = Number(event.target.dataset.i);
      showTip(event, [...(n ? [`row ${formatNumber(n.row[i], 12)}`] : []), ...lines(i)]);
    });
    group.addEventListener("pointerleave", hideTip);
  }
  chart.add(dots).svg.append(others);
  chart.outside(others.children.length, n ? "row" : "point");
}

// ---- classes ------------------------------------------------------------------------------------

function classesQuality(section, { classes, names, confusion }, page) {
  if (!classes.length) {
    put(section, h("p", { class: "lead" }, "All rows are of one class. Curves need rows of several classes."));
    put(section, h("div", { class: "scroll" }, matrix(names, (i, j) => confusion.at(i, j))));
    return;
  }
  const several = names.length > 2;
  const chosen = new Choice(0);
  const threshold = new Choice(0.5);
  const cost = { falsePositive: new Choice(1), falseNegative: new Choice(1) };
  put(section, h("p", { class: "lead" }, several
    ? "Confusion matrix of all classes; below, one class against all others."
    : `A row is predicted ${classes[0].pos_label} if its probability is at least the threshold. Move the threshold, or set the costs of errors.`));
  if (several) {
    put(section, h("div", { class: "scroll" }, matrix(names, (i, j) => confusion.at(i, j))), h("br"),
      h("div", { class: "controls" }, menu("Class", classes.map((c, k) => [k, c.pos_label]), chosen)));
  }
  const now = () => classes[chosen.value];
  const cheapest = h("button", { type: "button", onclick: () => threshold.set(best(now(), cost)) }, "Use the threshold with the lowest cost");
  put(section, h("div", { class: "controls" },
    slider("Threshold", { least: 0, most: 1, step: classes[0].step, choice: threshold, text: (t) => (t > 1 ? "above 1" : formatNumber(t, 3)) }),
    price("Cost of a false positive", cost.falsePositive), price("Cost of a false negative", cost.falseNegative), cheapest));
  const table = h("div", {});
  const at = () => counts(now(), threshold.value);
  const square = (draw) => (width) => draw(Math.min(width, 460), Math.min(width, 320));
  const roc = figure("ROC curve: true positive rate against false positive rate.", square((width, height) => {
    const c = now();
    const chart = new Chart(width, height, { x: [0, 1], y: [0, 1], label: `ROC curve, AUC ${formatNumber(c.area, 4)}` })
      .axes({ xLabel: "false positive rate", yLabel: "true positive rate" });
    chart.line([0, 1], [0, 1], { class: "thin" });
    chart.line([0, ...Array.from(c.false_positive, (x) => x / c.negatives)], [0, ...Array.from(c.true_positive, (x) => x / c.positives)], {});
    const m = at();
    chart.dot(m.fp / c.negatives, m.tp / c.positives, { r: 6, class: "point" });
    return chart.text(chart.box.right - 6, chart.box.bottom - 10, `AUC ${formatNumber(c.area, 4)}`, { "text-anchor": "end", class: "strong" }).svg;
  }));
  const precision = figure("Precision-recall curve; the dashed line is the share of positives.", square((width, height) => {
    const c = now();
    const chart = new Chart(width, height, { x: [0, 1], y: [0, 1], label: `Precision-recall curve, average precision ${formatNumber(c.average_precision, 4)}` })
      .axes({ xLabel: "recall", yLabel: "precision" });
    chart.rule({ y: c.positives / (c.positives + c.negatives) });
    const right = Array.from(c.true_positive, (tp, i) => tp / (tp + c.false_positive[i]));
    chart.line(Array.from(c.true_positive, (x) => x / c.positives), right, { class: "other" });
    const m = at();
    if (m.tp + m.fp > 0) chart.dot(m.tp / c.positives, m.tp / (m.tp + m.fp), { r: 6, class: "point" });
    return chart.text(chart.box.left + 10, chart.box.bottom - 10, `average precision ${formatNumber(c.average_precision, 4)}`, { class: "strong" }).svg;
  }));
  const calibrated = Boolean(classes[0].before);
  const trust = figure(`Calibration: observed share against predicted probability. Bars are 95 % confidence intervals.${calibrated ? " Orange line: before the calibration of the model." : ""}`, square((width, height) => {
    const c = now().calibration;
    const chart = new Chart(width, height, { x: [0, 1], y: [0, 1], label: "Calibration: observed share against predicted probability" })
      .axes({ xLabel: "predicted probability", yLabel: "observed share" });
    chart.line([0, 1], [0, 1], { class: "thin" });
    const before = now().before;
    if (before) {
      chart.line(before.predicted, before.observed, { class: "thin picked" });
    }
    Array.from(c.predicted).forEach((p, i) => {
      chart.add(g("line", { class: "whisker", x1: chart.x(p), x2: chart.x(p), y1: chart.y(c.low[i]), y2: chart.y(c.high[i]) }));
    });
    chart.line(c.predicted, c.observed, { class: "third" });
    Array.from(c.predicted).forEach((p, i) => addTip(chart.dot(p, c.observed[i], { r: 4, class: "point" }),
      [`predicted ${share(p)}`, `observed ${share(c.observed[i])}`, `${formatNumber(c.weight[i], 6)} rows`]));
    return chart.svg;
  }));
  const costs = figure("Mean cost of errors by threshold; the dot is the lowest cost.", square((width, height) => {
    const c = now();
    const ts = Array.from({ length: 201 }, (_, i) => i / 200);
    const prices = ts.map((t) => costOf(c, t, cost));
    const chart = new Chart(width, height, { x: [0, 1], y: [0, Math.max(...prices) * 1.05 || 1], label: "Cost per row by threshold" })
      .axes({ xLabel: "threshold", yLabel: "cost per row" });
    chart.line(ts, prices, {});
    const t = best(c, cost);
    chart.rule({ x: Math.min(threshold.value, 1), class: "mark" });
    addTip(chart.dot(Math.min(t, 1), costOf(c, t, cost), { r: 6, class: "point" }), [t > 1 ? "lowest cost: predict no row positive" : `threshold with the lowest cost ${formatNumber(t, 3)}`, `cost ${formatNumber(costOf(c, t, cost), 3)} per row`]);
    return chart.svg;
  }));
  const shapes = figure("Predicted probabilities of the rows of the class (orange) and of the others (blue), as shares of each.", square((width, height) => {
    const c = now();
    const n = 20;
    const parts = [[c.positives, "tp"], [c.negatives, "fp"]].map(([all, kind]) => Array.from({ length: n }, (_, b) =>
      (counts(c, b / n)[kind] - (b + 1 < n ? counts(c, (b + 1) / n)[kind] : 0)) / all));
    const chart = new Chart(width, height, { x: [0, 1], y: [0, Math.max(...parts.flat()) * 1.06 || 1], label: `Distribution of the predicted probability of ${c.pos_label}` })
      .axes({ xLabel: "predicted probability", yLabel: "share of rows" });
    parts.forEach((values, k) => values.forEach((part, b) => {
      const [x0, x1, y] = [chart.x(b / n), chart.x((b + 1) / n), chart.y(part)];
      const half = (x1 - x0 - 1) / 2;
      chart.add(addTip(g("rect", { class: k ? "bar" : "bar down", x: x0 + 0.5 + (k ? 0 : half), width: Math.max(half, 0.5), y, height: chart.box.bottom - y }),
        [`probability ${formatNumber(b / n, 2)} to ${formatNumber((b + 1) / n, 2)}`, `${share(part)} of the rows of ${k ? "other classes" : c.pos_label}`]));
    }));
    return chart.rule({ x: Math.min(threshold.value, 1), class: "mark" }).svg;
  }));
  put(section, h("div", { class: "trio" }, table, roc, precision, trust, costs, shapes));
  const redraw = () => {
    const c = now();
    const m = at();
    const cells = [[m.tn, m.fp], [m.fn, m.tp]];
    const rest = several ? "others" : names.find((name) => name !== c.pos_label) ?? "others";
    const rate = (name, x) => h("div", {}, h("span", {}, name), h("b", {}, x));
    table.replaceChildren(h("h3", {}, threshold.value > 1 ? "No row is predicted positive" : `At threshold ${formatNumber(threshold.value, 3)}`), matrix([rest, c.pos_label], (i, j) => cells[i][j]),
      h("div", { class: "rates" }, rate("accuracy", share((m.tp + m.tn) / (c.positives + c.negatives))),
        rate("precision", share(m.tp / (m.tp + m.fp))), rate("recall", share(m.tp / c.positives)),
        rate("F₁", formatNumber((2 * m.tp) / (2 * m.tp + m.fp + m.fn), 3)), rate("false positive rate", share(m.fp / c.negatives)),
        rate("cost per row", formatNumber(costOf(c, threshold.value, cost), 3))),
      asTable("Show the numbers", `Thresholds of ${c.pos_label}`, [
        { title: "threshold", cell: (t) => formatNumber(t, 3) },
        { title: "precision", number: true, cell: (t) => { const n = counts(c, t); return share(n.tp / (n.tp + n.fp)); } },
        { title: "recall", number: true, cell: (t) => share(counts(c, t).tp / c.positives) },
        { title: "false positive rate", number: true, cell: (t) => share(counts(c, t).fp / c.negatives) },
        { title: "cost per row", number: true, cell: (t) => formatNumber(costOf(c, t, cost), 3) },
      ], () => Array.from({ length: 21 }, (_, i) => i / 20)),
      asTable("Show the calibration", `Calibration of ${c.pos_label}`, [
        { title: "predicted", cell: (i) => share(c.calibration.predicted[i]) },
        { title: "observed", number: true, cell: (i) => share(c.calibration.observed[i]) },
        { title: "95 % interval", number: true, cell: (i) => `${share(c.calibration.low[i])} to ${share(c.calibration.high[i])}` },
        { title: "rows", number: true, cell: (i) => formatNumber(c.calibration.weight[i], 6) },
      ], () => Array.from(c.calibration.predicted, (_, i) => i)));
    for (const one of [roc, precision, trust, costs, shapes]) one.redraw();
  };
  for (const choice of [chosen, threshold, cost.falsePositive, cost.falseNegative]) choice.watch(redraw);
}

function price(label, choice) {
  const input = h("input", { type: "number", min: 0, step: "any", value: choice.value, oninput: () => {
    const typed = Number(input.value);
    if (input.value !== "" && typed >= 0) choice.set(typed);
  } });
  return h("label", { class: "control" }, h("span", {}, label), input);
}

/** The weights of true and false positives and negatives at a threshold. */
function counts(c, t) {
  let [low, high] = [0, c.threshold.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (c.threshold[middle] >= t) low = middle + 1;
    else high = middle;
  }
  const [tp, fp] = low ? [c.true_positive[low - 1], c.false_positive[low - 1]] : [0, 0];
  return { tp, fp, fn: c.positives - tp, tn: c.negatives - fp };
}

function costOf(c, t, cost) {
  const m = counts(c, t);
  return (m.fp * cost.falsePositive.value + m.fn * cost.falseNegative.value) / (c.positives + c.negatives);
}

function best(c, cost) {
  let [least, at] = [costOf(c, Infinity, cost), Infinity]; // no row is predicted positive
  for (const t of c.threshold) {
    const now = costOf(c, t, cost);
    if (now < least) [least, at] = [now, t];
  }
  return at;
}

/** A confusion matrix; with many classes only the counts are shown. Labels are cut, with the full text as tooltip. */
function matrix(names, count) {
  const many = names.length > 8;
  const label = (name) => h("span", { title: name }, name);
  return h("table", { class: many ? "confusion many" : "confusion" }, h("caption", {}, "Rows: true class; columns: predicted class."),
    h("thead", {}, h("tr", {}, h("td", {}), names.map((name) => h("th", { scope: "col" }, label(name))))),
    h("tbody", {}, names.map((name, i) => {
      const row = names.map((_, j) => count(i, j));
      const all = row.reduce((a, b) => a + b, 0);
      return h("tr", {}, h("th", { scope: "row" }, label(name)), row.map((n, j) => {
        const part = all > 0 ? n / all : 0;
        const colour = i === j ? "var(--accent)" : "var(--other)";
        const style = { background: `color-mix(in srgb, ${colour} ${Math.round(5 + 40 * part)}%, var(--card))` };
        if (!many) return h("td", { style }, formatNumber(n, 6), h("small", {}, share(part, 2)));
        return addTip(h("td", { style }, n ? formatNumber(n, 6) : ""), [`true ${name}, predicted ${names[j]}`, `${formatNumber(n, 6)}, ${share(part)}`]);
      }));
    })));
}

// The quality of predicted curves of times until an event: all rows, groups of risk, calibration, and scores over time.

function eventsQuality(section, all) {
  const chosen = new Choice(0);
  const now = () => all[chosen.value];
  const lead = h("p", { class: "lead" });
  put(section, lead);
  if (all.length > 1) put(section, h("div", { class: "controls" }, menu("Event", all.map((e, k) => [k, e.name]), chosen)));
  const horizon = new Choice(Math.floor(all[0].horizons.length / 2));
  const drawn = [wholeCurves(now), groupCurves(now), eventCalibration(now, horizon), timeAuc(now), timeBrier(now)];
  const keys = h("ul", { class: "legend" });
  const times = h("div", { class: "controls" });
  const tables = h("div", {});
  put(section,
    h("div", { class: "pair" },
      h("div", {}, h("h3", {}, "All rows"), legend([["observed", ""], ["predicted (mean)", "other"]]), drawn[0]),
      h("div", {}, h("h3", {}, "By group of predicted risk"), keys, drawn[1])),
    h("div", { class: "trio" },
      h("div", {}, h("h3", {}, "Calibration at a time"), times, drawn[2]),
      h("div", {}, h("h3", {}, "AUC over time"), legend([["model", ""], ["random order", "faint"]]), drawn[3]),
      h("div", {}, h("h3", {}, "Brier score over time"), legend([["model", ""], ["one curve for all rows", "other"]]), drawn[4])),
    tables);
  chosen.watch(() => {
    const e = now();
    lead.textContent = wordsOf(e);
    if (horizon.value >= e.horizons.length) horizon.set(e.horizons.length - 1);
    times.replaceChildren(buttons("Time", e.horizons.map((one, k) => [k, formatNumber(one.time, 3)]), horizon));
    keys.replaceChildren(...e.groups.map((group, i) => h("li", {}, h("i", { style: { background: groupColour(e, i) } }), `${groupName(e, i)}: ${amount(group.n_rows, "row")}`)));
    tables.replaceChildren(curveTable(e), horizonTable(e));
    drawn.forEach((one) => one.redraw());
  });
  horizon.watch(() => drawn[2].redraw());
}

const curveWord = (e) => (e.is_cause ? "cumulative incidence" : "survival");
/** Probabilities of the event as the page shows them: as survival if there is one kind of event. */
const shownCurve = (e, values) => (e.is_cause ? Array.from(values) : Array.from(values, (p) => 1 - p));
const groupName = (e, i) => (i === 0 ? "lowest risk" : i === e.groups.length - 1 ? "highest risk" : `group ${i + 1}`);
const groupColour = (e, i) => blend(LOW_HIGH, e.groups.length > 1 ? i / (e.groups.length - 1) : 0.5);
const estimator = (e) => (e.is_cause ? "Aalen and Johansen" : "Kaplan and Meier");

function wordsOf(e) {
  const others = e.n_others ? `, ${formatNumber(e.n_others, 9)} another event` : "";
  const censored = e.n_rows - e.n_events - e.n_others;
  return `Of ${amount(e.n_rows, "row")}, ${formatNumber(e.n_events, 9)} had the ${e.name}${others}; ${formatNumber(censored, 9)} are censored. Observed curves are those of ${estimator(e)}. Curves end where a tenth of the rows is still observed.`;
}

/** A step function as points: the value changes at each time. */
function steps(times, values) {
  const [xs, ys] = [[], []];
  Array.from(times).forEach((t, i) => {
    if (i) {
      xs.push(t);
      ys.push(values[i - 1]);
    }
    xs.push(t);
    ys.push(values[i]);
  });
  return [xs, ys];
}

/** The axes of curves over time. */
function timeChart(e, width, yLabel, label, y = [0, 1], clip = false) {
  return new Chart(width, Math.min(width, 320), { x: [0, e.times[e.times.length - 1]], y, label, clip }).axes({ xLabel: "time", yLabel });
}

function nearestTime(times, at) {
  return Array.from(times).reduce((near, t, i) => (Math.abs(t - at) < Math.abs(times[near] - at) ? i : near), 0);
}

function wholeCurves(now) {
  return figure("The observed curve of all rows with its 95 % confidence limits, and the mean of the predicted curves. A predicted curve outside the band is too high or too low.", (width) => {
    const e = now();
    const { predicted, observed, low, high } = e.whole;
    const chart = timeChart(e, width, curveWord(e), `Observed and mean predicted ${curveWord(e)}`);
    const [own, one, two, mean] = [observed, low, high, predicted].map((values) => shownCurve(e, values));
    const [xs, lower] = steps(e.times, one);
    chart.band(xs, lower, steps(e.times, two)[1]);
    chart.line(...steps(e.times, own), {}).line(e.times, mean, { class: "other" });
    addTip(chart.svg, (event) => {
      const i = nearestTime(e.times, chart.pointed(event).x);
      return [`time ${formatNumber(e.times[i])}`, `observed ${share(own[i])} (${share(Math.min(one[i], two[i]))} to ${share(Math.max(one[i], two[i]))})`, `predicted ${share(mean[i])}`];
    });
    return chart.svg;
  });
}

function groupCurves(now) {
  return figure("Groups of about equally many rows by predicted risk: observed curves (steps) and mean predicted ones (dashed). Curves far apart: the model separates the rows; a dashed curve close to its steps: it is calibrated.", (width) => {
    const e = now();
    const chart = timeChart(e, width, curveWord(e), `Observed and predicted ${curveWord(e)} by group of risk`);
    const curves = e.groups.map((group, i) => [groupColour(e, i), shownCurve(e, group.curves.observed), shownCurve(e, group.curves.predicted)]);
    for (const [stroke, observed, predicted] of curves) {
      chart.line(...steps(e.times, observed), { style: { stroke } });
      chart.line(e.times, predicted, { style: { stroke, "stroke-dasharray": "5 4", "stroke-width": "1.5" } });
    }
    addTip(chart.svg, (event) => {
      const i = nearestTime(e.times, chart.pointed(event).x);
      return [`time ${formatNumber(e.times[i])}`, ...curves.map(([, observed, predicted], k) => `${groupName(e, k)}: observed ${share(observed[i])}, predicted ${share(predicted[i])}`)];
    });
    return chart.svg;
  });
}

function eventCalibration(now, horizon) {
  return figure("Groups of rows by their prediction for this time. On the line, as many rows had the event as predicted. Bars are 95 % confidence intervals.", (width) => {
    const e = now();
    const c = e.horizons[horizon.value];
    const chart = new Chart(width, Math.min(width, 320), { x: [0, 1], y: [0, 1], label: `Calibration of the ${curveWord(e)} at the time ${formatNumber(c.time)}` })
      .axes({ xLabel: `predicted ${curveWord(e)}`, yLabel: `observed ${curveWord(e)}` });
    chart.line([0, 1], [0, 1], { class: "thin picked" });
    const [predicted, observed, low, high] = [c.predicted, c.observed, c.low, c.high].map((values) => shownCurve(e, values));
    predicted.forEach((p, i) => {
      chart.add(g("line", { class: "whisker", x1: chart.x(p), x2: chart.x(p), y1: chart.y(low[i]), y2: chart.y(high[i]) }));
      addTip(chart.dot(p, observed[i], { r: 4.5, class: "point" }), [`predicted ${share(p)}`, `observed ${share(observed[i])}`, amount(c.n_rows[i], "row")]);
    });
    return chart.svg;
  });
}

function timeAuc(now) {
  return figure("The time-dependent AUC: rows with the event until a time against rows observed beyond it.", (width) => {
    const e = now();
    const chart = timeChart(e, width, "AUC", "Area under the ROC curve by time", [Math.min(0.4, ...Array.from(e.auc).filter(Number.isFinite)), 1], true);
    chart.rule({ y: 0.5 });
    chart.line(e.auc_times, e.auc, {});
    Array.from(e.auc_times).forEach((t, i) => addTip(chart.dot(t, e.auc[i], { r: 2.6, class: "point" }), [`time ${formatNumber(t)}`, `AUC ${formatNumber(e.auc[i], 4)}`]));
    return chart.text(chart.box.right - 6, chart.box.bottom - 10, `mean ${formatNumber(e.mean_auc, 4)}`, { "text-anchor": "end", class: "strong" }).svg;
  });
}

function timeBrier(now) {
  return figure("The mean squared error of the predicted curves; smaller is better.", (width) => {
    const e = now();
    const [times, model, constant] = [Array.from(e.times).slice(1), Array.from(e.brier), Array.from(e.brier_baseline)];
    const chart = timeChart(e, width, "Brier score", "Brier score by time", [0, Math.max(...model, ...constant, 0.01) * 1.06]);
    chart.line(times, constant, { class: "other" }).line(times, model, {});
    addTip(chart.svg, (event) => {
      const i = nearestTime(times, chart.pointed(event).x);
      return [`time ${formatNumber(times[i])}`, `model ${formatNumber(model[i], 4)}`, `one curve for all rows ${formatNumber(constant[i], 4)}`];
    });
    return chart.svg;
  });
}

function curveTable(e) {
  const word = curveWord(e);
  const columns = [["observed", e.whole.observed], ["predicted", e.whole.predicted], ...e.groups.flatMap((group, i) => [[`${groupName(e, i)}, observed`, group.curves.observed], [`${groupName(e, i)}, predicted`, group.curves.predicted]])];
  const shown = columns.map(([title, values]) => [title, shownCurve(e, values)]);
  return asTable("Show the curves", `The ${word} at each time`, [
    { title: "time", cell: (i) => formatNumber(e.times[i]) },
    ...shown.map(([title, values]) => ({ title, number: true, cell: (i) => share(values[i]) })),
  ], () => Array.from(e.times, (_, i) => i));
}

function horizonTable(e) {
  const word = curveWord(e);
  const rows = e.horizons.flatMap((one) => Array.from(one.predicted, (_, i) => [one, i]));
  const value = (values, i) => shownCurve(e, [values[i]])[0];
  return asTable("Show the calibration", `Predicted and observed ${word} by group of rows`, [
    { title: "time", cell: ([one]) => formatNumber(one.time) },
    { title: "rows", number: true, cell: ([one, i]) => formatNumber(one.n_rows[i], 9) },
    { title: "predicted", number: true, cell: ([one, i]) => share(value(one.predicted, i)) },
    { title: "observed", number: true, cell: ([one, i]) => share(value(one.observed, i)) },
    { title: "95 % interval", number: true, cell: ([one, i]) => [value(one.low, i), value(one.high, i)].sort((a, b) => a - b).map((p) => share(p)).join(" to ") },
  ], () => rows);
}

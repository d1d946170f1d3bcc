// The model, its scores, and the description of the table.

function overviewSection({ facts }) {
  const o = facts.overview;
  const section = h("section", { id: "overview", class: "hero", "aria-labelledby": "title" });
  const interval = (s) => (Number.isFinite(s.low) ? `${formatNumber(s.low, 3)} to ${formatNumber(s.high, 3)}` : "no confidence interval");
  const baseline = (s) => (Number.isFinite(s.baseline) ? [`${o.baseline}: `, h("b", { "data-baseline": s.name }, formatNumber(s.baseline, 4))] : "no baseline");
  put(section,
    h("p", { class: "kind" }, `${o.estimator} · ${o.task}`),
    h("h1", { id: "title" }, o.title),
    h("p", { class: "story" }, story(o)));
  for (const [target, scores] of o.scores) {
    if (target) put(section, h("h3", {}, target));
    put(section, h("div", { class: "cards" }, scores.map((s) =>
      h("div", { class: "card" },
        h("div", { class: "what" }, s.label),
        h("div", { class: "value", "data-score": s.name }, formatNumber(s.value, 4)),
        h("div", { class: "words" }, s.reason && !Number.isFinite(s.value) ? s.reason : inWords(s, o)),
        h("div", { class: "range" }, baseline(s)),
        h("div", { class: "range" }, interval(s))))));
  }
  put(section,
    h("p", { class: "soft small" }, `${o.baseline[0].toUpperCase()}${o.baseline.slice(1)}: ${o.baseline_note}. Ranges are ${share(o.confidence_level, 2)} confidence intervals, from the ${amount(o.n_rows, "row")} of this table${o.weighted ? " with their weights" : ""}. Use rows that were not used for training: scores on training rows are too optimistic.`),
    h("dl", { class: "facts" }, [
      ["Target", o.target],
      ["Features", `${formatNumber(o.features.length, 9)}, ${formatNumber(o.n_used, 9)} of them used`],
      ["Trees", `${formatNumber(o.n_trees, 9)} with ${formatNumber(o.n_leaves, 9)} leaves, depth at most ${o.depth}`],
      ["Loss", o.loss],
      ...(o.round_choice ? [["Rounds", rounds(o.round_choice)]] : []),
    ].map(([what, text]) => h("div", {}, h("dt", {}, what), h("dd", {}, text))), h("div", { class: "whole" }, h("dt", {}, "Algorithm"), h("dd", {}, o.recipe))),
    fingerprint(o.fingerprint),
    notes(o.notes.map((text) => [null, text])),
    candidates(o.leaderboard),
    h("details", {}, h("summary", {}, "Parameters"), tableOf("Parameters that differ from the defaults come first", [
      { title: "parameter", cell: ([name, , usual]) => (usual ? name : h("b", {}, name)) },
      { title: "value", cell: ([, value]) => h("code", {}, ellipsis(value, 120)) },
      { title: "", cell: ([, , usual]) => (usual ? h("span", { class: "soft" }, "default") : "set") },
    ], [...o.parameters].sort((one, two) => one[2] - two[2]))));
  return section;
}

/** How held-out rows chose the number of rounds. */
function rounds({ folds, held_out_rows, best_round, rounds: kept }) {
  const parts = folds > 1 ? ` in ${formatNumber(folds, 9)} folds` : "";
  return `${formatNumber(kept, 9)}; best for ${amount(held_out_rows, "held-out row")}${parts}: ${formatNumber(best_round, 9)}`;
}

/** The leaderboard of an automatic model; null for other models. */
function candidates(rows) {
  if (!rows.length) return null;
  const number = (name, digits) => ({ title: name.replaceAll("_", " "), number: true, cell: (row) => formatNumber(row[name], digits), key: (row) => row[name] });
  return h("details", { open: "" }, h("summary", {}, "Candidates"), tableOf(
    "Loss of held-out rows; its difference to the fitted model on the same rows, with the standard error of the difference; and the weight in the model.", [
      { title: "candidate", cell: (row) => row.name },
      number("loss", 5),
      number("difference", 3),
      number("difference_error", 2),
      number("weight", 2),
      number("rounds", 9),
    ], rows));
}

/** A score in plain words. */
function inWords({ name, value }, o) {
  const explained = (of, constant) => (value >= 0 ? `${share(value)} of the ${of} explained` : `worse than ${constant}`);
  if (name.startsWith("d2_")) return explained(name === "d2_pinball" ? "pinball loss" : "deviance", `the ${o.baseline}`);
  if (name.endsWith("_deviance")) return "mean deviance; 0 is perfect";
  const several = o.outputs.length > 2 ? ", mean over the classes" : "";
  return {
    rmse: "typical error; large errors count more",
    mae: "mean size of an error",
    r2: explained("variance", "the mean of the target"),
    log_loss: `the true ${o.task === "labels" ? "label" : "class"} gets a probability of ${share(Math.exp(-value))} (geometric mean)`,
    accuracy: `${share(value)} of rows predicted correctly`,
    auc: `${share(value)} of pairs ranked correctly${several}`,
    brier: "mean squared error of probabilities",
    hamming_loss: `${share(value)} of the labels are wrong`,
    subset_accuracy: `${share(value)} of the rows have no wrong label`,
    macro_auc: `${share(value)} of pairs ranked correctly, mean over the labels`,
    c_index: `${share(value)} of comparable pairs in the right order`,
    uno_c_index: "the same with weights for censoring",
    integrated_brier: "mean squared error of the curves; 0 is perfect",
  }[name] ?? "";
}

function story(o) {
  const scores = Object.fromEntries(o.scores[0][1].map((s) => [s.name, s]));
  const first = o.scores.length > 1 ? " for the first target" : "";
  const task = `Predicts ${o.subject} from ${amount(o.features.length, "feature")}. `;
  const against = (s, format) => (Number.isFinite(s.baseline) ? ` (${o.baseline}: ${format(s.baseline)})` : "");
  if (o.task === "regression") {
    const d2 = Object.values(scores).find((s) => s.name.startsWith("d2_"));
    if (d2 && Number.isFinite(d2.value)) return `${task}The model explains ${share(d2.value)} of the ${scores[d2.name.slice(3)].label}${first} (D²).`;
    const part = Number.isFinite(scores.r2.value) ? `; R² is ${formatNumber(scores.r2.value, 3)}` : "";
    const error = (x) => formatNumber(x, 3);
    return `${task}The mean absolute error${first} is ${error(scores.mae.value)}${against(scores.mae, error)}${part}.`;
  }
  if (o.task === "ranking") {
    const top = o.scores[0][1][0];
    return `Ranks the rows of a query by ${amount(o.features.length, "feature")}. The mean ${top.label} is ${formatNumber(top.value, 3)} (random order: ${formatNumber(top.baseline, 3)}).`;
  }
  if (o.task === "survival") {
    const [order, error] = [scores.c_index, scores.integrated_brier];
    return `${task}${share(order.value)} of comparable pairs of rows are in the right order${first.replace("target", "event")} (random order: ${share(order.baseline)}); the integrated Brier score is ${formatNumber(error.value, 3)} (${o.baseline}: ${formatNumber(error.baseline, 3)}).`;
  }
  const percent = (x) => share(x, 3);
  if (o.task === "labels") {
    const { hamming_loss: wrong, subset_accuracy: exact } = scores;
    return `${task}${percent(wrong.value)} of the predicted labels are wrong${against(wrong, percent)}; ${percent(exact.value)} of the rows have no wrong label${against(exact, percent)}.`;
  }
  const area = Number.isFinite(scores.auc.value) ? `; the AUC is ${formatNumber(scores.auc.value, 4)}: ${share(scores.auc.value)} of pairs are ranked correctly` : "";
  return `${task}The accuracy with ${formatNumber(o.outputs.length)} classes is ${percent(scores.accuracy.value)}${against(scores.accuracy, percent)}${area}.`;
}

function fingerprint(digits) {
  const copy = h("button", { type: "button", class: "screen-only", onclick: async () => {
    await navigator.clipboard?.writeText(digits);
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy"; }, 1600);
  } }, "Copy");
  return h("div", { class: "stamp small" }, h("span", { class: "soft" }, "Fingerprint"), h("code", {}, digits), copy);
}

/** Notes: [column or null, text]. */
function notes(lines) {
  if (!lines.length) return null;
  return h("ul", { class: "notes" }, lines.map(([column, text]) =>
    h("li", {}, column ? h("b", {}, `${column} `) : null, text)));
}

// ---- the table ----------------------------------------------------------------------------------

function tableSection({ facts }) {
  const t = facts.table;
  const some = t.n_described < t.n_rows ? ` The description uses a random sample of ${amount(t.n_described, "row")}.` : "";
  const fewer = t.columns.length < t.n_columns + 1 ? ` Only the ${t.columns.length - 1} most important columns are shown.` : "";
  const section = h("section", { id: "data", "aria-labelledby": "data-title" },
    h("h2", { id: "data-title" }, "Data"),
    h("p", { class: "lead" }, `${amount(t.n_rows, "row")}, ${amount(t.n_columns, "column")} and the target.${some}${fewer}`),
    notes(t.hints.map((hint) => [null, hint.text])));
  const numbers = (c) => c.is_number && (c.formatted || Number.isFinite(c.quartiles[1]));
  const cut = (text) => h("div", { class: "cut", title: text }, text);
  const columns = [
    { title: "column", width: 20, key: (c) => c.name, cell: (c) => [h("div", { class: "cut" }, h("span", { title: c.name }, c.name)),
      h("div", { class: "under" }, c.is_target ? `${c.kind}, target` : c.kind)] },
    { title: "distribution", width: 12, cell: spark },
    { title: "missing", width: 8, number: true, cell: (c) => (c.missing ? share(c.missing / t.n_described) : "0"), key: (c) => c.missing },
    { title: "distinct", width: 8, number: true, cell: (c) => formatNumber(c.distinct, 9), key: (c) => c.distinct },
    { title: "min – max, quartiles", width: 22, number: true, key: (c) => c.quartiles[1], cell: (c) => (numbers(c)
      ? [cut(`${c.formatted?.min ?? formatNumber(c.min)} – ${c.formatted?.max ?? formatNumber(c.max)}`),
        h("div", { class: "under" }, cut((c.formatted?.quartiles ?? Array.from(c.quartiles, (q) => formatNumber(q, 3))).join(" · ")))] : "–") },
    { title: "mean", width: 10, number: true, cell: (c) => cut(c.formatted?.mean ?? formatNumber(c.mean)), key: (c) => c.mean },
    { title: "outliers", width: 7, number: true, cell: (c) => (c.is_number ? formatNumber(c.outliers, 9) : "–"), key: (c) => c.outliers },
    { title: "most frequent", width: 13, cell: (c) => (c.frequent.length && c.frequent[0][1] > 1 ? [cut(c.frequent[0][0]), h("div", { class: "under" }, amount(c.frequent[0][1], "row"))] : "–") },
  ];
  put(section, tableOf("Outliers are more than 1.5 interquartile ranges beyond the quartiles. Click a column heading to sort.", columns, t.columns));
  const associated = t.associations.filter((line) => Number.isFinite(line[3]));
  const both = h("div", { class: "pair" });
  if (associated.length) {
    const rows = associated.slice(0, 12).map(([name, measure, value, nats]) => ({
      name, value: nats, lines: [name, `mutual information ${formatNumber(nats, 3)} nats`, `${measure} ${formatNumber(value, 3)}`] }));
    put(both, h("div", {}, h("h3", {}, `Association with ${t.target}`),
      figure("Mutual information of each column with the target, without a model.", (width) => bars(rows, width, { label: `Mutual information of columns with ${t.target}`, unit: "mutual information (nats)" }))));
  }
  if (t.pairs.length) {
    const rows = t.pairs.slice(0, 12).map(([name, value]) => ({ name, value }));
    put(both, h("div", {}, h("h3", {}, "Correlated columns"),
      figure("The importance of correlated columns is divided between them.", (width) => bars(rows, width, { label: "Rank correlations of pairs of columns", unit: "rank correlation", most: 0.5 }))));
  }
  if (both.children.length) put(section, h("br"), both);
  return section;
}

/** The distribution of a column as a small chart. */
function spark(c) {
  const counts = c.is_number ? Array.from(c.bars) : c.frequent.map(([, rows]) => rows);
  if (!counts.length) return "–";
  const [width, height] = [96, 26];
  const most = Math.max(...counts);
  const outside = c.is_number && c.outside ? [`${amount(c.outside, "value")} outside the chart`] : [];
  const step = width / counts.length;
  const label = c.is_number ? `Distribution of ${c.name}` : `Most frequent categories of ${c.name}`;
  // A dot above the right end: extreme values are left out, so that they do not flatten the rest.
  const made = g("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    counts.map((n, i) => g("rect", { class: c.is_number ? "bar" : "bar faint", x: i * step, width: Math.max(step - 1, 0.6), y: height - (height * n) / most, height: (height * n) / most })),
    outside.length ? g("circle", { class: "point", cx: width - 4, cy: 4, r: 4 }) : null);
  if (c.is_number) return outside.length ? addTip(made, outside) : made;
  return addTip(made, c.frequent.map(([value, rows]) => `${value}: ${formatNumber(rows, 9)}`));
}

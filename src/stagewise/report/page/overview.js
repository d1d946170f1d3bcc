// What the model is, and how good; and the table that it was judged by.

function overviewSection({ facts }) {
  const o = facts.overview;
  const section = h("section", { id: "overview", class: "hero", "aria-labelledby": "title" });
  const interval = (s) => (Number.isFinite(s.low) ? `${words(s.low, 3)} to ${words(s.high, 3)}` : "no interval");
  put(section,
    h("p", { class: "kind" }, `${o.estimator} · ${o.task}`),
    h("h1", { id: "title" }, o.title),
    h("p", { class: "story" }, story(o)));
  for (const [target, scores] of o.scores) {
    if (target) put(section, h("h3", {}, target));
    put(section, h("div", { class: "cards" }, scores.map((s) =>
      h("div", { class: "card" },
        h("div", { class: "what" }, s.words),
        h("div", { class: "value", "data-score": s.name }, words(s.value, 4)),
        h("div", { class: "range" }, interval(s))))));
  }
  put(section,
    h("p", { class: "soft small" }, `Ranges: ${share(o.confidence, 2)} confidence intervals over the ${amount(o.n_rows, "row")} of this table${o.weighted ? ", by their weights" : ""}. Pass rows that the model has not seen: on training rows it looks better than it is.`),
    h("dl", { class: "facts" }, [
      ["Predicts", o.target],
      ["From", `${amount(o.features.length, "feature")}, ${words(o.n_used)} of them used`],
      ["Trees", `${words(o.n_trees, 9)} with ${words(o.n_leaves, 9)} leaves, at most ${o.depth} deep`],
      ["Loss", o.loss],
    ].map(([what, text]) => h("div", {}, h("dt", {}, what), h("dd", {}, text))), h("div", { class: "whole" }, h("dt", {}, "Recipe"), h("dd", {}, o.recipe))),
    fingerprint(o.fingerprint),
    notes(o.notes.map((text) => [null, text])),
    h("details", {}, h("summary", {}, "Parameters"), tableOf("Those that are not the defaults stand first", [
      { title: "parameter", cell: ([name, , usual]) => (usual ? name : h("b", {}, name)) },
      { title: "value", cell: ([, value]) => h("code", {}, clipped(value, 120)) },
      { title: "", cell: ([, , usual]) => (usual ? h("span", { class: "soft" }, "default") : "set") },
    ], [...o.parameters].sort((one, two) => one[2] - two[2]))));
  return section;
}

function story(o) {
  const scores = Object.fromEntries(o.scores[0][1].map((s) => [s.name, s.value]));
  const what = o.scores.length > 1 ? "Of the first target it " : "It ";
  const task = `Predicts ${o.target} from ${amount(o.features.length, "column")}. `;
  if (o.task === "regression") {
    const part = Number.isFinite(scores.r2) ? ` and explains ${share(Math.max(scores.r2, 0), 3)} of the variance` : "";
    return `${task}${what}is off by ${words(scores.mae, 3)} on average${part}.`;
  }
  const area = Number.isFinite(scores.auc) ? ` and puts a row of a class before one of another in ${share(scores.auc, 4)} of pairs` : "";
  return `${task}It names the right one of ${words(o.outputs.length)} classes for ${share(scores.accuracy, 3)} of the rows${area}.`;
}

function fingerprint(digits) {
  const copy = h("button", { type: "button", class: "screen-only", onclick: async () => {
    await navigator.clipboard?.writeText(digits);
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy"; }, 1600);
  } }, "Copy");
  return h("div", { class: "stamp small" }, h("span", { class: "soft" }, "Fingerprint"), h("code", {}, digits), copy);
}

/** Things to look at: [column or null, words]. */
function notes(lines) {
  if (!lines.length) return null;
  return h("ul", { class: "notes" }, lines.map(([column, text]) =>
    h("li", {}, column ? h("b", {}, `${column} `) : null, text)));
}

// ---- the table ----------------------------------------------------------------------------------

function tableSection({ facts }) {
  const t = facts.table;
  const some = t.n_looked_at < t.n_rows ? ` Described by ${words(t.n_looked_at, 9)} of them, drawn at random.` : "";
  const fewer = t.columns.length < t.n_columns + 1 ? ` The ${t.columns.length - 1} that the model uses most are shown.` : "";
  const section = h("section", { id: "data", "aria-labelledby": "data-title" },
    h("h2", { id: "data-title" }, "Data"),
    h("p", { class: "lead" }, `${amount(t.n_rows, "row")}, ${amount(t.n_columns, "column")} and the target.${some}${fewer}`),
    notes(t.hints.map((hint) => [null, hint.words])));
  const columns = [
    { title: "column", key: (c) => c.name, cell: (c) => [h("span", { title: c.name }, c.name),
      h("div", { class: "under" }, c.is_target ? `${c.kind}, target` : c.kind)] },
    { title: "distribution", cell: spark },
    { title: "missing", number: true, cell: (c) => (c.missing ? share(c.missing / t.n_looked_at) : "0"), key: (c) => c.missing },
    { title: "distinct", number: true, cell: (c) => words(c.distinct, 9), key: (c) => c.distinct },
    { title: "least", number: true, cell: (c) => c.in_words?.least ?? words(c.least), key: (c) => c.least },
    { title: "quartiles", number: true, cell: (c) => (c.is_number ? (c.in_words?.quartiles ?? Array.from(c.quartiles, (q) => words(q, 3))).join(" · ") : "–"), key: (c) => c.quartiles[1] },
    { title: "largest", number: true, cell: (c) => c.in_words?.largest ?? words(c.largest), key: (c) => c.largest },
    { title: "mean", number: true, cell: (c) => c.in_words?.mean ?? words(c.mean), key: (c) => c.mean },
    { title: "outliers", number: true, cell: (c) => (c.is_number ? words(c.outliers, 9) : "–"), key: (c) => c.outliers },
    { title: "most frequent", cell: (c) => (c.levels.length && c.levels[0][1] > 1 ? clipped(`${c.levels[0][0]} (${words(c.levels[0][1], 9)})`, 22) : "–") },
  ];
  put(section, tableOf("Outliers lie more than 1.5 interquartile ranges beyond the quartiles. Click a title to sort.", columns, t.columns));
  const told = t.associations.filter((line) => Number.isFinite(line[3]));
  const both = h("div", { class: "pair" });
  if (told.length) {
    const rows = told.slice(0, 12).map(([name, measure, value, nats]) => ({
      name, value: nats, lines: [name, `mutual information ${words(nats, 3)} nats`, `${measure} ${words(value, 3)}`] }));
    put(both, h("div", {}, h("h3", {}, `What columns say about ${t.target}`),
      figure("One column at a time, before any model.", (width) => bars(rows, width, { label: `Mutual information of columns with ${t.target}`, unit: "mutual information (nats)" }))));
  }
  if (t.pairs.length) {
    const rows = t.pairs.slice(0, 12).map(([name, value]) => ({ name, value }));
    put(both, h("div", {}, h("h3", {}, "Columns that go together"),
      figure("Importance and dependence share out between such columns what either could say.", (width) => bars(rows, width, { label: "Rank correlations of pairs of columns", unit: "rank correlation", most: 0.5 }))));
  }
  if (both.children.length) put(section, h("br"), both);
  return section;
}

/** A column as a small picture. */
function spark(c) {
  const counts = c.is_number ? Array.from(c.bars) : c.levels.map(([, rows]) => rows);
  if (!counts.length) return "–";
  const [width, height] = [96, 26];
  const most = Math.max(...counts);
  const step = width / counts.length;
  const label = c.is_number ? `Distribution of ${c.name}` : `Rows of the most frequent levels of ${c.name}`;
  const made = g("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    counts.map((n, i) => g("rect", { class: c.is_number ? "bar" : "bar faint", x: i * step, width: Math.max(step - 1, 0.6), y: height - (height * n) / most, height: (height * n) / most })));
  return c.is_number ? made : tells(made, c.levels.map(([level, rows]) => `${level}: ${words(rows, 9)}`));
}

// Errors by subgroup: categories, and ranges of numbers.

function subgroupsSection({ facts }) {
  const s = facts.subgroups;
  const section = h("section", { id: "subgroups", "aria-labelledby": "subgroups-title" },
    h("h2", { id: "subgroups-title" }, "Subgroups"));
  if (!s.worst.length) {
    put(section, h("p", { class: "lead" }, facts.overview.task === "ranking" ? "A row has no error by itself: it is ranked among the rows of its query. The queries with the lowest scores are listed above." : "There are no subgroups with enough rows: at least 20, and 1 % of the rows."));
    return section;
  }
  const percent = ["error rate", "share of wrong labels"].includes(s.measure);
  const format = (x) => (percent ? share(x) : formatNumber(x, 4));
  const sample = s.n_rows < facts.overview.n_rows ? `a sample of ${amount(s.n_rows, "row")}` : amount(s.n_rows, "row");
  const chance = Math.round(0.025 * s.n_subgroups);
  const rows = s.worst.slice(0, 12).map((group) => ({
    name: group.label, note: `n = ${formatNumber(group.n_rows, 9)}`, value: percent ? 100 * group.error : group.error, low: percent ? 100 * group.low : group.low, high: percent ? 100 * group.high : group.high,
    lines: [group.label, `${s.measure} ${format(group.error)}, all rows ${format(s.whole.error)}`, `95 % interval ${format(group.low)} to ${format(group.high)}`, amount(group.n_rows, "row")],
  }));
  const unit = percent ? `${s.measure} (%)` : s.measure;
  const cut = longestBar(rows.map((row) => row.value));
  const beyond = (percent ? 100 : 1) * s.whole.error > cut;
  const long = rows.filter((row) => row.value > cut).length;
  const means = Number.isFinite(s.whole.predicted);
  put(section,
    h("p", { class: "lead" }, `Where the model is worst: the ${s.measure}${facts.overview.scores.length > 1 ? ` of ${s.target}` : ""} in subgroups of ${sample}, by category and by quarter of each number. Lines are 95 % confidence intervals; ${beyond ? "the value of all rows is" : "the vertical line is the value of all rows,"} ${format(s.whole.error)}${beyond ? ", beyond the axis" : ""}. ${amount(s.n_subgroups, "subgroup")} of ${amount(s.n_features, "feature")} were compared, ordered by the lower end of their interval; about ${formatNumber(chance)} of so many lie entirely above the value of all rows by chance.`),
    figure(long ? `${amount(long, "bar")} with a diamond at the end ${long > 1 ? "are" : "is"} cut: the ${s.measure} is far larger than in most of these subgroups, often by a single row. The interval is in the table.` : null, (width) => bars(rows, width, { label: `Subgroups with the largest ${s.measure}`, unit, most: 0.42, stacked: true, cut, rule: percent ? 100 * s.whole.error : s.whole.error })),
    asTable("Show the numbers", `The subgroups with the largest ${s.measure}`, [
      { title: "subgroup", cell: (group) => group.label },
      { title: "rows", number: true, cell: (group) => formatNumber(group.n_rows, 9), key: (group) => group.n_rows },
      { title: s.measure, number: true, cell: (group) => format(group.error), key: (group) => group.error },
      { title: "95 % interval", number: true, cell: (group) => `${format(group.low)} to ${format(group.high)}` },
      ...(means ? [
        { title: "mean predicted", number: true, cell: (group) => formatNumber(group.predicted, 4), key: (group) => group.predicted },
        { title: "mean observed", number: true, cell: (group) => formatNumber(group.observed, 4), key: (group) => group.observed },
      ] : []),
    ], () => [s.whole, ...s.worst]));
  return section;
}

// The quality of rankings: the distribution over queries, NDCG by rank, and the worst queries.

function queriesQuality(section, q) {
  const [first] = q.scores;
  const left = q.n_left_out ? ` ${formatNumber(q.n_left_out, 9)} of them without a relevant row are left out.` : "";
  put(section, h("p", { class: "lead" }, `The order of the rows of ${formatNumber(q.n_queries, 9)} queries.${left} Confidence intervals resample queries.`));
  const shape = figure(`Distribution of ${first.label} over the queries; the vertical line is the mean.`, (width) => {
    const chart = new Chart(width, 280, { x: [0, 1], y: [0, Math.max(...q.share) * 1.06], label: `Distribution of ${first.label} over queries` })
      .axes({ xLabel: `${first.label} of a query`, yLabel: "share of queries" });
    q.share.forEach((part, i) => {
      const [x0, x1, y] = [chart.x(q.edges[i]), chart.x(q.edges[i + 1]), chart.y(part)];
      chart.add(addTip(g("rect", { class: "bar", x: x0 + 0.5, width: Math.max(x1 - x0 - 1, 0.5), y, height: chart.box.bottom - y }),
        [`${formatNumber(q.edges[i], 3)} to ${formatNumber(q.edges[i + 1], 3)}`, `${share(part)} of queries`]));
    });
    return chart.rule({ x: first.value }).svg;
  });
  const curve = figure("NDCG of the first k rows with its confidence interval; the thin line is that of random orders.", (width) => {
    const chart = new Chart(width, 280, { x: [1, q.rank[q.rank.length - 1]], y: [0, 1], label: "NDCG by the number of rows" })
      .axes({ xLabel: "k", yLabel: "NDCG@k" });
    if (Number.isFinite(q.low[0])) chart.band(q.rank, q.low, q.high);
    chart.line(q.rank, q.baseline, { class: "thin" }).line(q.rank, q.ndcg, {});
    Array.from(q.rank).forEach((k, i) => addTip(chart.dot(k, q.ndcg[i], { r: 4, class: "point" }),
      [`NDCG@${k} ${formatNumber(q.ndcg[i], 4)}`, `95 % interval ${formatNumber(q.low[i], 4)} to ${formatNumber(q.high[i], 4)}`, `random order ${formatNumber(q.baseline[i], 4)}`]));
    return chart.svg;
  });
  put(section, h("div", { class: "pair" }, shape, curve),
    asTable("Show the worst queries", `The queries with the lowest ${first.label}`, [
      { title: "query", cell: (row) => ellipsis(row.name, 60) },
      { title: "rows", number: true, cell: (row) => formatNumber(row.n_rows, 9), key: (row) => row.n_rows },
      { title: "relevant", number: true, cell: (row) => formatNumber(row.n_relevant, 9), key: (row) => row.n_relevant },
      ...q.scores.map((s, j) => ({ title: s.label, number: true, cell: (row) => formatNumber(row.values[j], 4), key: (row) => row.values[j] })),
    ], () => q.worst));
}

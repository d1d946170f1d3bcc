// The quality of quantiles and distributions: the fan of the levels, and their calibration.

function spreadQuality(section, s) {
  const name = (level) => `${formatNumber(100 * level, 3)} %`;
  const last = s.levels.length - 1;
  const word = s.kind === "expectiles" ? "expectile" : "quantile";
  const scores = s.scores.map(([label, value]) => `${label} ${formatNumber(value, 5)}`).join(", ");
  put(section, h("h3", {}, s.kind === "distributions" ? "Predicted distributions" : `Predicted ${s.kind}`),
    h("p", { class: "lead", "data-spread": s.kind }, scores ? `Mean scores of these rows, smaller is better: ${scores}.` : "The bands are between pairs of levels."));
  const fan = figure(`Rows in the order of the ${name(s.levels[s.levels.length >> 1])} ${word}, in ${s.position.length} groups: bands between pairs of levels, and the mean of the observed values (dots).`, (width) => {
    const chart = new Chart(width, Math.min(width, 380), { x: [0, 1], y: robustEnds([...s.fans[0], ...s.fans[last], ...s.observed]), label: `Fan of predicted ${word}s`, clip: true })
      .axes({ xLabel: "share of the rows", yLabel: `predicted ${word}s` });
    for (let k = 0; k < last - k; k++) chart.band(s.position, s.fans[k], s.fans[last - k]);
    if (last % 2 === 0) chart.line(s.position, s.fans[last / 2], {});
    Array.from(s.position).forEach((x, i) => addTip(chart.dot(x, s.observed[i], { r: 3, class: "point" }),
      [`mean observed ${formatNumber(s.observed[i])}`, ...Array.from(s.levels, (level, k) => `${name(level)}: ${formatNumber(s.fans[k][i])}`)]));
    return chart.svg;
  });
  put(section, h("div", { class: "pair" }, fan, calibration(s)));
  if (s.below.length) {
    put(section, asTable("Show the shares below each quantile", "Calibration of the quantiles", [
      { title: "quantile", number: true, cell: (k) => name(s.levels[k]) },
      { title: "rows at or below", number: true, cell: (k) => share(s.below[k], 3) },
    ], () => Array.from(s.levels, (_, k) => k)));
  }
}

function calibration(s) {
  if (s.pit.length) {
    return figure("Where y lies in its distribution (the probability integral transform). Bars of equal height: the distributions are right; high ends: they are too narrow.", (width) => {
      const chart = new Chart(width, Math.min(width, 380), { x: [0, 1], y: [0, Math.max(...s.pit, 0.2) * 1.06], label: "Histogram of the probability integral transform" })
        .axes({ xLabel: "probability of values up to y", yLabel: "share of the rows" });
      s.pit.forEach((part, i) => {
        const [x0, x1, y] = [chart.x(i / s.pit.length), chart.x((i + 1) / s.pit.length), chart.y(part)];
        chart.add(addTip(g("rect", { class: "bar", x: x0 + 0.5, width: Math.max(x1 - x0 - 1, 0.5), y, height: chart.box.bottom - y }), [`${share(part)} of the rows`]));
      });
      return chart.rule({ y: 1 / s.pit.length }).svg;
    });
  }
  return figure(s.below.length ? "The share of the rows at or below each quantile. On the line, quantiles are calibrated." : "Expectiles have no share of rows below them.", (width) => {
    const chart = new Chart(width, Math.min(width, 380), { x: [0, 1], y: [0, 1], label: "Share of the rows below each quantile" })
      .axes({ xLabel: "level", yLabel: "share of the rows below" });
    chart.line([0, 1], [0, 1], { class: "thin picked" });
    s.below.forEach((part, k) => addTip(chart.dot(s.levels[k], part, { r: 4, class: "point" }), [`level ${formatNumber(s.levels[k])}`, `${share(part, 3)} of the rows`]));
    return chart.svg;
  });
}

// Figures of counts and amounts: models with a Poisson, gamma or Tweedie loss.

/** The figures of the target that `now()` returns. */
function devianceFigures(now) {
  const facts = () => now().deviance;
  const calibration = figure("Calibration: mean observed against mean predicted value, by decile of the prediction. Bars are 95 % confidence intervals; points on the line are unbiased.", (width) => {
    const { deciles: d } = facts();
    const x = [0, Math.max(...d.predicted) * 1.05 || 1];
    // A wide interval does not determine the axis.
    const most = Math.max(x[1], ...d.observed, Math.min(Math.max(...d.high), 2 * Math.max(...d.observed)));
    const chart = new Chart(width, Math.min(width, 340), { x, y: [0, most * 1.05], label: "Mean observed against mean predicted value by decile", clip: true })
      .axes({ xLabel: "mean predicted", yLabel: "mean observed" });
    chart.line(x, x, { class: "thin picked" });
    return decilePoints(chart, d, d.observed, d.low, d.high).svg;
  });
  const ratio = figure("Observed / expected: the sum of the targets divided by the sum of the predictions, by decile of the prediction. Above 1 the model predicts too little.", (width) => {
    const { deciles: d } = facts();
    const divided = (values) => Array.from(values, (v, i) => v / d.predicted[i]);
    const [all, low, high] = [d.observed, d.low, d.high].map(divided);
    const reach = Math.min(Math.max(...high, 1.1), 4);
    const chart = new Chart(width, Math.min(width, 340), { x: [0.5, d.predicted.length + 0.5], y: [0, reach * 1.05], label: "Observed divided by expected, by decile of the prediction", clip: true })
      .axes({ xLabel: "decile of the prediction", yLabel: "observed / expected", xs: Array.from(d.predicted, (_, i) => [i + 1, String(i + 1)]) });
    chart.rule({ y: 1 });
    return decilePoints(chart, { ...d, predicted: Array.from(d.predicted, (_, i) => i + 1) }, all, low, high, d.predicted).svg;
  });
  const third = facts().rootogram ? rootogram(facts) : figure("Distribution of the deviance residuals.", (width) => {
    const n = facts();
    const chart = new Chart(width, 280, { x: [n.edges[0], n.edges[n.edges.length - 1]], y: [0, Math.max(...n.share) * 1.06], label: "Distribution of deviance residuals" })
      .axes({ xLabel: "deviance residual", yLabel: "share of rows" });
    n.share.forEach((part, i) => {
      const [x0, x1, y] = [chart.x(n.edges[i]), chart.x(n.edges[i + 1]), chart.y(part)];
      chart.add(addTip(g("rect", { class: "bar", x: x0 + 0.5, width: Math.max(x1 - x0 - 1, 0.5), y, height: chart.box.bottom - y }),
        [`${formatNumber(n.edges[i], 3)} to ${formatNumber(n.edges[i + 1], 3)}`, `${share(part)} of rows`]));
    });
    return chart.rule({ x: 0 }).svg;
  });
  const zeros = Array.from(now().observed).some((y) => y === 0) ? " Rows with the target 0 lie on one curve below 0." : "";
  const residuals = figure(`Deviance residuals, sign(observed − predicted) · √deviance, with their median and quartiles.${zeros}`, (width) => {
    const [n, { residual, middle, lower, median, upper }] = [now(), facts()];
    const y = joined(robustEnds(residual), ends([...lower, ...upper], 0));
    const chart = new Chart(width, 280, { x: robustEnds(n.predicted), y, label: "Deviance residuals against predicted values", clip: true })
      .axes({ xLabel: "predicted", yLabel: "deviance residual" });
    addDots(chart, n.predicted, residual, n, (i) => [`predicted ${formatNumber(n.predicted[i])}`, `observed ${formatNumber(n.observed[i])}`, `deviance residual ${signed(residual[i])}`]);
    return chart.band(middle, lower, upper).line(middle, median, {}).rule({ y: 0 }).svg;
  });
  return [calibration, ratio, third, residuals];
}

/** Points of deciles with confidence intervals; `x` of a point is d.predicted. */
function decilePoints(chart, d, values, low, high, predicted = d.predicted) {
  Array.from(d.predicted).forEach((x, i) => {
    chart.add(g("line", { class: "whisker", x1: chart.x(x), x2: chart.x(x), y1: chart.y(low[i]), y2: chart.y(high[i]) }));
    addTip(chart.dot(x, values[i], { r: 4.5, class: "point" }),
      [`decile ${i + 1}: ${formatNumber(d.weight[i], 6)} rows`, `predicted ${formatNumber(predicted[i])}`, `observed ${formatNumber(d.observed[i])}`]);
  });
  return chart;
}

/** Bars of the observed frequencies hang from the curve of the expected ones, as square roots. */
function rootogram(facts) {
  return figure("Rootogram: bars of the observed numbers of rows hang from the expected ones (line), both as square roots. A bar below 0 has more rows than the Poisson distribution predicts, one above 0 fewer.", (width) => {
    const { count, observed, expected } = facts().rootogram;
    const [top, low] = [Array.from(expected, Math.sqrt), Array.from(observed, (n, i) => Math.sqrt(expected[i]) - Math.sqrt(n))];
    const chart = new Chart(width, 280, { x: [-0.6, count.length - 0.4], y: ends([0, ...top, ...low]), label: "Rootogram: observed and expected numbers of rows by count" })
      .axes({ xLabel: "count", yLabel: "√ number of rows", xs: Array.from(count, (k, i) => [k, i === count.length - 1 ? `${k}+` : String(k)]) });
    count.forEach((k, i) => {
      const [y0, y1] = [chart.y(top[i]), chart.y(low[i])];
      chart.add(addTip(g("rect", { class: "bar faint", x: chart.x(k - 0.4), width: chart.x(k + 0.4) - chart.x(k - 0.4), y: Math.min(y0, y1), height: Math.max(Math.abs(y1 - y0), 0.5) }),
        [`count ${k}${i === count.length - 1 ? " or more" : ""}`, `observed ${formatNumber(observed[i], 6)} rows`, `expected ${formatNumber(expected[i], 6)} rows`]));
    });
    chart.rule({ y: 0, class: "solid" }).line(Array.from(count), top, { class: "other" });
    Array.from(count).forEach((k, i) => chart.dot(k, top[i], { r: 3.5, class: "point" }));
    return chart.svg;
  });
}

/** The deciles as a table. */
function decileTable(d) {
  return asTable("Show the numbers", "Means by decile of the prediction", [
    { title: "decile", cell: (i) => String(i + 1) },
    { title: "rows", number: true, cell: (i) => formatNumber(d.weight[i], 6) },
    { title: "mean predicted", number: true, cell: (i) => formatNumber(d.predicted[i]) },
    { title: "mean observed", number: true, cell: (i) => formatNumber(d.observed[i]) },
    { title: "95 % interval", number: true, cell: (i) => `${formatNumber(d.low[i])} to ${formatNumber(d.high[i])}` },
    { title: "observed / expected", number: true, cell: (i) => formatNumber(d.observed[i] / d.predicted[i], 3) },
  ], () => Array.from(d.predicted, (_, i) => i));
}

// The quality of several targets of classes: a table of their scores, and the curves of a selected one.

function labelsQuality(section, labels, page) {
  const kinds = labels[0].scores.map((s) => s.name.slice(0, s.name.length - labels[0].name.length - 1));
  const titles = { log_loss: "log loss", auc: "AUC" };
  const limits = (s) => (Number.isFinite(s.low) ? `${formatNumber(s.low, 3)} to ${formatNumber(s.high, 3)}` : "–");
  const columns = kinds.flatMap((kind, k) => [
    { title: titles[kind] ?? kind, number: true, cell: (label) => formatNumber(label.scores[k].value, 4), key: (label) => label.scores[k].value },
    { title: "95 % interval", number: true, cell: (label) => limits(label.scores[k]) },
    { title: "best constant", number: true, cell: (label) => formatNumber(label.scores[k].baseline, 4), key: (label) => label.scores[k].baseline },
  ]);
  put(section, tableOf("The scores of each label. Click a column heading to sort.", [{ title: "label", cell: (label) => label.name, key: (label) => label.name }, ...columns], labels));
  const drawn = labels.filter((label) => label.has_curves);
  const chosen = new Choice(0);
  const holder = h("div", {});
  const note = drawn.length < labels.length ? h("p", { class: "soft small" }, `Curves of the first ${drawn.length} of ${formatNumber(labels.length, 9)} labels are on this page; stagewise.inspection has those of all.`) : null;
  put(section, h("h3", { class: "apart" }, "One label"), note, h("div", { class: "controls" }, menu("Label", drawn.map((label, k) => [k, label.name]), chosen)), holder);
  chosen.watch((k) => {
    const own = h("div", {});
    classesQuality(own, drawn[k], page);
    holder.replaceChildren(own);
    own.querySelectorAll("figure").forEach((one) => one.redraw());
  });
}

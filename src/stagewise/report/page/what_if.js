// Edit the values of a row and show the new prediction.

const FIELDS = 12;
const MORE_FIELDS = 60;

function whatIfSection(page) {
  const { model, facts } = page;
  const section = h("section", { id: "what-if", "aria-labelledby": "what-if-title" },
    h("h2", { id: "what-if-title" }, "What if"));
  if (!model.complete || !model.predictable) {
    put(section, h("p", { class: "lead" }, model.complete
      ? "The predictions of this model's loss are not available on a page, so it cannot predict here."
      : `The model is too large for a page (${formatNumber(model.treeCount, 9)} trees), so it cannot predict here. Fit fewer or smaller trees, or use Python.`));
    return section;
  }
  const names = facts.overview.features;
  const stored = new Set(facts.rows.features);
  const order = [...new Set([...Array.from(facts.importance[0].feature), ...stored])].filter((j) => stored.has(j));
  let codes = page.codesOf(page.row.value);
  const fields = new Map();
  const prediction = h("div", { class: "prediction", "aria-live": "polite" });
  const probabilities = h("div", { class: "probabilities" });
  const chart = figure(null, (width) => {
    const found = model.explain(codes);
    const parts = names.map((_, j) => ({ feature: j, text: fields.get(j)?.changed ? fields.get(j).text() || "missing" : page.cell(page.row.value, j), shap: found.values[j] }));
    return waterfall(page, parts, found.base.map(() => 0), found.base, width, page.offsetStep(page.row.value));
  });
  const update = () => {
    const offset = page.offsetOf(page.row.value);
    const y_pred = Array.from(model.predict(codes, offset));
    const before = Array.from(model.predict(page.codesOf(page.row.value), offset));
    showPrediction(y_pred, before);
    if (model.explainable) chart.redraw();
  };
  const classes = facts.overview.task === "classification";
  const labels = facts.overview.task === "labels";

  function showPrediction(y_pred, before) {
    const k = classes ? y_pred.indexOf(Math.max(...y_pred)) : page.classOfScore();
    const { outputs, prediction: predicted } = facts.overview;
    const text = classes ? outputs[k] : labels ? share(y_pred[k], 4) : formatNumber(y_pred[k], 7);
    const own = page.explained.value;
    const moved = classes ? `probability of ${outputs[own]}: ${share(y_pred[own], 4)}, unchanged row ${share(before[own], 4)}`
      : `unchanged row ${formatNumber(before[k], 7)}, difference ${signed(y_pred[k] - before[k], 4)}`;
    prediction.replaceChildren(h("span", { class: "soft" }, `${!classes && outputs.length > 1 ? outputs[k] : predicted}:`), h("span", { class: "value" }, text), h("span", { class: "moved" }, moved));
    // All digits, to compare with Python.
    prediction.dataset.values = JSON.stringify(y_pred);
    const listed = labels ? facts.overview.explained_outputs.map((c) => [y_pred[c], c]) : (classes ? y_pred : []).map((p, c) => [p, c]);
    probabilities.replaceChildren(...listed.sort((a, b) => b[0] - a[0]).slice(0, 8).map(([p, c]) =>
      h("div", {}, h("span", { title: facts.overview.outputs[c] }, facts.overview.outputs[c]), h("i", { style: { width: `${100 * p}%` } }), h("span", { class: "number" }, share(p, 4)))));
  }

  function field(j) {
    const made = model.features[j].kind === "category" ? categoryField(page, j) : numberField(page, j);
    const error = h("div", { class: "error", role: "alert" });
    const holder = h("div", { class: "field", "data-feature": j }, h("label", { for: `cell-${j}`, title: names[j] }, names[j]), made.inputs, error);
    const read = () => {
      const found = made.encoded();
      error.textContent = found.error ?? "";
      if (found.error) return;
      codes[j] = found.code;
      const old = page.code(page.row.value, j);
      own.changed = !Object.is(old, codes[j]) && !(old === codes[j]);
      holder.classList.toggle("changed", own.changed);
      update();
    };
    const own = { changed: false, text: made.text, reset: () => {
      made.reset();
      own.changed = false;
      error.textContent = "";
      holder.classList.remove("changed");
    } };
    made.listen(read);
    fields.set(j, own);
    return holder;
  }

  const reset = () => {
    codes = page.codesOf(page.row.value);
    for (const one of fields.values()) one.reset();
    update();
  };
  // With thousands of features, the first are shown and the others are found by name.
  function finder(places) {
    const left = places.slice(MORE_FIELDS);
    if (!left.length) return "";
    const found = h("input", { type: "text", list: "features-left", placeholder: `${amount(left.length, "more feature")}: type a name`, onchange: () => {
      const j = left.find((place) => names[place] === found.value);
      if (j === undefined || fields.has(j)) return;
      found.parentElement.nextElementSibling.prepend(field(j));
      found.value = "";
    } });
    return h("label", { class: "control" }, found, h("datalist", { id: "features-left" }, left.map((j) => h("option", { value: names[j] }))));
  }

  const rest = order.slice(FIELDS);
  const more = rest.length ? h("details", {}, h("summary", {}, `${amount(rest.length, "other feature")}`)) : null;
  more?.addEventListener("toggle", () => {
    // Created on demand: a table may have thousands of columns.
    if (more.open && more.children.length === 1) more.append(finder(rest), h("div", { class: "form" }, rest.slice(0, MORE_FIELDS).map(field)));
  });
  put(section,
    h("p", { class: "lead" }, "This page contains the whole model. Change values of the selected row; the page computes the prediction and its Shapley values exactly as Python does. An empty value is missing." + (model.hasOffset ? ` The row keeps its ${facts.rows.offset_name}.` : "")),
    h("div", { class: "controls" }, rowMenu(page), h("button", { type: "button", onclick: reset }, "Reset"), outputMenu(page, "Output", page.explained, page.explainedNames()), model.explainable ? scaleButtons(page) : null),
    h("div", { class: "halves" },
      h("div", {}, h("div", { class: "form" }, order.slice(0, FIELDS).map(field)), more),
      h("div", { class: "result" }, prediction, probabilities, model.explainable ? chart : h("p", { class: "soft small" }, model.reason))));
  page.row.watch(reset);
  for (const choice of [page.explained, page.inPredictions]) choice.watch(update);
  return section;
}

function numberField(page, j) {
  const curve = page.facts.dependence.curves.find((one) => one.axis.feature === j);
  const { kind, temporalType } = page.model.features[j];
  const input = h("input", { type: "text", inputmode: temporalType ? "text" : "decimal", id: `cell-${j}`, autocomplete: "off", title: temporalType ? `such as ${Model.datetimes.example(temporalType)}` : null });
  let range = null;
  const column = page.facts.table.columns.find((one) => !one.is_target && one.name === page.facts.overview.features[j]);
  const drawn = curve && !curve.axis.labels && curve.axis.x.length > 1;
  // The range of the column if it is finite, otherwise of the curve.
  const [least, most] = column && Number.isFinite(column.min) && Number.isFinite(column.max) ? [column.min, column.max] : drawn ? ends(curve.axis.x, 0) : [0, 0];
  if (drawn && most > least && (temporalType || kind === "number")) {
    const whole = !temporalType && [least, most, ...curve.axis.x].every(Number.isInteger);
    range = h("input", { type: "range", min: least, max: most, step: whole ? 1 : (most - least) / 200, tabindex: -1, "aria-hidden": "true" });
  }
  // Conversion between typed text and slider positions.
  const placed = (text) => Number((temporalType && Model.datetimes.parse(text, temporalType)) ?? text);
  const called = (place) => (temporalType ? Model.datetimes.format(place, temporalType, most - least) : String(Number(place.toPrecision(6))));
  const slide = () => {
    if (range && input.value !== "" && Number.isFinite(placed(input.value))) range.value = placed(input.value);
  };
  const reset = () => {
    input.value = page.written(page.row.value, j);
    if (range) range.value = (least + most) / 2; // the position if the value is not on the slider
    slide();
  };
  reset();
  return {
    inputs: [input, range],
    text: () => input.value,
    encoded: () => page.model.encode(j, input.value),
    reset,
    listen: (read) => {
      input.addEventListener("input", () => {
        slide();
        read();
      });
      range?.addEventListener("input", () => {
        input.value = called(Number(range.value));
        read();
      });
    },
  };
}

function categoryField(page, j) {
  const { categories } = page.model.features[j];
  const other = page.model.handleUnknown === "prior" ? ["an unknown category"] : [];
  const texts = ["missing", ...categories, ...other];
  const select = h("select", { id: `cell-${j}` }, texts.map((text) => h("option", {}, text)));
  const reset = () => {
    const code = page.code(page.row.value, j);
    select.selectedIndex = Number.isNaN(code) ? 0 : Math.min(code + 1, texts.length - 1);
  };
  reset();
  return {
    inputs: [select],
    text: () => texts[select.selectedIndex],
    encoded: () => ({ code: select.selectedIndex > 0 ? select.selectedIndex - 1 : NaN }),
    reset,
    listen: (read) => select.addEventListener("change", read),
  };
}

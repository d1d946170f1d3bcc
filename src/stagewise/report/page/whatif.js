// Change the cells of a row, and see what the model says.

const FIELDS = 12;

function whatIfSection(page) {
  const { model, facts } = page;
  const section = h("section", { id: "what-if", "aria-labelledby": "what-if-title" },
    h("h2", { id: "what-if-title" }, "What if"));
  if (!model.complete || !model.answerable) {
    put(section, h("p", { class: "lead" }, model.complete
      ? "What this model's scores predict is known to its loss alone, which is no part of a page."
      : `The model is too large to be carried in a page (${words(model.treeCount, 9)} trees), so it cannot be asked here. Fit fewer or smaller trees, or ask it in Python.`));
    return section;
  }
  const names = facts.overview.features;
  const order = [...new Set([...Array.from(facts.importance[0].feature), ...names.map((_, j) => j)])];
  let codes = page.codesOf(page.row.value);
  const fields = new Map();
  const verdict = h("div", { class: "verdict", "aria-live": "polite" });
  const chances = h("div", { class: "chances" });
  const chart = figure(null, (width) => {
    const found = model.explain(codes);
    const k = page.creditOutput();
    const parts = names.map((_, j) => ({ feature: j, words: fields.has(j) ? fields.get(j).said() : page.cell(page.row.value, j), credit: found.values[j][k] }));
    return waterfall(page, parts, 0, found.base[k], width);
  });
  const ask = () => {
    const said = Array.from(model.predict(codes));
    const before = Array.from(model.predict(page.codesOf(page.row.value)));
    judged(said, before);
    if (model.explainable) chart.redraw();
  };
  const classes = facts.overview.task === "classification";

  function judged(said, before) {
    const k = classes ? said.indexOf(Math.max(...said)) : page.output.value;
    const text = classes ? facts.overview.outputs[k] : words(said[k], 6);
    const moved = classes ? `${share(said[page.output.value], 4)} ${facts.overview.outputs[page.output.value]}, before ${share(before[page.output.value], 4)}`
      : `before ${words(before[k], 6)}, ${signed(said[k] - before[k], 4)}`;
    verdict.replaceChildren(h("span", { class: "soft" }, `${facts.overview.target}:`), h("span", { class: "value" }, text), h("span", { class: "moved" }, moved));
    // The same digits as in Python, for those who want to check.
    verdict.dataset.said = JSON.stringify(said);
    chances.replaceChildren(...(classes ? said : []).map((p, c) => [p, c]).sort((a, b) => b[0] - a[0]).slice(0, 8).map(([p, c]) =>
      h("div", {}, h("span", { title: facts.overview.outputs[c] }, facts.overview.outputs[c]), h("i", { style: { width: `${100 * p}%` } }), h("span", { class: "number" }, share(p, 4)))));
  }

  function field(j) {
    const made = model.features[j].kind === "category" ? levelField(page, j) : numberField(page, j);
    const error = h("div", { class: "error", role: "alert" });
    const holder = h("div", { class: "field", "data-feature": j }, h("label", { for: `cell-${j}`, title: names[j] }, names[j]), made.inputs, error);
    const read = () => {
      const found = model.encode(j, made.text());
      error.textContent = found.error ?? "";
      if (found.error) return;
      codes[j] = found.code;
      const old = page.facts.rows.codes.at(page.row.value, j);
      holder.classList.toggle("changed", !Object.is(old, codes[j]) && !(old === codes[j]));
      ask();
    };
    made.listen(read);
    fields.set(j, { said: made.text, reset: () => { made.reset(); error.textContent = ""; holder.classList.remove("changed"); } });
    return holder;
  }

  const reset = () => {
    codes = page.codesOf(page.row.value);
    for (const one of fields.values()) one.reset();
    ask();
  };
  const rest = order.slice(FIELDS);
  const more = rest.length ? h("details", {}, h("summary", {}, `${amount(rest.length, "other feature")}`)) : null;
  more?.addEventListener("toggle", () => {
    // Made when they are asked for: a table may have thousands of columns.
    if (more.open && more.children.length === 1) more.append(h("div", { class: "form" }, rest.slice(0, 500).map(field)));
  });
  put(section,
    h("p", { class: "lead" }, "The page carries the whole model. Change cells of the chosen row; the prediction and its explanation are the model's own, to the digits that Python gives. An empty cell is a missing one."),
    h("div", { class: "controls" }, rowMenu(page), h("button", { type: "button", onclick: reset }, "Reset"), outputMenu(page, "Explain")),
    h("div", { class: "halves" },
      h("div", {}, h("div", { class: "form" }, order.slice(0, FIELDS).map(field)), more),
      h("div", { class: "answer" }, verdict, chances, model.explainable ? chart : h("p", { class: "soft small" }, model.whyNot))));
  page.row.watch(reset);
  page.output.watch(ask);
  return section;
}

function numberField(page, j) {
  const curve = page.facts.dependence.curves.find((one) => one.axis.feature === j);
  const { kind, moment } = page.model.features[j];
  const input = h("input", { type: "text", inputmode: moment ? "text" : "decimal", id: `cell-${j}`, autocomplete: "off", title: moment ? `such as ${Model.moments.example(moment)}` : null });
  let range = null;
  const [least, most] = curve ? ends(curve.axis.x, 0) : [0, 0];
  if (curve && !curve.axis.labels && curve.axis.x.length > 1 && (moment || kind === "number")) {
    const whole = !moment && Array.from(curve.axis.x).every(Number.isInteger);
    range = h("input", { type: "range", min: least, max: most, step: whole ? 1 : (most - least) / 200, tabindex: -1, "aria-hidden": "true" });
  }
  // Where on the slider what was typed is, and what a place on it is called.
  const placed = (text) => Number((moment && Model.moments.number(text, moment)) ?? text);
  const called = (place) => (moment ? Model.moments.words(place, moment, most - least) : String(Number(place.toPrecision(6))));
  const slide = () => {
    if (range && input.value !== "" && Number.isFinite(placed(input.value))) range.value = placed(input.value);
  };
  const reset = () => {
    input.value = page.written(page.row.value, j);
    if (range) range.value = (least + most) / 2; // where it stays if the cell has no place on it
    slide();
  };
  reset();
  return {
    inputs: [input, range],
    text: () => input.value,
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

function levelField(page, j) {
  const { levels } = page.model.features[j];
  const select = h("select", { id: `cell-${j}` }, h("option", { value: "" }, "missing"), levels.map((level) => h("option", {}, level)));
  const reset = () => {
    const code = page.facts.rows.codes.at(page.row.value, j);
    select.selectedIndex = code >= 0 && code < levels.length ? code + 1 : 0;
  };
  reset();
  return {
    inputs: [select],
    text: () => (select.selectedIndex > 0 ? levels[select.selectedIndex - 1] : ""),
    reset,
    listen: (read) => select.addEventListener("change", read),
  };
}

// Change the cells of a row, and see what the model says.

const FIELDS = 12;
const MORE_FIELDS = 60;

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
  const asked = new Set(facts.rows.asked);
  const order = [...new Set([...Array.from(facts.importance[0].feature), ...asked])].filter((j) => asked.has(j));
  let codes = page.codesOf(page.row.value);
  const fields = new Map();
  const verdict = h("div", { class: "verdict", "aria-live": "polite" });
  const chances = h("div", { class: "chances" });
  const chart = figure(null, (width) => {
    const found = model.explain(codes);
    const k = page.creditOutput();
    const parts = names.map((_, j) => ({ feature: j, words: fields.get(j)?.changed ? fields.get(j).said() || "missing" : page.cell(page.row.value, j), credit: found.values[j][k] }));
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
    const k = classes ? said.indexOf(Math.max(...said)) : page.explained.value;
    const { outputs, target } = facts.overview;
    const text = classes ? outputs[k] : words(said[k], 7);
    const own = page.explained.value;
    const moved = classes ? `${share(said[own], 4)} ${outputs[own]}, before ${share(before[own], 4)}`
      : `before ${words(before[k], 7)}, ${signed(said[k] - before[k], 4)}`;
    verdict.replaceChildren(h("span", { class: "soft" }, `${!classes && outputs.length > 1 ? outputs[k] : target}:`), h("span", { class: "value" }, text), h("span", { class: "moved" }, moved));
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
      const found = made.encoded();
      error.textContent = found.error ?? "";
      if (found.error) return;
      codes[j] = found.code;
      const old = page.code(page.row.value, j);
      own.changed = !Object.is(old, codes[j]) && !(old === codes[j]);
      holder.classList.toggle("changed", own.changed);
      ask();
    };
    const own = { changed: false, said: made.text, reset: () => {
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
    ask();
  };
  // Of thousands of features the first are shown, and the others found by their names.
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
    // Made when they are asked for: a table may have thousands of columns.
    if (more.open && more.children.length === 1) more.append(finder(rest), h("div", { class: "form" }, rest.slice(0, MORE_FIELDS).map(field)));
  });
  put(section,
    h("p", { class: "lead" }, "The page carries the whole model. Change cells of the chosen row; the prediction and its explanation are the model's own, to the digits that Python gives. An empty cell is a missing one."),
    h("div", { class: "controls" }, rowMenu(page), h("button", { type: "button", onclick: reset }, "Reset"), outputMenu(page, "Explain", page.explained)),
    h("div", { class: "halves" },
      h("div", {}, h("div", { class: "form" }, order.slice(0, FIELDS).map(field)), more),
      h("div", { class: "answer" }, verdict, chances, model.explainable ? chart : h("p", { class: "soft small" }, model.whyNot))));
  page.row.watch(reset);
  page.explained.watch(ask);
  return section;
}

function numberField(page, j) {
  const curve = page.facts.dependence.curves.find((one) => one.axis.feature === j);
  const { kind, moment } = page.model.features[j];
  const input = h("input", { type: "text", inputmode: moment ? "text" : "decimal", id: `cell-${j}`, autocomplete: "off", title: moment ? `such as ${Model.moments.example(moment)}` : null });
  let range = null;
  const column = page.facts.table.columns.find((one) => !one.is_target && one.name === page.facts.overview.features[j]);
  const drawn = curve && !curve.axis.labels && curve.axis.x.length > 1;
  // From the least to the largest value of the column, if these are numbers, else of the curve.
  const [least, most] = column && Number.isFinite(column.least) && Number.isFinite(column.largest) ? [column.least, column.largest] : drawn ? ends(curve.axis.x, 0) : [0, 0];
  if (drawn && most > least && (moment || kind === "number")) {
    const whole = !moment && [least, most, ...curve.axis.x].every(Number.isInteger);
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

function levelField(page, j) {
  const { levels } = page.model.features[j];
  const other = page.model.onUnseen === "prior" ? ["a level without training rows"] : [];
  const texts = ["missing", ...levels, ...other];
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

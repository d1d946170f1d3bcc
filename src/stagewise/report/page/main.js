// The page: its sections in order, the navigation, and shared state.

/** State shared by the sections: data, model, selected row and output. */
class Page {
  constructor(facts, model) {
    this.facts = facts;
    this.model = model;
    this.row = new Choice(0);
    const outputs = facts.overview.outputs.length;
    const { task } = facts.overview;
    this.output = new Choice((task === "classification" && outputs === 2) || (task === "labels" && outputs > 1) ? 1 : 0);
    this.explained = new Choice(task === "labels" ? 0 : this.output.value); // the output whose Shapley values are shown
    this.inPredictions = new Choice(true); // whether waterfalls show predictions, not scores
    this.wide = new Map(facts.rows.texts);
    this.place = new Map(Array.from(facts.rows.features, (j, at) => [j, at]));
    this.unknown = new Map(facts.rows.unknown.map(([i, j, text]) => [`${i} ${j}`, text]));
    // With more than two classes, the predicted class is explained.
    if (facts.overview.task === "classification" && outputs > 2) this.row.watch((i) => this.explained.set(this.predictedClass(i)));
  }

  /** The encoded value; NaN if it is missing or not stored. */
  code(i, j) {
    return this.place.has(j) ? this.facts.rows.codes.at(i, this.place.get(j)) : NaN;
  }

  codesOf(i) {
    return Float64Array.from(this.facts.overview.features, (_, j) => this.code(i, j));
  }

  /** The offset of a row, a number for each score; null: the model has none. */
  offsetOf(i) {
    const { offset } = this.facts.rows;
    return offset ? Array.from({ length: offset.shape[1] }, (_, k) => offset.at(i, k)) : null;
  }

  /** The offset of a row as a step of its waterfall; null: the model has none. */
  offsetStep(i) {
    const offset = this.offsetOf(i);
    return offset && { name: this.facts.rows.offset_name, shap: this.model.offsetTerm(offset) };
  }

  /** The value as it can be typed; empty if it is missing. */
  written(i, j) {
    const code = this.code(i, j);
    if (this.wide.has(j)) return this.wide.get(j)[i];
    if (Number.isNaN(code)) return "";
    const { categories, temporalType } = this.model.features[j];
    if (categories) return categories[code] ?? "";
    if (temporalType) return Model.datetimes.format(code, temporalType);
    return code === Infinity ? "inf" : code === -Infinity ? "-inf" : String(code);
  }

  /** The value for display. */
  cell(i, j) {
    const text = this.written(i, j);
    const code = this.code(i, j);
    if (this.unknown.has(`${i} ${j}`)) return `${this.unknown.get(`${i} ${j}`)} (unknown category)`;
    if (this.model.features[j].categories) return Number.isNaN(code) || text === "" ? "missing" : text;
    if (this.wide.has(j) || this.model.features[j].temporalType) return text || "missing";
    return Number.isNaN(code) ? "missing" : formatNumber(code, 5);
  }

  /** The index of the selected output in the Shapley values. */
  shapOutput() {
    return this.facts.rows.base.length > 1 ? this.explained.value : 0;
  }

  /** The names of the scores that Shapley values explain; of two classes with one score, the classes. */
  explainedNames() {
    const { overview, rows } = this.facts;
    return rows.base.length > 1 ? overview.score_outputs : overview.outputs;
  }

  shapUnit() {
    const { unit } = this.facts.rows;
    const names = this.explainedNames();
    return names.length > 1 ? `${unit}: ${names[this.explained.value]}` : unit;
  }

  /** Whether Shapley values are not in units of the prediction, and the page has the link. */
  hasLink() {
    return this.model.predictable && !this.model.isIdentity && !["", "prediction", "probability"].includes(this.facts.rows.unit);
  }

  /** The unit of predictions, with the class or target if `whole`. */
  predictionUnit(whole = false) {
    const { overview } = this.facts;
    if (["classification", "labels"].includes(overview.task)) return whole ? `probability of ${overview.outputs[this.classOfScore()]}` : "probability";
    return whole ? (overview.outputs.length > 1 ? overview.outputs[this.classOfScore()] : overview.prediction) : "prediction";
  }

  /** The prediction whose scores are explained: of two classes with one score the second. */
  classOfScore() {
    const { overview, rows } = this.facts;
    return overview.explained_outputs[rows.base.length > 1 ? this.explained.value : 0];
  }

  /** The prediction of scores in the units of Shapley values. */
  predictionOf(values) {
    return this.model.predictionOfExplained(values)[this.classOfScore()];
  }

  /** The index of the predicted class of a row. */
  predictedClass(i) {
    const proba = this.facts.overview.outputs.map((_, k) => this.facts.rows.y_pred.at(i, k));
    return proba.indexOf(Math.max(...proba));
  }

  rowLabel(i) {
    const { rows, overview } = this.facts;
    const number = `row ${rows.row[i]}`;
    if (overview.task === "classification") {
      const best = this.predictedClass(i);
      return `${number}: true ${ellipsis(rows.y_true[i], 18)}, predicted ${ellipsis(overview.outputs[best], 18)} (${share(rows.y_pred.at(i, best))})`;
    }
    if (overview.task === "labels") return `${number}: ${ellipsis(rows.y_true[i], 70)}`;
    if (typeof rows.y_true[0] === "string") {
      return `${number}: ${rows.y_true[i]}, ${overview.prediction} ${overview.outputs.map((_, k) => formatNumber(rows.y_pred.at(i, k))).slice(0, 3).join(", ")}`;
    }
    const each = overview.outputs.map((_, k) => `true ${formatNumber(rows.y_true.at(i, k))}, predicted ${formatNumber(rows.y_pred.at(i, k))}`);
    return `${number}: ${each.slice(0, 3).join("; ")}`;
  }
}

const SECTIONS = [
  ["overview", "Overview", overviewSection],
  ["data", "Data", tableSection],
  ["learning", "Learning curves", learningSection],
  ["quality", "Quality", qualitySection],
  ["subgroups", "Subgroups", subgroupsSection],
  ["importance", "Importance", importanceSection],
  ["dependence", "Dependence", dependenceSection],
  ["explain", "Explanations", explainSection],
  ["trees", "Trees", treesSection],
  ["what-if", "What if", whatIfSection],
];

function navigation(version) {
  const links = SECTIONS.map(([id, title]) => h("a", { href: `#${id}` }, title));
  const nav = h("nav", { "aria-label": "Sections" }, h("div", { class: "brand" }, brandMark(), h("span", {}, "Model report")),
    h("span", { class: "more before", "aria-hidden": "true" }, "‹"), h("ul", {}, links.map((link) => h("li", {}, link))), h("span", { class: "more after", "aria-hidden": "true" }, "›"), themeButton(), h("div", { class: "foot" }, `stagewise ${version}`));
  const list = nav.querySelector("ul");
  // On a narrow screen the links scroll; arrows show on which sides there are more.
  const showEnds = () => {
    nav.classList.toggle("more-before", list.scrollLeft > 2);
    nav.classList.toggle("more-after", list.scrollLeft + list.clientWidth < list.scrollWidth - 2);
  };
  list.addEventListener("scroll", showEnds, { passive: true });
  nav.watch = (sections) => {
    // The current section is the last one that begins in the upper part of the window, or at its end.
    const update = () => {
      const atEnd = window.scrollY > 0 && window.scrollY + window.innerHeight > document.documentElement.scrollHeight - 4;
      const now = atEnd ? sections.length - 1 : Math.max(0, sections.findLastIndex((section) => section.getBoundingClientRect().top < 160));
      links.forEach((link, i) => {
        if (i !== now) link.removeAttribute("aria-current");
        else if (!link.hasAttribute("aria-current")) {
          link.setAttribute("aria-current", "true");
          list.scrollTo({ left: link.offsetLeft - list.clientWidth / 2 });
        }
      });
      showEnds();
    };
    window.addEventListener("scroll", update, { passive: true });
    window.addEventListener("resize", update);
    update();
  };
  return nav;
}

/** Make the whole page at once, so that it is complete when it has loaded. */
function start() {
  const facts = JSON.parse(document.getElementById("facts").textContent, revive);
  const model = Model.open(JSON.parse(document.getElementById("model").textContent));
  const page = new Page(facts, model);
  const nav = navigation(facts.overview.version);
  const main = h("main", { id: "main" });
  document.body.replaceChildren(h("a", { class: "skip", href: "#main" }, "Skip to the report"), h("div", { class: "frame" }, nav, main), tip);
  for (const [, , make] of SECTIONS) main.append(make(page));
  for (const drawn of main.querySelectorAll("figure, .tree")) drawn.redraw();
  nav.watch([...main.children]);
  window.addEventListener("scroll", hideTip, { passive: true });
  document.documentElement.dataset.ready = "true";
}

try {
  start();
} catch (error) {
  document.body.prepend(h("p", { class: "notes", role: "alert" }, `The report cannot be displayed: ${error.message}. It needs a browser of 2024 or later.`));
  throw error;
}

// Shared by all sections: data, elements, number formats and choices.
// All text is added as text nodes, never as markup.

/** Restore packed arrays and non-finite numbers of `payload.py`. */
function revive(key, value) {
  if (value === null || typeof value !== "object" || !("$" in value)) return value;
  if (value.$ === "number") return value.of === "nan" ? NaN : value.of === "inf" ? Infinity : -Infinity;
  const bytes = Uint8Array.from(atob(value.of), (sign) => sign.charCodeAt(0));
  const kinds = { f4: Float32Array, f8: Float64Array, i4: Int32Array, u1: Uint8Array };
  const data = new kinds[value.$](bytes.buffer);
  return value.shape.length === 1 ? data : new Tensor(data, value.shape);
}

/** An array with several axes, in C order. */
class Tensor {
  constructor(data, shape) {
    this.data = data;
    this.shape = shape;
  }

  at(...place) {
    let k = 0;
    for (let axis = 0; axis < this.shape.length; axis++) k = k * this.shape[axis] + place[axis];
    return this.data[k];
  }
}

// ---- elements -----------------------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg";

function element(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [k, v] of Object.entries(value)) made.style.setProperty(k, v);
    else if (name === "value" || name === "checked") made[name] = value;
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** Make an HTML element; children are elements or text. */
function h(tag, attributes, ...children) {
  return element(document.createElement(tag), attributes, children);
}

/** Append children to an element; null children are skipped. */
function put(parent, ...children) {
  return element(parent, null, children);
}

/** Make an SVG element. */
function g(tag, attributes, ...children) {
  return element(document.createElementNS(SVG, tag), attributes, children);
}

// ---- number formats -----------------------------------------------------------------------------

/** Format a number with this many significant digits and thousands separators. */
function formatNumber(x, digits = 4) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  const size = Math.abs(x);
  if (size !== 0 && (size >= 1e15 || size < 1e-4)) return x.toExponential(Math.min(digits - 1, 2)).replace("-", "−").replace("e+", "e");
  const whole = Number.isInteger(x);
  const decimals = whole || size === 0 ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  // Thousands separators start at five digits: 2016 may be a year.
  const text = x.toLocaleString("en-US", { maximumFractionDigits: Math.min(decimals, 12), useGrouping: size >= 9999.5 });
  return text.replace("-", "−");
}

const signed = (x, digits = 3) => (x >= 0 ? "+" : "") + formatNumber(x, digits);
const share = (x, digits = 3) => (Number.isNaN(x) ? "–" : `${formatNumber(100 * x, digits)} %`);
const amount = (n, noun) => `${formatNumber(n, 9)} ${noun}${n === 1 ? "" : "s"}`;
const ellipsis = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);
/** Text of an SVG element, cut if it is too long; the full text is then shown on hover. */
const cutText = (text, most) => (text.length <= most ? text : [g("title", {}, text), ellipsis(text, most)]);

// ---- choices ------------------------------------------------------------------------------------

/** A value that several controls show and change. */
class Choice {
  constructor(value) {
    this.value = value;
    this.listeners = [];
  }

  set(value) {
    this.value = value;
    for (const listener of this.listeners) listener(value);
  }

  watch(listener) {
    this.listeners.push(listener);
    listener(this.value);
  }
}

/** A select element with options [value, text] for a choice. */
function menu(label, options, choice) {
  const select = h("select", { onchange: () => choice.set(options[select.selectedIndex][0]) },
    options.map(([, text]) => h("option", {}, ellipsis(text, 90))));
  choice.watch((value) => {
    select.selectedIndex = options.findIndex(([option]) => option === value);
  });
  return h("label", { class: "control" }, h("span", {}, label), select);
}

/** A group of buttons; one is pressed. */
function buttons(label, options, choice) {
  const made = options.map(([value, text]) =>
    h("button", { type: "button", onclick: () => choice.set(value) }, text));
  choice.watch((value) => {
    made.forEach((button, i) => button.setAttribute("aria-pressed", options[i][0] === value));
  });
  return h("div", { class: "buttons", role: "group", "aria-label": label }, made);
}

/** A slider for a number. */
function slider(label, { least, most, step, choice, text = (x) => formatNumber(x, 3) }) {
  const shown = h("output", {});
  const input = h("input", { type: "range", min: least, max: most, step, "aria-label": label,
    oninput: () => choice.set(Number(input.value)) });
  choice.watch((value) => {
    input.value = value;
    input.setAttribute("aria-valuetext", text(value));
    shown.textContent = text(value);
  });
  return h("label", { class: "control wide" }, h("span", {}, label), input, shown);
}

// ---- theme --------------------------------------------------------------------------------------

/** A button that changes the colour theme; `changed()` is called after it. */
function themeButton(changed = () => {}) {
  const themes = ["auto", "light", "dark"];
  let theme = 0;
  const toggle = h("button", { type: "button", class: "small", onclick: () => {
    theme = (theme + 1) % themes.length;
    if (theme) document.documentElement.dataset.theme = themes[theme];
    else delete document.documentElement.dataset.theme;
    toggle.textContent = { auto: "◐ auto", light: "○ light", dark: "● dark" }[themes[theme]];
    toggle.setAttribute("aria-label", `colour theme: ${themes[theme]}`);
    changed();
  }, "aria-label": "colour theme: auto" }, "◐ auto");
  return toggle;
}

/** The mark of the library. */
function brandMark() {
  return g("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" },
    g("rect", { class: "bar", x: 2, y: 14, width: 5, height: 8, rx: 1 }), g("rect", { class: "bar", x: 9.5, y: 8, width: 5, height: 14, rx: 1, opacity: 0.75 }), g("rect", { class: "up", x: 17, y: 2, width: 5, height: 20, rx: 1 }));
}

// ---- tooltip ---------------------------------------------------------------------------------

const tip = h("div", { id: "tip", role: "status", hidden: true });

function showTip(event, lines) {
  tip.replaceChildren(...lines.map((line) => h("div", {}, line)));
  tip.hidden = false;
  const { clientX, clientY } = event;
  const box = tip.getBoundingClientRect();
  const left = Math.min(clientX + 14, window.innerWidth - box.width - 8);
  const top = clientY + 18 + box.height > window.innerHeight ? clientY - box.height - 12 : clientY + 18;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${Math.max(8, top)}px`;
}

function hideTip() {
  tip.hidden = true;
}

/** Show a tooltip while the pointer is on a mark. */
function addTip(mark, lines) {
  mark.addEventListener("pointermove", (event) => showTip(event, typeof lines === "function" ? lines(event) : lines));
  mark.addEventListener("pointerleave", hideTip);
  return mark;
}

// ---- tables -------------------------------------------------------------------------------------

/** A table of columns {title, cell(row), number, key(row), width}; a click on a heading sorts. */
function tableOf(caption, columns, rows) {
  const body = h("tbody", {});
  let order = [...rows];
  const fill = () => body.replaceChildren(...order.map((row) =>
    h("tr", {}, columns.map((column, i) =>
      h(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null, class: column.number ? "number" : null }, column.cell(row))))));
  const heads = columns.map((column) => {
    const head = h("th", { scope: "col", class: column.number ? "number" : null });
    if (!column.key) {
      head.append(column.title);
      return head;
    }
    head.append(h("button", { type: "button", class: "sort", onclick: () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const missing = (x) => x === null || Number.isNaN(x);
      order = [...rows].sort((one, two) => {
        const [a, b] = [column.key(one), column.key(two)];
        if (missing(a) || missing(b)) return missing(a) - missing(b);
        return (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1);
      });
      fill();
    } }, column.title));
    return head;
  });
  fill();
  return [h("p", { class: "caption" }, caption), h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h("table", { "aria-label": caption, class: columns[0].width ? "fixed" : null },
      columns[0].width ? h("colgroup", {}, columns.map(({ width }) => h("col", { style: { width: `${width}%` } }))) : null, h("thead", {}, h("tr", {}, heads)), body))];
}

/** A table with the numbers of a chart, closed at first. */
function asTable(title, caption, columns, rows) {
  const details = h("details", { class: "numbers" }, h("summary", {}, title));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) put(details, tableOf(caption, columns, rows()));
  });
  return details;
}

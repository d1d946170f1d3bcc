// Displays trees: the root on the left, leaves below each other. Drag to move, pinch or scroll to
// zoom, arrow keys to move between nodes; the path of a row can be highlighted.

const NODE = { column: 254, row: 54, width: 204, height: 42 };
const FIRST_DEPTH = 3;
const LEGIBLE = 0.8;

function treesSection(page) {
  const { model, facts } = page;
  const section = h("section", { id: "trees", "aria-labelledby": "trees-title" },
    h("h2", { id: "trees-title" }, "Trees"));
  if (!model.nTrees) {
    put(section, h("p", { class: "lead" }, model.treeCount ? "The first tree is too large for this page; export_svg draws it." : "The model has no trees: its prediction is constant."));
    return section;
  }
  const fewer = model.nTrees < model.treeCount ? ` This page contains the first ${formatNumber(model.nTrees)} of ${formatNumber(model.treeCount, 9)} trees.` : "";
  const number = new Choice(0);
  const follow = new Choice(true);
  const input = h("input", { type: "number", min: 1, max: model.nTrees, value: 1, oninput: () => {
    const typed = Math.round(Number(input.value));
    if (typed >= 1 && typed <= model.nTrees) number.set(typed - 1);
  }, onchange: () => { input.value = number.value + 1; } });
  const go = (by) => () => number.set((number.value + by + model.nTrees) % model.nTrees);
  const check = h("input", { type: "checkbox", checked: true, onchange: () => follow.set(check.checked) });
  const browser = new TreeBrowser(page);
  const whose = h("span", { class: "soft small" });
  put(section,
    h("p", { class: "lead" }, `Rows that meet the condition go up (“yes”). The width of a line shows the number of training rows; “?” marks the side of missing values. Click a box to open (▸) or close its subtree. “target encoding of x” is a column computed from the target means of the categories of x.${fewer}`),
    h("div", { class: "controls" }, h("label", { class: "control" }, h("span", {}, `Tree, 1 to ${formatNumber(model.nTrees, 9)}`), input),
      h("button", { type: "button", onclick: go(-1), "aria-label": "previous tree" }, "‹"),
      h("button", { type: "button", onclick: go(1), "aria-label": "next tree" }, "›"),
      model.complete ? [rowMenu(page), h("label", { class: "control check" }, check, "highlight its path")] : null, whose),
    browser.element);
  const show = () => {
    if (document.activeElement !== input) input.value = number.value + 1;
    browser.show(number.value, model.complete && follow.value ? page.codesOf(page.row.value) : null);
    const output = browser.tree.nodes[0].output;
    whose.textContent = output === null ? "" : `for ${facts.overview.score_outputs[output] ?? output}`;
  };
  number.watch(show);
  follow.watch(show);
  page.row.watch(show);
  return section;
}

/** One tree that can be moved, zoomed and opened. */
class TreeBrowser {
  constructor(page) {
    this.page = page;
    this.view = { x: 0, y: 0, size: 1 };
    this.layer = g("g", {});
    this.svg = g("svg", { role: "group", "aria-label": "Tree: arrow keys move between nodes, Enter opens and closes a subtree" }, this.layer);
    const zoom = (by) => () => this.zoom(by, this.svg.clientWidth / 2, this.svg.clientHeight / 2);
    this.element = h("div", { class: "tree" }, this.svg, h("div", { class: "zoom" },
      h("button", { type: "button", "aria-label": "zoom in", onclick: zoom(1.3) }, "+"),
      h("button", { type: "button", "aria-label": "zoom out", onclick: zoom(1 / 1.3) }, "−"),
      h("button", { type: "button", "aria-label": "whole tree", onclick: () => this.fit(0) }, "⤢")));
    this.addPointerEvents();
    this.element.redraw = () => (this.at && !this.moved ? this.fit() : this.place());
    new ResizeObserver(this.element.redraw).observe(this.element);
  }

  show(number, codes) {
    if (number !== this.number) {
      this.number = number;
      this.tree = this.page.model.tree(number);
      this.open = new Set(this.tree.nodes.filter((node) => node.feature >= 0 && node.depth < FIRST_DEPTH).map((node) => node.id));
      this.focused = 0;
      this.moved = false;
    }
    this.path = codes ? this.page.model.path(number, codes) : [];
    for (const id of this.path) if (this.tree.nodes[id].feature >= 0) this.open.add(id);
    this.draw();
    if (!this.moved) this.fit();
  }

  /** Compute the position of each visible node. */
  layout() {
    const { nodes } = this.tree;
    const at = new Map();
    let next = 0;
    const visit = (id) => {
      const node = nodes[id];
      const leaf = !this.open.has(id);
      const y = leaf ? next++ * NODE.row : (visit(node.left) + visit(node.right)) / 2;
      at.set(id, { x: node.depth * NODE.column, y, leaf });
      return y;
    };
    visit(0);
    return at;
  }

  draw() {
    const { nodes } = this.tree;
    this.at = this.layout();
    const on = new Set(this.path);
    const values = nodes.map((node) => node.value[0]);
    this.span = ends(values, 0);
    const [lines, boxes] = [[], []];
    for (const [id, place] of [...this.at].sort((a, b) => a[0] - b[0])) {
      const node = nodes[id];
      if (!place.leaf) {
        for (const child of [node.left, node.right]) lines.push(this.edge(node, place, child, on.has(id) && on.has(child)));
      }
      boxes.push(this.box(node, place, on.has(id)));
    }
    this.layer.replaceChildren(...lines.flat(), ...boxes);
  }

  edge(node, place, child, on) {
    const to = this.at.get(child);
    const [x0, y0, x1, y1] = [place.x + NODE.width, place.y, to.x, to.y];
    const middle = (x0 + x1) / 2;
    const part = this.tree.nodes[child].cover / (this.tree.nodes[0].cover || 1);
    const left = child === node.left;
    const { missingLeft } = node.split;
    const text = `${left ? "yes" : "no"}${missingLeft === left ? ", ?" : ""}`;
    return [g("path", { class: on ? "edge on" : "edge", "stroke-width": 1 + 8 * part, d: `M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}` }),
      g("text", { class: "tick", x: x1 - 4, y: left ? y1 - 7 : y1 + 15, "text-anchor": "end" }, text)];
  }

  box(node, place, on) {
    const value = this.valueText(node);
    const inner = node.feature >= 0;
    const rows = `n ${formatNumber(node.cover, 5)} · ${share(node.cover / (this.tree.nodes[0].cover || 1))}`;
    const [first, second] = inner ? [conditionText(node.split), `${rows} · ${value}`] : [value, rows];
    const [low, high] = this.span;
    const colour = blend(LOW_HIGH, (node.value[0] - low) / (high - low || 1));
    const closed = inner && place.leaf;
    const [x, y] = [place.x, place.y - NODE.height / 2];
    const made = g("g", { class: on ? "node on" : "node", tabindex: node.id === this.focused ? 0 : -1, role: inner ? "button" : "img", "aria-expanded": inner ? String(!closed) : null,
      "aria-label": `node ${node.id}: ${inner ? conditionDetail(node.split) : value}; ${rows}`, "data-id": node.id },
      g("rect", { class: "box", x, y, width: NODE.width, height: NODE.height, rx: 7 }),
      g("rect", { x: x + 8, y: y + NODE.height - 7, width: Math.max(3, (NODE.width - 16) * ((node.value[0] - low) / (high - low || 1))), height: 3, rx: 1.5, fill: colour }),
      g("text", { class: "strong", x: x + 9, y: y + 15 }, ellipsis(first, closed ? 22 : 24) + (closed ? " ▸" : "")),
      g("text", { class: "tick", x: x + 9, y: y + 29 }, ellipsis(second, 29)));
    return addTip(made, [`node ${node.id}`, ...(inner ? [conditionDetail(node.split), `gain ${formatNumber(node.gain, 4)}`] : []), value, rows, ...(closed ? ["click to open"] : [])]);
  }

  /** The value of a node as text. */
  valueText(node) {
    const { valueKind } = this.tree;
    const names = this.page.facts.overview.outputs;
    if (valueKind === "shares") {
      const k = node.value.indexOf(Math.max(...node.value));
      return `${ellipsis(names[k] ?? String(k), 12)} ${share(node.value[k])}`;
    }
    const text = (v) => (valueKind === "additions" ? signed(v, 4) : formatNumber(v, 4));
    return node.value.length === 1 ? text(node.value[0]) : node.value.slice(0, 3).map(text).join(" ") + (node.value.length > 3 ? " …" : "");
  }

  toggle(id) {
    if (this.tree.nodes[id].feature < 0) return;
    if (!this.open.delete(id)) this.open.add(id);
    this.focused = id;
    this.draw();
    this.focus();
  }

  focus() {
    this.layer.querySelector(`[data-id="${this.focused}"]`)?.focus({ preventScroll: true });
  }

  move(key) {
    const { nodes } = this.tree;
    const node = nodes[this.focused];
    const parent = nodes.findIndex((other) => other.left === node.id || other.right === node.id);
    const near = (sign) => [...this.at].filter(([id]) => nodes[id].depth === node.depth && sign * (this.at.get(id).y - this.at.get(node.id).y) > 0)
      .sort((a, b) => sign * (a[1].y - b[1].y))[0]?.[0];
    const to = { ArrowLeft: parent, ArrowRight: this.open.has(node.id) ? node.left : undefined, ArrowUp: near(-1), ArrowDown: near(1) }[key];
    if (to === undefined || to < 0) return;
    this.focused = to;
    for (const one of this.layer.querySelectorAll(".node")) one.setAttribute("tabindex", Number(one.dataset.id) === to ? 0 : -1);
    const { x, y } = this.at.get(to);
    const [px, py] = [x * this.view.size + this.view.x, y * this.view.size + this.view.y];
    const { clientWidth: width, clientHeight: height } = this.svg;
    if (px < 0 || px + NODE.width * this.view.size > width) this.view.x += width / 3 - px;
    if (py < 20 || py > height - 20) this.view.y += height / 2 - py;
    this.place();
    this.focus();
  }

  // ---- move and zoom ----

  place() {
    this.layer.setAttribute("transform", `translate(${this.view.x} ${this.view.y}) scale(${this.view.size})`);
  }

  fit(legible = LEGIBLE) {
    const places = [...this.at.values()];
    const [right, low, high] = [Math.max(...places.map((p) => p.x)) + NODE.width, Math.min(...places.map((p) => p.y)), Math.max(...places.map((p) => p.y))];
    const { clientWidth: width, clientHeight: height } = this.svg;
    if (!width) return;
    const size = Math.min(1.1, (width - 40) / right, (height - 40) / (high - low + NODE.height));
    // Text must stay legible: a tree that does not fit starts at its root.
    this.view.size = Math.max(size, legible);
    this.view.x = 20;
    const middle = size >= legible ? (low + high) / 2 : this.at.get(0).y;
    this.view.y = height / 2 - middle * this.view.size;
    this.place();
  }

  zoom(by, px, py) {
    const size = Math.min(Math.max(this.view.size * by, 0.08), 4);
    const ratio = size / this.view.size;
    this.view = { size, x: px - (px - this.view.x) * ratio, y: py - (py - this.view.y) * ratio };
    this.moved = true;
    this.place();
  }

  addPointerEvents() {
    const held = new Map();
    let travelled = 0;
    const spread = () => {
      const [a, b] = [...held.values()];
      return Math.hypot(a.x - b.x, a.y - b.y);
    };
    this.svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && !this.element.classList.contains("held") && document.activeElement !== this.svg && !this.element.contains(document.activeElement)) return;
      event.preventDefault();
      const box = this.svg.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    this.svg.addEventListener("pointerdown", (event) => {
      held.set(event.pointerId, { x: event.clientX, y: event.clientY });
      travelled = 0;
      this.element.classList.add("held");
    });
    window.addEventListener("pointermove", (event) => {
      const before = held.get(event.pointerId);
      if (!before) return;
      const was = held.size > 1 ? spread() : 0;
      held.set(event.pointerId, { x: event.clientX, y: event.clientY });
      travelled += Math.abs(event.clientX - before.x) + Math.abs(event.clientY - before.y);
      if (held.size > 1) {
        const box = this.svg.getBoundingClientRect();
        const [a, b] = [...held.values()];
        this.zoom(spread() / was, (a.x + b.x) / 2 - box.left, (a.y + b.y) / 2 - box.top);
        return;
      }
      this.view.x += event.clientX - before.x;
      this.view.y += event.clientY - before.y;
      this.moved = this.moved || travelled > 4;
      this.place();
    });
    const release = (event) => {
      held.delete(event.pointerId);
      if (!held.size) this.element.classList.remove("held");
    };
    window.addEventListener("pointerup", release);
    window.addEventListener("pointercancel", release);
    this.layer.addEventListener("click", (event) => {
      const node = event.target.closest(".node");
      if (node && travelled < 5) this.toggle(Number(node.dataset.id));
    });
    this.layer.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") this.toggle(this.focused);
      else if (event.key.startsWith("Arrow")) this.move(event.key);
      else return;
      event.preventDefault();
    });
  }
}

/** The condition of a split; for categories the shorter side. */
function conditionText(split) {
  if (split.threshold !== undefined && split.threshold !== null) return `${split.name} ≤ ${typeof split.threshold === "number" ? formatNumber(split.threshold, 4) : split.threshold}`;
  const [left, right] = [split.leftCategories, split.rightCategories];
  const few = left.length <= right.length;
  return `${split.name} ${few ? "in" : "not in"} {${(few ? left : right).slice(0, 6).join(", ")}${Math.min(left.length, right.length) > 6 ? ", …" : ""}}`;
}

function conditionDetail(split) {
  const where = split.missingLeft === true ? "missing: yes" : split.missingLeft === false ? "missing: no" : "missing: both";
  return `${conditionText(split)}; ${where}`;
}

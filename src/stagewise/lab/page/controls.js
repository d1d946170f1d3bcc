// The controls: example, loss, step, learning rate, tree size, subsample; what the plane shows; rounds.

const RATES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1];
const SHARES = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];

/** A slider with a label above it and a number. */
function labelled(id, label, options, change) {
  const { least = 0, most, text } = options;
  const output = h("output", { for: id });
  const input = h("input", { id, type: "range", min: least, max: most, step: 1, oninput: () => {
    show(Number(input.value));
    change(Number(input.value));
  } });
  const show = (value) => {
    input.value = value;
    input.setAttribute("aria-valuetext", text(value));
    output.textContent = text(value);
  };
  const element = h("div", { class: "slider" }, h("label", { for: id }, label), output, input);
  return { element, input, show };
}

/** A group of radio buttons; `reasonOf(value)` is why one cannot be chosen, or "". */
function radios(name, title, options, choose, reasonOf = () => "") {
  const made = options.map(([value, text]) => {
    const reason = h("small", {});
    const input = h("input", { type: "radio", name, value, onchange: () => choose(value) });
    return { value, input, reason, element: h("label", { class: "radio" }, input, h("span", {}, text, " ", reason)) };
  });
  const show = (value) => {
    for (const one of made) {
      const why = reasonOf(one.value);
      one.input.checked = one.value === value;
      one.input.disabled = why !== "";
      one.reason.textContent = why;
      one.element.classList.toggle("refused", why !== "");
    }
  };
  return { element: h("fieldset", { class: "radios" }, h("legend", {}, title), made.map((one) => one.element)), show };
}

function settingsPanel(lab) {
  const example = h("select", { id: "example", onchange: () => lab.open(example.value) },
    [["Two classes", true], ["Regression", false]].map(([label, classes]) => h("optgroup", { label },
      lab.examples.filter((one) => one.classes === classes).map((one) => h("option", { value: one.key }, one.name)))));
  const losses = [true, false].map((classes) => radios(`loss-${classes}`, "Loss",
    Object.entries(LOSSES).filter(([, loss]) => loss.classes === classes).map(([key, loss]) => [key, loss.name]),
    (loss) => lab.change({ loss })));
  const steps = radios("step", "Step", Object.entries(STEPS).map(([key, step]) => [key, step.name]),
    (step) => lab.change({ step }), (step) => STEPS[step].refuses(lab.settings.loss));
  const about = h("p", { class: "about" });
  const rate = labelled("rate", "Learning rate ν", { most: RATES.length - 1, text: (k) => String(RATES[k]) }, (k) => lab.change({ rate: RATES[k] }));
  const leaves = labelled("leaves", "Leaves per tree J", { least: 2, most: 8, text: String }, (n) => lab.change({ leaves: n }));
  const subsample = labelled("subsample", "Subsample", { most: SHARES.length - 1, text: (k) => share(SHARES[k], 3) }, (k) => lab.change({ subsample: SHARES[k] }));
  lab.on("settings", () => {
    const { settings, classes } = lab;
    example.value = lab.example.key;
    losses.forEach((group, i) => {
      group.element.hidden = (i === 0) !== classes;
      group.show(settings.loss);
    });
    steps.show(settings.step);
    about.textContent = STEPS[settings.step].text;
    rate.show(RATES.indexOf(settings.rate));
    leaves.show(settings.leaves);
    subsample.show(SHARES.indexOf(settings.subsample));
  });
  return h("section", { class: "panel settings", "aria-label": "Settings" },
    h("div", { class: "field-row" }, h("label", { for: "example" }, "Example"), example,
      h("button", { type: "button", onclick: () => lab.open(lab.example.key) }, "Reset"),
      h("button", { type: "button", onclick: () => lab.clear() }, "Clear")),
    losses.map((group) => group.element), steps.element, about, rate.element, leaves.element, subsample.element);
}

/** What the plane shows, and the class of a new point. */
function viewBar(lab, redraw) {
  const show = new Choice(lab.view.show);
  const label = new Choice(lab.view.label);
  const check = (id, text, key) => {
    const input = h("input", { id, type: "checkbox", checked: lab.view[key], onchange: () => {
      lab.view[key] = input.checked;
      redraw();
    } });
    return h("label", { class: "check", for: id }, input, h("span", {}, text));
  };
  const bars = [true, false].map((classes) => buttons("Plane shows", classes
    ? [["f", "f"], ["sign", "sign f"], ["tree", "tree"]] : [["f", "f"], ["tree", "tree and residuals"]], show));
  const sizes = check("sizes", "", "sizes");
  const classes = h("div", { class: "new-point" }, h("span", {}, "New point"), buttons("Class of a new point", [[1, "● +1"], [0, "◆ −1"]], label));
  show.watch((value) => {
    lab.view.show = value;
    redraw();
  });
  label.watch((value) => {
    lab.view.label = value;
  });
  lab.on("settings", () => {
    bars.forEach((bar, i) => {
      bar.hidden = (i === 0) !== lab.classes;
    });
    classes.hidden = !lab.classes;
    sizes.lastChild.textContent = lab.settings.step === "gradient" ? "size by |gradient|" : "size by weight";
    if (!lab.classes && show.value === "sign") show.set("f");
  });
  return h("div", { class: "view" }, bars, classes, h("div", { class: "checks" }, sizes, check("tests", "test points", "tests")));
}

/** The slider of the rounds, with a button that plays them. */
function roundsBar(lab, redraw) {
  const rounds = labelled("rounds", "Rounds", { most: ROUNDS, text: (m) => String(m) }, (m) => {
    lab.view.round = m;
    redraw();
  });
  const work = h("progress", { max: ROUNDS, value: 0, "aria-label": "Rounds that are computed" });
  const note = h("p", { class: "note", role: "status" });
  let playing = 0;
  const stop = () => {
    cancelAnimationFrame(playing);
    playing = 0;
    play.textContent = "▶";
    play.setAttribute("aria-label", "Play the rounds");
  };
  const tick = () => {
    const last = lab.shown?.rounds ?? 0;
    if (lab.view.round >= last) return stop();
    lab.view.round += 1;
    rounds.show(lab.view.round);
    redraw();
    playing = requestAnimationFrame(tick);
    return undefined;
  };
  const play = h("button", { type: "button", class: "play", "aria-label": "Play the rounds", onclick: () => {
    if (playing) return stop();
    if (lab.round >= (lab.shown?.rounds ?? 0)) lab.view.round = 0;
    play.textContent = "❚❚";
    play.setAttribute("aria-label", "Stop");
    playing = requestAnimationFrame(tick);
    return undefined;
  } }, "▶");
  lab.on("work", () => {
    work.classList.toggle("idle", !lab.running);
    work.value = lab.running?.rounds ?? ROUNDS;
  });
  lab.on("fit", () => {
    const { shown } = lab;
    const reason = shown?.boosting.stopReason;
    rounds.input.max = shown?.done ? Math.max(shown.rounds, 1) : ROUNDS;
    rounds.show(Math.min(lab.view.round, rounds.input.max));
    note.textContent = !shown ? "Add points: click the plane, or press N." : reason ? `The fit ended after ${amount(shown.rounds, "round")}: ${reason}.` : "";
  });
  rounds.show(lab.view.round);
  return h("div", { class: "rounds" }, h("div", { class: "rounds-row" }, play, rounds.element), work, note);
}

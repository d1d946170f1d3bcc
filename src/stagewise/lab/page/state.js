// The state of the lab: points, settings, and the fit that is shown while the next one is computed.

const UNIT = 1024; // coordinates are multiples of 1/1024, so that thresholds are exact
const MOST_POINTS = 250; // with more distinct values, Python would group them in bins
const ROUNDS = 200;
const CELLS = 240;
const SLICE = 9; // milliseconds of a frame in which rounds are computed

const snap = (x) => Math.min(Math.max(Math.round(x * UNIT), 1 - UNIT), UNIT - 1) / UNIT;

/** The columns of points: of classes two features, of a regression one. */
function sampleOf(points, classes) {
  const column = (key) => Float64Array.from(points, (point) => point[key]);
  return classes
    ? { classes, x: [column("x"), column("y")], y: column("label") }
    : { classes, x: [column("x")], y: column("y") };
}

/** A model with its scores of test points and its learning curves. */
class Fit {
  constructor(train, test, settings) {
    this.train = train;
    this.test = test;
    this.boosting = new Boosting(train, settings);
    this.surface = new Surface(this.boosting, train.classes ? CELLS : 2 * CELLS);
    this.testScores = [];
    this.walk = this.boosting.scoresOf(test.x);
    this.curves = { trainLoss: [], testLoss: [], trainError: [], testError: [] };
    this.record();
  }

  get rounds() {
    return this.boosting.trees.length;
  }

  get done() {
    return this.boosting.done;
  }

  record() {
    const { boosting, train, test, curves } = this;
    const m = curves.trainLoss.length;
    const scores = [boosting.scores[m], this.walk.next().value];
    this.testScores.push(scores[1]);
    curves.trainLoss.push(boosting.meanLoss(train.y, scores[0], m));
    curves.testLoss.push(boosting.meanLoss(test.y, scores[1], m));
    curves.trainError.push(errorRate(train, scores[0]));
    curves.testError.push(errorRate(test, scores[1]));
  }

  /** Compute rounds until a time is reached. */
  advance(deadline) {
    while (!this.done && performance.now() < deadline) {
      const before = this.rounds;
      this.boosting.round();
      if (this.rounds > before) this.record();
    }
  }
}

/** The share of misclassified points; of a regression, the root of the mean squared error. */
function errorRate(sample, scores) {
  let sum = 0;
  for (let i = 0; i < scores.length; i++) {
    if (sample.classes) sum += scores[i] > 0 !== (sample.y[i] === 1) ? 1 : 0;
    else sum += (sample.y[i] - scores[i]) ** 2;
  }
  const mean = scores.length ? sum / scores.length : NaN;
  return sample.classes ? mean : Math.sqrt(mean);
}

/** Points, settings and fits. Listeners: "fit" (a fit is shown), "work" (its progress), "points", "settings". */
class Lab {
  constructor(examples) {
    this.examples = examples;
    this.settings = { loss: "log_loss", step: "newton", rate: 0.1, leaves: 4, subsample: 1, rounds: ROUNDS };
    this.view = { round: 40, show: "f", sizes: false, tests: false, label: 1 };
    this.listeners = {};
    this.selected = -1;
    this.shown = null;
    this.running = null;
    this.stale = false;
    this.frame = 0;
    this.open(examples[0].key);
  }

  on(name, listener) {
    (this.listeners[name] ??= []).push(listener);
  }

  emit(name) {
    for (const listener of this.listeners[name] ?? []) listener();
  }

  get classes() {
    return this.example.classes;
  }

  /** The number of rounds that is shown: the fit may have fewer. */
  get round() {
    return this.shown ? Math.min(this.view.round, this.shown.rounds) : 0;
  }

  /** Open an example; the loss and the step change if they do not suit it. */
  open(key) {
    this.example = this.examples.find((example) => example.key === key);
    const read = ([x, y, label]) => ({ x: x / UNIT, y: y / UNIT, label: label ?? 0 });
    this.points = this.example.train.map(read);
    this.test = sampleOf(this.example.test.map(read), this.classes);
    this.selected = -1;
    if (LOSSES[this.settings.loss].classes !== this.classes) this.settings.loss = this.classes ? "log_loss" : "squared_error";
    this.matchStep();
    this.emit("points");
    this.restart();
  }

  /** Change settings; a step that does not suit the loss becomes the gradient step. */
  change(values) {
    Object.assign(this.settings, values);
    this.matchStep();
    this.restart();
  }

  matchStep() {
    if (STEPS[this.settings.step].refuses(this.settings.loss)) this.settings.step = "gradient";
    this.emit("settings");
  }

  select(index) {
    this.selected = index;
    this.emit("points");
  }

  /** Add a point; returns whether there is room for it. */
  add(x, y) {
    if (this.points.length >= MOST_POINTS) return false;
    this.points.push({ x: snap(x), y: snap(y), label: this.view.label });
    this.selected = this.points.length - 1;
    this.edited();
    return true;
  }

  edit(index, values) {
    Object.assign(this.points[index], values);
    this.edited();
  }

  remove(index) {
    this.points.splice(index, 1);
    this.selected = Math.min(index, this.points.length - 1);
    this.edited();
  }

  clear() {
    this.points = [];
    this.selected = -1;
    this.edited();
  }

  /** Points have changed: the fit under way ends before the next one starts, so that a drag shows each. */
  edited() {
    this.emit("points");
    if (this.running) this.stale = true;
    else this.restart();
  }

  restart() {
    this.stale = false;
    this.running = this.points.length ? new Fit(sampleOf(this.points, this.classes), this.test, { ...this.settings }) : null;
    if (!this.running) {
      this.shown = null;
      this.emit("fit");
    }
    this.emit("work");
    if (!this.frame) this.frame = requestAnimationFrame(() => this.work());
  }

  work() {
    this.frame = 0;
    const { running } = this;
    if (!running) return;
    running.advance(performance.now() + SLICE);
    const complete = running.done;
    if (complete || (this.shown !== running && running.rounds >= this.view.round && !this.stale)) {
      this.shown = running;
      if (complete) this.running = null;
      this.emit("fit");
    }
    this.emit("work");
    if (complete && this.stale) this.restart();
    else if (!complete) this.frame = requestAnimationFrame(() => this.work());
  }
}

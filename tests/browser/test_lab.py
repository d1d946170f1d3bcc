"""The lab in a real browser: its boosting equals that of Python, and its controls work."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path

import numpy as np
import pytest

from browser.conftest import watched
from stagewise import (
    AdaBoostClassifier,
    GentleBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LogitBoostClassifier,
)
from stagewise.lab.html import boosting_script, examples, lab_html

UNIT, ROUNDS, EVERY, GRID = 1024, 200, 20, 24
EXAMPLES = {example["key"]: example for example in examples()}
CLASS_STEPS = [
    ("log_loss", "gradient"),
    ("log_loss", "newton"),
    ("log_loss", "logit_boost"),
    ("exponential", "gradient"),
    ("exponential", "newton"),
    ("exponential", "ada_boost"),
    ("exponential", "gentle"),
]
NUMBER_STEPS = [
    ("squared_error", "gradient"),
    ("squared_error", "newton"),
    ("absolute_error", "gradient"),
    ("huber", "gradient"),
]
CASES = [
    (key, loss, step)
    for key, example in EXAMPLES.items()
    for loss, step in (CLASS_STEPS if example["classes"] else NUMBER_STEPS)
]
SIZES = [(2, 1.0), (4, 0.1), (8, 0.5)]
PLANE = {"left": 40, "right": 12, "top": 12, "bottom": 34}
DOCS = Path(__file__).parents[2] / "docs"

RUN = """([sample, settings, every, size]) => {
  const model = new Boosting({ ...sample, x: sample.x.map((c) => Float64Array.from(c)) }, settings);
  const surface = new Surface(model, size);
  const found = { rows: [], grid: [], rounds: 0 };
  while (!model.done) model.round();
  found.rounds = model.trees.length;
  // Downwards, so that copies of the surface are used, too.
  for (let m = 0; m <= model.trees.length; m += every) surface.at(m);
  for (let m = model.trees.length - model.trees.length % every; m >= 0; m -= every) {
    const { offset, scale } = model.map;
    found.rows.unshift(Array.from(model.scores[m]));
    found.grid.unshift(Array.from(surface.at(m), (f) => offset + scale * f));
  }
  return found;
}"""


@functools.cache
def rows_of(key):
    """Return features and targets of an example."""
    points = np.array(EXAMPLES[key]["train"], dtype=float)
    if EXAMPLES[key]["classes"]:
        return points[:, :2] / UNIT, points[:, 2]
    return points[:, :1] / UNIT, points[:, 1] / UNIT


def estimator(loss, step, leaves, rate):
    """Return the estimator whose model a step of the lab must equal."""
    shared = {
        "n_estimators": ROUNDS,
        "learning_rate": rate,
        "max_leaf_nodes": leaves,
        "max_depth": None,
        "min_samples_leaf": 1,
    }
    if step in ("gradient", "newton"):
        classes = loss in ("log_loss", "exponential")
        kind = GradientBoostingClassifier if classes else GradientBoostingRegressor
        plain = {"min_hessian": 0.0, "l2_regularization": 0.0, "max_features": 1.0}
        return kind(loss=loss, response=step, **plain, **shared)
    if step == "ada_boost":
        return AdaBoostClassifier(criterion="gini", **shared)
    return {"gentle": GentleBoostClassifier, "logit_boost": LogitBoostClassifier}[step](**shared)


def staged(model, X, rounds):
    """Return the scores after each number of rounds."""
    method = getattr(model, "staged_decision_function", None) or model.staged_predict
    wanted = set(rounds)
    return np.array([f for m, f in enumerate(method(X), start=1) if m in wanted])


def grid_of(n_features):
    centres = (2 * np.arange(GRID) + 1) / GRID - 1
    if n_features == 1:
        return centres[:, np.newaxis]
    return np.array([(x, y) for y in centres for x in centres])


@pytest.fixture(scope="module")
def engine(browser):
    """A page with the scripts that boost, without the lab."""
    names = "{ Boosting, Surface }"
    with watched(browser) as opened:
        opened.evaluate(f"() => {{ {boosting_script()} Object.assign(window, {names}); }}")
        yield opened


def boosted(engine, key, **settings):
    X, y = rows_of(key)
    sample = {"classes": EXAMPLES[key]["classes"], "x": X.T.tolist(), "y": y.tolist()}
    return engine.evaluate(RUN, [sample, {"subsample": 1, **settings}, EVERY, GRID])


@pytest.mark.parametrize(("key", "loss", "step"), CASES)
def test_the_boosting_of_the_page_equals_that_of_python(engine, key, loss, step):
    X, y = rows_of(key)
    for leaves, rate in SIZES:
        page = boosted(engine, key, loss=loss, step=step, leaves=leaves, rate=rate, rounds=ROUNDS)
        model = estimator(loss, step, leaves, rate).fit(X, y)
        assert page["rounds"] == model.n_iter_
        rounds = range(EVERY, model.n_iter_ + 1, EVERY)
        for name, points in (("rows", X), ("grid", grid_of(X.shape[1]))):
            expected = staged(model, points, rounds)
            found = np.array(page[name][1:]).reshape(expected.shape)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_a_subsample_is_repeatable_and_changes_the_fit(engine):
    settings = {"loss": "log_loss", "step": "newton", "leaves": 4, "rate": 0.1, "rounds": 40}
    half = [boosted(engine, "moons", **settings, subsample=0.5)["rows"] for _ in range(2)]
    assert half[0] == half[1]
    assert half[0] != boosted(engine, "moons", **settings)["rows"]


def test_ada_boost_ends_with_a_tree_without_errors(engine):
    X, y = np.array([[-0.5, 0.0], [-0.25, 0.5], [0.25, -0.5], [0.5, 0.25]]), np.array([0, 0, 1, 1])
    sample = {"classes": True, "x": X.T.tolist(), "y": y.tolist()}
    own = {"loss": "exponential", "step": "ada_boost", "leaves": 2, "rate": 1.0}
    page = engine.evaluate(RUN, [sample, {**own, "subsample": 1, "rounds": ROUNDS}, 1, GRID])
    model = estimator(**own).fit(X, y)
    assert page["rounds"] == model.n_iter_ == 1
    np.testing.assert_allclose(page["rows"][1], model.decision_function(X), rtol=1e-12)


# --- the page ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("lab") / "lab.html"
    path.write_text(lab_html(), encoding="utf-8")
    return path.as_uri()


def show(page, written, width=1280, height=900):
    page.set_viewport_size({"width": width, "height": height})
    page.goto(written)
    wait(page)


def wait(page):
    """Wait until all rounds are computed and drawn."""
    page.wait_for_selector("html[data-ready]")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")


@pytest.fixture
def lab(page, written):
    requested = []
    page.on("request", lambda request: requested.append(request.url))
    show(page, written)
    yield page
    assert [url for url in requested if url != written] == []


def slide(page, name, value):
    """Move a slider."""
    page.evaluate(
        """([name, value]) => {
          const input = document.getElementById(name);
          input.value = value;
          input.dispatchEvent(new Event("input"));
        }""",
        [name, value],
    )
    wait(page)


def place(page, x, y):
    """Return the pixel of a point."""
    box = page.locator("canvas.marks").bounding_box()
    width = box["width"] - PLANE["left"] - PLANE["right"]
    height = box["height"] - PLANE["top"] - PLANE["bottom"]
    return (
        box["x"] + PLANE["left"] + (x + 1) / 2 * width,
        box["y"] + PLANE["top"] + (1 - y) / 2 * height,
    )


def selected(page, name="score"):
    """Return f or a coordinate of the selected point, with all digits."""
    return float(page.get_attribute(".point dl", f"data-{name}"))


def status(page):
    return page.text_content(".plane [role=status]")


def select_first(page):
    page.focus("canvas.marks")
    page.keyboard.press("PageDown")
    wait(page)


def reading(page, name):
    text = page.locator(".curves ~ dl div", has_text=name).locator("dd").inner_text()
    return float(text.rstrip(" %"))


def test_the_file_of_the_documentation_is_the_page():
    shipped = (DOCS / "lab.html").read_text(encoding="utf-8")
    assert shipped == lab_html(), "run: stagewise lab --out docs/lab.html"


def test_controls_change_the_model_and_the_slider_its_rounds(lab):
    X, y = rows_of("spheres")
    lab.select_option("#example", "spheres")
    lab.check("input[value=exponential]")
    lab.check("input[value=gentle]")
    slide(lab, "leaves", 5)
    slide(lab, "rate", 6)
    model = estimator("exponential", "gentle", 5, 0.5).fit(X, y)
    scores = staged(model, X, range(1, ROUNDS + 1))
    test = np.array(EXAMPLES["spheres"]["test"], dtype=float)
    on_test = staged(model, test[:, :2] / UNIT, range(1, ROUNDS + 1))
    select_first(lab)
    for m in (1, 120, 37):
        slide(lab, "rounds", m)
        np.testing.assert_allclose(selected(lab), scores[m - 1][0], rtol=1e-9)
        wrong = 100 * np.mean((scores[m - 1] > 0) != (y == 1))
        assert reading(lab, "training error") == pytest.approx(wrong, abs=0.06)
        wrong = 100 * np.mean((on_test[m - 1] > 0) != (test[:, 2] == 1))
        assert reading(lab, "test error") == pytest.approx(wrong, abs=0.06)
        assert lab.inner_text("section[aria-label=Tree] h2") == f"Tree {m}"


def test_points_are_added_and_dragged_with_the_mouse(lab):
    X, y = rows_of("moons")
    lab.mouse.click(*place(lab, -0.75, -0.75))
    wait(lab)
    assert status(lab).startswith("Point 201 of 201")
    lab.mouse.move(*place(lab, -0.75, -0.75))
    lab.mouse.down()
    for x in (-0.8, -0.84, -0.875):
        lab.mouse.move(*place(lab, x, 0.75))
    lab.mouse.up()
    wait(lab)
    new = [selected(lab, "x"), selected(lab, "y")]
    np.testing.assert_allclose(new, [-0.875, 0.75], atol=0.01)
    X, y = np.vstack([X, new]), np.append(y, 1)
    for code in (1, 0):
        y[-1] = code
        model = estimator("log_loss", "newton", 4, 0.1).fit(X, y)
        np.testing.assert_allclose(selected(lab), staged(model, X, [40])[0, -1], rtol=1e-9)
        lab.click("text=Other class")
        wait(lab)
    lab.get_by_role("button", name="Delete").click()
    wait(lab)
    assert "200" in lab.get_attribute("canvas.marks", "aria-label")


def test_points_are_moved_added_and_removed_with_the_keyboard(lab):
    X, y = rows_of("moons")
    select_first(lab)
    for key in ("ArrowLeft", "ArrowUp", "ArrowUp", "Shift+ArrowDown", "c"):
        lab.keyboard.press(key)
    wait(lab)
    moved, codes = X.copy(), y.copy()
    moved[0] += [-1 / 64, 2 / 64 - 1 / 256]
    codes[0] = 1 - codes[0]
    model = estimator("log_loss", "newton", 4, 0.1).fit(moved, codes)
    expected = staged(model, moved[:1], [40])
    np.testing.assert_allclose(selected(lab), expected[0, 0], rtol=1e-9)
    lab.keyboard.press("n")
    assert status(lab).startswith("Point 201 of 201")
    lab.keyboard.press("Delete")
    assert status(lab).startswith("Point 200 of 200")


def test_an_empty_plane_has_no_model_and_takes_points(lab):
    lab.click("text=Clear")
    wait(lab)
    assert "Add points" in lab.inner_text(".rounds")
    assert "The plane is empty" in lab.inner_text(".stage")
    assert lab.inner_text("section[aria-label=Tree]").endswith("There is no model without points.")
    assert "margin is" not in lab.inner_text("section[aria-label=Margins]")
    assert "e−" not in lab.text_content(".curves")  # an axis without values ends at 1
    lab.focus("canvas.marks")
    for _ in range(3):
        lab.keyboard.press("n")
    lab.keyboard.press("c")
    wait(lab)
    assert "Add points" not in lab.inner_text(".rounds")
    assert "NaN" not in lab.evaluate("document.querySelector('main').innerHTML")


def test_a_full_plane_takes_no_more_points_and_shows_why(lab):
    lab.focus("canvas.marks")
    for _ in range(51):
        lab.keyboard.press("n")
    wait(lab)
    assert lab.get_attribute("canvas.marks", "aria-label") == "Plane with 250 points"
    assert status(lab) == "The plane is full: it has room for 250 points."
    assert status(lab) in lab.inner_text(".stage > .note")


def test_the_keys_of_the_plane_are_listed(lab):
    lab.click("text=Keys on the plane")
    listed = lab.inner_text(".keys")
    for key in ("Page Down", "arrows", "N", "C", "Delete", "Escape"):
        assert key in listed


@pytest.mark.parametrize("width", [390, 1280])
def test_leaves_of_a_large_tree_do_not_overlap_and_hold_their_numbers(page, written, width):
    show(page, written, width, 844)
    slide(page, "leaves", 8)
    assert page.locator("text=scroll it sideways").is_visible() == (width == 390)
    boxes, texts = (
        page.eval_on_selector_all(
            f".tree-figure {name}",
            "all => all.map(e => e.getBoundingClientRect()).map(r => [r.left, r.right, r.top])",
        )
        for name in (".leaf", ".leaf-value")
    )
    assert len(boxes) == 8
    ends = sorted(boxes)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(ends))
    for box, text in zip(boxes, texts, strict=True):
        assert box[0] <= text[0] < text[1] <= box[1]


def test_steps_that_do_not_suit_the_loss_have_a_reason(lab):
    def refused():
        return lab.eval_on_selector_all(
            "input[name=step]:disabled",
            "all => all.map(e => [e.value, e.parentElement.querySelector('small').textContent])",
        )

    exponential, log_loss = "it minimises the exponential loss", "it minimises the log loss"
    assert refused() == [["ada_boost", exponential], ["gentle", exponential]]
    lab.check("input[value=exponential]")
    assert refused() == [["logit_boost", log_loss]]
    lab.select_option("#example", "steps")
    lab.check("input[value=huber]")
    assert [name for name, _ in refused()] == ["newton", "ada_boost", "gentle", "logit_boost"]
    assert lab.is_checked("input[name=step][value=gradient]")


@pytest.mark.parametrize("width", [360, 390, 900, 1280])
@pytest.mark.parametrize("key", ["moons", "sine"])
def test_nothing_is_wider_than_the_page(page, written, width, key):
    show(page, written, width, 800)
    page.select_option("#example", key)
    for button in page.locator(".view .buttons button:visible").all():
        button.click()
        wait(page)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert "NaN" not in page.evaluate("document.querySelector('main').innerHTML")


def test_every_control_has_a_name(lab):
    unnamed = lab.evaluate(
        """() => [...document.querySelectorAll("input, select, button, canvas.marks")].filter((e) =>
          !(e.labels?.length || e.getAttribute("aria-label") || e.textContent.trim()))
          .map((e) => e.outerHTML)"""
    )
    assert unnamed == []


def pixel(page):
    """Return the colour of a corner of the plane, where f is nearly constant."""
    return page.evaluate(
        """() => [...document.querySelector("canvas.image").getContext("2d")
          .getImageData(2, 2, 1, 1).data]"""
    )


def test_the_plane_follows_the_theme(lab):
    colours = {}
    for theme in ("light", "dark"):
        lab.emulate_media(color_scheme=theme)
        wait(lab)
        wait(lab)
        colours[theme] = pixel(lab), lab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colours["light"][0] != colours["dark"][0]
    assert colours["light"][1] != colours["dark"][1]
    lab.click("text=◐ auto")  # to light
    wait(lab)
    assert (
        pixel(lab),
        lab.evaluate("getComputedStyle(document.body).backgroundColor"),
    ) == colours["light"]


def test_a_frame_is_drawn_in_time_while_the_slider_moves(lab):
    """60 frames a second, with 200 points and 200 rounds: the median frame takes less than 16 ms.

    A frame is one move of the slider until everything is drawn. Its processor time in the page's
    thread is measured, which does not depend on what else the machine does.
    """
    assert lab.get_attribute("canvas.marks", "aria-label") == "Plane with 200 points"
    assert lab.get_attribute("#rounds", "max") == "200"
    session = lab.context.new_cdp_session(lab)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def milliseconds():
        metrics = session.send("Performance.getMetrics")["metrics"]
        return 1000 * next(one["value"] for one in metrics if one["name"] == "TaskDuration")

    move = """(round) => {
      const input = document.getElementById("rounds");
      input.value = round;
      input.dispatchEvent(new Event("input"));
      return new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    }"""
    times = []
    for k in range(80):
        before = milliseconds()
        lab.evaluate(move, 1 + (k * 37) % 200)
        times.append(milliseconds() - before)
    drawn = times[20:]  # the first frames compile the scripts
    assert 0 < np.median(drawn) < 16, f"median {np.median(drawn):.1f} ms"

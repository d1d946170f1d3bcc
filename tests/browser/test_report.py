"""Report pages in a real browser: every section is shown, and agrees with Python."""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
import pytest

from browser.conftest import watched
from report.reports import EVIL, IMAGE, report_of
from stagewise.inspection import shap_values, thresholds

SECTIONS = [
    "overview",
    "data",
    "learning",
    "quality",
    "subgroups",
    "importance",
    "dependence",
    "explain",
    "trees",
    "what-if",
]
SHOWN = [
    *("two classes", "three classes", "two targets", "lines", "nothing to split", "large"),
    *("counts", "exposure", "amounts", "an outlier"),
]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Reports, each written once."""
    folder, pages = tmp_path_factory.mktemp("reports"), {}

    def of(name, **options):
        if name not in pages:
            model, X, y, weight = report_of(name)
            if name == "large":
                X, y = X[:100], y[:100]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                path = folder / f"{name}.html"
                pages[name] = model.report(X, y, path, sample_weight=weight, **options).as_uri()
        return pages[name]

    return of


def show(page, address):
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(address)
    page.wait_for_selector("html[data-ready]")


@pytest.fixture(scope="module")
def number(browser, written):
    """One report of a regression, for all tests that use it."""
    with watched(browser) as page:
        show(page, written("number"))
        yield page


def row_of(page):
    return int(page.evaluate("document.querySelector('#row select').value.match(/\\d+/)[0]"))


@pytest.mark.parametrize("name", SHOWN)
def test_every_section_is_shown(page, written, name):
    requested = []
    page.on("request", lambda request: requested.append(request.url))
    show(page, written(name))
    assert page.eval_on_selector_all("main > section", "all => all.map(s => s.id)") == SECTIONS
    check_layout(page, 1280)
    page.set_viewport_size({"width": 390, "height": 844})
    wait_until(page, "document.querySelector('figure svg').viewBox.baseVal.width < 390")
    check_layout(page, 390)
    assert re.search(r"\bnull\b|undefined|\[object", page.inner_text("main")) is None
    assert [url for url in requested if not url.startswith(("file:", "blob:"))] == []


def wait_until(page, condition):
    # Not page.wait_for_function: it polls by eval, which the page's security policy forbids.
    for _ in range(200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"still false after 10 s: {condition}")


def check_layout(page, width):
    # Nothing is wider than the page, nothing is drawn at NaN, every figure has a size and a name.
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert "NaN" not in page.evaluate("document.querySelector('main').innerHTML")
    pictures = page.eval_on_selector_all(
        "figure svg[role=img]",
        "all => all.map(s => [s.getAttribute('aria-label'), s.getBoundingClientRect().width])",
    )
    assert all(label for label, _ in pictures)
    assert all(20 < wide <= width for _, wide in pictures)


def shown_prediction(page):
    return json.loads(page.get_attribute(".prediction", "data-values"))


def change(page, feature, value):
    field = page.locator(f".field[data-feature='{feature}'] :is(input[type=text], select)")
    if field.evaluate("e => e.tagName") == "SELECT":
        field.select_option(value)
    else:
        field.fill(value)


def test_what_if_predicts_as_python(number):
    page = number
    model, X, _, _ = report_of("number")
    row = X.iloc[[row_of(page)]]
    before, row = row, row.copy()
    np.testing.assert_allclose(shown_prediction(page), model.predict(row), rtol=1e-12)
    for feature, text, value in [
        (0, "7", 7.0),
        (1, "", np.nan),
        (2, "boat", "boat"),
        (0, "-1e3", -1e3),
    ]:
        change(page, feature, text)
        row.iloc[0, feature] = value
        np.testing.assert_allclose(shown_prediction(page), model.predict(row), rtol=1e-9)
    # The waterfall ends at the prediction, and its parts are those of Python.
    total = float(page.get_attribute("#what-if figure svg", "data-total"))
    why = shap_values(model, row)
    np.testing.assert_allclose(total, why.base_values + why.values.sum(), rtol=1e-9)
    same = [a == b or (a != a and b != b) for a, b in zip(before.iloc[0], row.iloc[0], strict=True)]
    assert page.locator(".field.changed").count() == same.count(False)


def test_a_row_keeps_its_exposure(page, written):
    model, X, _, _ = report_of("exposure")
    show(page, written("exposure"))
    row = X.iloc[[row_of(page)]]
    np.testing.assert_allclose(shown_prediction(page), model.predict(row), rtol=1e-12)
    change(page, 0, "7")
    row = row.assign(rooms=7.0)
    np.testing.assert_allclose(shown_prediction(page), model.predict(row), rtol=1e-9)
    total = float(page.get_attribute("#what-if figure svg", "data-total"))
    np.testing.assert_allclose(total, model.predict(row)[0], rtol=1e-9)
    assert "log(exposure)" in page.inner_text("#what-if")
    explained = float(page.get_attribute("#row figure svg", "data-total"))
    same = X.iloc[[row_of(page)]]
    np.testing.assert_allclose(explained, model.predict(same)[0], rtol=1e-5)


def test_what_if_shows_input_errors(number):
    page = number
    before = shown_prediction(page)
    change(page, 0, "seven")
    assert "must be a number" in page.inner_text(".field[data-feature='0'] .error")
    assert shown_prediction(page) == before
    page.get_by_role("button", name="Reset").click()
    assert page.inner_text(".field[data-feature='0'] .error") == ""
    assert page.locator(".field.changed").count() == 0


def test_what_if_predicts_class_probabilities(page, written):
    model, X, _, _ = report_of("three classes")
    show(page, written("three classes"))
    change(page, 2, "house")
    change(page, 0, "8")
    row = X.iloc[[row_of(page)]]
    row = row.assign(kind="house", rooms=8.0)
    np.testing.assert_allclose(shown_prediction(page), model.predict_proba(row)[0], rtol=1e-9)


def test_the_threshold_changes_the_counts(page, written):
    model, X, y, weight = report_of("two classes")
    show(page, written("two classes"))
    page.locator("#quality input[type=range]").fill("0.3")
    cells = page.locator("#quality .confusion td").all_inner_texts()
    shown = [float(text.split()[0].replace(",", "")) for text in cells if text.strip()]
    counts = thresholds(model, X, y, sample_weight=weight).at(0.3)
    assert shown == [counts["tn"], counts["fp"], counts["fn"], counts["tp"]]
    page.get_by_label("Cost of a false negative").fill("50")
    page.get_by_role("button", name="Use the threshold with the lowest cost").click()
    best = thresholds(model, X, y, sample_weight=weight).cost(1.0, 50.0)
    now = page.locator("#quality .rates div", has_text="cost per row").locator("b").inner_text()
    assert float(now) == pytest.approx(best.best_cost, rel=0.01)


def test_measures_features_and_rows_can_be_chosen(number):
    page = number
    page.get_by_role("button", name="Number of splits").click()
    assert "Number of splits" in page.get_attribute("#importance svg", "aria-label")
    page.locator("#dependence select").nth(0).select_option("age")
    assert "dependence of price on age" in page.get_attribute("#dependence svg", "aria-label")
    page.locator("#dependence select").nth(1).select_option("rooms")
    assert "on age and rooms" in page.get_attribute("#dependence svg", "aria-label")
    page.locator("#dependence .plot svg").hover()
    before = page.get_attribute("#row svg", "data-total")
    page.locator("#row").get_by_label("next row").click()
    assert page.get_attribute("#row svg", "data-total") != before


def test_tree_nodes_can_be_selected_by_keys(number):
    page = number
    model, X, _, _ = report_of("number")
    page.locator("#trees .node").first.focus()
    page.keyboard.press("ArrowRight")
    left = int(model.model_.ensemble.trees[0].left[0])
    assert page.evaluate("document.activeElement.dataset.id") == str(left)
    page.keyboard.press("ArrowLeft")
    nodes = page.locator("#trees .node").count()
    page.keyboard.press("Enter")
    assert page.locator("#trees .node").count() == 1
    page.keyboard.press("Enter")
    assert page.locator("#trees .node").count() == nodes
    # The path of the chosen row equals that of Python.
    row = row_of(page)
    marked = page.eval_on_selector_all("#trees .node.on", "all => all.map(n => +n.dataset.id)")
    assert max(marked) == model.apply(X.iloc[[row]]).reshape(-1)[0]


def test_markup_in_data_stays_text(page, written):
    show(page, written("evil", title=IMAGE, target=EVIL))
    assert page.inner_text("h1") == IMAGE
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    names = page.locator("#data tbody th span").all_inner_texts()
    assert {EVIL, IMAGE} <= set(names)


def test_dark_mode_and_print(page, written):
    page.emulate_media(color_scheme="dark")
    show(page, written("two classes"))
    colour = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(colour)
    page.get_by_role("button", name="colour theme").click()
    assert page.evaluate(colour) != dark
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    assert len(page.pdf()) > 20_000

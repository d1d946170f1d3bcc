"""Report pages fit the screen, outliers do not flatten plots, and numbers agree with Python."""

from __future__ import annotations

import warnings
from importlib.resources import files

import numpy as np
import pytest

from browser.test_quality_layout import RECTANGLES
from report.reports import EVIL, report_of
from stagewise.inspection import scores, shap_values
from stagewise.report.axis_limits import robust_limits

BOXES = """
#overview h1, #overview .story, #overview .card > *, #overview dl > div, #overview .stamp,
#data .lead, #data h3, #data thead th, #data tbody td, #data tbody th, #quality .lead,
#quality figure, #quality details, #subgroups h2, #subgroups .lead, #subgroups figure,
#subgroups details, #explain .lead, #explain .controls > *, #explain figure
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Reports, each written once."""
    folder, pages = tmp_path_factory.mktemp("reports"), {}

    def of(name, **options):
        if name not in pages:
            model, X, y, weight = report_of(name)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                path = model.report(X, y, folder / f"{name}.html", sample_weight=weight, **options)
            pages[name] = path.as_uri()
        return pages[name]

    return of


@pytest.fixture
def show(page, written):
    def of(name, width=1280, **options):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(written(name, **options))
        return report_of(name)

    return of


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["two classes", "counts", "datetimes"])
def test_no_box_covers_another(page, show, name, width):
    show(name, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = [box for box in page.evaluate(RECTANGLES, BOXES) if box["right"] > box["left"]]
    assert len(boxes) > 30
    for i, a in enumerate(boxes):
        assert a["right"] <= width, a
        for b in boxes[i + 1 :]:
            across = min(a["right"], b["right"]) - max(a["left"], b["left"])
            along = min(a["bottom"], b["bottom"]) - max(a["top"], b["top"])
            assert min(across, along) < 1, (a, b)


@pytest.mark.parametrize("name", ["datetimes", "evil", "wide integers"])
def test_the_table_of_columns_fits_a_screen_of_1280_pixels(page, show, name):
    show(name, **({"target": EVIL} if name == "evil" else {}))
    table = "document.querySelector('#data .scroll')"
    assert page.evaluate(f"{table}.scrollWidth <= {table}.clientWidth")


@pytest.mark.parametrize("name", ["two classes", "three classes", "number", "counts"])
def test_the_rows_of_quality_are_full(page, show, name):
    show(name)
    places = page.evaluate(
        "[...document.querySelectorAll('#quality :is(.pair, .trio) > *')]"
        ".map((e) => Math.round(e.getBoundingClientRect().top))"
    )
    per_row = {places.count(top) for top in places}
    assert per_row == ({3} if "classes" in name else {2})


@pytest.mark.parametrize("name", ["two classes", "three classes", "number", "counts", "amounts"])
def test_every_score_has_its_baseline(page, show, name):
    model, X, y, weight = show(name)
    found = scores(model, X, y, sample_weight=weight, n_resamples=0).scores
    for score in found:
        for kind, value in (("score", score.value), ("baseline", score.baseline)):
            text = page.inner_text(f"#overview [data-{kind}={score.name}]")
            shown = float(text.replace(",", "").replace("−", "-"))
            assert shown == pytest.approx(value, rel=6e-4, abs=1e-12)
    words = page.inner_text("#overview")
    if name == "two classes":
        assert f"{100 * found[2].value:.3g} % of pairs ranked correctly" in words
    if name == "counts":
        assert page.inner_text("h1") == "Predicting a count"
        assert "of the deviance explained" in words
        assert page.locator("#quality svg[aria-label^=Rootogram]").count() == 1
    if name in ("counts", "amounts"):
        assert page.locator("#quality svg[aria-label*='normal quantiles']").count() == 0
        assert page.locator("#quality svg[aria-label*='by decile']").count() == 2


# ---- waterfalls ----------------------------------------------------------------------------------


def steps(page, where):
    svg = page.locator(f"{where} figure svg")
    numbers = svg.evaluate(
        "e => [e.dataset.base, e.dataset.total, ...[...e.querySelectorAll('[data-step]')]"
        ".map((bar) => bar.dataset.step)].map(Number)"
    )
    return numbers[0], numbers[1], numbers[2:]


@pytest.mark.parametrize("name", ["two classes", "counts", "boosted classes"])
def test_waterfalls_sum_to_the_prediction_on_both_scales(page, show, name):
    model, X, _, _ = show(name)
    row = int(page.evaluate("document.querySelector('#row select').value.match(/\\d+/)[0]"))
    one = X.iloc[[row]]
    predicted = model.predict_proba(one)[0] if "classes" in name else model.predict(one)
    k = int(np.argmax(predicted)) if name == "boosted classes" else -1
    why = shap_values(model, one)
    values = why.values.reshape(X.shape[1], -1)[:, k]
    base = np.atleast_1d(why.base_values)[k]
    other = {"counts": "logarithm of the prediction", "two classes": "log odds"}.get(name, "score")
    for where in ("#row", "#what-if"):
        start, total, parts = steps(page, where)
        assert start + sum(parts) == pytest.approx(total, rel=1e-9)
        assert total == pytest.approx(predicted[k], rel=1e-6)
    page.locator("#row").get_by_role("button", name=other, exact=True).click()
    for where in ("#row", "#what-if"):
        start, total, parts = steps(page, where)
        assert start == pytest.approx(base, rel=1e-6)
        assert start + sum(parts) == pytest.approx(total, rel=1e-9)
        assert total == pytest.approx(base + values.sum(), rel=1e-6)
        used = np.abs(values[values != 0])
        assert sorted(np.abs(parts)) == pytest.approx(sorted(used), rel=1e-5)


@pytest.mark.parametrize("name", ["number", "three classes"])
def test_waterfalls_in_units_of_the_prediction_have_one_scale(page, show, name):
    show(name)  # a regression; a forest, whose Shapley values are probabilities
    assert page.get_by_role("group", name="Scale").count() == 0


# ---- outliers ------------------------------------------------------------------------------------


def test_one_outlier_does_not_flatten_the_plots(page, show):
    show("an outlier")
    for label in ("Observed against predicted", "Residuals against predicted"):
        svg = page.locator(f"#quality svg[aria-label^='{label}']")
        assert svg.locator("[data-outside]").text_content() == "1 row outside"
        assert svg.locator(".far").count() == 1
        heights = svg.locator(".dots circle").evaluate_all(
            "all => all.map((c) => +c.cy.baseVal.value)"
        )
        assert np.ptp(heights) > 200
    assert page.locator("#data .spark .point").count() == 2
    ticks = page.locator("#quality svg[aria-label^='Quantiles of residuals'] text.tick")
    numbers = [float(t.replace("−", "-")) for t in ticks.all_text_contents()]
    assert 3 < np.ptp(numbers) < 20


@pytest.mark.parametrize("width", [1280, 390])
def test_one_outlier_does_not_flatten_the_subgroups(page, show, width):
    show("an outlier", width)
    bars = page.locator("#subgroups svg rect.bar")
    lengths = sorted(bars.evaluate_all("all => all.map((b) => b.width.baseVal.value)"))
    cut = page.locator("#subgroups svg .far").count()
    assert 1 <= cut < len(lengths) / 2
    assert lengths[0] > 0.1 * lengths[-1]
    assert "cut" in page.locator("#subgroups figcaption").first.text_content()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_limits_of_axes_equal_pythons(lab):
    script = (files("stagewise.report") / "page" / "charts.js").read_text(encoding="utf-8")
    rng = np.random.default_rng(0)
    samples = [
        rng.normal(size=500),
        rng.standard_cauchy(size=500),
        rng.standard_cauchy(size=30),
        np.r_[np.zeros(40), 1e9],
        np.r_[rng.normal(size=12), 1e300, -1e300],
        np.arange(4.0),
    ]
    for values in samples:
        found = lab.evaluate(
            f"(values) => {{ {script} return robustEnds(values, 0); }}", values.tolist()
        )
        expected = robust_limits(values)
        if expected[0] < expected[1]:
            assert found == pytest.approx(expected, rel=1e-12)


# ---- the navigation ------------------------------------------------------------------------------


def test_the_navigation_of_a_phone_shows_that_it_scrolls(page, show):
    show("number", 390)

    def arrows():
        return [page.locator(f"nav .more.{side}").is_visible() for side in ("before", "after")]

    assert arrows() == [False, True]
    page.evaluate("document.querySelector('nav ul').scrollTo({ left: 1e6 })")
    page.wait_for_timeout(200)
    assert arrows() == [True, False]
    page.set_viewport_size({"width": 1280, "height": 900})
    assert arrows() == [False, False]

"""The report pages of survival models."""

from __future__ import annotations

import json

import numpy as np
import pytest

from browser.conftest import watched
from stagewise import GradientBoostingSurvival, survival_target
from stagewise.inspection import scores
from survival.samples import competing, proportional

EVENTS = {"cox": 1, "aft": 1, "discrete_time": 1, "cause_specific": 2, "fine_gray": 1}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    found = {}
    for loss in EVENTS:
        several = loss in ("cause_specific", "fine_gray")
        X, time, event = (competing if several else proportional)(300)
        y = survival_target(time, event)
        model = GradientBoostingSurvival(loss=loss, n_estimators=8).fit(X[:150], y[:150])
        path = tmp_path_factory.mktemp("report") / f"{loss}.html"
        model.report(X[150:], y[150:], path)
        found[loss] = path, model, X[150:], y[150:]
    return found


@pytest.mark.parametrize("loss", EVENTS)
def test_the_page_has_scores_and_curves_and_fits_the_width(loss, reports, browser):
    path, model, X, y = reports[loss]
    value = next(s for s in scores(model, X, y).scores if s.name.startswith("c_index")).value
    for width in (1280, 390):
        with watched(browser) as page:
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(path.as_uri())
            shown = page.locator('[data-score="c_index"]').first.inner_text()
            assert float(shown) == pytest.approx(value, abs=5e-5)
            assert "one curve for all rows" in page.locator("#overview").inner_text()
            quality = page.locator("#quality")
            assert quality.locator("figure svg").count() == 5
            assert "are censored" in quality.inner_text()
            quality.get_by_text("Show the calibration").click()
            quality.locator("table tbody tr").nth(2).wait_for()
            assert "integrated Brier score" in page.locator("#subgroups").inner_text()
            for name in ("importance", "dependence", "explain", "trees", "what-if"):
                assert page.locator(f"#{name}").is_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("loss", EVENTS)
def test_what_if_predicts_as_python_does(loss, reports, browser):
    path, model, X, _ = reports[loss]
    with watched(browser) as page:
        page.goto(path.as_uri())  # row 0 is among the sampled rows
        shown = json.loads(page.locator("#what-if .prediction").get_attribute("data-values"))
        np.testing.assert_allclose(shown, np.ravel(model.predict(X[:1])), rtol=1e-12)


def test_the_event_and_the_time_of_calibration_can_be_chosen(reports, browser):
    path, *_ = reports["cause_specific"]
    with watched(browser) as page:
        page.goto(path.as_uri())
        quality = page.locator("#quality")
        before = quality.locator("svg").nth(2).get_attribute("aria-label")
        quality.locator(".buttons button").first.click()
        assert quality.locator("svg").nth(2).get_attribute("aria-label") != before
        assert "cumulative incidence" in before
        quality.locator("select").select_option("event 2")
        assert "had the event 2" in quality.locator(".lead").inner_text()

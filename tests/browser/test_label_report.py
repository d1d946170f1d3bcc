"""The report page of several labels."""

from __future__ import annotations

import json

import numpy as np
import pytest

from browser.conftest import watched
from stagewise import GradientBoostingClassifier
from stagewise.inspection import scores


@pytest.mark.parametrize("loss", ["log_loss", "exponential", "focal"])
def test_the_page_has_a_table_and_the_curves_of_a_label(loss, browser, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    Y = (X + 0.5 * rng.normal(size=(300, 3)) > 0.2).astype(int)
    model = GradientBoostingClassifier(loss=loss, n_estimators=6).fit(X[:150], Y[:150])
    path, found = tmp_path / "labels.html", scores(model, X[150:], Y[150:])
    model.report(X[150:], Y[150:], path)
    for width in (1280, 390):
        with watched(browser) as page:
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(path.as_uri())
            shown = page.locator('[data-score="hamming_loss"]').inner_text()
            assert float(shown) == pytest.approx(found["hamming_loss"].value, abs=5e-5)
            quality = page.locator("#quality")
            table = quality.locator("table").first.inner_text()
            assert all(name in table for name in ("y0", "y1", "y2", "best constant"))
            area = quality.locator("svg").first.get_attribute("aria-label")
            quality.locator("select").first.select_option("y2")
            assert quality.locator("svg").first.get_attribute("aria-label") != area
            assert quality.locator("figure svg").count() == 5
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            if loss != "focal":  # the page has no link of the focal loss
                values = page.locator("#what-if .prediction").get_attribute("data-values")
                row = np.hstack([p[0] for p in model.predict_proba(X[150:151])])
                np.testing.assert_allclose(json.loads(values), row, rtol=1e-12)
            else:
                assert "not available on a page" in page.locator("#what-if").inner_text()

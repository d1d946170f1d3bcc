"""The report pages of quantiles and of distributions."""

from __future__ import annotations

import numpy as np
import pytest

from browser.conftest import watched
from stagewise import GradientBoostingRegressor

LEVELS = [0.1, 0.5, 0.9]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    return X, 2 * X[:, 0] + np.exp(0.4 * X[:, 1]) * rng.normal(size=600) + 5


@pytest.mark.parametrize(
    ("parameters", "kind", "words"),
    [
        ({"loss": "quantile", "quantile": LEVELS}, "quantiles", "pinball loss"),
        ({"loss": "expectile", "quantile": LEVELS}, "expectiles", "levels"),
        ({"loss": "normal"}, "distributions", "negative log-likelihood"),
        ({"loss": "student_t"}, "distributions", "CRPS"),
    ],
)
def test_the_page_has_a_fan_and_a_calibration(parameters, kind, words, rows, browser, tmp_path):
    X, y = rows
    model = GradientBoostingRegressor(n_estimators=10, **parameters).fit(X, y)
    path = tmp_path / "report.html"
    model.report(X, y, path, target="price")
    for width in (1200, 400):
        with watched(browser) as page:
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(path.as_uri())
            lead = page.locator(f'[data-spread="{kind}"]').inner_text()
            assert words in lead
            assert page.locator("#quality svg").count() >= 4
            for name in ("importance", "dependence", "explain"):
                assert page.locator(f"#{name}").is_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= width

"""Labels of plots: they fit, do not overlap, and name the quantity of the axis."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.errors import InvalidParameterError
from stagewise.inspection import accumulated_effects, partial_dependence, residuals, shap_values

RNG = np.random.default_rng(0)
N = 700
PLACES = [f"district {i}" for i in range(70)]
HOUSES = pd.DataFrame(
    {
        "overall quality of the house": RNG.integers(1, 10, N),
        "area": RNG.normal(1500, 400, N),
        "year": RNG.integers(1900, 2020, N),
        "garage": RNG.integers(0, 4, N),
    }
)
HOUSES["district"] = pd.Categorical(np.resize(PLACES, N), categories=PLACES)
PRICES = 20_000.0 * HOUSES["overall quality of the house"] + 100 * HOUSES["area"]
PRICES += 300 * (HOUSES["year"] - 1900) + 500 * (np.arange(N) % 70) + RNG.normal(0, 9000, N)


@pytest.fixture(scope="module")
def model() -> GradientBoostingRegressor:
    return GradientBoostingRegressor(n_estimators=60, random_state=0).fit(HOUSES, PRICES)


def drawn_axes(n: int = 1) -> Any:
    """Return axes of a narrow figure."""
    figure = Figure(figsize=(4.2 * n, 3.6), layout="constrained")
    axes = [figure.add_subplot(1, n, i + 1) for i in range(n)]
    return axes if n > 1 else axes[0]


def boxes_of(texts: Any) -> list[Any]:
    return [text.get_window_extent() for text in texts if text.get_text() and text.get_visible()]


def test_a_label_of_a_waterfall_is_white_only_inside_its_bar(model: Any) -> None:
    for row in range(8):
        ax = drawn_axes()
        shap_values(model, HOUSES[:8]).waterfall(row, ax=ax)
        ax.figure.draw_without_rendering()
        bars = [patch.get_window_extent() for patch in ax.patches]
        labels = [text for text in ax.texts if text.get_text()[0] in "+−"]
        assert len(labels) == len(bars) == HOUSES.shape[1]
        for label, bar in zip(labels, bars, strict=True):
            box = label.get_window_extent()
            if to_rgb(label.get_color()) == (1.0, 1.0, 1.0):
                assert bar.x0 - 1 <= box.x0
                assert box.x1 <= bar.x1 + 1
            else:  # beside its bar, above the dashed lines
                assert box.x0 >= bar.x1 or box.x1 <= bar.x0
                assert to_rgb(label.get_bbox_patch().get_facecolor()) == (1.0, 1.0, 1.0)
                assert ax.bbox.x0 <= box.x0


def test_ticks_of_residuals_of_large_numbers_do_not_overlap(model: Any) -> None:
    axes = drawn_axes(3)
    residuals(model, HOUSES, PRICES).plot(axes)
    axes[0].figure.draw_without_rendering()
    for ax in axes:
        ticks = ax.get_xticklabels()
        for one, other in pairwise(sorted(boxes_of(ticks), key=lambda box: box.x0)):
            assert one.x1 < other.x0
    assert any(tick.get_text().endswith("k") for tick in axes[0].get_xticklabels())


@pytest.mark.parametrize("function", [partial_dependence, accumulated_effects])
def test_categories_that_are_not_drawn_are_counted(function: Any, model: Any) -> None:
    ax = drawn_axes()
    effect = function(model, HOUSES, "district")
    effect.plot(ax)
    ax.figure.draw_without_rendering()
    assert ax.get_title() == "the 40 most frequent of 70 categories"
    assert "the 40 most frequent of 70 categories" in repr(effect)
    for one, other in pairwise(boxes_of(ax.get_xticklabels())):
        assert one.x1 < other.x0 + 1
    every = function(model, HOUSES, "district", grid_resolution=70)
    every.plot(ax := drawn_axes())
    ax.figure.draw_without_rendering()
    assert ax.get_title() == ""
    assert len(ax.get_xticklabels()) < 40


def test_a_surface_counts_the_categories_that_are_not_drawn(model: Any) -> None:
    ax = drawn_axes()
    partial_dependence(model, HOUSES, ["district", "area"]).plot(ax)
    assert ax.get_title() == "district: the 40 most frequent of 70 categories"


def test_the_axis_of_a_regression_is_the_prediction(model: Any) -> None:
    for function, words in (
        (partial_dependence, "partial dependence"),
        (accumulated_effects, "accumulated effect"),
    ):
        ax = function(model, HOUSES, "area").plot(drawn_axes())
        assert ax.get_ylabel() == f"{words} (prediction)"
    counts = GradientBoostingRegressor(loss="poisson", n_estimators=3).fit(HOUSES, PRICES)
    assert partial_dependence(counts, HOUSES, "area").quantity == "score"
    assert partial_dependence(counts, HOUSES, "area", response="mean").quantity == "prediction"
    classes = GradientBoostingClassifier(n_estimators=3).fit(HOUSES, PRICES.mean() < PRICES)
    assert partial_dependence(classes, HOUSES, "area").quantity == "score"
    assert partial_dependence(classes, None, "area").quantity == "score"
    assert partial_dependence(classes, HOUSES, "area", response="mean").quantity == "probability"


def test_the_error_for_three_features_has_the_loop(model: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"got 3\. For a plot of each: for name in"):
        partial_dependence(model, HOUSES, ["area", "year", "garage"])

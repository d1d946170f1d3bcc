"""The numbers of the pages of the methods are those that their programs measure.

The scripts of the figures (`tools/figures/`) and `tools/measure_properties.py` have the programs.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from stagewise.datasets import make_friedman1
from stagewise.losses import (
    AbsoluteError,
    BinarySquaredError,
    Exponential,
    Huber,
    Logistic,
    Quantile,
    SquaredError,
)

ROOT = Path(__file__).parents[1]
METHODS = ROOT / "docs" / "methods"
PROGRAMS = [str(ROOT / "tools"), str(ROOT / "tools" / "figures")]
# Only while they are imported: a figure has the name of a folder of tests.
sys.path += PROGRAMS
margins = importlib.import_module("margins")
bias_variance = importlib.import_module("bias_variance")
steps = importlib.import_module("steps")
properties = importlib.import_module("measure_properties")
for program in PROGRAMS:
    sys.path.remove(program)


def text(page: str) -> str:
    return (METHODS / f"{page}.md").read_text(encoding="utf-8")


def test_the_margins_of_the_page_are_measured():
    page = text("margins")
    train, test, found = margins.measure()
    first, last = found.rounds[1], found.rounds[-1]
    assert train[first - 1] == 0 < train[first - 2]
    for row in found.table():
        assert margins.line(row) in page
    assert f"after {first} rounds" in page
    assert f"from {100 * test[first - 1]:.1f} % to {100 * test[last - 1]:.1f} %" in page
    # The smallest margins grow although no row is misclassified any more; the median falls.
    lowest, low, median = (
        [row[name] for row in found.table()[1:]] for name in ("minimum", "10%", "median")
    )
    assert lowest == sorted(lowest)
    assert low == sorted(low)
    assert median == sorted(median, reverse=True)


# Those of bagging take longer; the next test reads them from the page.
@pytest.mark.parametrize("name", ["stump", "boosted stumps", "large tree", "random forest"])
def test_bias_and_variance_of_the_page_are_measured(name):
    assert bias_variance.line(name, bias_variance.measure(name)) in text("bias_variance")


def test_bagging_divides_the_variance_and_boosting_the_bias():
    rows = re.findall(r"^\| ([a-z ]+) \| ([\d. |]+) \|$", text("bias_variance"), flags=re.MULTILINE)
    parts = {name: [float(cell) for cell in cells.split(" | ")] for name, cells in rows}
    assert list(parts) == list(bias_variance.METHODS)
    for bias, variance, noise, error in parts.values():
        assert bias + variance + noise == pytest.approx(error, abs=0.02)
    bias, variance = ({name: part[i] for name, part in parts.items()} for i in (0, 1))
    assert round(variance["large tree"] / variance["bagged trees"]) == 7
    assert variance["random forest"] < variance["bagged trees"]
    assert bias["random forest"] > bias["bagged trees"]
    assert bias["boosted stumps"] < bias["bagged stumps"] / 5


def test_newton_steps_fall_faster_and_overfit_sooner():
    page = text("newton_boosting")
    (gradient, gradient_test), (newton, newton_test) = map(steps.errors, ("gradient", "Newton"))
    assert (newton[2:40] < gradient[2:40]).all()
    assert f"{100 * newton[9]:.1f} % after 10 rounds, and {100 * gradient[9]:.1f} %" in page
    assert f"least after {newton_test.argmin() + 1} rounds" in page
    assert f"gradient steps after {gradient_test.argmin() + 1} rounds" in page
    assert f"({100 * gradient_test.min():.1f} % and {100 * newton_test.min():.1f} %)" in page


@pytest.mark.parametrize(
    ("method", "page"), [("Newton", "newton_boosting"), ("gradient", "gradient_boosting")]
)
def test_smaller_steps_are_smoother(method, page):
    X, y = steps.noisy_waves(300, 0)
    changes = []
    for label, rate in steps.RATES.items():
        changes.append(steps.sign_changes(steps.surface(steps.fit(method, rate, X, y))))
        assert re.search(rf"{changes[-1]:.2f} %\s+for\s+ν = {label}", text(page))
    assert changes == sorted(changes, reverse=True)


def test_test_errors_of_three_learning_rates_are_measured():
    (X, y), (X_test, y_test) = steps.noisy_waves(300, 0), steps.noisy_waves(3_000, 100)
    errors = [
        100 * np.mean(steps.fit("Newton", rate, X, y).predict(X_test) != y_test)
        for rate in (0.1, 1.0, 0.01)
    ]
    best, full, small = (f"{error:.1f} %" for error in errors)
    page = text("newton_boosting")
    assert f"ν = 1/10 ({best}, with ν = 1 {full})" in page
    assert f"more rounds ({small})" in page


# ---- losses ------------------------------------------------------------------------------------

MARGIN = np.linspace(-2, 2, 81)
ONE = np.ones(81, dtype=int)


def test_losses_of_classes_are_those_of_the_textbook():
    """Elements, Figure 10.4, with y = +1 and f the margin; all are 1 at the margin 0."""
    own = {
        "exponential": (Exponential().loss(ONE, MARGIN), np.exp(-MARGIN)),
        "deviance": (Logistic().loss(ONE, 2 * MARGIN), np.log1p(np.exp(-2 * MARGIN))),
        "squared": (2 * BinarySquaredError().loss(ONE, MARGIN), (1 - MARGIN) ** 2),
    }
    for ours, book in own.values():
        np.testing.assert_allclose(ours, book, atol=1e-12)
    at_zero = [ours[40] for ours, _ in own.values()]
    np.testing.assert_allclose(at_zero, [1, np.log(2), 1])


def test_losses_of_numbers_are_those_of_the_textbook():
    """Elements, Figure 10.5; squared error and Huber's loss have the factor ½ here."""
    r, zero = np.linspace(-3, 3, 61), np.zeros(61)
    huber = np.where(np.abs(r) <= 1, r**2, 2 * np.abs(r) - 1)
    np.testing.assert_allclose(2 * SquaredError().loss(r, zero), r**2)
    np.testing.assert_allclose(AbsoluteError().loss(r, zero), np.abs(r))
    np.testing.assert_allclose(2 * Huber(delta=1.0).loss(r, zero), huber)
    np.testing.assert_allclose(Quantile(quantile=0.8).loss(r, zero), r * (0.8 - (r < 0)))


# ---- properties --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", properties.ROWS)
def test_cells_of_trees_are_measured(name):
    cells = [properties.text(properties.ROWS[name](tree)) for tree in properties.TREES.values()]
    assert f"| {name} | " + " | ".join(cells) + " |" in text("properties")


@pytest.mark.parametrize("name", properties.TREES)
@pytest.mark.parametrize("transform", [np.exp, np.cbrt, lambda x: 1000 * x - 3])
def test_monotone_transformations_change_no_prediction_of_a_training_row(name, transform):
    X, y = make_friedman1(200)
    tree = properties.TREES[name]
    before, after = (clone(tree).fit(Z, y).predict(Z) for Z in (X, transform(X)))
    np.testing.assert_array_equal(before, after)


def test_the_largest_possible_r_squared_is_that_of_the_page():
    _, y = make_friedman1(100_000)
    assert f"at most {1 - 1 / y.var():.2f}" in text("properties").replace("\n", " ")

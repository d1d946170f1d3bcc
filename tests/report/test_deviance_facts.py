"""The quality of counts and amounts, against pandas, SciPy and formulas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from report.reports import report_of
from stagewise.inspection import Predictions
from stagewise.report.axis_limits import robust_limits
from stagewise.report.deviance_facts import deviance_facts
from stagewise.report.page_facts import report_facts


def predictions_of(power, n=400, weight=None):
    rng = np.random.default_rng(0)
    mu = rng.gamma(2.0, 1.5, n)
    y = rng.gamma(2.0, mu / 2) if power == 2.0 else rng.poisson(mu).astype(float)
    return Predictions.from_arrays(y, mu, None, weight, deviance_power=power)


def test_deciles_are_those_of_pandas():
    given = predictions_of(1.0)
    found = deviance_facts(given, np.arange(400), 10).deciles
    table = pd.DataFrame({"y": given.y, "mu": given.y_pred})
    means = table.groupby(pd.qcut(table["mu"], 10), observed=True).agg(["mean", "sem", "size"])
    np.testing.assert_allclose(found.predicted, means["mu"]["mean"])
    np.testing.assert_allclose(found.observed, means["y"]["mean"])
    np.testing.assert_allclose(found.weight, means["y"]["size"])
    reach = stats.norm.ppf(0.975) * means["y"]["sem"]
    np.testing.assert_allclose(found.high, means["y"]["mean"] + reach)
    np.testing.assert_allclose(found.low, np.maximum(means["y"]["mean"] - reach, 0))


def test_expected_counts_are_sums_of_poisson_probabilities():
    weight = np.arange(400) % 3.0
    given = predictions_of(1.0, weight=weight)
    found = deviance_facts(given, np.arange(400), 10).rootogram
    most = int(given.y[weight > 0].max()) + 1
    assert found.count.tolist() == list(range(min(most, 20) + 1))
    for k, observed, expected in zip(
        found.count[:-1], found.observed, found.expected, strict=False
    ):
        assert observed == weight[given.y == k].sum()
        assert expected == pytest.approx(weight @ stats.poisson.pmf(k, given.y_pred))
    assert found.expected.sum() == pytest.approx(weight.sum())


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0])
def test_deviance_residuals_have_the_sign_of_the_error_and_the_deviance_as_square(power):
    given = predictions_of(power)
    y, mu = given.y, given.y_pred
    found = deviance_facts(given, np.arange(400), 10)
    if power == 1.0:
        deviance = 2 * (np.where(y > 0, y * np.log(np.where(y > 0, y, 1) / mu), 0) - (y - mu))
    elif power == 2.0:
        deviance = 2 * (-np.log(y / mu) + (y - mu) / mu)
    else:
        deviance = 4 * (np.sqrt(y) - np.sqrt(mu)) ** 2 / np.sqrt(mu)  # Tweedie's formula at 1.5
    expected = np.sign(y - mu) * np.sqrt(np.maximum(deviance, 0))
    np.testing.assert_allclose(found.residual, expected, rtol=1e-5, atol=1e-5)
    assert (found.rootogram is None) == (power > 1.0)
    assert found.share.sum() == pytest.approx(1.0, abs=0.01)


def test_other_losses_and_undefined_deviances_have_no_such_facts():
    given = Predictions.from_arrays([1.0, 2.0], [1.0, 2.0])
    assert deviance_facts(given, np.arange(2), 1) is None
    zero = Predictions.from_arrays([0.0, 2.0], [1.0, 2.0], deviance_power=2.0)
    assert deviance_facts(zero, np.arange(2), 1) is None


def test_targets_without_a_name_are_described():
    titles = {}
    for name in ("counts", "amounts", "two classes", "three classes", "number"):
        model, X, y, weight = report_of(name)
        found = report_facts(model, X, np.asarray(y), weight)
        titles[name] = found.overview.title
    assert titles == {
        "counts": "Predicting a count",
        "amounts": "Predicting an amount",
        "two classes": "Predicting class cheap or dear",
        "three classes": "Predicting one of 3 classes",
        "number": "Predicting a number",
    }
    model, X, y, _ = report_of("number")
    assert report_facts(model, X, y).overview.title == "Predicting price"


def test_limits_leave_out_what_is_far_from_the_rest():
    values = np.r_[np.arange(100.0), 1e6]
    assert robust_limits(values) == (0.0, 99.0)
    assert robust_limits(np.r_[-1e6, np.arange(50.0), np.nan, np.inf]) == (0.0, 49.0)
    assert robust_limits(np.arange(5.0)) == (0.0, 4.0)
    assert robust_limits(np.r_[np.zeros(50), 3.0]) == (0.0, 3.0)
    normal = np.random.default_rng(0).normal(size=1000)
    assert robust_limits(normal) == (normal.min(), normal.max())


def test_histograms_of_columns_are_not_flattened_by_an_outlier():
    model, X, y, _ = report_of("an outlier")
    columns = {column.name: column for column in report_facts(model, X, y).table.columns}
    for name, n_outside in (("age", 1), ("price", 1), ("rooms", 0)):
        column = columns[name]
        assert column.outside == n_outside
        assert np.count_nonzero(column.bars) > 6
        assert column.bars.sum() + column.outside + column.missing == len(X)

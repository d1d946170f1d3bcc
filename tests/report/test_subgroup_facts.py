"""Errors by subgroup, against pandas and formulas."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy import stats
from sklearn.metrics import mean_poisson_deviance

import stagewise as sw
from report.reports import report_of
from stagewise.inspection import Predictions, importance
from stagewise.inspection.fitted_model import FittedModel
from stagewise.report.subgroup_facts import WORST, RowErrors, subgroup_facts


def facts_of(name):
    model, X, y, weight = report_of(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model without splits warns
        order = importance(model, "gain").order
    predictions = Predictions.of(model, X, y, weight)
    return subgroup_facts(
        FittedModel.of(model, "test"), X, RowErrors.of(predictions), "y", order, 0
    )


def by_label(facts):
    return {group.label: group for group in facts.worst}


def test_absolute_errors_are_those_of_pandas():
    model, X, y, _ = report_of("number")
    facts = facts_of("number")
    error = (y - model.predict(X)).abs()
    assert facts.measure == "mean absolute error"
    assert facts.whole.error == pytest.approx(error.mean())
    groups = by_label(facts)
    for kind, own in error.groupby(X["kind"], observed=True):
        group = groups[f"kind = {kind}"]
        reach = stats.norm.ppf(0.975) * own.sem()
        assert (group.n_rows, group.error) == (len(own), pytest.approx(own.mean()))
        assert group.high == pytest.approx(own.mean() + reach)
        assert group.low == pytest.approx(max(own.mean() - reach, 0.0))
        assert group.observed == pytest.approx(y[own.index].mean())
        assert group.predicted == pytest.approx(model.predict(X.loc[own.index]).mean())


def test_ranges_of_numbers_are_quarters_and_divide_the_rows():
    _, X, _, _ = report_of("number")
    facts = facts_of("number")
    cuts = np.quantile(X["age"].dropna(), [0.25, 0.5, 0.75], method="inverted_cdf")
    own = [group for group in facts.worst if group.label.startswith("age")]
    missing = [group for group in own if group.label == "age missing"]
    assert missing[0].n_rows == X["age"].isna().sum()
    assert sum(group.n_rows for group in own) == len(X)
    assert f"age > {cuts[2]:.5g}" in by_label(facts)
    assert by_label(facts)[f"age ≤ {cuts[0]:.5g}"].n_rows == (X["age"] <= cuts[0]).sum()


def test_error_rates_have_wilson_limits():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=400), "few": rng.integers(0, 3, 400)})
    y = np.where(X["a"] + rng.normal(size=400) * X["few"] > 0, "yes", "no")
    model = sw.GradientBoostingClassifier(n_estimators=5).fit(X, y)
    predictions = Predictions.of(model, X, y)
    facts = subgroup_facts(
        FittedModel.of(model, "test"), X, RowErrors.of(predictions), "y", [0, 1], 0
    )
    wrong = model.predict(X) != y
    assert facts.measure == "error rate"
    assert facts.worst[0].label == "few = 2"
    for value in range(3):
        own = wrong[X["few"] == value]
        group = by_label(facts)[f"few = {value}"]
        limits = stats.binomtest(int(own.sum()), len(own)).proportion_ci(method="wilson")
        assert (group.low, group.high) == pytest.approx((limits.low, limits.high))
        share = np.mean(y[X["few"] == value] == "yes")
        assert group.observed == pytest.approx(share)


def test_counts_are_compared_by_their_deviance():
    model, X, y, _ = report_of("counts")
    facts = facts_of("counts")
    assert facts.measure == "mean Poisson deviance"
    assert facts.whole.error == pytest.approx(mean_poisson_deviance(y, model.predict(X)))


@pytest.mark.parametrize("name", ["two classes", "three classes", "datetimes", "wide integers"])
def test_subgroups_are_ordered_by_their_lower_limit(name):
    facts = facts_of(name)
    lows = [group.low for group in facts.worst]
    assert lows == sorted(lows, reverse=True)
    assert len(lows) == min(WORST, facts.n_subgroups)
    assert all(group.n_rows >= 20 for group in facts.worst)


def test_weight_two_is_the_row_twice():
    model, X, y, _ = report_of("number")
    times = np.arange(len(y)) % 3
    twice = np.repeat(np.arange(len(y)), times)
    fitted = FittedModel.of(model, "test")
    weighted = Predictions.of(model, X, y, times)
    repeated = Predictions.of(model, X.iloc[twice], y.iloc[twice])
    one = subgroup_facts(fitted, X, RowErrors.of(weighted), "y", [0, 2], 0)
    two = subgroup_facts(fitted, X.iloc[twice], RowErrors.of(repeated), "y", [0, 2], 0)
    assert one.whole.error == pytest.approx(two.whole.error)
    assert {group.label: group.error for group in one.worst} == pytest.approx(
        {group.label: group.error for group in two.worst}
    )


def test_sparse_rows_and_constant_columns_have_subgroups_or_none():
    X = scipy.sparse.random(200, 3, density=0.4, random_state=0, format="csr")
    y = X.toarray()[:, 0]
    model = sw.GradientBoostingRegressor(n_estimators=5).fit(X, y)
    fitted = FittedModel.of(model, "test")
    facts = subgroup_facts(fitted, X, RowErrors.of(Predictions.of(model, X, y)), "y", [0, 1, 2], 0)
    assert facts.n_subgroups > 0
    assert facts_of("nothing to split").worst == ()

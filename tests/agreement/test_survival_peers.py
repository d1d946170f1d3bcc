"""Survival statistics agree with scikit-survival and lifelines, where the definition is the same.

These libraries need other versions of pandas than the tests, so the tests run where both are
installed: in the environment of the benchmarks.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from stagewise import GradientBoostingSurvival
from stagewise.inspection import (
    concordance_index,
    cumulative_dynamic_auc,
    integrated_brier_score,
    survival_brier_score,
    uno_concordance_index,
)
from stagewise.kaplan_meier import KaplanMeier
from stagewise.losses import Aft, CauseSpecific, Cox
from stagewise.losses.survival.cox import risk_sets, terms_at
from survival.samples import structured

lifelines = pytest.importorskip("lifelines")
sksurv = pytest.importorskip("sksurv")


@pytest.fixture(scope="module")
def sample():
    """Return rows with ties: features, times, events and risks."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    time = np.ceil(rng.exponential(np.exp(-X[:, 0])) * 8)
    end = np.ceil(rng.exponential(2.0, 200) * 8)
    risk = np.round(X[:, 0] + rng.normal(size=200), 1)
    return X, np.minimum(time, end), time <= end, risk


def surv(time, event):
    from sksurv.util import Surv

    return Surv.from_arrays(event, time)


def test_harrell(sample):
    from lifelines.utils import concordance_index as of_lifelines
    from sksurv.metrics import concordance_index_censored

    _, time, event, risk = sample
    found = concordance_index((time, event), risk)
    assert found == pytest.approx(concordance_index_censored(event, time, risk)[0], abs=1e-12)
    # lifelines counts half for pairs of events at one time, so times here are different.
    time = time + np.arange(len(time)) * 1e-6
    assert concordance_index((time, event), risk) == pytest.approx(
        of_lifelines(time, -risk, event), abs=1e-12
    )


def test_uno(sample):
    from sksurv.metrics import concordance_index_ipcw

    _, time, event, risk = sample
    y = surv(time, event)
    for limit in (8.0, 12.0):
        expected = concordance_index_ipcw(y[:120], y[120:], risk[120:], tau=limit)[0]
        found = uno_concordance_index(
            (time[120:], event[120:]), risk[120:], y_train=(time[:120], event[:120]), limit=limit
        )
        assert found == pytest.approx(expected, abs=1e-12)


def test_brier_scores_and_dynamic_auc(sample):
    from sksurv import metrics

    _, time, event, risk = sample
    y, times = surv(time, event), np.arange(1.0, 14.0)
    survival = np.exp(-0.1 * times * np.exp(risk)[:, None])
    own = (time, event)
    np.testing.assert_allclose(
        survival_brier_score(own, survival, times),
        metrics.brier_score(y, y, survival, times)[1],
        rtol=1e-12,
    )
    assert integrated_brier_score(own, survival, times) == pytest.approx(
        metrics.integrated_brier_score(y, y, survival, times), abs=1e-12
    )
    areas, mean = cumulative_dynamic_auc(own, risk, times)
    expected = metrics.cumulative_dynamic_auc(y, y, risk, times)
    np.testing.assert_allclose(areas, expected[0], rtol=1e-12)
    assert mean == pytest.approx(expected[1], abs=1e-12)


def test_the_curve_of_kaplan_and_meier(sample):
    _, time, event, _ = sample
    entry = time - 1.0 - np.arange(len(time)) % 5
    curve = KaplanMeier.of(np.where(entry > 0, entry, -np.inf), time, event)
    fitted = lifelines.KaplanMeierFitter().fit(time, event, entry=np.maximum(entry, 0.0))
    times = np.unique(time)
    expected = fitted.survival_function_at_times(times).to_numpy()
    np.testing.assert_allclose(curve.at(times), expected, atol=1e-10)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_the_partial_likelihood_of_scikit_survival(sample, ties):
    """At the coefficients of scikit-survival the gradient of our loss vanishes."""
    from sksurv.linear_model import CoxPHSurvivalAnalysis

    X, time, event, _ = sample
    model = CoxPHSurvivalAnalysis(ties=ties, tol=1e-14).fit(X, surv(time, event))
    y = structured(time, event)
    gradient, _ = Cox(ties).derivatives(y, X @ model.coef_)
    np.testing.assert_allclose(X.T @ gradient, 0.0, atol=1e-6)


def test_the_baseline_hazard_of_breslow(sample):
    from sksurv.linear_model import CoxPHSurvivalAnalysis

    X, time, event, _ = sample
    model = CoxPHSurvivalAnalysis(ties="breslow").fit(X, surv(time, event))
    y, score = structured(time, event), model.predict(X)
    loss = Cox("breslow")
    fitted = loss.with_learned(loss.learn(y, None, score[:, None]))
    times = np.unique(time[event])[:-1]
    expected = [[curve(t) for t in times] for curve in model.predict_survival_function(X[:20])]
    found = fitted.survival(score[:20, None], np.zeros(20), times)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_cox_of_lifelines_with_strata_and_entry_times(sample):
    X, time, event, _ = sample
    entry = np.maximum(time - 1.0 - np.arange(len(time)) % 7, 0.0)
    table = pd.DataFrame(X, columns=list("abc"))
    table = table.assign(time=time, event=event, entry=entry, group=np.arange(200) % 2)
    fitter = lifelines.CoxPHFitter()
    fitter.fit(table, "time", "event", strata=["group"], entry_col="entry")
    own = np.where(entry > 0, entry, -np.inf)
    y = structured(time, event, own, np.arange(200) % 2)
    score = X @ fitter.params_.to_numpy()
    terms, gradient, _ = terms_at(risk_sets(y, None), "efron", score)
    assert terms.row_losses(score).sum() == pytest.approx(-fitter.log_likelihood_, rel=1e-6)
    np.testing.assert_allclose(X.T @ gradient, 0.0, atol=1e-3)


@pytest.mark.parametrize(
    ("name", "fitter"),
    [
        ("normal", lifelines.LogNormalAFTFitter),
        ("logistic", lifelines.LogLogisticAFTFitter),
        ("extreme", lifelines.WeibullAFTFitter),
    ],
)
def test_aft_of_lifelines(sample, name, fitter):
    _, time, event, _ = sample
    table = pd.DataFrame({"time": time, "event": event})
    own = fitter().fit(table, "time", "event")
    y = structured(time, event)
    loss = Aft(name)
    best = loss.best_constant(y, None)
    score = np.full(len(y), best[0])
    assert loss.loss(y, score).sum() == pytest.approx(-own.log_likelihood_, rel=1e-6)


def test_aft_of_intervals(sample):
    _, time, event, _ = sample
    lower, upper = time - 0.5, np.where(event, time + 0.5, np.inf)
    fitter = lifelines.WeibullAFTFitter()
    table = pd.DataFrame({"lower": lower, "upper": upper})
    fitter.fit_interval_censoring(table, "lower", "upper")
    y = structured(lower, event, upper=upper)
    loss = Aft("extreme")
    score = np.full(len(y), loss.best_constant(y, None)[0])
    assert loss.loss(y, score).sum() == pytest.approx(-fitter.log_likelihood_, rel=1e-6)


def test_the_cumulative_incidence_of_equal_scores(sample):
    from sksurv.nonparametric import cumulative_incidence_competing_risks

    _, time, event, _ = sample
    codes = np.where(event, 1 + np.arange(200) % 2, 0)
    times, expected = cumulative_incidence_competing_risks(codes, time)
    y = structured(time, codes)
    loss = CauseSpecific("breslow")
    fitted = loss.with_learned(loss.learn(y, None, np.zeros((200, 2))))
    found = fitted.cumulative_incidence(np.zeros((1, 2)), np.zeros(1), times)[0]
    # e^-h instead of 1 - h: the difference falls with the number of rows at risk.
    early = times <= 10
    np.testing.assert_allclose(found[:, early], expected[1:, early], atol=0.02)


def test_the_score_of_the_estimator_is_that_of_scikit_survival(sample):
    from sksurv.metrics import concordance_index_censored

    X, time, event, _ = sample
    model = GradientBoostingSurvival(n_estimators=20).fit(X, (time, event))
    expected = concordance_index_censored(event, time, model.predict(X))[0]
    assert model.score(X, (time, event)) == pytest.approx(expected, abs=1e-12)

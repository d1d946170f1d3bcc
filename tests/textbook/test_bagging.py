"""Bagging and cross-validation committees, as in the lecture notes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from reference.sampling import bootstrap
from stagewise import (
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)

Vector = npt.NDArray[np.float64]

M, SEED = 7, 3
NOTHING_DRAWN: dict[str, Any] = {"max_features": 1.0}  # so that seeds of estimators do not matter


def make_table(n: int = 150) -> tuple[Vector, Vector]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + rng.normal(size=n) / 3


def samples(n: int) -> list[npt.NDArray[np.intp]]:
    """Return M bootstrap samples of n rows, each as the rows that were drawn."""
    return [np.repeat(np.arange(n), bootstrap(n, 1.0, SEED, j).astype(int)) for j in range(M)]


@pytest.mark.parametrize("estimator", [KNeighborsRegressor(5), Ridge(0.5)], ids=str)
def test_bagging_averages_models_of_bootstrap_samples(estimator: Any) -> None:
    X, y = make_table()
    models = [clone(estimator).fit(X[D], y[D]) for D in samples(len(y))]
    expected = sum(h.predict(X) for h in models) / M
    bagged = BaggingRegressor(estimator, n_estimators=M, random_state=SEED).fit(X, y)
    np.testing.assert_allclose(bagged.predict(X), expected, rtol=1e-9)


@pytest.mark.parametrize("estimator", [KNeighborsClassifier(5), GaussianNB()], ids=str)
def test_bagging_of_classes_predicts_the_class_with_most_votes(estimator: Any) -> None:
    X, y = make_table()
    labels = np.array(["low", "middle", "up"])[np.digitize(y, [-0.5, 0.5])]
    votes = {name: np.zeros(len(y)) for name in np.unique(labels)}
    for D in samples(len(y)):
        h = clone(estimator).fit(X[D], labels[D])
        for name in votes:
            votes[name] += h.predict(X) == name
    expected = [max(votes, key=lambda name, i=i: votes[name][i]) for i in range(len(y))]
    bagged = BaggingClassifier(estimator, n_estimators=M, combine="vote", random_state=SEED)
    assert bagged.fit(X, labels).predict(X).tolist() == expected
    shares = np.stack([votes[name] / M for name in votes], axis=1)
    np.testing.assert_allclose(bagged.predict_proba(X), shares)


def test_out_of_bag_predictions_come_from_models_without_the_row() -> None:
    X, y = make_table()
    predicted = np.full((M, len(y)), np.nan)
    path = []
    for j, D in enumerate(samples(len(y))):
        out = np.setdiff1d(np.arange(len(y)), D)
        predicted[j, out] = KNeighborsRegressor(5).fit(X[D], y[D]).predict(X[out])
        with_prediction = ~np.isnan(predicted[: j + 1]).all(axis=0)
        mean = np.nanmean(predicted[: j + 1][:, with_prediction], axis=0)
        path.append(np.mean((mean - y[with_prediction]) ** 2))
    bagged = BaggingRegressor(
        KNeighborsRegressor(5), n_estimators=M, random_state=SEED, oob_score=True
    ).fit(X, y)
    known = ~np.isnan(predicted).all(axis=0)
    np.testing.assert_allclose(
        bagged.oob_prediction_[known], np.nanmean(predicted[:, known], axis=0)
    )
    assert np.isnan(bagged.oob_prediction_[~known]).all()
    np.testing.assert_allclose(bagged.oob_loss_, path)
    np.testing.assert_allclose(
        bagged.oob_score_, 1 - path[-1] * known.sum() / np.sum((y[known] - y[known].mean()) ** 2)
    )


def test_a_weighted_vote_is_the_sign_of_the_sum_of_log_odds() -> None:
    X, y = make_table()
    signs = np.where(y > 0, 1, -1)
    total, alphas = np.zeros(len(y)), []
    for D in samples(len(y)):
        h = GaussianNB().fit(X[D], signs[D])
        out = np.setdiff1d(np.arange(len(y)), D)
        error = np.mean(h.predict(X[out]) != signs[out])
        alphas.append(0.5 * np.log((1 - error) / error))
        total += alphas[-1] * h.predict(X)
    bagged = BaggingClassifier(
        GaussianNB(), n_estimators=M, combine="weighted", random_state=SEED
    ).fit(X, signs)
    np.testing.assert_allclose(bagged.estimator_weights_, alphas / np.sum(alphas))
    np.testing.assert_array_equal(bagged.predict(X), np.sign(total))


def test_average_weights_are_inverse_squared_errors() -> None:
    X, y = make_table()
    predicted, alphas = [], []
    for D in samples(len(y)):
        h = Ridge().fit(X[D], y[D])
        out = np.setdiff1d(np.arange(len(y)), D)
        alphas.append(1 / np.mean((h.predict(X[out]) - y[out]) ** 2))
        predicted.append(h.predict(X))
    expected = np.array(alphas) @ np.array(predicted) / np.sum(alphas)
    bagged = BaggingRegressor(Ridge(), n_estimators=M, combine="weighted", random_state=SEED)
    np.testing.assert_allclose(bagged.fit(X, y).predict(X), expected)


def test_each_model_of_a_cross_validation_committee_stops_by_its_held_out_fold() -> None:
    X, y = make_table(300)
    estimator = GradientBoostingRegressor(
        n_estimators=200, max_leaf_nodes=4, min_samples_leaf=5, n_iter_no_change=5, **NOTHING_DRAWN
    )
    total, out_of_fold, rounds = np.zeros(len(y)), np.empty(len(y)), []
    for train, left in KFold(4, shuffle=True, random_state=SEED).split(X):
        h = clone(estimator).fit(X[train], y[train], X_val=X[left], y_val=y[left])
        total += h.predict(X) / 4
        out_of_fold[left] = h.predict(X[left])
        rounds.append(h.n_iter_)
    ensemble = BaggingRegressor(estimator, sampling="folds", cv=4, random_state=SEED).fit(X, y)
    assert [h.n_iter_ for h in ensemble.estimators_] == rounds
    assert max(rounds) < 200
    np.testing.assert_allclose(ensemble.predict(X), total, rtol=1e-12)
    np.testing.assert_array_equal(ensemble.oof_prediction_, out_of_fold)


@pytest.mark.parametrize(
    "estimator",
    [GradientBoostingClassifier(n_estimators=30, **NOTHING_DRAWN), LogisticRegression()],
    ids=str,
)
def test_a_cross_validation_committee_of_classifiers_averages_probabilities(estimator: Any) -> None:
    X, y = make_table(200)
    codes = (y > 0).astype(int)
    proba = np.zeros((len(y), 2))
    for train, left in StratifiedKFold(5, shuffle=True, random_state=SEED).split(X, codes):
        held = {"X_val": X[left], "y_val": codes[left]}
        stops = isinstance(estimator, GradientBoostingClassifier)
        h = clone(estimator).fit(X[train], codes[train], **(held if stops else {}))
        proba += h.predict_proba(X) / 5
    ensemble = BaggingClassifier(estimator, sampling="folds", random_state=SEED).fit(X, codes)
    np.testing.assert_allclose(ensemble.predict_proba(X), proba)

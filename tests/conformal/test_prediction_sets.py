"""`predict_set`: coverage by simulation, of every class, files, agreement with MAPIE, bad input."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.base import clone

from stagewise import (
    Conformal,
    GradientBoostingClassifier,
    InvalidParameterError,
    RandomForestClassifier,
    load,
)
from stagewise.row_hash import uniform_of_rows


def draw(n: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = np.column_stack([X[:, 0], X[:, 1] + 0.5, -1 + X[:, 2]])
    codes = (score + rng.gumbel(size=(n, 3))).argmax(axis=1)
    return X, np.array(["a", "b", "c"])[codes]


BOOSTING = {"n_estimators": 30, "max_leaf_nodes": 6}
CODES = {"a": 0, "b": 1, "c": 2}


def codes_of(y: Any) -> Any:
    return np.array([CODES[label] for label in y])


def covered(sets: Any, y: Any) -> Any:
    return sets[np.arange(len(y)), codes_of(y)]


@pytest.mark.parametrize("score", ["lac", "aps", "raps"])
def test_sets_have_the_coverage_by_simulation(score: str) -> None:
    """Continuous scores have exactly the coverage k / (n + 1): the mean over 150 samples."""
    option = Conformal(score=score) if score == "lac" else Conformal(score=score, randomized=True)
    model, n, rates = GradientBoostingClassifier(**BOOSTING).fit(*draw(400, 0)), 50, []
    for seed in range(150):
        X, y = draw(n + 300, 100 + seed)
        model.conformalize(X[:n], y[:n], conformal=option)
        rates.append(covered(model.predict_set(X[n:], coverage=0.8), y[n:]).mean())
    exact = np.ceil((n + 1) * 0.8) / (n + 1)
    above = 0.02 if score == "raps" else 0.004  # ties of probabilities only cover more
    assert -4 * np.std(rates) / np.sqrt(150) < np.mean(rates) - exact
    assert np.mean(rates) - exact < 4 * np.std(rates) / np.sqrt(150) + above


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(conformal="cv", **BOOSTING),
        GradientBoostingClassifier(conformal="split", **BOOSTING),
        GradientBoostingClassifier(conformal=Conformal(score="aps"), **BOOSTING),
        GradientBoostingClassifier(conformal="cv", calibration="beta", **BOOSTING),
        RandomForestClassifier(conformal="oob"),
        RandomForestClassifier(conformal=Conformal(method="split", score="raps")),
    ],
    ids=lambda model: f"{type(model).__name__}-{model.conformal}",
)
def test_every_method_covers_new_rows(model: Any) -> None:
    X, y = draw(1500, 1)
    X_new, y_new = draw(5000, 2)
    sets = clone(model).fit(X, y).predict_set(X_new)
    assert sets.dtype == bool
    assert sets.shape == (5000, 3)
    assert covered(sets, y_new).mean() > 0.87
    assert sets.sum(axis=1).mean() < 2.95


@pytest.mark.parametrize("model_type", [GradientBoostingClassifier, RandomForestClassifier])
def test_rows_for_the_map_have_no_conformity_score(model_type: Any) -> None:
    X, y = draw(200, 40)
    for method in ("split", "oob" if model_type is RandomForestClassifier else "cv"):
        model = model_type(n_estimators=20, conformal=method, calibration="isotonic").fit(X, y)
        facts = model.fit_report_
        both = facts["calibration"]["rows"] + facts["conformal"]["rows"]
        if facts["calibration"]["source"] == method:
            assert both <= (40 if method == "split" else 200)
        assert facts["calibration"]["rows"] <= 100 or method == "split"


@pytest.mark.filterwarnings("ignore:The [0-9]+ rows of the calibration")  # of single seeds
def test_calibrated_split_sets_have_the_coverage_by_simulation() -> None:
    """Twelve rows fit an isotonic map: their own scores would be far too small."""
    X_new, y_new = draw(1000, 41)
    rates = []
    for seed in range(60):
        model = GradientBoostingClassifier(
            conformal=Conformal(method="split", fraction=0.4), calibration="isotonic", **BOOSTING
        )
        model.set_params(n_estimators=10).fit(*draw(60, 500 + seed))
        rates.append(covered(model.predict_set(X_new, coverage=0.8), y_new).mean())
    assert np.mean(rates) > 0.8 - 3 * np.std(rates) / np.sqrt(60)


def test_random_factors_of_single_rows_are_those_of_batches() -> None:
    X, y = draw(400, 42)
    option = Conformal(score="aps", randomized=True)
    model = GradientBoostingClassifier(conformal=option, **BOOSTING).fit(X, y)
    batch = model.predict_set(X[:100])
    single = np.vstack([model.predict_set(X[i : i + 1]) for i in range(100)])
    np.testing.assert_array_equal(single, batch)
    np.testing.assert_array_equal(model.predict_set(X[:100][::-1])[::-1], batch)
    u = uniform_of_rows(np.random.default_rng(0).normal(size=(5000, 3)), 7)
    assert kstest(u, "uniform").pvalue > 0.01
    assert len(uniform_of_rows(np.empty((0, 3)), 7)) == 0


def test_every_class_has_its_coverage() -> None:
    X, y = draw(3000, 3)
    X_new, y_new = draw(6000, 4)
    model = GradientBoostingClassifier(conformal=Conformal(per_class=True), **BOOSTING).fit(X, y)
    each = covered(model.predict_set(X_new), y_new)
    for label in "abc":
        assert 0.86 < each[y_new == label].mean() < 0.94
    pooled = GradientBoostingClassifier(conformal="cv", **BOOSTING).fit(X, y)
    assert covered(pooled.predict_set(X_new), y_new)[y_new == "c"].mean() < 0.86


def test_a_class_with_too_few_rows_is_in_every_set() -> None:
    X, y = draw(300, 5)
    y = np.where(np.arange(300) < 6, "c", np.where(y == "c", "a", y))
    model = GradientBoostingClassifier(conformal=Conformal(per_class=True), **BOOSTING).fit(X, y)
    assert model.predict_set(X)[:, 2].all()
    assert not model.predict_set(X)[:, 0].all()


def test_weight_two_is_the_row_twice() -> None:
    X, y = draw(500, 6)
    model = GradientBoostingClassifier(**BOOSTING).fit(*draw(300, 7))
    weight = np.random.default_rng(0).integers(0, 3, size=500)
    some = np.repeat(np.arange(500), weight)
    one = model.conformalize(X, y, weight).predict_set(X)
    two = model.conformalize(X[some], y[some]).predict_set(X)
    np.testing.assert_array_equal(one, two)


def test_class_weights_do_not_count_as_rows() -> None:
    X, y = draw(800, 8)
    model = GradientBoostingClassifier(conformal="cv", class_weight={"c": 10.0}, **BOOSTING)
    model.fit(X, y)
    assert "conformity.weight" not in model.model_.learned
    X_new, y_new = draw(5000, 9)
    assert abs(covered(model.predict_set(X_new), y_new).mean() - 0.9) < 0.03


@pytest.mark.parametrize("per_class", [False, True])
def test_files_and_pickles_have_the_sets(tmp_path: Path, *, per_class: bool) -> None:
    X, y = draw(300, 10)
    option = Conformal(score="raps", randomized=True, per_class=per_class, penalty=0.05)
    model = GradientBoostingClassifier(conformal=option, **BOOSTING).fit(X, y)
    sets = model.predict_set(X)
    model.save(tmp_path / "model.stagewise")
    for other in (load(tmp_path / "model.stagewise"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_set(X), sets)
        assert other.conformal == option


@pytest.mark.parametrize("score", ["lac", "aps"])
def test_sets_are_those_of_mapie(score: str) -> None:
    pytest.importorskip("mapie")
    from mapie.classification import SplitConformalClassifier

    model = GradientBoostingClassifier(**BOOSTING).fit(*draw(400, 11))
    (X_cal, y_cal), (X, _) = draw(199, 12), draw(400, 13)
    peer = SplitConformalClassifier(
        model, confidence_level=0.85, conformity_score=score, prefit=True, random_state=0
    ).conformalize(X_cal, y_cal)
    own = model.conformalize(X_cal, y_cal, conformal=Conformal(score=score))
    sets = own.predict_set(X, coverage=0.85)
    if score == "lac":
        _, theirs = peer.predict_set(X)
        np.testing.assert_array_equal(sets, theirs[:, :, 0])
        return
    # MAPIE's threshold of APS is that of random scores: the score of a class is the same.
    proba = model.predict_proba(X_cal)
    codes = codes_of(y_cal)
    u = np.random.RandomState(0).uniform(size=len(proba))
    order = np.sort(proba, axis=1)[:, ::-1]
    places = (proba > proba[np.arange(len(codes)), codes][:, None]).sum(axis=1)
    totals = np.cumsum(order, axis=1)[np.arange(len(codes)), places]
    theirs = np.ravel(peer._mapie_classifier.conformity_scores_)
    expected = totals - u * proba[np.arange(len(codes)), codes]
    np.testing.assert_allclose(theirs, expected, rtol=1e-9)
    np.testing.assert_allclose(own.model_.learned["conformity.scores"], totals, rtol=1e-9)


def test_impossible_parameters_are_refused() -> None:
    X, y = draw(100, 14)
    for option, message in (
        (Conformal(score="absolute"), "must have one of the scores"),
        (Conformal(per_class=True, groups=0), "cannot be combined"),
        (Conformal(method="cv+"), "is for regressors"),
        (Conformal(randomized=True), "has no effect with score"),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            GradientBoostingClassifier(conformal=option).fit(X, y)
    with pytest.raises(InvalidParameterError, match="must be one of None, 'split', 'cv'"):
        GradientBoostingClassifier(conformal="oob").fit(X, y)
    with pytest.raises(InvalidParameterError, match="conformal is for one target"):
        RandomForestClassifier(conformal="oob").fit(X, np.column_stack([y, y]))
    with pytest.raises(InvalidParameterError, match="has no conformity scores"):
        RandomForestClassifier(n_estimators=5).fit(X, y).predict_set(X)
    model = GradientBoostingClassifier(**BOOSTING).fit(X, y)
    with pytest.raises(ValueError, match="the label 'd'"):
        model.conformalize(X, np.where(np.arange(100) == 5, "d", y))

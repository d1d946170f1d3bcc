"""Calibration of probabilities: against optimisers and scikit-learn, laws, files, base rates."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression

from stagewise import (
    GradientBoostingClassifier,
    InvalidParameterError,
    ModelFormatError,
    RandomForestClassifier,
    load,
)
from stagewise.calibration.maps import MAPS, BetaMap, IsotonicMap, TemperatureMap, choose_map

BOOSTING = {"n_estimators": 40, "max_leaf_nodes": 8}
KINDS = list(MAPS)


def probabilities(n: int, k: int, seed: int, temperature: float = 0.4) -> tuple[Any, Any]:
    """Classes, and log probabilities that are too sure."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=(n, k)) * 1.5
    codes = (score + rng.gumbel(size=(n, k))).argmax(axis=1)
    score = score / temperature
    return score - np.log(np.exp(score).sum(axis=1, keepdims=True)), codes


def mean_log_loss(proba: Any, codes: Any, weight: Any = None) -> float:
    return float(np.average(-np.log(proba[np.arange(len(codes)), codes]), weights=weight))


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("shifts", [False, True])
def test_temperature_has_the_largest_likelihood(k: int, *, shifts: bool) -> None:
    log_proba, codes = probabilities(800, k, 0)
    found = TemperatureMap.fit(log_proba, codes, None, shifts=shifts)

    def value(theta: Any) -> float:
        bias = np.concatenate([[0.0], theta[1:]]) if shifts else 0.0
        score = theta[0] * log_proba + bias
        score = score - np.log(np.exp(score).sum(axis=1, keepdims=True))
        return float(-score[np.arange(800), codes].mean())

    best = minimize(value, np.eye(k if shifts else 1)[0], method="Nelder-Mead", tol=1e-12)
    assert found.inverse == pytest.approx(best.x[0], abs=1e-4)
    assert mean_log_loss(found.apply(log_proba), codes) <= best.fun + 1e-12
    if not shifts:
        assert 1 / found.inverse == pytest.approx(2.5, rel=0.15)  # the true temperature


def test_beta_is_that_of_the_paper_by_another_optimiser() -> None:
    """Kull et al. (2017), equation 4, with a, b >= 0."""
    log_proba, codes = probabilities(700, 2, 1)
    found = BetaMap.fit(log_proba, codes, None, shifts=False).parameters[0]
    p = np.exp(log_proba[:, 1])

    def value(theta: Any) -> float:
        a, b, c = theta
        mapped = 1 / (1 + 1 / (np.exp(c) * p**a / (1 - p) ** b))
        return float(-np.log(np.where(codes == 1, mapped, 1 - mapped)).mean())

    bounds = [(0, None), (0, None), (None, None)]
    best = minimize(value, [1.0, 1.0, 0.0], bounds=bounds, tol=1e-14)
    np.testing.assert_allclose(found, best.x, rtol=1e-3, atol=1e-3)


def test_beta_has_no_negative_slope() -> None:
    rng = np.random.default_rng(2)
    p = rng.uniform(0.01, 0.99, size=500)
    codes = (rng.random(500) < 1 - p).astype(np.intp)  # the wrong way round
    log_proba = np.log(np.column_stack([1 - p, p]))
    found = BetaMap.fit(log_proba, codes, None, shifts=False)
    assert (found.parameters[0, :2] >= 0).all()
    base = codes.mean()
    entropy = -(base * np.log(base) + (1 - base) * np.log(1 - base))
    assert mean_log_loss(found.apply(log_proba), codes) <= entropy + 1e-9


def test_isotonic_is_that_of_scikit_learn() -> None:
    log_proba, codes = probabilities(600, 2, 3)
    weight = np.random.default_rng(0).integers(1, 4, size=600).astype(np.float64)
    p = np.exp(log_proba[:, 1])
    found = IsotonicMap.fit(log_proba, codes, weight, shifts=False).apply(log_proba)[:, 1]
    theirs = IsotonicRegression(out_of_bounds="clip").fit(p, codes, weight).predict(p)
    least = 1 / (weight.sum() + 2)
    np.testing.assert_allclose(found, np.clip(theirs, least, 1 - least), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shifts", [False, True])
def test_a_class_without_a_row_has_sensible_probabilities(kind: str, *, shifts: bool) -> None:
    log_proba, codes = probabilities(500, 3, 5)
    some = codes != 1
    found = MAPS[kind].fit(log_proba[some], codes[some], None, shifts=shifts).apply(log_proba)
    assert found[:, 1].min() > 1e-9
    assert found[:, 1].mean() < (0.4 if kind == "temperature" and not shifts else 0.02)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    others = mean_log_loss(found[some][:, [0, 2]], codes[some] // 2)
    before = log_proba[some][:, [0, 2]]
    assert others < mean_log_loss(np.exp(before), codes[some] // 2)


@pytest.mark.parametrize("kind", ["auto", *KINDS])
def test_rows_without_a_class_are_named(kind: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    code = (X[:, 0] + rng.normal(size=400) > 0).astype(int) + (X[:, 1] > 1.0)
    y = np.array(["low", "mid", "top"])[code]
    model = GradientBoostingClassifier(n_estimators=10).fit(X[:200], y[:200])
    two = np.flatnonzero(y[200:] != "top") + 200
    with pytest.warns(UserWarning, match=r"none of the classes \['top'\].*stratified"):
        model.calibrate(X[two], y[two], calibration=kind)
    assert model.predict_proba(X).min() > 1e-9
    one = np.flatnonzero(y[200:] == "mid") + 200
    with pytest.raises(InvalidParameterError, match="all of the class 'mid'; none is of"):
        model.calibrate(X[one], y[one], calibration=kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("k", "absent"), [(2, None), (3, None), (3, 1)])
def test_a_weight_is_a_number_of_rows(kind: str, k: int, absent: int | None) -> None:
    log_proba, codes = probabilities(300, k, 4)
    weight = np.random.default_rng(0).integers(0, 3, size=300)
    weight[codes == absent] = 0
    some, kept = np.repeat(np.arange(300), weight), weight > 0
    one = MAPS[kind].fit(log_proba[kept], codes[kept], weight[kept].astype(float), shifts=True)
    two = MAPS[kind].fit(log_proba[some], codes[some], None, shifts=True)
    np.testing.assert_allclose(one.apply(log_proba), two.apply(log_proba), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 4])
def test_maps_return_probabilities_and_lower_the_loss(kind: str, k: int) -> None:
    log_proba, codes = probabilities(2000, k, 5)
    found = MAPS[kind].fit(log_proba, codes, None, shifts=False)
    new, new_codes = probabilities(2000, k, 6)
    proba = found.apply(new)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert proba.min() >= 0
    assert mean_log_loss(proba, new_codes) < mean_log_loss(np.exp(new), new_codes) - 0.05
    again = MAPS[kind].of(found.learned(), k)
    assert again is not None
    np.testing.assert_array_equal(again.apply(new), proba)


@pytest.mark.parametrize("kind", KINDS)
def test_separated_classes_have_finite_maps(kind: str) -> None:
    p = np.linspace(0.01, 0.99, 50)
    log_proba = np.log(np.column_stack([1 - p, p]))
    found = MAPS[kind].fit(log_proba, (p > 0.5).astype(np.intp), None, shifts=True)
    proba = found.apply(log_proba)
    assert np.isfinite(proba).all()
    assert all(np.isfinite(a).all() for a in found.learned().values())


def test_auto_is_the_map_that_fits_other_rows_best() -> None:
    log_proba, codes = probabilities(300, 3, 7)
    assert choose_map(log_proba, codes, None, 0, shifts=False).kind == "temperature"
    rng = np.random.default_rng(8)
    p = rng.uniform(0.01, 0.99, size=4000)
    step = np.where(p < 0.3, 0.1, np.where(p < 0.6, 0.8, 0.85))
    codes = (rng.random(4000) < step).astype(np.intp)
    both = np.log(np.column_stack([1 - p, p]))
    assert choose_map(both, codes, None, 0, shifts=False).kind == "isotonic"


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_choice_of_auto_counts_weights_as_repetitions(n_classes: int) -> None:
    for seed in range(8):
        log_proba, codes = probabilities(150, n_classes, seed)
        times = np.random.default_rng(seed).integers(0, 4, len(codes))
        present = times > 0
        own = log_proba[present], codes[present], times[present].astype(float)
        weighted = choose_map(*own, 0, shifts=False)
        order = np.random.default_rng(9).permutation(times.sum())
        rows = np.repeat(np.arange(len(codes)), times)[order]
        repeated = choose_map(log_proba[rows], codes[rows], None, 0, shifts=False)
        assert weighted.kind == repeated.kind
        proba = [found.apply(log_proba) for found in (weighted, repeated)]
        np.testing.assert_allclose(*proba, rtol=1e-5)


# ---- models --------------------------------------------------------------------------------------


def draw(n: int, seed: int, k: int = 2) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    score = np.column_stack([np.full(n, 1.5), *(1.2 * X[:, j] for j in range(k - 1))])
    proba = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    return X, (score + rng.gumbel(size=score.shape)).argmax(axis=1), proba


@pytest.mark.parametrize("kind", [*KINDS, "auto"])
@pytest.mark.parametrize("k", [2, 3])
def test_calibration_restores_the_base_rate(kind: str, k: int) -> None:
    X, y, _ = draw(3000, 9, k)
    X_new, y_new, _ = draw(5000, 10, k)
    plain = GradientBoostingClassifier(class_weight="balanced", **BOOSTING)
    model = clone(plain).set_params(calibration=kind, early_stopping="cv").fit(X, y)
    plain.fit(X, y)
    rates, share = model.predict_proba(X_new).mean(axis=0), np.bincount(y_new) / 5000
    np.testing.assert_allclose(rates, share, atol=0.03)
    assert np.abs(plain.predict_proba(X_new).mean(axis=0) - share).max() > 0.1
    own, other = (mean_log_loss(m.predict_proba(X_new), y_new) for m in (model, plain))
    assert own < other - 0.02
    assert model.fit_report_["calibration"]["source"] == "cv"


def test_scores_are_not_calibrated() -> None:
    X, y, _ = draw(800, 11)
    plain = GradientBoostingClassifier(n_estimators=300, early_stopping="cv", tol=0.0).fit(X, y)
    model = clone(plain).set_params(calibration="temperature").fit(X, y)
    np.testing.assert_array_equal(plain.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(plain.predict(X), model.predict(X))
    np.testing.assert_array_equal(plain.oof_prediction_, model.oof_prediction_)
    log_odds = np.log(model.predict_proba(X)[:, 1] / model.predict_proba(X)[:, 0])
    inverse = 1 / model.model_.learned["calibration.temperature"][0]
    np.testing.assert_allclose(log_odds, inverse * model.decision_function(X), rtol=1e-9)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


def test_predictions_are_the_most_probable_classes() -> None:
    X, y, _ = draw(1500, 12, 3)
    for kind in ("beta", "isotonic"):
        model = RandomForestClassifier(calibration=kind, class_weight="balanced").fit(X, y)
        np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))


def test_forests_are_calibrated_by_out_of_bag_rows() -> None:
    X, y, _ = draw(2000, 13)
    X_new, y_new, _ = draw(4000, 14)
    plain = RandomForestClassifier().fit(X, y)
    model = RandomForestClassifier(calibration="beta").fit(X, y)
    assert model.fit_report_["calibration"]["source"] == "oob"
    raised = np.clip(plain.predict_proba(X_new), 0.005, None)
    raised /= raised.sum(axis=1, keepdims=True)
    assert mean_log_loss(model.predict_proba(X_new), y_new) < mean_log_loss(raised, y_new)


@pytest.mark.parametrize(
    ("parameters", "source"),
    [({"early_stopping": True}, "validation"), ({"early_stopping": "cv"}, "cv"), ({}, "cv")],
)
def test_any_held_out_rows_calibrate(parameters: dict[str, Any], source: str) -> None:
    X, y, _ = draw(1000, 15)
    rounds = {} if not parameters else {"n_estimators": 100}
    model = GradientBoostingClassifier(calibration="temperature", **parameters, **rounds).fit(X, y)
    assert model.fit_report_["calibration"]["source"] == source


def test_calibrate_with_other_rows() -> None:
    X, y, _ = draw(500, 16)
    model = GradientBoostingClassifier(n_estimators=500, conformal="cv").fit(X, y)
    X_cal, y_cal, _ = draw(500, 17)
    before = mean_log_loss(model.predict_proba(X_cal), y_cal)
    assert model.calibrate(X_cal, y_cal, calibration="temperature") is model
    assert mean_log_loss(model.predict_proba(X_cal), y_cal) < before
    with pytest.raises(InvalidParameterError, match="has no conformity scores"):
        model.predict_set(X)


@pytest.mark.parametrize("kind", KINDS)
def test_files_and_pickles_are_calibrated(kind: str, tmp_path: Path) -> None:
    X, y, _ = draw(400, 18, 3)
    model = RandomForestClassifier(calibration=kind, n_estimators=30).fit(X, y)
    model.save(tmp_path / "model.stagewise")
    plain = RandomForestClassifier(n_estimators=30).fit(X, y)
    assert plain.fingerprint() != model.fingerprint()
    for other in (load(tmp_path / "model.stagewise"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("kind", [7.0], "unknown kind"),
        ("temperature", [-1.0], "wrong temperature"),
        ("bias", [0.0], "wrong temperature"),
        ("floor", [2.0], "smallest probability"),
    ],
)
def test_a_file_with_an_impossible_map_is_refused(
    name: str, value: list[float], message: str, tmp_path: Path
) -> None:
    X, y, _ = draw(300, 19)
    model = RandomForestClassifier(calibration="temperature", n_estimators=20).fit(X, y)
    learned = {**model.model_.learned, f"calibration.{name}": np.array(value)}
    model._set_learned("calibration.", learned)
    model.save(tmp_path / "model.stagewise")
    with pytest.raises(ModelFormatError, match=message):
        load(tmp_path / "model.stagewise")


def test_impossible_parameters_are_refused() -> None:
    X, y, _ = draw(100, 20)
    with pytest.raises(InvalidParameterError, match="must be one of None, 'auto', 'temperature'"):
        GradientBoostingClassifier(calibration="platt").fit(X, y)
    with pytest.raises(InvalidParameterError, match="needs rows that the model was not trained on"):
        GradientBoostingClassifier(calibration="auto", n_estimators=10).fit(X, y)
    with pytest.raises(InvalidParameterError, match="warm_start"):
        GradientBoostingClassifier(calibration="auto", n_estimators=10, warm_start=True).fit(X, y)
    with pytest.raises(InvalidParameterError, match="calibration must be one of 'auto'"):
        GradientBoostingClassifier(**BOOSTING).fit(X, y).calibrate(X, y, calibration="sigmoid")


def test_several_targets_are_refused() -> None:
    X, y, _ = draw(100, 24)
    several = np.column_stack([y, y])
    for kind in (GradientBoostingClassifier, RandomForestClassifier):
        with pytest.raises(InvalidParameterError, match="calibration is for one target"):
            kind(calibration="beta", early_stopping=kind is GradientBoostingClassifier).fit(
                X, several
            )
        model = kind(n_estimators=5).fit(X, several)
        with pytest.raises(InvalidParameterError, match="calibrate is for one target"):
            model.calibrate(X, several)
        with pytest.raises(InvalidParameterError, match="conformalize is for one target"):
            model.conformalize(X, several)


def test_one_class_needs_no_calibration() -> None:
    X, _, _ = draw(100, 21)
    model = RandomForestClassifier(calibration="auto", conformal="oob", n_estimators=5)
    with pytest.warns(UserWarning, match="one class"):
        model.fit(X, np.zeros(100))
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((100, 1)))
    assert model.predict_set(X).all()


def test_refit_and_single_trees_have_no_map() -> None:
    X, y, _ = draw(400, 22)
    model = RandomForestClassifier(calibration="beta", conformal="oob", n_estimators=10).fit(X, y)
    assert not model.refit(X, y).model_.learned
    tree = RandomForestClassifier(n_estimators=10).fit(X, y)[0]
    np.testing.assert_array_equal(model[0].predict_proba(X), tree.predict_proba(X))


@pytest.mark.parametrize("loss", ["exponential", "cumulative_logit", "brier", "one_vs_rest"])
def test_probabilities_of_other_losses_are_calibrated(loss: str) -> None:
    X, y, _ = draw(1200, 23, 3)
    model = GradientBoostingClassifier(
        loss=loss, calibration="beta", early_stopping=True, n_estimators=60
    ).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    facts = model.fit_report_["calibration"]
    assert facts["log_loss_after"] <= facts["log_loss_before"] + 1e-3

"""The algebra of weights and offsets, and the best constant beside an offset."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.elementary import portable_exp, portable_log
from stagewise.losses import CLASSIFICATION_LOSSES, POINT_LOSSES, Loss, Tweedie

N = 80
PLAIN = {
    "n_estimators": 4,
    "min_samples_leaf": 1,
    "min_hessian": 1e-9,
    "l2_regularization": 0.0,
    "max_features": None,
    "max_leaf_nodes": 4,
    "learning_rate": 0.5,
}
"""No penalty and no limit has a unit of weights."""
SEEDS = st.integers(0, 2**32 - 1)
LAWS = settings(max_examples=12, deadline=None)
LOG_LINKS = ("poisson", "gamma", "tweedie")
BITS_OF_LOG = [
    "-0x1.26bb1bbb55515p+1",
    "-0x1.6d3c324e13f50p-2",
    "0x1.9f323ecbf984cp-2",
    "0x1.3e116bcd39e7dp+1",
    "0x1.79a322e5b4bb7p+2",
]
BITS_OF_EXP = [
    "0x1.1aec7b35a00d4p+0",
    "0x1.01c2a61268987p+1",
    "0x1.1ed3fe64fc541p+2",
    "0x1.3de1654d37c9ap+17",
]


def rows(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.random.Generator]:
    """Return features, positive targets, positive exposures and the generator."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3)).round(1)
    return X, rng.gamma(2.0, np.exp(0.3 * X[:, 0])), rng.uniform(0.1, 3.0, N), rng


def fitted(loss: Any, X: Any, y: Any, **arguments: Any) -> GradientBoostingRegressor:
    limit = 1.0 if loss in LOG_LINKS else None  # a leaf of +20 would hide the digits of others
    return GradientBoostingRegressor(loss=loss, max_step=limit, **PLAIN).fit(X, y, **arguments)


def structure(model: Any) -> list[Any]:
    flat = model.model_.ensemble.flat()
    return [flat[name].tolist() for name in ("tree_start", "feature", "threshold")]


@LAWS
@given(seed=SEEDS, c=st.floats(-3.0, 3.0), loss=st.sampled_from(("squared_error", *LOG_LINKS)))
def test_a_constant_offset_moves_the_first_score_only(seed: int, c: float, loss: str) -> None:
    X, y, _, _ = rows(seed)
    plain, moved = fitted(loss, X, y), fitted(loss, X, y, offset=c)
    assert structure(plain) == structure(moved)
    np.testing.assert_allclose(moved.predict(X, offset=c), plain.predict(X), rtol=1e-5, atol=1e-9)
    if loss in LOG_LINKS:
        bases = [model.model_.ensemble.base[0] for model in (moved, plain)]
        np.testing.assert_allclose(bases[0] + c, bases[1], atol=1e-9)


@LAWS
@given(seed=SEEDS, loss=st.sampled_from(LOG_LINKS))
def test_an_exposure_is_a_weight_of_rates(seed: int, loss: str) -> None:
    X, y, exposure, _ = rows(seed)
    power = {"poisson": 1.0, "gamma": 2.0, "tweedie": 1.5}[loss]
    with_exposure = fitted(loss, X, y, exposure=exposure)
    rates = fitted(loss, X, y / exposure, sample_weight=exposure ** (2 - power))
    found, expected = with_exposure.predict(X, exposure=1), rates.predict(X)
    # Gradients are equal up to a constant factor and float32, so a tie may be broken otherwise.
    assert np.quantile(np.abs(found / expected - 1), 0.9) < 1e-3


@LAWS
@given(seed=SEEDS, loss=st.sampled_from(LOG_LINKS), unit=st.sampled_from([0.1, 1.0, 20.0]))
def test_the_penalty_of_rates_has_the_unit_of_their_mean_weight(
    seed: int, loss: str, unit: float
) -> None:
    """Weights that are not whole numbers are divided by their mean; exposures are not."""
    X, y, exposure, _ = rows(seed)
    exposure = unit * exposure
    weight = exposure ** (2 - {"poisson": 1.0, "gamma": 2.0, "tweedie": 1.5}[loss])
    penalty = 1.0  # the default of a regression
    params = {**PLAIN, "loss": loss, "max_step": 1.0}
    whole = GradientBoostingRegressor(**{**params, "l2_regularization": penalty})
    rates = GradientBoostingRegressor(**{**params, "l2_regularization": penalty / weight.mean()})
    whole.fit(X, y, exposure=exposure)
    rates.fit(X, y / exposure, sample_weight=weight)
    found, expected = whole.predict(X, exposure=1), rates.predict(X)
    assert np.quantile(np.abs(found / expected - 1), 0.9) < 1e-3


@LAWS
@given(seed=SEEDS, loss=st.sampled_from(("squared_error", "absolute_error", *LOG_LINKS)))
def test_weight_2_is_the_row_twice_also_with_an_offset(seed: int, loss: str) -> None:
    X, y, _, rng = rows(seed)
    offset, weight = rng.normal(size=N) / 2, rng.integers(0, 3, N).astype(float)
    copies = np.repeat(np.arange(N), weight.astype(int))
    one = fitted(loss, X, y, sample_weight=weight, offset=offset)
    other = fitted(loss, X[copies], y[copies], offset=offset[copies])
    assert one.fingerprint() == other.fingerprint()


@LAWS
@given(seed=SEEDS, a=st.sampled_from([0.25, -2.0, 1e6, 3.0]), b=st.floats(-1e3, 1e3))
def test_the_unit_of_y_is_that_of_its_offset(seed: int, a: float, b: float) -> None:
    X, y, _, rng = rows(seed)
    offset = rng.normal(size=N)
    plain = fitted("squared_error", X, y, offset=offset)
    scaled = fitted("squared_error", X, a * y + b, offset=a * offset)
    expected = a * plain.predict(X, offset=offset) + b
    found = scaled.predict(X, offset=a * offset)
    assert np.quantile(np.abs(found - expected), 0.9) < 1e-5 * (abs(a) + abs(b))


@LAWS
@given(seed=SEEDS, loss=st.sampled_from(LOG_LINKS))
def test_the_scores_of_a_model_are_an_offset_that_continues_it(seed: int, loss: str) -> None:
    X, y, _, _ = rows(seed)
    params = {**PLAIN, "init": "zero", "sampling": "uniform", "max_step": 1.0}
    first = GradientBoostingRegressor(loss=loss, **{**params, "n_estimators": 2}).fit(X, y)
    whole = GradientBoostingRegressor(loss=loss, **params).fit(X, y)
    offset = np.log(first.predict(X))
    second = GradientBoostingRegressor(loss=loss, **{**params, "n_estimators": 2})
    second.fit(X, y, offset=offset)
    found = second.predict(X, offset=offset)
    assert np.quantile(np.abs(found / whole.predict(X) - 1), 0.9) < 1e-4


@LAWS
@given(seed=SEEDS)
def test_a_constant_offset_of_log_odds_moves_the_first_score_only(seed: int) -> None:
    X, y, _, _ = rows(seed)
    labels = y > np.median(y)
    plain = GradientBoostingClassifier(**PLAIN).fit(X, labels)
    moved = GradientBoostingClassifier(**PLAIN).fit(X, labels, offset=1.5)
    assert structure(plain) == structure(moved)
    found = moved.decision_function(X, offset=1.5)
    np.testing.assert_allclose(found, plain.decision_function(X), atol=1e-5)


# ---- the best constant ---------------------------------------------------------------------------


def cases() -> list[Any]:
    regression = [POINT_LOSSES[name]() for name in POINT_LOSSES]
    own = [loss for loss in regression if loss.degree is None] + [Tweedie(1.2)]
    classes = [kind(n) for kind in CLASSIFICATION_LOSSES.values() for n in (2, 4)]
    return [pytest.param(loss, id=repr(loss)) for loss in own + classes]


@pytest.mark.parametrize("loss", cases())
@pytest.mark.parametrize("weighted", [False, True])
def test_the_best_constant_beside_an_offset_minimises_the_loss(loss: Loss, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    k = loss.n_outputs
    offset = 1.5 * rng.normal(size=(500, k))
    of_classes = "classification", "class_squared_error", "cumulative", "margins"
    is_class = type(loss).__module__.endswith(of_classes)
    y: Any = (
        rng.integers(0, max(k, 2), 500).astype(np.int32) if is_class else rng.gamma(2.0, size=500)
    )
    y = y / y.max() if loss.name == "cross_entropy" else y
    weight = rng.uniform(0.1, 2.0, 500) if weighted else None

    def total(constant: np.ndarray) -> float:
        score = offset + constant
        return float(np.average(loss.loss(y, score[:, 0] if k == 1 else score), weights=weight))

    best = loss.best_constant_with_offset(y, weight, offset)
    other = minimize(
        total, best + 0.3, method="Nelder-Mead", options={"xatol": 1e-9, "maxiter": 4000}
    )
    assert total(best) <= total(other.x) + 1e-10


def test_the_best_log_odds_are_found_with_extreme_offsets() -> None:
    loss: Any = CLASSIFICATION_LOSSES["log_loss"](2)
    y = np.array([1, 0, 1, 0], dtype=np.int32)
    for offset in ([900.0, -900.0, 0.0, 0.0], [-50.0, 50.0, 300.0, -1.0]):
        found = loss.best_constant_with_offset(y, None, np.array(offset)[:, np.newaxis])
        p = 1 / (1 + portable_exp(-(np.array(offset) + found)))
        np.testing.assert_allclose(p.mean(), 0.5, atol=1e-9)


def test_portable_functions_agree_with_numpy() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([np.exp(rng.uniform(-600, 600, 2000)), rng.uniform(0.5, 2.0, 2000), [1.0]])
    np.testing.assert_array_max_ulp(portable_log(x), np.log(x), maxulp=4)
    z = np.concatenate([rng.uniform(-700, 700, 2000), rng.normal(size=2000), [0.0]])
    np.testing.assert_array_max_ulp(portable_exp(z), np.exp(z), maxulp=4)
    assert portable_exp(np.array([1e300, -1e300])).tolist() == [np.inf, 0.0]


def test_portable_functions_have_fixed_bits() -> None:
    x = np.array([0.1, 0.7, 1.5, 12.0, 365.25])
    assert [v.hex() for v in portable_log(x).tolist()] == BITS_OF_LOG
    assert [v.hex() for v in portable_exp(x[:4]).tolist()] == BITS_OF_EXP

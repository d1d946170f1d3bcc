"""The native losses equal the formulas in float64.

Kernels compute in float32: a gradient of size 1 is accurate to 6e-8, a little less after exp.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import losses
from stagewise._native import Gradients, Workers, softmax_state, supported_isas
from stagewise.losses import (
    CLASSIFICATION_LOSSES,
    POINT_LOSSES,
    REGRESSION_LOSSES,
    AbsoluteError,
    BinarySquaredError,
    Brier,
    ClassExponential,
    ClassSquaredError,
    CrossEntropy,
    CumulativeLogit,
    CumulativeProbit,
    Expectile,
    Exponential,
    Fair,
    Focal,
    Gamma,
    Hinge,
    Huber,
    LogCosh,
    Logistic,
    Loss,
    Mape,
    Multinomial,
    OneVsRest,
    Poisson,
    PseudoHuber,
    Quantile,
    SquaredError,
    SquaredLogError,
    Tweedie,
)
from stagewise.losses.scores import squeeze_outputs

pytestmark = pytest.mark.native

Vector = npt.NDArray[np.float64]

SIZES = [1, 7, 8, 9, 1_023, 1_024, 1_025, 40_000]  # around the lanes and blocks of the kernels


def pairs(gradients: Gradients) -> tuple[Vector, Vector]:
    both = gradients.pairs().astype(np.float64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def weights_of(rng: np.random.Generator, n: int, weighted: bool) -> Vector | None:
    return rng.exponential(size=n) if weighted else None


def weighted_sum(values: Vector, weight: Vector | None) -> float:
    return float(values.sum() if weight is None else (values * weight).sum())


def check(
    gradients: Gradients, total: float, expected: losses.Derivatives, weight: Vector | None
) -> None:
    loss, gradient, hessian = expected
    g, h = pairs(gradients)
    np.testing.assert_allclose(g, gradient, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(h, hessian, rtol=1e-6, atol=1e-6)
    assert total == pytest.approx(weighted_sum(loss, weight), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", SIZES)
def test_squared_error_equals_the_formula(workers: Workers, n: int, weighted: bool) -> None:
    rng = np.random.default_rng(n)
    y, score, weight = rng.normal(size=n), rng.normal(size=n), weights_of(rng, n, weighted)
    gradients = Gradients(n)
    total = gradients.squared(workers, y, score, weight)
    check(gradients, total, losses.squared(y, score), weight)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", SIZES)
def test_absolute_error_equals_the_formula(workers: Workers, n: int, weighted: bool) -> None:
    rng = np.random.default_rng(n)
    y = rng.integers(-2, 3, n).astype(float)
    score = rng.integers(-2, 3, n).astype(float)  # so that y = F occurs
    weight = weights_of(rng, n, weighted)
    gradients = Gradients(n)
    total = gradients.absolute(workers, y, score, weight)
    check(gradients, total, losses.absolute(y, score), weight)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("quantile", (0.3,)),
        ("huber", (0.7,)),
        ("poisson", ()),
        ("gamma", ()),
        ("tweedie", (1.3,)),
        ("tweedie", (1.9,)),
        ("cross_entropy", ()),
    ],
)
def test_a_regression_loss_equals_the_formula(
    workers: Workers, name: str, own: tuple[float, ...], n: int, weighted: bool
) -> None:
    rng = np.random.default_rng(n)
    y = rng.integers(0, 4, n) / 2 + (0.5 if name == "gamma" else 0.0)
    y = y / 1.5 if name == "cross_entropy" else y
    score = rng.integers(-6, 6, n) / 4  # so that y = F occurs
    weight = weights_of(rng, n, weighted)
    gradients = Gradients(n)
    total = getattr(gradients, name)(workers, y, score, weight, *own)
    check(gradients, total, getattr(losses, name)(y, score, *own), weight)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", SIZES)
def test_exponential_loss_equals_the_formula(workers: Workers, n: int, weighted: bool) -> None:
    rng = np.random.default_rng(n)
    y = rng.integers(0, 2, n).astype(np.int32)
    score, weight = rng.normal(size=n), weights_of(rng, n, weighted)
    gradients = Gradients(n)
    total = gradients.exponential(workers, y, score, weight)
    check(gradients, total, losses.exponential(y, score), weight)


@pytest.mark.parametrize("name", ["poisson", "gamma", "tweedie", "cross_entropy", "exponential"])
def test_derivatives_are_finite_for_any_score(workers: Workers, name: str) -> None:
    score = np.array([-1e300, -1e4, -88.0, 88.0, 1e4, 1e300])
    y = np.ones(6, dtype=np.int32 if name == "exponential" else np.float64)
    own = (1.5,) if name == "tweedie" else ()
    gradients = Gradients(6)
    getattr(gradients, name)(workers, y, score, None, *own)
    g, h = pairs(gradients)
    assert np.isfinite(g).all()
    assert np.isfinite(h).all()
    assert (h >= 0).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", SIZES)
def test_logistic_loss_equals_the_formula(workers: Workers, n: int, weighted: bool) -> None:
    rng = np.random.default_rng(n)
    y = rng.integers(0, 2, n).astype(np.int32)
    score, weight = rng.normal(size=n) * 4, weights_of(rng, n, weighted)
    gradients = Gradients(n)
    total = gradients.logistic(workers, y, score, weight)
    check(gradients, total, losses.logistic(y, score), weight)


@pytest.mark.parametrize("isa", supported_isas())
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy_of_classes_has_the_bits_of_the_logistic_loss(
    isa: str, weighted: bool
) -> None:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 3_000).astype(np.int32)
    score, weight = rng.normal(size=3_000) * 9, weights_of(rng, 3_000, weighted)
    score[:6] = [-1e300, 1e300, -88.0, 88.0, 0.0, -0.0]
    y[:6] = [0, 1, 0, 1, 0, 1]
    shares, labels, workers = Gradients(3_000), Gradients(3_000), Workers(2, isa)
    of_shares = shares.cross_entropy(workers, y.astype(np.float64), score, weight)
    assert of_shares == labels.logistic(workers, y, score, weight)
    np.testing.assert_array_equal(shares.pairs(), labels.pairs())


@settings(max_examples=500, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_logistic_gradients_are_accurate_for_large_scores(scores: list[float]) -> None:
    # F = 40 for a row of the right class: p - y is 4e-18, not 0. Beyond 87 float32 underflows.
    score = np.array(scores)
    y = (np.arange(len(score)) % 2).astype(np.int32)
    gradients = Gradients(len(score))
    total = gradients.logistic(Workers(1), y, score, None)
    loss, gradient, hessian = losses.logistic(y, score)
    g, h = pairs(gradients)
    near = np.abs(score) < 80
    # float32 has F to 6e-8 of itself, and e^F to as much times |F|.
    np.testing.assert_allclose(g[near], gradient[near], rtol=1e-5)
    np.testing.assert_allclose(h[near], hessian[near], rtol=1e-5)
    np.testing.assert_allclose(g, gradient, atol=1e-6)
    assert (h >= 0).all()
    assert (h <= 0.25 * (1 + 1e-6)).all()
    assert total == pytest.approx(loss.sum(), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outputs", [3, 10])
@pytest.mark.parametrize("n", SIZES[:-1])
def test_softmax_equals_the_formula(workers: Workers, n: int, outputs: int, weighted: bool) -> None:
    rng = np.random.default_rng([n, outputs])
    y = rng.integers(0, outputs, n).astype(np.int32)
    scores, weight = rng.normal(size=(outputs, n)) * 3, weights_of(rng, n, weighted)
    state = np.empty(2 * n, dtype=np.float32)
    total = softmax_state(workers, y, scores.reshape(-1), weight, outputs, state)
    loss, gradient, hessian = losses.softmax(y, scores.T)
    assert total == pytest.approx(weighted_sum(loss, weight), rel=1e-6, abs=1e-6)
    gradients = Gradients(n)
    for k in range(outputs):
        gradients.softmax(workers, y, scores[k], state, k, weight)
        g, h = pairs(gradients)
        np.testing.assert_allclose(g, gradient[:, k], atol=1e-6)
        np.testing.assert_allclose(h, hessian[:, k], atol=1e-6)


def test_softmax_of_very_large_scores_is_finite(workers: Workers) -> None:
    scores = np.array([[1e6, -1e6, 0.0], [-1e6, 1e6, 0.0], [0.0, 0.0, 1e30]])
    y = np.array([0, 0, 2], dtype=np.int32)
    state = np.empty(6, dtype=np.float32)
    total = softmax_state(workers, y, scores.reshape(-1), None, 3, state)
    assert total == pytest.approx(2e6)
    gradients = Gradients(3)
    gradients.softmax(workers, y, scores[0], state, 0, None)
    g, h = pairs(gradients)
    np.testing.assert_allclose(g, [0.0, -1.0, 0.0], atol=1e-6)
    assert (h >= 0).all()
    assert np.isfinite(h).all()


def test_given_gradients_are_kept(workers: Workers) -> None:
    rng = np.random.default_rng(0)
    gradient, hessian = rng.normal(size=3_000), rng.random(3_000)
    gradients = Gradients(3_000)
    gradients.assign(workers, gradient, hessian, None)
    g, h = pairs(gradients)
    np.testing.assert_array_equal(g, gradient.astype(np.float32))
    np.testing.assert_array_equal(h, hessian.astype(np.float32))


def fill_all(workers: Workers, n: int, weight: Vector | None) -> list[Any]:
    """Run every kernel and return all its results."""
    rng = np.random.default_rng(n)
    y, score = rng.normal(size=n), rng.normal(size=n) * 5
    labels, scores = rng.integers(0, 3, n).astype(np.int32), rng.normal(size=3 * n) * 5
    gradients, state = Gradients(n), np.empty(2 * n, dtype=np.float32)
    results: list[Any] = []
    results += [gradients.squared(workers, y, score, weight), gradients.pairs().tobytes()]
    results += [gradients.absolute(workers, y, score, weight), gradients.pairs().tobytes()]
    for name, own in [("quantile", 0.2), ("huber", 0.5), ("poisson", 0.0), ("gamma", 0.0)]:
        results.append(getattr(gradients, name)(workers, np.abs(y), score, weight, own))
        results.append(gradients.pairs().tobytes())
    results.append(gradients.tweedie(workers, np.abs(y), score, weight, 1.4))
    results.append(gradients.pairs().tobytes())
    shares = np.minimum(np.abs(y), 1.0)
    results.append(gradients.cross_entropy(workers, shares, score, weight))
    results.append(gradients.pairs().tobytes())
    binary = np.minimum(labels, 1)
    results += [gradients.logistic(workers, binary, score, weight), gradients.pairs().tobytes()]
    results += [
        gradients.exponential(workers, binary, score, weight),
        gradients.pairs().tobytes(),
    ]
    results += [softmax_state(workers, labels, scores, weight, 3, state), state.tobytes()]
    gradients.softmax(workers, labels, scores[:n], state, 0, weight)
    return [*results, gradients.pairs().tobytes()]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("isa", supported_isas())
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_and_instruction_sets_change_no_bit(threads: int, isa: str, weighted: bool) -> None:
    n = 70_001
    weight = weights_of(np.random.default_rng(4), n, weighted)
    plain = fill_all(Workers(1, "generic"), n, weight)
    assert fill_all(Workers(threads, isa), n, weight) == plain


LOSSES: dict[str, tuple[Loss, Any]] = {
    "squared_error": (SquaredError(), losses.squared),
    "absolute_error": (AbsoluteError(), losses.absolute),
    "huber": (Huber(0.7), lambda y, F: losses.huber(y, F, np.quantile(np.abs(y - F), 0.7))),
    "quantile": (Quantile(0.3), lambda y, F: losses.quantile(y, F, 0.3)),
    "fair": (Fair(0.8), lambda y, F: losses.fair(y, F, 0.8)),
    "log_cosh": (LogCosh(0.8), lambda y, F: losses.log_cosh(y, F, 0.8)),
    "pseudo_huber": (PseudoHuber(0.8), lambda y, F: losses.pseudo_huber(y, F, 0.8)),
    "squared_log_error": (SquaredLogError(), losses.squared_log_error),
    "cross_entropy": (CrossEntropy(), losses.cross_entropy),
    "expectile": (Expectile(0.8), lambda y, F: losses.expectile(y, F, 0.8)),
    "mape": (Mape(0.1), lambda y, F: losses.mape(y, F, 0.1)),
    "poisson": (Poisson(), losses.poisson),
    "gamma": (Gamma(), losses.gamma),
    "tweedie": (Tweedie(1.3), lambda y, F: losses.tweedie(y, F, 1.3)),
    "two classes": (Logistic(), losses.logistic),
    "exponential": (Exponential(), losses.exponential),
    "three classes": (Multinomial(3), losses.softmax),
    "exponential of four": (ClassExponential(4), losses.class_exponential),
    "squared error of two classes": (BinarySquaredError(), losses.margin),
    "squared error of five classes": (ClassSquaredError(5), losses.class_shares),
    "focal of two": (Focal(2.0), lambda y, F: losses.focal(y, F, 2.0)),
    "focal of three": (Focal(1.5, 3), lambda y, F: losses.class_focal(y, F, 1.5)),
    "brier of two": (Brier(), losses.brier),
    "brier of three": (Brier(3), losses.class_brier),
    "hinge of two": (Hinge(), losses.hinge),
    "hinge of three": (Hinge(3), losses.class_hinge),
    "one of two": (OneVsRest(), losses.logistic),
    "one vs rest": (OneVsRest(n_classes=3), losses.one_vs_rest),
    "cumulative logit": (CumulativeLogit(2), lambda y, F: losses.cumulative(y, F, [0.0], "logit")),
    "cumulative probit": (
        CumulativeProbit(2),
        lambda y, F: losses.cumulative(y, F, [0.0], "probit"),
    ),
}
HESSIAN_BY_CONVENTION = {
    "absolute_error",
    "huber",
    "quantile",
    "fair",
    "log_cosh",
    "pseudo_huber",
    "mape",
    "exponential of four",
    "focal of two",
    "focal of three",
    "brier of two",
    "brier of three",
    "hinge of two",
    "hinge of three",
}


def loss_rows(loss: Loss, n: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
    rng = np.random.default_rng(n)
    numbers, labels = rng.normal(size=n), rng.integers(0, max(2, loss.n_outputs), n)
    score = rng.normal(size=(n, loss.n_outputs) if loss.n_outputs > 1 else n)
    if type(loss) not in REGRESSION_LOSSES.values():
        return labels.astype(np.int32), 3 * score if loss.name == "log_loss" else score
    if loss.name == "cross_entropy":
        return rng.integers(0, 5, n) / 4, 3 * score
    return (numbers, 3 * score) if loss.degree else (np.exp(numbers), score)


def test_every_registered_loss_is_tested_here() -> None:
    of_classes = {type(make(k)) for make in CLASSIFICATION_LOSSES.values() for k in (2, 3)}
    registered = {*POINT_LOSSES.values(), *of_classes}
    assert registered == {type(loss) for loss, _ in LOSSES.values()}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_in_python_equals_the_formula(name: str) -> None:
    loss, formula = LOSSES[name]
    y, score = loss_rows(loss, 501)  # so that np.quantile(…, 0.7) of Huber is a residual
    value, gradient, hessian = formula(y, score)
    np.testing.assert_allclose(loss.loss(y, score), value, rtol=1e-12, atol=1e-12)
    for mine, expected in zip(loss.derivatives(y, score), (gradient, hessian), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_with_a_kernel_is_bound_like_one_without(
    workers: Workers, name: str, weighted: bool
) -> None:
    loss, _ = LOSSES[name]
    y, score = loss_rows(loss, 2_000)
    # Only a bound Huber loss has the weights that its width depends on.
    weight = weights_of(np.random.default_rng(1), 2_000, weighted and name != "huber")
    fast, slow = loss.bind(workers, y, weight), Loss.bind(loss, workers, y, weight)
    if name == "mape":  # its bound derivatives have the mean hessian 1
        pytest.skip("tests/estimators/test_losses.py has the scale of its derivatives")
    if loss.ordered:  # a bound loss learns thresholds
        pytest.skip("tests/estimators/test_ordinal.py has the kernel with its thresholds")
    score = np.asfortranarray(score.reshape(len(y), -1))
    assert fast.evaluate(score) == pytest.approx(slow.evaluate(score), rel=1e-6)
    for k in range(loss.n_outputs):
        np.testing.assert_allclose(
            fast.gradients(k).pairs(), slow.gradients(k).pairs(), rtol=1e-6, atol=1e-6
        )


@pytest.mark.parametrize("name", sorted(set(LOSSES) - {"huber"}))  # its width depends on the scores
def test_derivatives_equal_differences_of_the_loss(name: str) -> None:
    loss, _ = LOSSES[name]
    y, score = loss_rows(loss, 200)
    gradient, hessian = loss.derivatives(y, score)
    for k in range(loss.n_outputs):
        output = ... if loss.n_outputs == 1 else (slice(None), k)
        step = np.zeros_like(score)
        step[output] = 1e-4
        below, here, above = (loss.loss(y, score + s * step) for s in (-1, 0, 1))
        np.testing.assert_allclose((above - below) / 2e-4, gradient[output], rtol=1e-6, atol=1e-6)
        if name not in HESSIAN_BY_CONVENTION:
            np.testing.assert_allclose(
                (above - 2 * here + below) / 1e-8, hessian[output], rtol=1e-5, atol=1e-5
            )
        assert loss.hessian_bound == 0.0 or (hessian <= loss.hessian_bound).all()


class OnlyLoss(Loss):
    """Another loss, with only its value implemented."""

    def __init__(self, loss: Loss) -> None:
        self._loss, self.n_outputs = loss, loss.n_outputs

    def loss(self, y: npt.NDArray[Any], score: npt.NDArray[np.float64]) -> Vector:
        return self._loss.loss(y, score)


@pytest.mark.parametrize("name", sorted(set(LOSSES) - HESSIAN_BY_CONVENTION))
def test_numerical_derivatives_equal_the_analytic_ones(name: str) -> None:
    loss, _ = LOSSES[name]
    y, score = loss_rows(loss, 200)
    found = OnlyLoss(loss).derivatives(y, score)
    for mine, expected in zip(found, loss.derivatives(y, score), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["squared_error", "poisson", "gamma", "tweedie"])
def test_the_numerical_best_constant_equals_the_analytic_one(name: str) -> None:
    loss, _ = LOSSES[name]
    y, _ = loss_rows(loss, 301)
    weight = np.random.default_rng(3).random(301)
    found = OnlyLoss(loss).best_constant(y, weight)
    np.testing.assert_allclose(found, loss.best_constant(y, weight), rtol=1e-6, atol=1e-6)


def test_a_loss_without_curvature_is_refused() -> None:
    y, score = loss_rows(AbsoluteError(), 50)
    with pytest.raises(ValueError, match=r"derivative 0 everywhere.*Define `derivatives`"):
        OnlyLoss(AbsoluteError()).derivatives(y, score)


def test_a_loss_that_is_not_convex_is_refused() -> None:
    class Cosine(Loss):
        def loss(self, y: npt.NDArray[Any], score: npt.NDArray[np.float64]) -> Vector:
            return np.cos(y - score)

    with pytest.raises(ValueError, match=r"not convex.*Define `derivatives`"):
        Cosine().derivatives(*loss_rows(SquaredError(), 50))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", sorted(set(LOSSES) - {"huber"}))  # it starts at the median
def test_no_constant_has_a_smaller_loss_than_best_constant(name: str, weighted: bool) -> None:
    loss, _ = LOSSES[name]
    y, _ = loss_rows(loss, 301)
    weight = weights_of(np.random.default_rng(2), 301, weighted)
    best = loss.best_constant(y, weight)
    assert best.shape == (loss.n_outputs,)

    def total(constant: Vector) -> float:
        return weighted_sum(loss.loss(y, squeeze_outputs(np.tile(constant, (301, 1)))), weight)

    for k in range(loss.n_outputs):
        for move in (-0.01, 0.01):
            moved = best.copy()
            moved[k] += move
            assert total(moved) > total(best)

"""The native kernel of Cox's partial likelihood against NumPy, for all of its variants."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.cox import cox_loss
from stagewise._native import CoxLoss, Workers, supported_isas
from stagewise.losses.survival.cox import risk_sets
from survival.samples import random_target, structured


def evaluated(sets, ties, score, workers=None):
    """Return what a loss computes: its value, the derivatives, the hazards and the logs."""
    loss = sets.loss(ties)
    gradient, hessian = np.zeros((2, len(score)))
    value = loss.evaluate(workers or Workers(1), score, gradient, hessian)
    return value, gradient, hessian, loss.cumulative_hazard(), loss.log_risk()


def sample(seed, n=40):
    """Return targets with ties, strata, entry times and weights, of which some are fractions."""
    rng = np.random.default_rng(seed)
    y, weight, score = random_target(rng, n)
    if seed % 3 == 1:
        weight = weight * rng.random(n)
    if seed % 2:
        y["entry"], y["stratum"] = -np.inf, 0
    return risk_sets(y, None if seed % 3 == 2 else weight), score * rng.choice([0.1, 1.0, 40.0])


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_every_number_is_that_of_numpy(ties, seed):
    sets, score = sample(seed)
    for own, expected in zip(
        evaluated(sets, ties, score), cox_loss(sets, ties, score), strict=True
    ):
        np.testing.assert_array_equal(own, expected)


def test_instruction_sets_threads_and_the_order_of_rows_change_no_bit():
    rng = np.random.default_rng(0)
    n = 40_000  # more than one chunk of rows
    y = structured(np.round(rng.exponential(300.0, n)) + 1.0, rng.random(n) < 0.1)
    score, order = rng.normal(size=n), rng.permutation(n)
    expected = evaluated(risk_sets(y, None), "efron", score)
    shuffled = evaluated(risk_sets(y[order], None), "efron", score[order], Workers(3))
    np.testing.assert_array_equal(shuffled[1], expected[1][order])
    assert shuffled[0] == expected[0]
    for isa in supported_isas():
        own = evaluated(risk_sets(y, None), "efron", score, Workers(2, isa))
        for found, other in zip(own, expected, strict=True):
            np.testing.assert_array_equal(found, other)


def test_an_evaluation_does_not_depend_on_the_one_before():
    sets, score = sample(0)
    loss, (gradient, hessian) = sets.loss("efron"), np.zeros((2, len(score)))
    first = loss.evaluate(Workers(1), score, gradient, hessian)
    loss.evaluate(Workers(1), score + 1.0, gradient, hessian)
    assert loss.evaluate(Workers(1), score, gradient, hessian) == first


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_loss_of_scores_that_are_not_finite_is_nan(value):
    sets, score = sample(2)
    score[3] = value
    assert np.isnan(evaluated(sets, "efron", score)[0])


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("unit", [1.0, 1e-9])
def test_the_derivatives_of_a_stratum_do_not_depend_on_others(ties, unit):
    y, weight, score = random_target(np.random.default_rng(3), 80)
    weight = np.where(y["stratum"] == 1, 0.3 * unit, 0.3) * np.maximum(weight, 1.0)
    score = score - 100.0 * y["stratum"]
    for stratum in range(3):
        own = y["stratum"] == stratum
        _, gradient, hessian, *_ = evaluated(risk_sets(y, weight), ties, score)
        found = evaluated(risk_sets(y[own], weight[own]), ties, score[own])
        np.testing.assert_allclose(gradient[own], found[1], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(hessian[own], found[2], rtol=1e-6, atol=1e-9)


def test_rows_that_enter_after_a_row_of_small_hazard_have_all_digits():
    y = structured([1.0, 3.0, 4.0], [1, 1, 0], [-np.inf, 2.0, 2.0])
    _, gradient, hessian, *_ = evaluated(risk_sets(y, None), "efron", np.array([-60.0, 0.0, 0.0]))
    np.testing.assert_allclose(gradient, [0.0, -0.5, 0.5], atol=1e-9)
    np.testing.assert_allclose(hessian, [0.0, 0.25, 0.25], atol=1e-9)


def test_rows_of_weight_0_keep_their_derivatives():
    y = structured([1.0, 2, 3], [1, 1, 0])
    loss, gradient = risk_sets(y, np.array([1.0, 0.0, 2.0])).loss("efron"), np.full(3, 7.0)
    loss.evaluate(Workers(1), np.zeros(3), gradient, np.zeros(3))
    assert gradient[1] == 7.0
    assert (gradient[[0, 2]] < 1.0).all()


def test_positions_that_are_out_of_range_are_refused():
    given = {
        "rows": np.arange(2, dtype=np.uint32),
        "weight": np.ones(2),
        "first": np.zeros(2, np.uint32),
        "last": np.ones(2, np.uint32),
        "is_event": np.array([1, 0], np.uint8),
        "begin": np.zeros(1, np.uint32),
        "deaths": np.ones(1),
        "tied": None,
        "digit_bits": 40,
    }
    CoxLoss(**given)
    with pytest.raises(ValueError, match="at risk from"):
        CoxLoss(**(given | {"last": np.array([2, 0], np.uint32)}))
    with pytest.raises(ValueError, match="one entry per row"):
        CoxLoss(**(given | {"weight": np.ones(3)}))
    with pytest.raises(ValueError, match="positive"):
        CoxLoss(**(given | {"weight": np.zeros(2)}))
    with pytest.raises(ValueError, match="1 to 52 bits"):
        CoxLoss(**(given | {"digit_bits": 60}))
    with pytest.raises(ValueError, match="has an event"):
        CoxLoss(**(given | {"tied": np.zeros(1, np.uint32)}))
    with pytest.raises(ValueError, match="one entry per row"):
        CoxLoss(**given).evaluate(Workers(1), np.zeros(1), np.zeros(1), np.zeros(1))

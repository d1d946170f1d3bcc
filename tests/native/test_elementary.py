"""exp, log and others: the same bits with every instruction set, and nearly exact."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from reference import elementary as reference
from stagewise import _native
from stagewise._native import Workers, supported_isas
from stagewise.elementary import (
    extended_log,
    log_sigmoid,
    log_sum_exp,
    normal_cdf,
    normal_log_cdf,
    portable_digamma,
    portable_exp,
    portable_expm1,
    portable_log,
    portable_log1p,
    portable_log_gamma,
    portable_power,
    portable_trigamma,
    sigmoid,
    softplus,
)

pytestmark = pytest.mark.native

FINITE = st.floats(allow_nan=False, allow_infinity=False)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 709.78, 709.79, -708.4, -745.1, -745.2, 1e4, -1e4, 1e300, -1e300]
POSITIVE = [5e-324, 2.0**-1022, 2.0**-1023, math.sqrt(0.5), 1.0, 1.0 + 2.0**-52, 1.79e308]


@pytest.mark.parametrize("isa", supported_isas())
@settings(max_examples=200, deadline=None)
@given(x=st.lists(st.one_of(FINITE, st.floats(-750, 750)), max_size=40))
def test_exp_equals_the_reference(isa, x):
    numbers = np.array([*x, *SPECIAL])
    with np.errstate(over="ignore"):
        expected = reference.exp(numbers)
    np.testing.assert_array_equal(_native.exp(numbers, Workers(1, isa)), expected)


@pytest.mark.parametrize("isa", supported_isas())
@settings(max_examples=200, deadline=None)
@given(x=st.lists(st.floats(5e-324, 1.79e308), max_size=40))
def test_log_equals_the_reference(isa, x):
    numbers = np.array([*x, *POSITIVE])
    np.testing.assert_array_equal(_native.log(numbers, Workers(1, isa)), reference.log(numbers))


def test_the_error_is_at_most_two_units_in_the_last_place():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-700, 700, 5000), rng.normal(size=5000)])
    exact = np.array([math.exp(own) for own in x])
    assert (np.abs(portable_exp(x) - exact) <= 2 * np.spacing(exact)).all()
    positive = np.exp(rng.uniform(-700, 700, 10_000))
    exact = np.array([math.log(own) for own in positive])
    assert (np.abs(portable_log(positive) - exact) <= 2 * np.spacing(np.abs(exact))).all()


@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 4), (2, 3, 4)])
def test_the_result_has_the_shape_of_the_numbers(shape):
    x = np.random.default_rng(1).normal(size=shape)
    for own in (x, np.asfortranarray(x), np.repeat(x[..., None], 2, axis=-1)[..., 0]):
        np.testing.assert_array_equal(portable_exp(own), reference.exp(own))


SCIPY = {
    portable_expm1: (np.expm1, lambda rng: rng.uniform(-740, 700, 2000)),
    portable_log1p: (np.log1p, lambda rng: np.expm1(rng.uniform(-30, 300, 2000))),
    portable_log_gamma: (special.gammaln, lambda rng: np.exp(rng.uniform(-28, 28, 2000))),
    portable_digamma: (special.digamma, lambda rng: np.exp(rng.uniform(-28, 28, 2000))),
    portable_trigamma: (
        lambda x: special.zeta(2, x),
        lambda rng: np.exp(rng.uniform(-28, 28, 2000)),
    ),
    sigmoid: (special.expit, lambda rng: rng.uniform(-700, 700, 2000)),
    softplus: (lambda x: np.logaddexp(0.0, x), lambda rng: rng.uniform(-700, 700, 2000)),
    log_sigmoid: (special.log_expit, lambda rng: rng.uniform(-700, 700, 2000)),
    normal_cdf: (special.ndtr, lambda rng: rng.uniform(-9, 9, 2000)),
    normal_log_cdf: (special.log_ndtr, lambda rng: rng.uniform(-1e4, 9, 2000)),
}


@pytest.mark.parametrize("function", SCIPY, ids=lambda f: f.__name__)
def test_functions_equal_those_of_scipy(function):
    """1e-14 relative to the larger of 1 and the result, and below 1 to the result itself."""
    exact, draw = SCIPY[function]
    rng = np.random.default_rng(2)
    x = np.concatenate(
        [draw(rng), np.abs(rng.normal(size=500)) * 3, 10.0 ** rng.uniform(-9, 0, 500)]
    )
    zeros = {portable_log_gamma, portable_digamma}  # log Γ(1), log Γ(2) and ψ(1.46…) are 0
    normal = {normal_cdf, normal_log_cdf}  # SciPy's have as large errors
    rtol, atol = 3e-14 if function in normal else 1e-14, 1e-14 if function in zeros else 0.0
    np.testing.assert_allclose(function(x), exact(x), rtol=rtol, atol=atol)


@pytest.mark.parametrize(
    "name", ["expm1", "log1p", "log_gamma", "digamma", "trigamma", "scaled_erfc"]
)
def test_instruction_sets_and_single_numbers_have_the_same_bits(name):
    function = getattr(_native, name)
    x = 10.0 ** np.random.default_rng(3).uniform(-12, 12, 301)
    x = np.concatenate([x, np.arange(1.0, 30.0)])
    x = np.log(x) if name == "expm1" else x
    whole = function(x)
    for isa in supported_isas():
        np.testing.assert_array_equal(function(x, Workers(1, isa)), whole)
    single = np.concatenate([function(x[i : i + 1]) for i in range(len(x))])
    np.testing.assert_array_equal(single, whole)


def test_logarithms_and_powers_at_the_ends():
    x = np.array([-1.0, 0.0, 1.0, np.inf, np.nan])
    np.testing.assert_array_equal(extended_log(x), [np.nan, -np.inf, 0.0, np.inf, np.nan])
    np.testing.assert_allclose(portable_power([0.0, 4.0], 0.5), [0.0, 2.0], rtol=1e-15)
    np.testing.assert_array_equal(portable_power([0.0, 4.0], 0.0), [1.0, 1.0])
    np.testing.assert_array_equal(portable_expm1([-1e300, -60.0, 0.0, 710.0]), [-1, -1, 0, np.inf])


def test_sums_of_exponentials():
    x = np.random.default_rng(4).normal(size=(50, 3)) * 300
    expected = special.logsumexp(x, axis=1, keepdims=True)
    np.testing.assert_allclose(log_sum_exp(x), expected, rtol=1e-14)
    np.testing.assert_array_equal(log_sum_exp(np.asfortranarray(x)), log_sum_exp(x))

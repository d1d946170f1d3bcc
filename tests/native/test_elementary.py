"""exp and log: the same bits as the reference with every instruction set, and nearly exact."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import elementary as reference
from stagewise import _native
from stagewise._native import Workers, supported_isas
from stagewise.elementary import portable_exp, portable_log

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

"""Coefficients and standard errors of linear models in a file: restored and checked."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from model_samples import make_linear, make_model
from stagewise.errors import ModelFormatError
from stagewise.model.file.contents import pack, unpack
from stagewise.model.file.format import decode, encode
from stagewise.model.file.sections import LEAST_SQUARES
from stagewise.model.model import Model


def changed(name, change, **kind):
    """Return the facts and arrays of a linear model with one section changed."""
    facts, arrays = pack(make_linear(**kind), {})
    arrays[name] = change(arrays[name].copy())
    return facts, arrays


def put(place, value):
    def change(array):
        array[place] = value
        return array

    return change


@pytest.mark.parametrize("intercept", [True, False])
def test_a_linear_fit_is_restored(intercept):
    model = make_linear(intercept=intercept)
    decoded, _ = decode(encode(model))
    assert decoded.least_squares is not None
    for field in fields(model.least_squares):
        mine, theirs = (getattr(m.least_squares, field.name) for m in (model, decoded))
        np.testing.assert_array_equal(theirs, mine, err_msg=field.name)
    assert decoded.fingerprint() == model.fingerprint()


def test_other_models_have_no_such_sections():
    _, arrays = pack(make_model(), {})
    assert not LEAST_SQUARES.keys() & arrays.keys()


def test_standard_errors_are_part_of_the_fingerprint():
    model = make_linear()
    facts, arrays = changed("linear_sums", put(1, 4.0))
    other, _ = unpack(facts, arrays)
    assert isinstance(other, Model)
    assert other.fingerprint() != model.fingerprint()


@pytest.mark.parametrize("name", LEAST_SQUARES)
def test_a_missing_section_is_refused(name):
    facts, arrays = pack(make_linear(), {})
    del arrays[name]
    with pytest.raises(ModelFormatError, match="only some of the sections"):
        unpack(facts, arrays)


WRONG = {
    "a slope that the trees do not have": ("linear_slope", put(0, 0.5), "not those of its trees"),
    "a centre that the trees do not have": ("linear_centre", put(1, 0.5), "not those of its trees"),
    "a slope too large for its unit": (
        "scale",
        put(0, 5e-324),
        "not those of its trees",
    ),
    "too few slopes": ("linear_slope", lambda a: a[:-1], "differ in length"),
    "too many centres": ("linear_centre", lambda a: np.append(a, 0.0), "differ in length"),
    "a part of a covariance": ("linear_covariance", lambda a: a[:-1], "differ in length"),
    "a covariance of NaN": ("linear_covariance", put(0, np.nan), "not finite"),
    "an infinite slope": ("linear_slope", put(0, np.inf), "not finite"),
    "a negative variance": ("linear_covariance", put(0, -1.0), "negative variance"),
    "an asymmetric covariance": ("linear_covariance", put(1, 9.0), "negative variance"),
    "a column that does not exist": ("linear_column", put(2, 4), "column that does not exist"),
    "a column twice": ("linear_column", put(1, 0), "column that does not exist, or two"),
    "a size of zero": ("linear_size", put(0, 0.0), "sum of squares"),
    "no rows": ("linear_sums", put(0, 0.0), "number of rows"),
    "squares below 0": ("linear_sums", put(1, -1.0), "sum of squares"),
    "sums that are missing": ("linear_sums", lambda a: a[:2], "facts or sums"),
    "half an intercept": ("linear_facts", put(0, 2), "facts or sums"),
    "no intercept any more": ("linear_facts", put(0, 0), "differ in length"),
    "more rank than columns": ("linear_facts", put(2, 5), "differ in length"),
    "a huge rank": ("linear_facts", put(2, 2**64 - 1), "differ in length"),
    "an offset without an intercept": ("offset", put(0, 1.0), "no intercept"),
}


@pytest.mark.parametrize(("name", "change", "message"), WRONG.values(), ids=WRONG)
def test_inconsistent_sections_are_refused(name, change, message):
    facts, arrays = changed(name, change, intercept=name != "offset")
    with pytest.raises(ModelFormatError, match=message):
        unpack(facts, arrays)


def test_coefficients_of_a_model_that_is_not_linear_are_refused():
    facts, arrays = pack(make_model(), {})
    _, linear = pack(make_linear((0,)), {})
    arrays |= {name: linear[name] for name in LEAST_SQUARES}
    with pytest.raises(ModelFormatError, match="not those of its trees"):
        unpack(facts, arrays)

"""Categories are values, and every value has the code of its category."""

from __future__ import annotations

import datetime as dt
import math
import time
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.categories import slow_categories, slow_number
from stagewise.data.categories.categories import Categories, number_from_text
from stagewise.data.categories.factor import Factor, factorise
from stagewise.data.reading.missing_values import MissingValues

TEXTS = st.one_of(
    st.text(max_size=3),
    st.sampled_from(["0", "1", "-1", "1.0", "0.5", "07", "1e+20", "inf", "nan", "True"]),
)
NUMBERS = st.one_of(
    st.booleans(),
    st.integers(-3, 3),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False),
    st.sampled_from([0.5, -0.0, 1e20, math.inf, 2.0**53]),
)
MISSING = st.sampled_from([None, math.nan])
CELLS = st.one_of(TEXTS, NUMBERS, MISSING)


def objects(cells: list[Any]) -> np.ndarray:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def factor_of(cells: list[Any]) -> Factor:
    return factorise(objects(cells), None, "X column 0")


def numbers(categories: Categories, factor: Factor) -> list[float]:
    return np.append(categories.encode(factor.values), np.nan)[factor.codes].tolist()


# Compared with the reference


@given(st.lists(st.tuples(CELLS, st.sampled_from([0.0, 1.0, 2.5]))))
def test_categories_are_those_of_rows_with_weight(rows) -> None:
    cells, weights = [cell for cell, _ in rows], [weight for _, weight in rows]
    categories = factor_of(cells).categories(None, np.array(weights))
    slow = slow_categories(cells, weights)
    assert [(isinstance(value, str), value) for value in categories.values] == slow
    assert [type(v) for v in categories.values if not isinstance(v, str)] == [
        int if not math.isinf(v) and v.denominator == 1 and -(2**63) <= v < 2**64 else float
        for kind, v in slow
        if kind == 0
    ]


@given(
    st.one_of(st.lists(TEXTS), st.lists(NUMBERS), st.lists(CELLS)),
    st.one_of(st.lists(TEXTS), st.lists(NUMBERS), st.lists(CELLS)),
)
def test_every_value_has_the_code_of_its_category(cells, others) -> None:
    categories = factor_of(cells).categories(None, None)
    slow = slow_categories(cells, [1.0] * len(cells))
    for given_cells in (cells, others):
        expected = [slow_number(slow, cell) for cell in given_cells]
        expected = [math.nan if number is None else number for number in expected]
        np.testing.assert_array_equal(numbers(categories, factor_of(given_cells)), expected)


@given(st.lists(CELLS), st.randoms())
def test_the_order_of_rows_does_not_matter(cells, random) -> None:
    shuffled = random.sample(cells, len(cells))
    assert factor_of(cells).categories(None, None) == factor_of(shuffled).categories(None, None)


@given(st.lists(st.one_of(st.integers(-5, 5), st.floats(width=32), st.none())))
def test_typed_columns_have_the_categories_of_objects(cells) -> None:
    floats = np.array([math.nan if cell is None else cell for cell in cells], dtype=np.float64)
    assert factorise(floats, None, "x").categories(None, None) == Categories.of(
        value for value in floats.tolist() if value == value
    )


# Equal values


def test_booleans_and_integral_floats_equal_integers() -> None:
    assert factor_of([1, 1.0, True, np.int8(1), np.bool_(True), Decimal("1.0")]).values == [1]
    assert type(factor_of([True]).values[0]) is int
    assert factor_of([0.0, -0.0, False]).values == [0]


def test_a_number_and_its_text_are_two_categories() -> None:
    assert Categories.of([1, "1", "a", 0.5]).values == (0.5, 1, "1", "a")


def test_numbers_are_sorted_before_texts() -> None:
    values = ["é", "z", "Z", "😀", "\uffff", "", 10, 9, -1, 2**64 - 1, 1e300, -math.inf, 0.1]
    assert Categories.of(values).values == (
        *(-math.inf, -1, 0.1, 9, 10, 2**64 - 1, 1e300),
        *("", "Z", "z", "é", "\uffff", "😀"),
    )


@pytest.mark.parametrize(
    ("cells", "value"),
    [
        (np.array([0.1], np.float32), 0.1),
        (np.array([1e20], np.float32), 100000002004087734272.0),
        (np.array([np.inf], np.float32), math.inf),
        (np.array([16777216], np.float32), 2**24),
        (np.array([-5], np.int8), -5),
        (np.array([2**64 - 1], np.uint64), 2**64 - 1),
        (np.array([-(2**63)], np.int64), -(2**63)),
        (np.array([True]), 1),
        (np.array(["1970-01-02"], "M8[D]"), 86_400 * 10**9),
        (np.array([3], "m8[s]"), 3 * 10**9),
        (np.array(["a"]), "a"),
        (objects([np.float32(0.1)]), 0.1),
        (objects([np.str_("a")]), "a"),
        (objects([dt.date(1970, 1, 2)]), 86_400 * 10**9),
        (objects([Decimal("0.1")]), 0.1),
    ],
)
def test_a_category_has_one_form_for_every_input_type(cells: np.ndarray, value: object) -> None:
    (category,) = factorise(cells, None, "x").values
    assert category == value
    assert type(category) is type(value)


@pytest.mark.parametrize("gone", [None, math.nan, np.float32("nan"), pd.NA, pd.NaT, Decimal("nan")])
def test_missing_values_are_no_category(gone: object) -> None:
    factor = factor_of(["a", gone, gone])
    assert factor.values == ["a"]
    assert factor.codes.tolist() == [0, -1, -1]


def test_masked_values_are_missing() -> None:
    mask = np.array([False, True])
    for cells in (np.array([1, 2]), np.array(["a", "b"]), objects(["a", 2]), np.array([1.0, 2.0])):
        factor = factorise(cells, mask, "x")
        assert len(factor.values) == 1
        assert factor.codes.tolist() == [0, -1]


def test_the_order_of_equal_values_does_not_matter() -> None:
    single = [np.float32(0.1), float(np.float32(0.1)), 1, True, Decimal(1), 1.0]
    for cells in (single, single[::-1]):
        assert factor_of(cells).categories(None, None).values == (0.1, float(np.float32(0.1)), 1)


def test_missing_values_are_removed() -> None:
    factor, taken = factor_of(["-999", -999, 1, -999.0, None]).mask_values(
        MissingValues.of([-999, 5])
    )
    assert (factor.values, factor.codes.tolist(), taken) == (["-999", 1], [0, -1, 1, -1, -1], 2)
    rounded = factorise(np.array([-999.9, 1.0], np.float32), None, "x")
    assert rounded.mask_values(MissingValues.of([-999.9]))[0].values == [1]


# Spelling of numbers


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7), ("-7", -7), ("7.0", 7), ("0.5", 0.5), ("1e+20", 1e20), ("inf", math.inf),
        ("07", None), ("+7", None), ("7.00", None), (" 7", None), ("1_0", None), ("nan", None),
        ("٣", None), ("", None), ("True", None), ("9" * 5000, None),
        (str(2**53 + 1), 2**53 + 1), (f"{2**53 + 1}.0", None),
    ],
)  # fmt: skip
def test_only_the_usual_spelling_is_a_number(text: str, number: object) -> None:
    assert number_from_text(text) == number


@pytest.mark.parametrize(
    ("categories", "values", "expected"),
    [
        ([1, 2, 3], ["1", "2.0", "03", "x"], [0, 1, None, None]),
        (["1", "2.0"], [1, 2, 2.0, 3, True], [0, 1, 1, None, 0]),
        (["1", "1.0"], [1, "1", "1.0"], [None, 0, 1]),
        (["01", "1"], [1], [1]),
        ([1, "a"], ["1", 1, "a"], [None, 0, 1]),
        ([], ["a", 1], [None, None]),
    ],
)
def test_values_of_the_other_kind_are_matched_if_unambiguous(categories, values, expected) -> None:
    found = Categories.of(categories).encode([v if isinstance(v, str) else v + 0 for v in values])
    assert [None if math.isnan(number) else number for number in found] == expected


@pytest.mark.parametrize(
    ("categories", "kind"),
    [
        ([], "nothing"),
        ([1, 2.0, True], "whole numbers"),
        ([0.5, 1], "numbers"),
        (["a"], "text"),
        ([0.5, "a"], "numbers and text"),
    ],
)
def test_categories_have_a_kind(categories, kind: str) -> None:
    assert Categories.of(categories).kind == kind


# Errors


@pytest.mark.parametrize(
    ("cell", "error", "words"),
    [
        (
            b"a",
            TypeError,
            r"X column 0 holds a bytes, b'a' at row 1.*category must be.*astype\(str\)",
        ),
        ((1, 2), TypeError, "holds a tuple"),
        ([1], TypeError, "holds a list"),
        (pd.Interval(0, 1), TypeError, "holds a Interval"),
        (1j, TypeError, "holds a complex"),
        (2**64, ValueError, "18446744073709551616 at row 1, which does not fit in 64 bits"),
        (Decimal("1e500"), ValueError, "64 bits"),
    ],
)
def test_values_that_are_neither_text_nor_numbers_are_refused(cell, error, words: str) -> None:
    with pytest.raises(error, match=words):
        factor_of(["a", cell])


def test_dates_and_numbers_in_one_column_are_refused() -> None:
    with pytest.raises(TypeError, match=r"the number 5 at row 1 and the date .* at row 2"):
        factor_of(["a", 5, dt.date(2020, 1, 1)])


# Speed


def test_a_million_texts_take_about_a_second() -> None:
    rng = np.random.default_rng(0)
    cells = np.array([f"name {n}" for n in range(10_000)], dtype=object)
    cells = cells[rng.integers(0, 10_000, 1_000_000)]
    begin = time.process_time()
    factor = factorise(cells, None, "x")
    categories = factor.categories(None, None)
    numbers(categories, factor)
    # Measured 0.2 on the development machine; the rest is room for a busy one.
    assert time.process_time() - begin < 2.0
    assert len(categories) == 10_000

"""Targets, labels and weights are read exactly, and invalid ones are refused."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

from stagewise.data.target import (
    TargetScale,
    as_frequencies,
    check_weight,
    read_labels,
    read_target,
    read_weight,
)
from stagewise.exact_sums import mean_rows

BIG = 2**53 + 1
FINITE = st.floats(allow_nan=False, allow_infinity=False)


# Targets


@pytest.mark.parametrize(
    "y",
    [
        [1, 2, 3],
        (1.0, 2.0, 3.0),
        np.array([1, 2, 3], dtype=np.int8),
        np.array([1, 2, 3], dtype=">f4"),
        np.array([3.0, 2.0, 1.0])[::-1],
        np.array([1, 2.0, 3], dtype=object),
        pd.Series([1, 2, 3], dtype="Int64"),
        pd.Series([1, 2, 3], dtype="float32", index=[5, 5, 5]),
        pl.Series([1, 2, 3]),
        pl.Series([1, 2, 3]).to_arrow(),
    ],
)
def test_targets_become_contiguous_doubles(y: object) -> None:
    target = read_target(y, 3)
    assert target.dtype == np.float64
    assert target.flags.c_contiguous
    assert target.tolist() == [1, 2, 3]


def test_an_array_of_doubles_is_not_copied() -> None:
    y = np.arange(3.0)
    assert read_target(y, 3) is y


@pytest.mark.parametrize(
    "y", [np.ones((3, 1)), pd.DataFrame({"y": [1, 1, 1]}), [[1], [1], [1]]], ids=type
)
def test_a_column_vector_is_read_with_a_warning(y: object) -> None:
    words = "A column-vector y was passed when a 1d array was expected"
    with pytest.warns(DataConversionWarning, match=words) as caught:
        assert read_target(y, 3).tolist() == [1, 1, 1]
    assert caught[0].filename == __file__


@pytest.mark.parametrize("y", [np.ones((3, 2)), pd.DataFrame({"a": [1], "b": [2]}), 5.0, "text"])
def test_a_target_of_another_shape_is_refused(y: object) -> None:
    with pytest.raises(ValueError, match="y should be a 1d array, got an array of shape"):
        read_target(y, 3)


def test_a_target_of_another_length_is_refused() -> None:
    words = r"Found input variables with inconsistent numbers of samples: \[3, 2\]"
    with pytest.raises(ValueError, match=words):
        read_target([1, 2], 3)
    with pytest.raises(ValueError, match=words):
        read_labels([1, 2], 3)


@pytest.mark.parametrize("read", [read_target, read_labels])
def test_target_none_is_refused(read) -> None:
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        read(None, 3)


@pytest.mark.parametrize("read", [read_target, read_labels])
@pytest.mark.parametrize(
    "y",
    [
        [1.0, np.nan, 1.0, np.nan],
        np.array([1, None, 1, np.nan], dtype=object),
        pd.Series([1, None, 1, None], dtype="Int64"),
        pd.Series([True, None, True, None], dtype="boolean"),
        pl.Series([1, None, 1, None]),
        np.ma.array([1, 1, 1, 1], mask=[0, 1, 0, 1]),
    ],
)
def test_missing_targets_are_counted_and_the_first_is_named(read, y: object) -> None:
    with pytest.raises(ValueError, match=r"Input y contains NaN. 2 of 4 .* the first at row 1"):
        read(y, 4)


@pytest.mark.parametrize("read", [read_target, read_labels])
def test_infinite_targets_are_counted_and_the_first_is_named(read) -> None:
    words = r"Input y contains infinity or a value too large for dtype\('float64'\).*row 2"
    with pytest.raises(ValueError, match=words):
        read([1.0, 2.0, -np.inf], 3)


def test_text_is_refused_for_regression() -> None:
    with pytest.raises(ValueError, match=r"y holds the text 'b' at row 1.*classifier"):
        read_target([1, "b"], 2)
    with pytest.raises(ValueError, match="y holds the text '1' at row 0"):
        read_target(pd.Series(["1", "2"]), 2)


@pytest.mark.parametrize(
    "y",
    [
        np.array(["2020"], "M8[s]"),
        [dt.timedelta(1)],
        [{}],
        np.array([1j]),
        [dt.date(2020, 1, 1)],
    ],
    ids=str,
)
def test_other_types_are_refused(y: object) -> None:
    with pytest.raises((TypeError, ValueError), match="y "):
        read_target(y, 1)


def test_decimals_are_numbers() -> None:
    assert read_target([decimal.Decimal("0.1"), decimal.Decimal(2)], 2).tolist() == [0.1, 2.0]


def test_a_null_in_a_dictionary_of_labels_is_missing() -> None:
    y = pa.chunked_array([pa.array(["a", None, "b"]).dictionary_encode()])
    with pytest.raises(ValueError, match=r"1 of 3 targets are missing, the first at row 1"):
        read_labels(y, 3)


def test_sparse_targets_are_refused() -> None:
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        read_target(scipy.sparse.csr_array(np.ones((3, 1))), 3)


# Labels


@pytest.mark.parametrize(
    ("y", "classes", "kind"),
    [
        ([5, 0, 2, 5], [0, 2, 5], "i"),
        (np.array([-128, 127], np.int8), [-128, 127], "i"),
        (np.array([2**64 - 1, 2**64 - 3], np.uint64), [2**64 - 3, 2**64 - 1], "u"),
        ([BIG, BIG + 1, -BIG], [-BIG, BIG, BIG + 1], "i"),
        ([True, False], [False, True], "b"),
        ([1.0, -0.0, 0.0], [0.0, 1.0], "f"),
        ([1e300, 1.0], [1.0, 1e300], "f"),
        (["b", "a", "b"], ["a", "b"], "O"),
        (np.array(["b", "a", "b"]), ["a", "b"], "U"),
        (np.array([2, 1], dtype=object), [1, 2], "i"),
        (np.array([True, False], dtype=object), [False, True], "b"),
        (pd.Series(["b", "a"]), ["a", "b"], "O"),
        (pd.Series(["b", "a"], dtype="category"), ["a", "b"], "O"),
        (pd.Series([2, 1], dtype="category"), [1, 2], "i"),
        (pd.Series([2, 1], dtype="Int64"), [1, 2], "i"),
        (pl.Series(["b", "a"], dtype=pl.Categorical), ["a", "b"], "O"),
        (np.array([3, 1], dtype=">i4"), [1, 3], "i"),
    ],
)
def test_labels_are_sorted_classes_and_their_codes(y, classes: list, kind: str) -> None:
    found, codes = read_labels(y, len(y))
    assert found.tolist() == classes
    assert found.dtype.kind == kind
    assert found.dtype.isnative
    assert codes.dtype == np.int32
    assert found[codes].tolist() == list(y)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_integer_labels_are_restored(y) -> None:
    classes, codes = read_labels(np.array(y, np.int64), len(y))
    assert classes.tolist() == sorted(set(y))
    assert classes[codes].tolist() == y


@given(st.lists(st.text(), min_size=1, max_size=20))
def test_text_labels_are_restored(y) -> None:
    classes, codes = read_labels(np.array(y, dtype=object), len(y))
    assert classes.tolist() == sorted(set(y))
    assert classes[codes].tolist() == y


def test_a_single_class() -> None:
    classes, codes = read_labels(np.ones(4), 4)
    assert classes.tolist() == [1.0]
    assert codes.tolist() == [0] * 4


def test_continuous_numbers_are_refused_as_labels() -> None:
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        read_labels([0.5, 1.0], 2)


@pytest.mark.parametrize(
    "y", [[1.5, 2.5], [1.0, 1.5] * 20, [0.5] * 3, np.float32([2, 0.5])], ids=str
)
def test_fractional_labels_are_refused_with_the_remedy(y):
    rule = r"continuous. y holds (1\.5|0\.5) at row \d, .* text, integers, booleans or whole"
    with pytest.raises(ValueError, match=rf"{rule}.*y\.astype\(str\), or integer codes"):
        read_labels(y, len(y))
    assert read_labels(np.asarray(y).astype(str), len(y)).codes.max() == len(set(y)) - 1


def test_nearly_as_many_classes_as_rows_warn() -> None:
    with pytest.warns(UserWarning, match="number of unique classes is greater than 50%"):
        read_labels(np.arange(100), 100)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([1, "a"], "Unknown label type: y holds 1 at row 0 and 'a' at row 1"),
        ([True, True, 1], "Unknown label type: y holds True at row 0 and 1 at row 2"),
        ([{}, {}], "Unknown label type"),
        ([2**70, 1], "Unknown label type"),
    ],
)
def test_labels_of_several_types_are_refused(y: list, words: str) -> None:
    cells = np.empty(len(y), dtype=object)
    cells[:] = y
    with pytest.raises(ValueError, match=words):
        read_labels(cells, len(y))


@pytest.mark.parametrize("y", [np.array([b"a"]), np.array(["2020"], "M8[s]")])
def test_bytes_and_dates_are_refused_as_labels(y) -> None:
    with pytest.raises(ValueError, match="Unknown label type: y has dtype"):
        read_labels(y, 1)


def test_complex_labels_are_refused() -> None:
    with pytest.raises(ValueError, match="Complex data not supported"):
        read_labels(np.array([1j]), 1)


def test_missing_text_labels_are_refused() -> None:
    for y in (pd.Series(["a", None]), pl.Series(["a", None]), ["a", None]):
        with pytest.raises(ValueError, match=r"Input y contains NaN. 1 of 2 .* at row 1"):
            read_labels(y, 2)


# Weights


@pytest.mark.parametrize("weight", [None, 1, [1, 1, 1], np.ones(3), pd.Series([1, 1, 1])])
def test_equal_weights_equal_no_weights(weight: object) -> None:
    assert read_weight(weight, 3) is None


def test_integer_weights_are_counts() -> None:
    assert read_weight([0, 2, 3], 3).tolist() == [0, 2, 3]
    assert read_weight(2, 3).tolist() == [2, 2, 2]


def test_fractional_weights_have_mean_one_over_rows_with_weight() -> None:
    assert read_weight([0.0, 0.5, 1.5], 3).tolist() == [0, 0.5, 1.5]
    assert read_weight([0.0, 0.25, 0.75], 3).tolist() == [0, 0.5, 1.5]


@pytest.mark.parametrize("factor", [2.0**-40, 0.3, 1e-300, 1e307])
def test_the_scale_of_weights_does_not_matter(factor: float) -> None:
    weight = np.array([0.5, 1.25, 0.0, 3.75])
    np.testing.assert_allclose(as_frequencies(weight * factor), as_frequencies(weight), rtol=1e-15)


def test_too_large_integer_weights_are_ratios() -> None:
    assert read_weight([1e300, 3e300], 2).tolist() == [0.5, 1.5]


def test_rows_of_weight_zero_change_no_bit_of_the_others() -> None:
    rng = np.random.default_rng(0)
    weight = rng.random(1001) * (rng.random(1001) < 0.3)
    np.testing.assert_array_equal(
        as_frequencies(weight)[weight > 0], as_frequencies(weight[weight > 0])
    )


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1, np.nan, np.nan], r"sample_weight is NaN or missing at row 1 \(nan\); 2 of 3"),
        ([1, None, 1], "NaN or missing at row 1"),
        ([1, 1, np.inf], r"sample_weight is infinite at row 2 \(inf\)"),
        ([1, -0.5, 1], r"sample_weight is negative at row 1 \(-0.5\).*Use 0"),
        ([0, 0, 0], "at least one non-zero number.*weights are 0"),
        ([1, 1], r"inconsistent numbers of samples: \[3, 2\]"),
        (np.ones((3, 2)), r"sample_weight should be a 1d array.*\(3, 2\)"),
        (np.ones((3, 1)), "sample_weight should be a 1d array"),
        (["1", "1", "1"], "sample_weight holds the text '1' at row 0"),
        (math.nan, "NaN or missing at row 0"),
    ],
)
def test_invalid_weights_are_refused(weight: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_weight(weight, 3)


# The scale of targets


@given(st.lists(FINITE, min_size=1, max_size=30))
def test_the_mean_is_accurate_to_the_last_bits(values) -> None:
    mean = sum(map(Fraction, values)) / len(values)
    largest = max(map(abs, map(Fraction, values)))
    error = abs(Fraction(mean_rows(np.array(values))) - mean)
    # Half a unit in the last place of the mean, 2**-62 of the largest value, or an overflow.
    assert error <= max(abs(mean) * Fraction(2) ** -53, largest * Fraction(2) ** -62) + Fraction(
        5e-324
    )


@given(st.lists(st.tuples(FINITE, st.integers(1, 5)), min_size=1), st.randoms())
def test_weight_k_is_k_copies_in_any_order(rows, random) -> None:
    values, weight = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    copies = np.repeat(values, weight.astype(int)).tolist()
    random.shuffle(copies)
    assert mean_rows(values, weight) == mean_rows(np.array(copies))


def test_weight_k_is_k_copies_of_many_rows() -> None:
    rng = np.random.default_rng(0)
    values, weight = rng.normal(size=150_000) + 1e6, rng.integers(1, 4, 150_000)
    copies = rng.permutation(np.repeat(values, weight))
    mean = mean_rows(values, weight.astype(float))
    assert mean == mean_rows(copies) == math.fsum(copies) / len(copies)


@pytest.mark.parametrize("power", [-1074, -1060, -1000, -40, 0, 40, 900])
def test_a_power_of_two_scales_the_mean_exactly(power: int) -> None:
    values = np.arange(-3.0, 12.0)
    assert mean_rows(np.ldexp(values, power)) == math.ldexp(4.0, power)


def test_the_mean_of_equal_targets_is_that_target() -> None:
    for value in (0.1, -3e-320, 1e308, 0.0):
        assert mean_rows(np.full(1000, value)) == value


@pytest.mark.parametrize("factor", [1e-300, 1e-5, 1.0, 1e30, 1e300])
@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_scaled_targets_are_of_order_one(factor: float, shift: float) -> None:
    y = (np.random.default_rng(0).normal(size=500) + shift) * factor
    scale = TargetScale.learn(y)
    z = scale.standardise(y)
    assert math.frexp(scale.scale)[0] == 0.5
    assert 0.5 < scale.spread <= 1
    assert z.std() == pytest.approx(scale.spread, rel=1e-6)
    assert abs(z.mean()) < 1e-6
    np.testing.assert_allclose(scale.restore(z), y, rtol=1e-12)


def test_a_deviation_that_is_a_power_of_two_is_the_scale() -> None:
    assert TargetScale.learn(np.array([-4.0, 4.0])) == TargetScale(0.0, 4.0, 1.0)


def test_constant_targets_have_scale_one() -> None:
    assert TargetScale.learn(np.full(7, 0.1)) == TargetScale(0.1, 1.0, 1.0)


def test_the_largest_targets_do_not_overflow() -> None:
    y = np.array([-8.9e307, 8.9e307])
    scale = TargetScale.learn(y)
    assert scale.scale == 2.0**1023
    np.testing.assert_array_equal(scale.restore(scale.standardise(y)), y)


def test_the_smallest_targets_do_not_vanish() -> None:
    scale = TargetScale.learn(np.array([0.0, 5e-324, 1e-323, 0.0]))
    assert np.isfinite(scale.standardise(np.array([1e-323]))).all()
    assert scale.scale > 0


def test_a_range_beyond_float64_is_refused() -> None:
    with pytest.raises(ValueError, match=r"y ranges from -1e\+308 to 1e\+308.*Rescale"):
        TargetScale.learn(np.array([-1e308, 1e308]))


def test_a_target_too_far_from_the_training_targets_is_refused() -> None:
    scale = TargetScale.learn(np.array([-1e-300, 1e-300]))
    with pytest.raises(ValueError, match=r"y holds 1e\+308 at row 1"):
        scale.standardise(np.array([0.0, 1e308]))


def test_rows_of_weight_zero_do_not_move_the_scale() -> None:
    y, weight = np.array([1.0, 3.0, 1e300]), np.array([1.0, 1.0, 0.0])
    assert TargetScale.learn(y, weight) == TargetScale.learn(y[:2]) == TargetScale(2.0, 1.0, 1.0)

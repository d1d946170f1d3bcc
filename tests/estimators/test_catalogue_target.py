"""The catalogue of faults, 28 to 50: targets, labels and weights, for every estimator.

Numbers have a scale and an offset, labels have neither: each case has an expected result for both.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import DataConversionWarning

from estimators.every import (
    EVERY,
    classifies,
    has,
    is_linear,
    labelled,
    predictions,
    reads_no_validation_rows,
    small,
)
from estimators.tables import make_table
from stagewise import AdaBoostRegressor

ROWS = 60
NO_LABELS = r"Unknown label type: continuous. y holds .* Labels may be text, integers"


@pytest.fixture(scope="module")
def table() -> Any:
    return make_table(ROWS, missing=False)


def spoiled(values: Any, what: Any, row: int = 7) -> np.ndarray:
    wrong = np.array(values, dtype=object if isinstance(what, (str, type(None))) else None)
    wrong[row] = what
    return wrong


def explained(model: Any, X: Any, y: np.ndarray) -> float:
    """Return R² of y divided by its size, so that squares cannot overflow."""
    size = np.abs(y).max()
    predicted, z = model.predict(X) / size, y / size
    return float(1.0 - np.mean((predicted - z) ** 2) / np.mean((z - z.mean()) ** 2))


TARGETS = {
    "28 NaN": (lambda y: spoiled(y, np.nan), "y contains NaN.*1 of 60 .*the first at row 7"),
    "28 None": (lambda y: spoiled(y, None), "y contains NaN.*1 of 60 .*the first at row 7"),
    "29 infinity": (lambda y: spoiled(y, np.inf), r"contains infinity.*\(inf\) at row 7"),
    "29 minus infinity": (lambda y: spoiled(y, -np.inf), r"infinity.*\(-inf\) at row 7"),
    "40 too few": (lambda y: y[:5], r"inconsistent numbers of samples: \[60, 5\]"),
    "40 none at all": (lambda y: y[:0], r"inconsistent numbers of samples: \[60, 0\]"),
    "40 no target": (lambda y: None, "requires y to be passed, but the target y is None"),
    "complex numbers": (lambda y: y + 1j, "Complex data not supported"),
    "dates": (lambda y: y.astype("M8[s]"), "y has dtype datetime64"),
}


@EVERY
@pytest.mark.parametrize(("make", "words"), TARGETS.values(), ids=TARGETS)
def test_error_names_an_invalid_target(kind: type, make: Any, words: str, table: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        small(kind).fit(table.X, make(table.two.astype(float)))


@EVERY
def test_30_targets_are_refused_only_if_their_range_is_not_finite(kind: type, table: Any) -> None:
    wide, narrow = (np.where(table.two == 1, v, -v) for v in (1.7e308, 8e307))
    if classifies(kind):  # integral floats, as all of this size are, are labels
        model = small(kind).fit(table.X, wide)
        assert model.classes_.tolist() == [-1.7e308, 1.7e308]
        return
    with pytest.raises(ValueError, match=r"ranges from -1.7e\+308 to 1.7e\+308.*Rescale y"):
        small(kind).fit(table.X, wide)
    model = small(kind).fit(table.X, narrow)
    plain = small(kind).fit(table.X, np.sign(narrow))
    assert np.isfinite(model.predict(table.X)).all()
    expected = explained(plain, table.X, np.sign(narrow))
    assert explained(model, table.X, narrow) == pytest.approx(expected, abs=1e-3)


FACTORS = {
    "31 y of 1e39": 1e39,
    "31 y of 1e300": 1e300,
    "32 y times 1e20": 1e20,
    "32 y times 1e30": 1e30,
    "33 y times 1e-4": 1e-4,
    "33 y times 1e-5": 1e-5,
    "33 y times 1e-30": 1e-30,
    "33 y times 1e-300": 1e-300,
}


@EVERY
@pytest.mark.parametrize("factor", FACTORS.values(), ids=FACTORS)
def test_y_scale_does_not_matter(kind: type, factor: float, table: Any) -> None:
    y = (table.number + 0.5) * factor
    if classifies(kind):
        with pytest.raises(ValueError, match=NO_LABELS):
            small(kind).fit(table.X, y)
        return
    plain, scaled = small(kind).fit(table.X, table.number + 0.5), small(kind).fit(table.X, y)
    expected = explained(plain, table.X, table.number + 0.5)
    assert explained(scaled, table.X, y) == pytest.approx(expected, abs=1e-3)


@EVERY
@pytest.mark.parametrize("offset", [1e7, 1e8, 1e9, -1e12], ids="34 y plus {:g}".format)
def test_y_offset_does_not_matter(kind: type, offset: float, table: Any) -> None:
    y = table.number + 0.5
    if classifies(kind):
        with pytest.raises(ValueError, match=NO_LABELS):
            small(kind).fit(table.X, y + offset)
        return
    plain, moved = small(kind).fit(table.X, y), small(kind).fit(table.X, y + offset)
    apart = np.abs((moved.predict(table.X) - offset) - plain.predict(table.X))
    assert apart.max() < 1e-3 * y.std()


@EVERY
@pytest.mark.parametrize("start", [2**24, 2**52], ids="35 targets beyond {}".format)
def test_integer_targets_beyond_float32_are_distinguished(kind: type, start: int) -> None:
    side = np.arange(ROWS) % 2
    model = small(kind).fit(side[:, np.newaxis], start + side)
    predicted = model.predict([[0], [1]])
    if is_linear(kind) and start == 2**52:  # a line goes through the mean, which is rounded here
        np.testing.assert_allclose(predicted - start, [0, 1], atol=1)
        return
    np.testing.assert_array_equal(np.rint(predicted), [start, start + 1])


@EVERY
@pytest.mark.parametrize("value", [0, -3, 2**40], ids="36 37 all {}".format)
def test_a_constant_target_gives_a_constant_and_a_warning(
    kind: type, value: int, table: Any
) -> None:
    words = "y has only one class" if classifies(kind) else "y has only one value"
    with pytest.warns(UserWarning, match=words) as caught:
        model = small(kind).fit(table.X, np.full(ROWS, value))
    assert len(caught) == 1
    np.testing.assert_array_equal(model.predict(table.X), value)
    if classifies(kind):
        assert model.classes_.tolist() == [value]
        np.testing.assert_array_equal(model.predict_proba(table.X), np.ones((ROWS, 1)))


@EVERY
@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 2, 5]),
        np.array(["b", "a", "c"]),
        np.array([True, False]),
        np.array([-1.0, 1.0]),
        np.array([-1.0, 1.0], dtype=np.float16),
    ],
    ids=["38 integers", "38 text", "38 booleans", "38 integral floats", "38 halves"],
)
def test_labels_keep_their_type(kind: type, labels: Any, table: Any) -> None:
    y = labels[table.many % len(labels)]
    if not classifies(kind):
        if labels.dtype.kind == "U":
            with pytest.raises(ValueError, match=r"y holds the text .* Use a classifier"):
                small(kind).fit(table.X, y)
        else:  # booleans are the numbers 0 and 1
            assert small(kind).fit(table.X, y).predict(table.X).dtype == np.float64
        return
    model = small(kind).fit(table.X, y)
    assert model.classes_.tolist() == sorted(labels.tolist())
    assert model.predict(table.X).dtype == labels.dtype
    assert set(model.predict(table.X).tolist()) <= set(labels.tolist())


@EVERY
def test_38_labels_of_two_types_are_refused(kind: type, table: Any) -> None:
    words = r"y holds the text 'yes' at row 7"
    if classifies(kind):
        words = r"Unknown label type: y holds 0.*and 'yes' at row 7"
    with pytest.raises(ValueError, match=words):
        small(kind).fit(table.X, spoiled(table.two * 0, "yes"))


@EVERY
def test_39_a_column_vector_is_accepted_with_a_warning(kind: type, table: Any) -> None:
    y = labelled(kind, table)
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        model = small(kind).fit(table.X, y[:, np.newaxis])
    assert model.predict(table.X).shape == (ROWS,)
    np.testing.assert_array_equal(
        predictions(model, table.X), predictions(small(kind).fit(table.X, y), table.X)
    )


WEIGHTS = {
    "41 NaN": (lambda w: spoiled(w, np.nan), "NaN or missing at row 7"),
    "42 infinity": (lambda w: spoiled(w, np.inf), "infinite at row 7"),
    "43 negative": (lambda w: spoiled(w, -1.0), r"negative at row 7 \(-1\.0\).*Use 0"),
    "44 all zero": (lambda w: 0 * w, "at least one non-zero number"),
    "48 too few": (lambda w: w[:3], r"inconsistent numbers of samples: \[60, 3\]"),
    "two-dimensional": (lambda w: w[:, np.newaxis], r"1d array.*\(60, 1\)"),
    "text": (lambda w: spoiled(w, "much"), "text 'much' at row 7"),
    "complex": (lambda w: w + 1j, "Complex data not supported"),
}


@EVERY
@pytest.mark.parametrize(("make", "words"), WEIGHTS.values(), ids=WEIGHTS)
def test_error_names_invalid_weights(kind: type, make: Any, words: str, table: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=f"(?i)sample.?weight.*{words}|{words}"):
        small(kind).fit(table.X, labelled(kind, table), sample_weight=make(np.ones(ROWS)))


@EVERY
def test_45_weight_zero_equals_absence_to_the_bit(kind: type, table: Any) -> None:
    y, weight = labelled(kind, table), (np.arange(ROWS) % 4 > 0).astype(float)
    X = table.X.copy()
    X[::4] = 1e6  # rows of weight 0 must not change the range either
    kept = weight > 0
    absent = small(kind).fit(X[kept], y[kept])
    zero = small(kind).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(predictions(zero, table.X), predictions(absent, table.X))


@EVERY
@pytest.mark.parametrize("factor", [2.0, 3.0, 1e-6, 1e200], ids="46 weights times {:g}".format)
def test_only_ratios_of_fractional_weights_matter(kind: type, factor: float, table: Any) -> None:
    y, weight = labelled(kind, table), 0.1 + (np.arange(ROWS) % 7) / 6.3
    plain = small(kind).fit(table.X, y, sample_weight=weight)
    scaled = small(kind).fit(table.X, y, sample_weight=factor * weight)
    np.testing.assert_allclose(predictions(scaled, table.X), predictions(plain, table.X), rtol=1e-6)


@EVERY
def test_46_a_constant_fractional_weight_equals_no_weight(kind: type, table: Any) -> None:
    y = labelled(kind, table)
    plain, weighted = small(kind).fit(table.X, y), small(kind).fit(table.X, y, np.full(ROWS, 1e-6))
    np.testing.assert_array_equal(predictions(weighted, table.X), predictions(plain, table.X))


@EVERY
def test_47_integer_weights_equal_copies_of_rows(kind: type, table: Any) -> None:
    y, times = labelled(kind, table), 1 + np.arange(ROWS) % 3
    # A forest draws rows with their weights, so its bags of copies differ.
    all_rows = {"bootstrap": False, "oob_score": False} if has(kind, "bootstrap") else {}
    weighted = small(kind, **all_rows).fit(table.X, y, sample_weight=times)
    twice = small(kind, **all_rows).fit(np.repeat(table.X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(
        predictions(weighted, table.X), predictions(twice, table.X), rtol=1e-9
    )


@EVERY
def test_49_error_names_a_validation_label_that_is_not_in_training(kind: type, table: Any) -> None:
    y = labelled(kind, table)
    if "X_val" not in inspect.signature(kind.fit).parameters:
        # Bagging, automatic models and least squares have no validation set.
        assert reads_no_validation_rows(kind)
        with pytest.raises(TypeError, match=r"fit\(\) has no arguments 'X_val'"):
            small(kind).fit(table.X, y, X_val=table.X, y_val=y)
        return
    held = {"X_val": table.X, "y_val": y}
    if has(kind, "pruning"):
        held |= {"params": {"pruning": "early_stopping"}}
    params = held.pop("params", {})
    if not classifies(kind):  # any number is a valid target
        held["y_val"] = y + 1.0
        small(kind, **params).fit(table.X, y, **held)
        return
    held["y_val"] = y + 1
    with pytest.raises(ValueError, match="label 2, which y does not have"):
        small(kind, **params).fit(table.X, y, **held)


LOSSES = {
    "50 negative counts": ({"loss": "poisson"}, -1.0, "needs targets at least 0, but y is -1"),
    "50 zero of a gamma": ({"loss": "gamma"}, 0.0, "needs targets above 0, but y is 0"),
    "50 negative of a tweedie": ({"loss": "tweedie"}, -1.0, "at least 0, but y is -1"),
}


@EVERY
@pytest.mark.parametrize(("params", "value", "words"), LOSSES.values(), ids=LOSSES)
def test_error_names_a_target_outside_the_domain_of_the_loss(
    kind: type, params: dict[str, Any], value: float, words: str, table: Any
) -> None:
    if not has(kind, "loss"):
        with pytest.raises(TypeError, match="loss"):
            kind(**params)
        return
    y = spoiled(table.number + 1.0, value)
    if classifies(kind) or kind is AdaBoostRegressor:
        with pytest.raises(ValueError, match=r"'loss' of .* must be"):
            small(kind, **params).fit(table.X, table.two)
        return
    with pytest.raises(ValueError, match=words):
        small(kind, **params).fit(table.X, y)

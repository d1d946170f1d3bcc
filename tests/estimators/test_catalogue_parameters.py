"""The catalogue of faults, 78 to 83: parameters and validation sets, for every estimator."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

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
from stagewise import InvalidParameterError

ROWS = 60


@pytest.fixture(scope="module")
def table() -> Any:
    return make_table(ROWS, missing=False)


@EVERY
def test_78_a_misspelt_parameter_suggests_the_nearest(kind: type) -> None:
    for name in inspect.signature(kind).parameters:
        wrong = name[:-1] if len(name) > 4 else f"{name}e"
        with pytest.raises(TypeError, match=rf"{kind.__name__} has no parameter '{wrong}'\. \w"):
            kind(**{wrong: 1})
        with pytest.raises(ValueError, match=rf"'{wrong}' for estimator"):
            kind().set_params(**{wrong: 1})


NEVER = {
    "80 NaN": math.nan,
    "81 an object": object(),
    "81 a list of objects": [object()],
    "81 an unknown word": "no such word",
}
"""What no parameter can be."""
ANY_VALUE = {"missing_values": "80 NaN"}
"""But that NaN is missing is no wish that could not be met."""


@EVERY
@pytest.mark.parametrize("what", NEVER)
def test_an_invalid_value_is_refused_by_name(kind: type, what: str, table: Any) -> None:
    for name in inspect.signature(kind).parameters:
        if ANY_VALUE.get(name) == what:
            continue
        with pytest.raises(InvalidParameterError, match=rf"\b{name}\b.* must be .*[gG]ot"):
            kind(**{name: NEVER[what]}).fit(table.X, labelled(kind, table))


POSITIVE = {
    "n_estimators",
    "learning_rate",
    "max_depth",
    "max_leaf_nodes",
    "min_samples_leaf",
    "max_bins",
    "subsample",
    "max_samples",
    "max_features",
    "validation_fraction",
    "n_iter_no_change",
    "time_limit",
    "step_size",
    "z_max",
    "alpha_enter",
}
"""Numbers above 0, of whichever estimator has them."""


@EVERY
@pytest.mark.parametrize("value", [-0.1, -3, math.inf], ids="79 {}".format)
def test_a_number_out_of_range_is_refused_by_name(kind: type, value: float, table: Any) -> None:
    for name in POSITIVE.intersection(inspect.signature(kind).parameters):
        with pytest.raises(InvalidParameterError, match=rf"'{name}' of {kind.__name__} must be"):
            kind(**{name: value}).fit(table.X, labelled(kind, table))


@EVERY
def test_81_integers_may_be_of_any_type(kind: type, table: Any) -> None:
    names = [name for name in ("n_estimators", "max_depth", "quality", "cv") if has(kind, name)]
    if not names:  # least squares has no integer parameter
        assert set(inspect.signature(kind).parameters) == {"fit_intercept", "categorical_features"}
        return
    name, y = names[0], labelled(kind, table)
    beside = {"criterion": "cv"} if name == "cv" else {}
    number = 1 if name == "quality" else 3
    plain = small(kind, **beside, **{name: number}).fit(table.X, y)
    for make in (float, np.int8, np.uint64, np.float32):
        model = small(kind, **beside, **{name: make(number)}).fit(table.X, y)
        np.testing.assert_array_equal(predictions(model, table.X), predictions(plain, table.X))


def val_arguments(kind: type) -> bool:
    return "X_val" in inspect.signature(kind.fit).parameters


HELD = {
    "83 another number of columns": ({"X_val": lambda t: t.X[:, :2]}, "X has 2 features"),
    "83 no rows": ({"X_val": lambda t: t.X[:0], "y_val": lambda t: t.two[:0]}, "X_val has no rows"),
    "83 too few targets": ({"y_val": lambda t: t.two[:9]}, r"inconsistent.*\[60, 9\]"),
    "82 missing targets": ({"y_val": lambda t: t.two * np.nan}, "60 of 60 targets are missing"),
    "83 text for a number": (
        {"X_val": lambda t: t.X.astype(str)},
        "text is not converted to numbers",
    ),
    "83 features alone": ({"y_val": lambda t: None}, "X_val and y_val go together"),
    "83 targets alone": ({"X_val": lambda t: None}, "X_val and y_val go together"),
    "82 missing weights": (
        {"sample_weight_val": lambda t: t.two * np.nan},
        "In y_val or sample_weight_val: .*NaN",
    ),
}


@EVERY
@pytest.mark.parametrize(("changed", "words"), HELD.values(), ids=HELD)
def test_error_names_an_invalid_validation_set(
    kind: type, changed: dict[str, Any], words: str, table: Any
) -> None:
    given = {"X_val": table.X, "y_val": table.two}
    given |= {name: make(table) for name, make in changed.items()}
    params = {"pruning": "early_stopping"} if has(kind, "pruning") else {}
    if not val_arguments(kind):
        # Bagging, automatic models and least squares have no validation set.
        assert reads_no_validation_rows(kind)
        with pytest.raises(TypeError, match=r"fit\(\) has no arguments? .X_val."):
            small(kind).fit(table.X, table.two, **given)
        return
    with pytest.raises(ValueError, match=words):
        small(kind, **params).fit(table.X, table.two, **given)


@EVERY
def test_a_fraction_to_hold_out_needs_early_stopping(kind: type, table: Any) -> None:
    if not has(kind, "validation_fraction"):
        return
    words = "pruning='reduced_error'" if has(kind, "pruning") else "early_stopping=True"
    for params in ({}, {"early_stopping": "cv"}) if has(kind, "early_stopping") else ({},):
        with pytest.raises(ValueError, match=rf"'validation_fraction' .* no effect.*{words}"):
            small(kind, validation_fraction=0.3, **params).fit(table.X, labelled(kind, table))


@EVERY
def test_83_a_validation_set_is_matched_by_name(kind: type, table: Any) -> None:
    if not val_arguments(kind):
        assert reads_no_validation_rows(kind)
        return
    X, y = pd.DataFrame(table.X, columns=list("abcde")), labelled(kind, table)
    params = {"pruning": "early_stopping"} if has(kind, "pruning") else {}
    straight, turned = (
        small(kind, **params).fit(X, y, X_val=X[list(order)][:20], y_val=y[:20])
        for order in ("abcde", "edcba")
    )
    np.testing.assert_array_equal(straight.validation_loss_, turned.validation_loss_)
    assert len(straight.validation_loss_)


@EVERY
def test_82_validation_targets_far_beyond_the_training_targets_are_refused(
    kind: type, table: Any
) -> None:
    if not val_arguments(kind) or classifies(kind):
        # Known labels have a finite loss; without held-out rows there is none.
        others = reads_no_validation_rows(kind) and not is_linear(kind)
        assert classifies(kind) or others or is_linear(kind)
        return
    params = {"pruning": "early_stopping"} if has(kind, "pruning") else {}
    with pytest.raises(ValueError, match="too far from the mean of the training targets"):
        small(kind, **params).fit(
            table.X, table.number * 1e-300, X_val=table.X, y_val=table.number * 1e300
        )

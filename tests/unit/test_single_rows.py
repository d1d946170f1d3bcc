"""The code of a category does not depend on the other rows of the batch."""

from __future__ import annotations

import datetime as dt
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stagewise.data import CategoricalFeatures, Features, read_table
from stagewise.errors import UnknownCategoryWarning

DAYS = [dt.date(2024, 2, 28) + dt.timedelta(days=day) for day in range(4)]
TRAINED: dict[str, list[Any]] = {
    "integers": [0, 1, 2, 2**60, 2**60 + 1],
    "fractions": [0.5, 1.0, 0.1, -np.inf],
    "text": ["a", "b", "1", "2.0"],
    "booleans": [False, True],
    "dates": DAYS[:3],
    "datetimes": [dt.datetime(2024, 2, 28, 12), dt.datetime(2024, 2, 29, 13, 5)],
    "durations": [dt.timedelta(days=1), dt.timedelta(seconds=3)],
    "numbers and text": [1, 2.5, "a", "1"],
}
CELLS = st.one_of(
    *(st.sampled_from(cells) for cells in TRAINED.values()),
    st.sampled_from([None, np.nan, np.float32(0.1), np.int8(1), DAYS[3], "", "z", 7, -1, 1e300]),
    st.integers(-3, 3),
    st.floats(allow_nan=False),
    st.text(max_size=3),
)
KINDS = pytest.mark.parametrize("trained", TRAINED.values(), ids=TRAINED)


def objects(cells: list[Any]) -> npt.NDArray[Any]:
    column = np.empty((len(cells), 1), dtype=object)
    column[:, 0] = cells
    return column


def learned(cells: list[Any]) -> Features:
    chosen = CategoricalFeatures((0,))
    return Features.learn(read_table(objects(cells), caller="Model", categorical=chosen))


def numbers(features: Features, X: Any, rule: Any) -> npt.NDArray[np.float64]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownCategoryWarning)
        found: Any = features.match(X, "Model", rule)
    column = found[:, 0] if isinstance(found, np.ndarray) else found[0]
    return np.asarray(column, dtype=np.float64)


def alone(features: Features, batch: Any, rule: Any) -> npt.NDArray[np.float64]:
    rows = [numbers(features, batch[row : row + 1], rule) for row in range(len(batch))]
    return np.concatenate(rows)


@KINDS
@pytest.mark.parametrize("rule", ["missing", "prior"])
@settings(max_examples=50)
@given(st.lists(CELLS, min_size=1, max_size=6))
def test_a_row_has_the_same_code_alone_and_in_any_batch(
    trained: list[Any], rule: str, cells: list[Any]
) -> None:
    features, batch = learned(trained), objects(cells)
    np.testing.assert_array_equal(numbers(features, batch, rule), alone(features, batch, rule))


@KINDS
@settings(max_examples=50)
@given(st.lists(CELLS, min_size=1, max_size=6))
def test_a_batch_is_refused_if_and_only_if_one_of_its_rows_is(
    trained: list[Any], cells: list[Any]
) -> None:
    features, batch = learned(trained), objects(cells)

    def refused(X: Any) -> bool:
        try:
            features.match(X, "Model", "error")
        except ValueError:
            return True
        return False

    assert refused(batch) == any(refused(batch[row : row + 1]) for row in range(len(batch)))


TYPED = {
    "integers": st.lists(st.integers(-3, 3), min_size=1, max_size=5).map(np.array),
    "doubles": st.lists(st.sampled_from([0.0, 0.5, 1.0, 0.1, 7.5, np.nan]), min_size=1).map(
        np.array
    ),
    "floats": st.lists(st.sampled_from([0.5, 0.1, 2.0]), min_size=1).map(np.float32),
    "booleans": st.lists(st.booleans(), min_size=1).map(np.array),
    "text": st.lists(st.sampled_from(["a", "1", "z"]), min_size=1).map(np.array),
    "days": st.lists(st.sampled_from(DAYS), min_size=1).map(lambda days: np.array(days, "M8[D]")),
}


@KINDS
@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, np.column_stack], ids=["pandas", "polars", "numpy"]
)
@pytest.mark.parametrize("cells", TYPED.values(), ids=TYPED)
@settings(max_examples=8)
@given(data=st.data())
def test_typed_batches_equal_single_rows(
    trained: list[Any], make: Any, cells: Any, data: Any
) -> None:
    column = data.draw(cells)
    batch = make([column]) if make is np.column_stack else make({"c": column})
    features = learned(trained)
    if make is not np.column_stack:
        features = Features([type(features[0])("c", "categorical", None, features[0].categories)])
    np.testing.assert_array_equal(
        numbers(features, batch, "prior"), alone(features, batch, "prior")
    )

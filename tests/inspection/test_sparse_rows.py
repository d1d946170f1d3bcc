"""Every function gives the same result for sparse rows and their dense copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

from stagewise import GradientBoostingRegressor
from stagewise.data.reading.missing_values import MissingValues
from stagewise.data.reading.sparse import read_sparse_cells
from stagewise.inspection import (
    accumulated_effects,
    decision_path,
    interactions,
    memory_limits,
    partial_dependence,
    permutation_importance,
    proximity,
    shap_values,
    staged_contributions,
)

RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(150, 6)) * (RNG.random((150, 6)) < 0.4)
Y = DENSE[:, 1] + DENSE[:, 2] * DENSE[:, 3]

CALLS = {
    "partial_dependence": lambda m, X: (
        partial_dependence(m, X, [1, 2], grid_resolution=4, max_samples=40).mean
    ),
    "recursion": lambda m, X: (
        partial_dependence(m, X, 1, grid_resolution=4, method="recursion").mean
    ),
    "accumulated_effects": lambda m, X: accumulated_effects(m, X, 1, grid_resolution=4).effect,
    "interactions": lambda m, X: interactions(m, X, [1, 2, 3], max_samples=30).h,
    "permutation_importance": lambda m, X: permutation_importance(m, X, Y, n_repeats=2).value,
    "proximity": lambda m, X: proximity(m, X, X),
    "staged_contributions": lambda m, X: staged_contributions(m, X).rounds,
    "decision_path": lambda m, X: np.array([p.nodes[-1] for p in decision_path(m, X[[3]]).paths]),
}


@pytest.fixture(scope="module")
def model() -> Any:
    return GradientBoostingRegressor(n_estimators=8, random_state=0).fit(csr_array(DENSE), Y)


@pytest.mark.parametrize("form", [csr_array, csc_array])
@pytest.mark.parametrize("name", CALLS)
def test_sparse_rows_equal_their_dense_copies(name: str, form: Any, model: Any) -> None:
    call = CALLS[name]
    np.testing.assert_array_equal(call(model, form(DENSE)), call(model, DENSE))


@pytest.mark.parametrize("missing", [(), (0,)])
@pytest.mark.parametrize("form", [csr_array, csc_array])
def test_selected_rows_and_columns_equal_those_of_the_dense_copy(form: Any, missing: Any) -> None:
    cells, _ = read_sparse_cells(form(DENSE), "test", MissingValues.of(missing))
    whole = np.where(DENSE == 0, np.nan, DENSE) if missing else DENSE
    np.testing.assert_array_equal(cells.dense(), whole)
    np.testing.assert_array_equal(cells.column(2), whole[:, 2])
    chosen = np.array([0, 7, 149])
    np.testing.assert_array_equal(cells.dense(chosen), whole[chosen])
    assert cells.dense(chosen[:0]).shape == (0, 6)


@pytest.mark.parametrize("name", ["accumulated_effects", "permutation_importance"])
def test_too_large_dense_copies_are_refused_with_their_size(
    name: str, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_limits, "COPY_BYTES", 100 * 6 * 8)
    message = r"sparse matrix, and a dense copy of 150 .*GiB.*Pass at most 100 rows at a time"
    with pytest.raises(ValueError, match=message):
        CALLS[name](model, csr_array(DENSE))
    with pytest.raises(ValueError, match=r"background is a sparse matrix.* at most 100 rows"):
        shap_values(model, DENSE, kind="interventional", background=csr_array(DENSE))
    # Where rows are sampled, only these become dense.
    CALLS["partial_dependence"](model, csr_array(DENSE))

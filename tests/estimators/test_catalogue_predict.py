"""The catalogue of faults, 51 to 77: shapes, names and types of new rows, for every estimator."""

from __future__ import annotations

import inspect
import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError

from estimators.every import (
    EVERY,
    classifies,
    has,
    is_linear,
    labelled,
    predictions,
    side_target,
    small,
)
from estimators.tables import hashed, make_table
from stagewise import LinearRegression, UnknownCategoryWarning

ROWS = 60
NAMES = list("abcde")


@pytest.fixture(scope="module")
def table() -> Any:
    return make_table(ROWS, missing=False)


@pytest.fixture(scope="module")
def frame(table: Any) -> pd.DataFrame:
    return pd.DataFrame(table.X, columns=NAMES)


def fitted(kind: type, X: Any, table: Any, **params: Any) -> Any:
    return small(kind, **params).fit(X, labelled(kind, table))


# ---- how many rows and columns ------------------------------------------------------------------

SHAPES = {
    "51 no rows": (lambda X: X[:0], r"0 sample\(s\) \(shape=\(0, 5\)\)"),
    "53 no columns": (lambda X: X[:, :0], r"0 feature\(s\) \(shape=\(60, 0\)\)"),
    "one dimension": (lambda X: X[:, 0], "Expected 2D array, got 1D array"),
    "three dimensions": (lambda X: X[np.newaxis], "dim 3"),
    "a number": (lambda X: 3.0, "Expected 2D array, got scalar"),
    "nothing": (lambda X: None, "Expected 2D array"),
    "rows of different lengths": (
        lambda X: [[1.0, 2.0], [3.0]],
        "row 1 has 1 cells where row 0 has 2",
    ),
    "a lazy frame": (lambda X: pl.DataFrame(X).lazy(), r"lazy frame.*collect\(\)"),
}


@EVERY
@pytest.mark.parametrize(("make", "words"), SHAPES.values(), ids=SHAPES)
def test_input_that_is_no_table_is_refused(kind: type, make: Any, words: str, table: Any) -> None:
    X = make(table.X)
    y = labelled(kind, table)[: len(X) if words.startswith("0 s") else None]
    if not (X is None and kind is LinearRegression):  # the model of the intercept alone
        with pytest.raises((TypeError, ValueError), match=words):
            small(kind).fit(X, y)
    if words.startswith("0 s"):
        return
    model = fitted(kind, table.X, table)
    with pytest.raises((TypeError, ValueError), match=words):
        model.predict(X)


@EVERY
def test_52_one_row_gives_its_own_target_and_a_warning(kind: type, table: Any) -> None:
    y = labelled(kind, table)
    with pytest.warns(UserWarning, match="y has only one (value|class)"):
        model = small(kind).fit(table.X[:1], y[:1])
    if (
        kind is LinearRegression
    ):  # of all linear models through one row, the one with the smallest coefficients
        np.testing.assert_allclose(model.predict(table.X[:1]), y[0])
        return
    np.testing.assert_array_equal(model.predict(table.X), y[0])


@EVERY
def test_54_no_rows_give_no_predictions(kind: type, table: Any, frame: Any) -> None:
    model = fitted(kind, table.X, table)
    for X in (table.X[:0], scipy.sparse.csr_array(table.X[:0])):
        if is_linear(kind) and scipy.sparse.issparse(X):
            continue  # no linear model reads sparse matrices: case 69
        assert model.predict(X).shape == (0,)
        assert model.predict(X).dtype == model.predict(table.X).dtype
        if classifies(kind):
            assert model.predict_proba(X).shape == (0, 2)
    assert fitted(kind, frame, table).predict(frame[:0]).shape == (0,)


@EVERY
@pytest.mark.parametrize("width", [1, 4, 6], ids=["55 one column", "55 one fewer", "56 one more"])
def test_another_number_of_columns_is_refused(kind: type, width: int, table: Any) -> None:
    words = f"X has {width} features, but {kind.__name__} is expecting 5 features"
    model = fitted(kind, table.X, table)
    with pytest.raises(ValueError, match=words):
        model.predict(np.zeros((2, width)))


# ---- columns by name ----------------------------------------------------------------------------


@EVERY
def test_55_error_names_missing_columns(kind: type, table: Any, frame: Any) -> None:
    model = fitted(kind, frame, table)
    with pytest.raises(ValueError, match=r"(?s)yet now missing:\n- b\n- d"):
        model.predict(frame[["a", "c", "e"]])


@EVERY
def test_58_error_has_the_old_and_new_name_of_a_renamed_column(
    kind: type, table: Any, frame: Any
) -> None:
    model = fitted(kind, frame, table)
    with pytest.raises(ValueError, match=r"(?s)unseen at fit time:\n- x\n.*now missing:\n- a"):
        model.predict(frame.rename(columns={"a": "x"}))


@EVERY
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_56_57_77_columns_of_a_frame_are_matched_by_name(
    kind: type, library: Any, table: Any, frame: Any
) -> None:
    X = library({name: table.X[:, j] for j, name in enumerate(NAMES)})
    other = {"note": ["text"] * ROWS, **{name: frame[name].to_numpy() for name in NAMES[::-1]}}
    model = fitted(kind, X, table)
    assert model.feature_names_in_.tolist() == NAMES
    plain = fitted(kind, table.X, table)
    np.testing.assert_array_equal(predictions(model, X), predictions(plain, table.X))
    np.testing.assert_array_equal(predictions(model, library(other)), predictions(plain, table.X))


@EVERY
def test_59_an_array_after_a_frame_is_used_by_position_with_one_warning(
    kind: type, table: Any, frame: Any
) -> None:
    model, plain = fitted(kind, frame, table), fitted(kind, table.X, table)
    with pytest.warns(UserWarning, match="X does not have valid feature names") as caught:
        predicted = predictions(model, table.X)
    assert len(caught) == 1
    np.testing.assert_array_equal(predicted, predictions(model, frame))
    with pytest.warns(UserWarning, match="was fitted without feature names") as caught:
        predicted = predictions(plain, frame)
    assert len(caught) == 1
    np.testing.assert_array_equal(predicted, predictions(plain, table.X))


# ---- categories ---------------------------------------------------------------------------------

CITIES = np.array(["oslo", "rom", "wien"])


def cities(table: Any, **columns: Any) -> pd.DataFrame:
    number = hashed(ROWS, 1, 9)[:, 0] % 3
    return pd.DataFrame({"x": table.X[:, 0], "city": pd.Categorical(CITIES[number]), **columns})


@EVERY
def test_60_62_categories_are_values_not_codes(kind: type, table: Any) -> None:
    X = cities(table)
    model = fitted(kind, X, table)
    turned = X.assign(city=X["city"].cat.reorder_categories(CITIES[::-1]))
    np.testing.assert_array_equal(predictions(model, turned), predictions(model, X))
    np.testing.assert_array_equal(
        predictions(fitted(kind, turned, table), X), predictions(model, X)
    )
    for city in (X["city"].astype(str), X["city"].astype(object)):
        np.testing.assert_array_equal(
            predictions(model, X.assign(city=city)), predictions(model, X)
        )


@EVERY
def test_61_an_unknown_category_is_missing_with_one_warning(kind: type, table: Any) -> None:
    X = cities(table)
    model, new = fitted(kind, X, table), X.assign(city="atlantis")
    if is_linear(kind):
        with pytest.raises(
            ValueError, match=r"'city' has unknown categories in .*: 'atlantis'.*has no coefficient"
        ):
            model.predict(new)
        return
    with pytest.warns(
        UnknownCategoryWarning, match=r"'city' has unknown categories in 60 of 60 rows: 'atlantis'"
    ) as caught:
        predicted = model.predict(new)
    assert len(caught) == 1
    np.testing.assert_array_equal(predicted, model.predict(X.assign(city=None)))
    strict = fitted(kind, X, table, handle_unknown="error")
    with pytest.raises(
        ValueError, match=r"'city' has unknown categories in .*: 'atlantis'.*Correct these values"
    ):
        strict.predict(new)
    strict.predict(X)


@EVERY
def test_61_a_rare_category_is_not_unknown(kind: type, table: Any) -> None:
    city = np.array(["rom"] * ROWS, dtype=object)
    city[:3] = ["oslo", "wien", "bern"]
    X = cities(table, city=pd.Categorical(city))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(kind, X, table).predict(X)


@EVERY
def test_63_a_missing_category_is_missing(kind: type, table: Any) -> None:
    X = cities(table)
    gone = X.assign(city=X["city"].cat.remove_categories(["rom"]))
    if is_linear(kind):
        with pytest.raises(ValueError, match="X column 'city' is missing"):
            fitted(kind, gone, table)
        return
    model = fitted(kind, gone, table)
    np.testing.assert_array_equal(
        predictions(model, gone), predictions(model, gone.astype({"city": object}))
    )


@EVERY
@pytest.mark.parametrize(
    "categories",
    [np.array([-5, -1, 7]), np.array([2**31, 2**53 + 1, 2**63 - 1]), np.array([0.5, -0.5, 1e300])],
    ids=["64 negative", "65 beyond 2**31", "64 fractions"],
)
def test_any_number_may_be_a_category(kind: type, categories: Any) -> None:
    codes = np.arange(ROWS) % 3
    X, y = categories[codes][:, np.newaxis], side_target(kind, codes == 1)
    model = small(kind, categorical_features=[0]).fit(X, y)
    np.testing.assert_allclose(model.predict(categories[:, np.newaxis]), [0, 1, 0], atol=1e-3)


@pytest.mark.filterwarnings("ignore:.*like an identifier")
@EVERY
def test_66_67_a_category_per_row_is_fitted(kind: type, table: Any) -> None:
    ids = np.array([f"id {row}" for row in range(ROWS)], dtype=object)
    X = pd.DataFrame({"x": table.X[:, 0], "id": pd.Categorical(ids)})
    if is_linear(kind):  # as many coefficients as rows
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = fitted(kind, X, table)
    else:
        model = fitted(kind, X, table)
    assert np.isfinite(predictions(model, X)).all()


@EVERY
def test_66_boosting_does_not_overfit_noise_of_a_category(kind: type) -> None:
    if not has(kind, "learning_rate") or is_linear(kind):
        # Fully grown trees have a leaf per row, and least squares a dummy per category.
        assert is_linear(kind) or not has(kind, "learning_rate")
        return
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"id": pd.Categorical(rng.integers(0, 500, 1000)), "x": rng.normal(size=1000)})
    y = rng.integers(0, 2, 1000) if classifies(kind) else rng.normal(size=1000)
    score = kind(n_estimators=20).fit(X, y).score(X, y)
    by_heart = (
        pd.Series(y == 0).groupby(X["id"].to_numpy()).transform(lambda s: abs(s.mean() - 0.5))
    )
    assert score < (0.45 + by_heart.mean() if classifies(kind) else 0.3)


# ---- types and memory ---------------------------------------------------------------------------


@EVERY
def test_68_float32_copies_have_the_predictions_of_their_originals(kind: type) -> None:
    rng = np.random.default_rng(0)
    X, number = rng.normal(size=(ROWS, 3)), rng.normal(size=ROWS)
    y = (number > 0).astype(int) if classifies(kind) else number
    model = small(kind).fit(X, y)
    single = X.astype(np.float32)
    if is_linear(kind):  # linear models use every digit
        np.testing.assert_allclose(model.predict(single), model.predict(X), rtol=1e-5, atol=1e-5)
    else:
        np.testing.assert_array_equal(predictions(model, single), predictions(model, X))


def stored_twice(X: Any) -> Any:
    """Return the same matrix with unsorted indices, and one value stored in two parts."""
    turned = scipy.sparse.csr_array(X)
    order = np.concatenate(
        [np.arange(*ends)[::-1] for ends in zip(turned.indptr, turned.indptr[1:], strict=False)]
    )
    halves = np.repeat(turned.data[order] / 2, 2)
    return scipy.sparse.csr_array(
        (halves, np.repeat(turned.indices[order], 2), 2 * turned.indptr), shape=turned.shape
    )


SPARSE = {
    "69 by rows": scipy.sparse.csr_array,
    "69 by columns": scipy.sparse.csc_array,
    "69 by cells": scipy.sparse.coo_array,
    "70 out of order and twice": stored_twice,
    "71 wide indices": lambda X: wide_indices(scipy.sparse.csr_array(X)),
}


def wide_indices(X: Any) -> Any:
    X.indptr, X.indices = X.indptr.astype(np.int64), X.indices.astype(np.int64)
    return X


@EVERY
@pytest.mark.parametrize("make", SPARSE.values(), ids=SPARSE)
def test_a_sparse_matrix_equals_its_dense_copy(kind: type, make: Any, table: Any) -> None:
    dense = np.where(table.X > 2500, table.X, 0.0)
    X = make(dense)
    if is_linear(kind):
        with pytest.raises(ValueError, match=r"X is a sparse matrix.*X\.toarray\(\)"):
            fitted(kind, X, table)
        return
    params = {}
    if has(kind, "split") and kind().split == "exact":  # which sorts all rows of every column
        with pytest.raises(ValueError, match=r"split='exact' .* X is a sparse matrix"):
            fitted(kind, X, table)
        params = {"split": "histogram"}
    model, plain = fitted(kind, X, table, **params), fitted(kind, dense, table, **params)
    np.testing.assert_array_equal(predictions(model, dense), predictions(plain, dense))
    np.testing.assert_array_equal(predictions(plain, X), predictions(plain, dense))


def read_only(X: Any) -> Any:
    X = X.copy()
    X.setflags(write=False)
    return X


MEMORY = {
    "72 read-only": read_only,
    "73 by columns": np.asfortranarray,
    "73 every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "73 backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "73 the other byte order": lambda X: X.astype(">f8"),
    "lists": lambda X: X.tolist(),
}


@EVERY
@pytest.mark.parametrize("make", MEMORY.values(), ids=MEMORY)
def test_memory_layout_does_not_matter(kind: type, make: Any, table: Any) -> None:
    model, plain = fitted(kind, make(table.X), table), fitted(kind, table.X, table)
    np.testing.assert_array_equal(predictions(model, table.X), predictions(plain, table.X))
    np.testing.assert_array_equal(predictions(plain, make(table.X)), predictions(plain, table.X))


@EVERY
def test_72_a_memory_map_is_read(kind: type, table: Any, tmp_path: Any) -> None:
    np.save(tmp_path / "x.npy", table.X)
    X = np.load(tmp_path / "x.npy", mmap_mode="r")
    model = fitted(kind, X, table)
    np.testing.assert_array_equal(
        predictions(model, X), predictions(fitted(kind, table.X, table), table.X)
    )


@EVERY
def test_74_arguments_are_not_modified(kind: type, table: Any, frame: Any) -> None:
    X, y, weight = table.X.copy(), labelled(kind, table).copy(), 0.5 + np.arange(ROWS) % 3
    model = small(kind).fit(X, y, sample_weight=weight)
    model.predict(X)[:] = 0
    np.testing.assert_array_equal(X, table.X)
    np.testing.assert_array_equal(y, labelled(kind, table))
    np.testing.assert_array_equal(weight, 0.5 + np.arange(ROWS) % 3)
    copy = frame.copy()
    fitted(kind, copy, table).predict(copy)
    pd.testing.assert_frame_equal(copy, frame)


@EVERY
def test_75_a_prediction_does_not_depend_on_other_rows(kind: type, table: Any) -> None:
    X = make_table(ROWS, seed=4, missing=not is_linear(kind)).X
    model = fitted(kind, table.X, table)
    whole = predictions(model, X)
    for size in (1, 7, 33):
        parts = [predictions(model, X[start : start + size]) for start in range(0, ROWS, size)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)


@EVERY
def test_75_the_category_of_a_row_does_not_depend_on_other_rows(kind: type, table: Any) -> None:
    code = hashed(ROWS, 5, 3)
    X = pd.DataFrame(
        {
            "city": cities(table)["city"].astype(object),
            "code": code[:, 0] % 5,
            "part": (code[:, 1] % 4) / 4,
            "flag": code[:, 2] % 2 == 0,
            "day": np.datetime64("2024-02-28") + code[:, 3] % 3,
            "both": np.array([1, "1", 2.5, "b"], dtype=object)[code[:, 4] % 4],
        }
    )
    model = fitted(kind, X, table, categorical_features=list(X.columns))
    if not is_linear(kind):  # which refuse unknown categories in any batch
        X = X.astype(object)
        for place, column in enumerate(X.columns):
            X.loc[5 * place, column] = [None, "atlantis", 0.125][place % 3]
            X.loc[5 * place + 1, column] = "thule"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownCategoryWarning)
        whole = predictions(model, X)
        alone = [predictions(model, X.iloc[row : row + 1]) for row in range(0, 26, 5)]
    np.testing.assert_array_equal(np.concatenate(alone), whole[:26:5])


@EVERY
def test_76_use_before_fit_is_an_error(kind: type, table: Any) -> None:
    with pytest.raises(NotFittedError, match=rf"{kind.__name__} instance is not fitted yet"):
        small(kind).predict(table.X)


@EVERY
def test_a_failed_fit_leaves_the_estimator_unchanged(kind: type, table: Any, frame: Any) -> None:
    model = fitted(kind, table.X, table)
    before = predictions(model, table.X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(frame[["a", "b"]], np.full(ROWS, np.nan))
    assert model.n_features_in_ == 5
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(predictions(model, table.X), before)


NEEDS_MORE = ("distill", "fit", "report", "predict_interval", "predict_set", "predict_dist")
"""Methods that need further arguments, or a fit with other parameters."""


@EVERY
def test_every_public_attribute_of_a_fitted_model_can_be_used(kind: type, table: Any) -> None:
    model = fitted(kind, table.X, table)
    for name in dir(model):
        if name.startswith("_") or not hasattr(model, name):
            continue
        its = getattr(model, name)
        needed = [] if not callable(its) or isinstance(its, type) else required_arguments(its)
        if callable(its) and needed == ["X"] and name not in NEEDS_MORE:
            list(its(table.X))


def required_arguments(method: Any) -> list[str]:
    """Return the names of the arguments that have no default."""
    return [
        name
        for name, argument in inspect.signature(method).parameters.items()
        if argument.default is argument.empty
        and argument.kind in (argument.POSITIONAL_ONLY, argument.POSITIONAL_OR_KEYWORD)
    ]


@EVERY
def test_77_nullable_columns_are_read(kind: type, table: Any) -> None:
    whole = np.floor(table.X).astype(int)
    X = pd.DataFrame(whole, columns=NAMES).astype("Int64")
    model = fitted(kind, X, table)
    np.testing.assert_array_equal(predictions(model, X), predictions(model, X.astype("int64")))
    if has(kind, "learner") or not is_linear(kind):
        X.loc[3, "a"] = pd.NA
        assert np.isfinite(predictions(model, X)).all()
    else:
        X.loc[3, "a"] = pd.NA
        with pytest.raises(ValueError, match=re.escape("'a' is missing (NaN) at row 3")):
            model.predict(X)

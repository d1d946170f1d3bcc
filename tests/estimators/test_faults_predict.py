"""What users meet at predict: columns by name and number, any memory, any number of rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import stagewise
from estimators.tables import hashed, make_table, quick
from stagewise import GradientBoostingClassifier, GradientBoostingRegressor

ROWS = 300


@pytest.fixture(scope="module")
def table():
    return make_table(ROWS, missing=False)


@pytest.fixture(scope="module")
def model(table):
    return fitted(table.X, table)


def fitted(X, table):
    """Fit X, which is the table's own in another form."""
    return quick(GradientBoostingRegressor).fit(X, table.number)


# ---- columns, by name and number ----------------------------------------------------------------

ODD_NAMES = ["a[b]", "<x>", '"q"', "{}:", "ünï", "日本語", "", "\n\t", "\x00", "😀 ", "a" * 5000]


@pytest.fixture(scope="module")
def frame(table):
    return pd.DataFrame(table.X, columns=list("abcde"))


@pytest.fixture(scope="module")
def named(frame, table):
    return quick(GradientBoostingRegressor).fit(frame, table.number)


def test_columns_may_have_any_names(tmp_path, table):
    X = pd.DataFrame(hashed(ROWS, len(ODD_NAMES)), columns=ODD_NAMES)
    model = fitted(X, table)
    assert model.feature_names_in_.tolist() == ODD_NAMES
    np.testing.assert_array_equal(model.predict(X[ODD_NAMES[::-1]]), model.predict(X))
    model.save(tmp_path / "m.stgw")


def test_columns_may_have_names_that_are_no_valid_text(tmp_path, table):
    # Broken bytes in a file's header become lone surrogates. pandas keeps them as objects only.
    names = ["\ud800", "a", "b \udcff", "c", "d"]
    frame, mixed = (
        pd.DataFrame(table.X[:, order], columns=pd.Index([names[j] for j in order], dtype=object))
        for order in ([0, 1, 2, 3, 4], [2, 4, 0, 3, 1])
    )
    model = fitted(frame, table)
    model.save(tmp_path / "m.stgw")
    loaded = stagewise.load(tmp_path / "m.stgw")
    assert loaded.feature_names_in_.tolist() == names
    for X in (frame, mixed, pd.concat([mixed] * 50)):
        np.testing.assert_array_equal(loaded.predict(X)[:ROWS], model.predict(frame))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_a_frame_is_matched_by_name(library, named, table):
    X = library(dict(zip("abcde", table.X.T, strict=True)))
    np.testing.assert_array_equal(named.predict(X[list("dbeac")]), named.predict(X))
    small = library({name: X[name][:4] for name in "ecabd"})
    np.testing.assert_array_equal(named.predict(small), named.predict(X)[:4])


def test_columns_that_are_no_features_are_not_looked_at(named, frame):
    wider = frame.assign(note="text", price=[None] * ROWS)
    np.testing.assert_array_equal(named.predict(wider), named.predict(frame))


def test_a_missing_column_is_named(named, frame):
    with pytest.raises(ValueError, match=r"(?s)yet now missing:\n- b\n- d"):
        named.predict(frame[["a", "c", "e"]])


def test_a_renamed_column_is_named_both_ways(named, frame):
    with pytest.raises(ValueError, match=r"(?s)unseen at fit time:\n- x\n.*now missing:\n- a"):
        named.predict(frame.rename(columns={"a": "x"}))


@pytest.mark.parametrize("width", [1, 4, 6])
def test_another_number_of_columns_is_refused(width, model):
    words = f"X has {width} features, but GradientBoostingRegressor is expecting 5 features"
    with pytest.raises(ValueError, match=words):
        model.predict(np.zeros((2, width)))
    with pytest.raises(ValueError, match=words):
        model.predict(np.zeros((100, width), order="F"))


def test_an_array_after_a_frame_is_used_by_place_with_a_warning(named, frame, table):
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        predicted = named.predict(table.X)
    np.testing.assert_array_equal(predicted, named.predict(frame))


def test_a_frame_after_an_array_is_used_by_place_with_a_warning(model, frame, table):
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        predicted = model.predict(frame)
    np.testing.assert_array_equal(predicted, model.predict(table.X))


def test_names_that_are_only_counted_are_no_names(model, table):
    np.testing.assert_array_equal(model.predict(pd.DataFrame(table.X)), model.predict(table.X))


def test_two_columns_of_one_name_are_refused(table):
    with pytest.raises(ValueError, match=r"duplicate column names: 'a'"):
        quick(GradientBoostingRegressor).fit(
            pd.DataFrame(table.X, columns=list("abcda")), table.number
        )


def test_names_of_mixed_types_are_refused(table):
    with pytest.raises(TypeError, match=r"types int, str.*astype\(str\)"):
        quick(GradientBoostingRegressor).fit(
            pd.DataFrame(table.X, columns=["a", 1, 2, 3, 4]), table.number
        )


def test_several_levels_of_names_are_one_name_each(table):
    columns = pd.MultiIndex.from_product([["x"], range(5)])
    model = quick(GradientBoostingRegressor).fit(
        pd.DataFrame(table.X, columns=columns), table.number
    )
    assert model.feature_names_in_[0] == "('x', 0)"
    model.predict(pd.DataFrame(table.X, columns=columns))


# ---- memory -------------------------------------------------------------------------------------


def memmap_of(X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    return np.load(tmp_path / "x.npy", mmap_mode="r")


def packed_field(X):
    """A column after one byte of padding: neither aligned nor a whole number of elements apart."""
    records = np.zeros(len(X), dtype=[("pad", "u1"), ("x", "f8")])
    records["x"] = X[:, 0]
    return records["x"][:, np.newaxis]


def test_a_memory_map_that_cannot_be_written_is_read(table, model, tmp_path):
    X = memmap_of(table.X, tmp_path)
    assert fitted(X, table).fingerprint() == model.fingerprint()
    np.testing.assert_array_equal(model.predict(X), model.predict(table.X))
    np.testing.assert_array_equal(model.predict(X[:2]), model.predict(table.X[:2]))


def test_one_row_seen_many_times_is_read(table, model):
    X = np.broadcast_to(table.X[3], (ROWS, 5))
    assert X.strides[0] == 0
    np.testing.assert_array_equal(model.predict(X), np.repeat(model.predict(table.X[3:4]), ROWS))
    with pytest.warns(UserWarning, match="Every feature is constant"):
        fitted(X, table)


def test_one_column_seen_many_times_is_read(table):
    X = np.broadcast_to(table.X[:, :1], (ROWS, 4))
    assert X.strides[1] == 0
    copied = fitted(np.ascontiguousarray(X), table)
    assert fitted(X, table).fingerprint() == copied.fingerprint()


def test_a_field_of_packed_records_is_read(table):
    X = packed_field(table.X)
    assert not X.flags.aligned
    plain = fitted(table.X[:, :1], table)
    assert fitted(X, table).fingerprint() == plain.fingerprint()
    np.testing.assert_array_equal(plain.predict(X[:3]), plain.predict(table.X[:3, :1]))


@pytest.mark.parametrize("early_stopping", [False, True])
def test_what_is_passed_in_is_not_changed(early_stopping, table):
    given = {
        "X": table.X.copy(),
        "y": table.many.copy(),
        "sample_weight": 1.0 + table.two,
        "X_val": table.X[:50].copy(),
        "y_val": table.many[:50].copy(),
        "sample_weight_val": np.full(50, 2.0),
    }
    before = {name: array.copy() for name, array in given.items()}
    model = quick(GradientBoostingClassifier, early_stopping=early_stopping).fit(**given)
    model.predict_proba(given["X"])
    for name, array in given.items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_a_prediction_is_the_callers_own(model, table):
    for X in (table.X, table.X[:3]):
        first = model.predict(X)
        kept = first.copy()
        first[:] = 0
        np.testing.assert_array_equal(model.predict(X), kept)


# ---- how many rows at once ----------------------------------------------------------------------


def test_no_rows_give_no_predictions(table):
    regressor = fitted(table.X, table)
    assert regressor.predict(table.X[:0]).shape == (0,)
    assert regressor.apply(table.X[:0]).shape == (0, 8)
    assert [p.shape for p in regressor.staged_predict(table.X[:0])] == [(0,)] * 8
    classifier = quick(GradientBoostingClassifier).fit(table.X, table.many)
    assert classifier.predict(table.X[:0]).shape == (0,)
    assert classifier.predict(table.X[:0]).dtype == table.many.dtype
    assert classifier.predict_proba(table.X[:0]).shape == (0, 5)
    assert classifier.decision_function(table.X[:0]).shape == (0, 5)


@pytest.mark.parametrize("size", [1, 2, 31, 32, 33, 64, 299])
@pytest.mark.parametrize("target", ["number", "two", "many"])
def test_a_row_is_predicted_the_same_in_any_company(size, target, table):
    # Up to 32 rows are walked one by one, more in blocks.
    kind = GradientBoostingRegressor if target == "number" else GradientBoostingClassifier
    X = make_table(ROWS, seed=4).X
    model = quick(kind, n_estimators=20).fit(table.X, getattr(table, target))
    for method in ("predict",) if target == "number" else ("predict_proba", "decision_function"):
        predict = getattr(model, method)
        whole = predict(X)
        parts = [predict(X[start : start + size]) for start in range(0, ROWS, size)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
        parts = [
            predict(np.asfortranarray(X[start : start + size], dtype=np.float32))
            for start in range(0, ROWS, size)
        ]
        np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_probabilities_of_many_classes_do_not_depend_on_company():
    table = make_table(ROWS)
    y = np.arange(ROWS) % 33
    model = quick(GradientBoostingClassifier, n_estimators=3, min_samples_leaf=2).fit(table.X, y)
    whole = model.predict_proba(table.X)
    one_by_one = np.vstack([model.predict_proba(table.X[i : i + 1]) for i in range(ROWS)])
    np.testing.assert_array_equal(one_by_one, whole)


def test_training_in_float64_and_predicting_in_float32_agree():
    # Cuts lie between values in both precisions, unless float32 cannot tell the values apart.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    model = quick(GradientBoostingRegressor, max_leaf_nodes=300, min_samples_leaf=1).fit(
        X, rng.normal(size=1000)
    )
    np.testing.assert_array_equal(model.predict(X.astype(np.float32)), model.predict(X))

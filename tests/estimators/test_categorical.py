"""Categorical columns through the estimators; nothing here depends on how splits are found."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score

import stagewise
from estimators.cities import NAMES, ROWS, cities, fitted, frame, unknown
from estimators.tables import make_table, quick
from stagewise import (
    AdaBoostClassifier,
    GentleBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    InvalidParameterError,
    LogitBoostClassifier,
    StagewiseClassifier,
    StagewiseRegressor,
    UnknownCategoryWarning,
)
from stagewise.model.file.format import encode

SIMPLE = [AdaBoostClassifier, GentleBoostClassifier, LogitBoostClassifier]
ALL = [
    *SIMPLE,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    StagewiseClassifier,
    StagewiseRegressor,
]


@pytest.fixture(scope="module")
def table():
    return make_table(ROWS)


def small(kind, **params):
    return kind(**{"n_estimators": 5, **params})


def target(kind, table):
    return table.number if kind.__name__.endswith("Regressor") else table.two


# ---- every estimator ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ALL)
def test_every_tree_estimator_learns_from_categories(kind, table):
    X, y = frame(table), target(kind, table)
    model = small(kind).fit(X, y)
    assert model.model_.features.n_categories_per_feature() == [0, 7]
    text = X.astype({"city": object})
    named = small(kind, categorical_features=["city"]).fit(text, y)
    assert named.fingerprint() == model.fingerprint()
    np.testing.assert_array_equal(model.predict(text), named.predict(X))
    with pytest.raises(ValueError, match=r"X column 'city' holds the text"):
        small(kind).fit(text, y)
    with pytest.raises(ValueError, match=r"X column 'city' is categorical"):
        small(kind, categorical_features=None).fit(X, y)


@pytest.mark.parametrize("name", ["categorical_features", "handle_unknown"])
def test_categorical_parameters_without_effect_are_refused(name, table):
    value = {"categorical_features": [0], "handle_unknown": "error"}[name]
    model = StagewiseRegressor(learner=LinearRegression(), **{name: value})
    with pytest.raises(InvalidParameterError, match=f"{name!r} .* has no effect"):
        model.fit(table.X[:, :1], table.number)


def test_two_categories_are_separated(table):
    y = np.array([float(city in ("rom", "lima")) for city in cities(table)])
    model = quick(GradientBoostingRegressor).fit(frame(table)[["city"]], y)
    predicted = dict(zip(NAMES, model.predict(pd.DataFrame({"city": NAMES})), strict=True))
    assert min(predicted["rom"], predicted["lima"]) > max(predicted["oslo"], predicted["wien"])


def test_tags_state_which_estimators_accept_categories():
    assert GradientBoostingRegressor(n_estimators=100).__sklearn_tags__().input_tags.categorical
    assert StagewiseRegressor().__sklearn_tags__().input_tags.categorical
    other = StagewiseRegressor(learner=LinearRegression())
    assert not other.__sklearn_tags__().input_tags.categorical


def test_scikit_learns_folds_keep_categories(table):
    scores = cross_val_score(quick(GradientBoostingRegressor), frame(table), table.number, cv=3)
    assert np.isfinite(scores).all()


# ---- the parameter ------------------------------------------------------------------------------


def test_names_positions_and_masks_mean_the_same(table):
    X = frame(table).astype({"city": object})
    prints = {
        fitted(X, table, categorical_features=selected).fingerprint()
        for selected in (
            *("text", ["city"], ("city",), [1], [np.int64(1)], [False, True]),
            *(np.array([False, True]), np.array([1]), np.array(["city"]), X.columns[1:]),
        )
    }
    assert len(prints) == 1


def test_arrays_of_objects_and_frames_give_the_same_model(table):
    X = frame(table)
    as_objects = X.astype(object).to_numpy()
    model = fitted(as_objects, table, categorical_features=[1])
    assert model.fingerprint() == fitted(X, table).fingerprint()
    np.testing.assert_array_equal(model.predict(as_objects), fitted(X, table).predict(X))


def test_every_library_gives_the_same_model(table):
    pandas = frame(table)
    polars = pl.DataFrame({"x": table.X[:, 0], "city": cities(table)})
    enum = pl.Enum(sorted(NAMES, reverse=True))
    tables = [
        pandas,
        polars.with_columns(pl.col("city").cast(pl.Categorical)),
        polars.with_columns(pl.col("city").cast(enum)),
        pa.table({"x": table.X[:, 0], "city": pa.array(cities(table)).dictionary_encode()}),
    ]
    assert len({fitted(X, table).fingerprint() for X in tables}) == 1
    for X in tables:
        np.testing.assert_array_equal(
            fitted(tables[0], table).predict(X[:50]), fitted(X, table).predict(pandas[:50])
        )


@pytest.mark.parametrize(
    ("selected", "words"),
    [
        (["town"], "'town', which X does not have"),
        ([5], "column 5, and X has 2 columns"),
        ([True], "mask of 1 booleans, but X has 2 columns"),
        (["city", "city"], "'city' twice"),
    ],
)
def test_error_names_columns_that_do_not_exist(selected, words, table):
    with pytest.raises(ValueError, match=words):
        fitted(frame(table), table, categorical_features=selected)


def test_a_clone_and_a_file_keep_the_parameters(table, tmp_path):
    selected = np.array([False, True])
    model = fitted(frame(table), table, categorical_features=selected, handle_unknown="prior")
    model.save(tmp_path / "m.stgw")
    loaded = stagewise.load(tmp_path / "m.stgw")
    assert loaded.categorical_features == [False, True]
    assert loaded.handle_unknown == clone(model).handle_unknown == "prior"
    assert loaded.fit(frame(table), table.number).fingerprint() == model.fingerprint()


# ---- invariants ---------------------------------------------------------------------------------


def test_codes_and_order_of_categories_do_not_matter(table):  # fault 60
    city = cities(table)
    orders = [sorted(NAMES), sorted(NAMES, reverse=True), ["unused", *NAMES, "other"]]
    models = [fitted(frame(table, pd.Categorical(city, order)), table) for order in orders]
    assert len({model.fingerprint() for model in models}) == 1
    assert len({encode(model.model_) for model in models}) == 1
    for order in orders:
        X = frame(table, pd.Categorical(city, order))
        np.testing.assert_array_equal(models[0].predict(X), models[0].predict(frame(table)))


def test_the_order_of_rows_does_not_matter(table):
    order = np.random.default_rng(0).permutation(ROWS)
    X = frame(table)
    one = fitted(X, table)
    other = quick(GradientBoostingRegressor).fit(X.iloc[order], table.number[order])
    assert one.model_.features == other.model_.features


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_threads_do_not_matter(n_jobs, table):
    X = frame(table)
    assert fitted(X, table, n_jobs=n_jobs).fingerprint() == fitted(X, table).fingerprint()


def test_weights_equal_repeated_rows(table):
    X, weight = frame(table), np.arange(ROWS) % 3
    # A category that only rows of weight zero have is no category.
    X["city"] = X["city"].cat.add_categories(["nowhere"])
    X.loc[weight == 0, "city"] = "nowhere"
    weighted = quick(GradientBoostingRegressor).fit(X, table.number, weight)
    rows = np.repeat(np.arange(ROWS), weight)
    repeated = quick(GradientBoostingRegressor).fit(X.iloc[rows], table.number[rows])
    assert weighted.fingerprint() == repeated.fingerprint()
    assert "nowhere" not in weighted.model_.features[1].categories.values


def test_rows_are_predicted_alone_as_in_a_batch(table):
    X = frame(table)
    model = fitted(X, table)
    together = model.predict(X)
    for row in range(10):
        np.testing.assert_array_equal(model.predict(X[row : row + 1]), together[row : row + 1])
    np.testing.assert_array_equal(
        np.concatenate([model.predict(X[:17]), model.predict(X[17:])]), together
    )


def test_every_way_to_predict_agrees(table):
    X = frame(table)
    model = quick(GradientBoostingClassifier).fit(X, table.many)
    text = X.astype({"city": object})
    np.testing.assert_array_equal(model.apply(X), model.apply(text))
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(text))
    *_, last = model.staged_predict_proba(text)
    np.testing.assert_array_equal(last, model.predict_proba(X))


# ---- faults -------------------------------------------------------------------------------------


def test_text_columns_are_categorical_or_refused(table):  # fault 21
    X = frame(table).astype({"city": object})
    with pytest.raises(ValueError, match=r"'city' holds the text.*'city': 'category'"):
        fitted(X, table)
    assert fitted(X, table, categorical_features="text").predict(X).shape == (ROWS,)


def test_types_are_distinguished_in_mixed_columns(table):  # fault 24
    codes = np.nan_to_num(table.X[:, 1], nan=-1).astype(int)
    values = {-1: None, 0: 1, 1: "1", 2: 2.5, 3: "2.5", 4: True, 5: float("nan"), 6: "True"}
    X = np.empty((ROWS, 1), dtype=object)
    X[:, 0] = [values[code] for code in codes]
    model = fitted(X, table, categorical_features=[0])
    assert model.model_.features[0].categories.values == (1, 2.5, "1", "2.5", "True")
    again = pickle.loads(pickle.dumps(model))
    assert again.model_.features == model.model_.features
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("form", ["int64", "float32", "Int64", "object", "str", "category"])
def test_a_category_type_may_be_another_type_at_predict(form, table):  # fault 62
    codes = np.nan_to_num(table.X[:, 1]).astype(int)
    X = pd.DataFrame({"x": table.X[:, 0], "c": pd.Categorical(codes)})
    model = fitted(X, table)
    np.testing.assert_array_equal(
        model.predict(X.assign(c=codes).astype({"c": form})), model.predict(X)
    )


def test_text_may_be_integers_at_predict(table):  # fault 62
    codes = np.nan_to_num(table.X[:, 1]).astype(int)
    X = pd.DataFrame({"x": table.X[:, 0], "c": codes.astype(str)})
    model = fitted(X, table, categorical_features=["c"])
    np.testing.assert_array_equal(model.predict(X.assign(c=codes)), model.predict(X))


@pytest.mark.parametrize("gone", [None, np.nan, pd.NA, pd.NaT])
def test_missing_categories_are_missing(gone, table):  # fault 63
    X = frame(table)
    model = fitted(X, table)
    objects = pd.DataFrame({"x": [1.0, 1.0], "city": pd.Series([gone, None], dtype=object)})
    first, second = model.predict(objects)
    assert first == second
    assert None not in model.model_.features[1].categories.values


@pytest.mark.parametrize("first", [-5, -(2**40), 2**31, 2**53, 2**63 - 3])
def test_codes_of_any_size_and_sign_are_exact(first, table):  # faults 64, 65
    codes = np.nan_to_num(table.X[:, 1]).astype(int) % 3
    plain = fitted(pd.DataFrame({"c": pd.Categorical(NAMES[codes], sorted(NAMES))}), table)
    ids = [int(first) + int(code) for code in codes]
    X = pl.DataFrame({"c": ids})
    model = fitted(X, table, categorical_features=["c"])
    assert model.model_.features[0].categories.values == (first, first + 1, first + 2)
    order = np.argsort(NAMES[:3])
    renamed = fitted(pl.DataFrame({"c": NAMES[order][codes]}), table, categorical_features=["c"])
    np.testing.assert_array_equal(
        model.predict(X), renamed.predict(pl.DataFrame({"c": NAMES[order][codes]}))
    )
    assert plain.model_.features.n_categories_per_feature() == [3]


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
@pytest.mark.filterwarnings("ignore:.*like an identifier")
def test_many_categories_are_supported(table):
    X = pd.DataFrame({"id": [f"id {n}" for n in range(ROWS)]})
    model = fitted(X, table, categorical_features="text")
    assert model.model_.features.n_categories_per_feature() == [ROWS]


# ---- changed column types -----------------------------------------------------------------------


def test_a_frame_with_other_column_types_is_refused(table):
    X = frame(table)
    model = fitted(X, table)
    with pytest.warns(
        UnknownCategoryWarning, match=r"'city' has unknown .* numbers, but its categories are text"
    ):
        model.predict(X.assign(city=table.X[:, 0]))
    with pytest.raises(ValueError, match=r"'x' is categorical.*It was a numeric column"):
        model.predict(X.assign(x=X["city"]))
    with pytest.raises(ValueError, match=r"'x' holds the text.*It was a numeric column"):
        model.predict(X.assign(x=X["city"].astype(object)))


# ---- continuing, saving -------------------------------------------------------------------------


def test_a_continued_fit_equals_an_uninterrupted_one(table):
    X = frame(table)
    model = quick(GradientBoostingRegressor, warm_start=True).fit(X, table.number)
    text = X.astype({"city": object})  # the column types of the model are used
    model.set_params(n_estimators=15).fit(text, table.number)
    whole = quick(GradientBoostingRegressor, n_estimators=15).fit(X, table.number)
    assert model.fingerprint() == whole.fingerprint()
    model.set_params(categorical_features=["x", "city"], n_estimators=20)
    with pytest.raises(
        ValueError, match=r"columns are \['city'\], but categorical_features is \['x', 'city'\]"
    ):
        model.fit(X, table.number)
    model.set_params(categorical_features=["city"]).fit(unknown(table), table.number)
    assert model.fit_report_["unknown_category_counts"] == {"city": cities(table).count("rom")}


def test_cross_validation_learns_from_categories(table):
    X = frame(table)
    model = fitted(X, table, early_stopping=3)
    assert np.isfinite(model.oof_prediction_).all()


def test_a_saved_model_is_restored(table, tmp_path):
    X = frame(table)
    model = quick(GradientBoostingClassifier).fit(X, table.many)
    model.save(tmp_path / "m.stgw")
    for again in (stagewise.load(tmp_path / "m.stgw"), pickle.loads(pickle.dumps(model))):
        assert again.fingerprint() == model.fingerprint()
        assert again.model_.features == model.model_.features
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_other_categories_give_another_fingerprint(table):
    X = frame(table)
    other = X.assign(city=X["city"].cat.rename_categories({"riga": "riga!"}))
    assert fitted(X, table).fingerprint() != fitted(other, table).fingerprint()


def test_missing_values_are_missing_in_categories_too(table):
    codes = np.nan_to_num(table.X[:, 1], nan=-999).astype(int)
    X = pl.DataFrame({"c": codes})
    params = {"missing_values": -999, "categorical_features": ["c"]}
    model = fitted(X, table, **params)
    assert model.model_.features[0].categories.values == (0, 1, 2, 3, 4, 5, 6)
    assert model.fit_report_["missing_value_counts"] == {"c": int((codes == -999).sum())}
    plain = pl.DataFrame({"c": [None if code == -999 else code for code in codes.tolist()]})
    assert model.fingerprint() == fitted(plain, table, categorical_features=["c"]).fingerprint()
    np.testing.assert_array_equal(model.predict(X), model.predict(plain))

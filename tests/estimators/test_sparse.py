"""Dense and sparse copies of a matrix give the same model, to the byte."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from estimators.tables import CASES, hashed, quick
from stagewise import (
    AdaBoostClassifier,
    FeatureSampling,
    GentleBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    InvalidParameterError,
    SplitSearch,
    StagewiseClassifier,
    load,
)

pytestmark = pytest.mark.native

ROWS, COLUMNS = 600, 30
NO_SPARSE = {
    "every value",
    "proposed values",
    "categories",
    "statistics of levels",
    "vectors of targets",
    "vectors of classes",
    "linear leaves",
    "linear leaves of classes",
    "linear leaves, quantile, dropout",
    "a forest of five classes by entropy",
    "extra trees by absolute error",
    "one tree of classes",
    "one tree of numbers",
}
SPARSE_CASES = pytest.mark.parametrize("case", [c for c in CASES if c not in NO_SPARSE])


def make_sparse(rows=ROWS, columns=COLUMNS, every=10, seed=0):
    """Return a dense table with one value in `every` that is not 0, and three targets."""
    cells = hashed(rows, columns, seed)
    X = np.where(cells % every == 0, (cells // 4096 % 64) / 4.0 - 4.0, 0.0)
    X[:, 0::3] = X[:, 0::3] != 0.0  # flags
    X[:, 1] = 0.0
    X[:, 2] = np.nan
    X[:, 4] = np.where(cells[:, 4] % 11 == 0, np.nan, X[:, 4])
    signal = (
        np.nan_to_num(X[:, 3:20]) @ (1.0 + np.arange(17) % 5)
        + hashed(rows, 1, seed + 1)[:, 0] / 2.0**22
    )
    two = (signal > np.median(signal)).astype(int)
    return X, signal, two, np.digitize(signal, np.quantile(signal, [0.2, 0.5, 0.7]))


@pytest.fixture(scope="module")
def table():
    return make_sparse()


def fit(case, X, table, **params):
    kind, target, own = CASES[case]
    own = {**own, **params}
    drawn, split = own.get("max_features"), own.get("split")
    if isinstance(drawn, FeatureSampling) and drawn.weights is not None:
        weights = [1 + j % 3 for j in range(COLUMNS)]
        own["max_features"] = clone(drawn).set_params(weights=weights)
    if isinstance(split, SplitSearch) and split.forced_splits is not None:
        forced = {"feature": 5, "threshold": 0.5}
        own["split"] = clone(split).set_params(forced_splits=forced)
    numbers = np.column_stack([table[1], table[1] ** 2 + table[2]])
    y = {"number": table[1], "numbers": numbers, "two": table[2], "many": table[3]}[target]
    model = kind(**{"n_estimators": 5, "min_samples_leaf": 5, **own})
    return model.fit(X, y)


@SPARSE_CASES
def test_every_method_gives_the_model_of_the_dense_copy(case, table):
    dense = fit(case, table[0], table)
    sparse = fit(case, sp.csr_array(table[0]), table)
    assert sparse.fingerprint() == dense.fingerprint()
    assert any(len(tree.feature) > 1 for tree in dense.model_.ensemble.trees)
    X = sp.csc_array(table[0])
    np.testing.assert_array_equal(sparse.predict(X), dense.predict(table[0]), strict=True)
    np.testing.assert_array_equal(sparse.apply(X), dense.apply(table[0]), strict=True)
    assert sparse.train_loss_.tobytes() == dense.train_loss_.tobytes()


@pytest.mark.parametrize("loss", ["huber", "quantile", "poisson", "gamma", "tweedie"])
def test_every_loss_gives_the_model_of_the_dense_copy(loss, table):
    y = table[1] - table[1].min() + 1.0
    models = [
        quick(GradientBoostingRegressor, loss=loss).fit(X, y)
        for X in (table[0], sp.csr_matrix(table[0]))
    ]
    assert models[0].fingerprint() == models[1].fingerprint()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(0, 2**31),
    st.integers(1, 200),
    st.integers(1, 12),
    st.sampled_from([0.0, 0.01, 0.2, 0.7, 1.0]),
    st.sampled_from(["flags", "counts", "signed", "odd"]),
    st.sampled_from([None, "whole", "some zero", "fractional"]),
    st.sampled_from([1, 2, 3]),
    st.sampled_from([2, 16, 255, 300]),
    st.sampled_from(["csr", "csc", "coo"]),
)
def test_any_matrix_gives_the_model_of_its_dense_copy(
    seed, rows, columns, density, kind, weighted, threads, max_bins, form
):
    rng = np.random.default_rng(seed)
    values = {
        "flags": np.ones((rows, columns)),
        "counts": rng.poisson(1.0, (rows, columns)),
        "signed": rng.normal(size=(rows, columns)),
        "odd": rng.choice([-np.inf, -1.0, 0.0, 1e-300, np.inf, np.nan], (rows, columns)),
    }[kind]
    X = np.where(rng.random((rows, columns)) < density, values, 0.0)
    y = np.nan_to_num(X, posinf=2, neginf=-2).sum(axis=1) + rng.normal(size=rows)
    weight = {
        None: None,
        "whole": rng.integers(1, 4, rows),
        "some zero": np.append(1, rng.integers(0, 2, rows - 1)),
        "fractional": rng.random(rows) + 0.01,
    }[weighted]
    params = {"max_bins": max_bins, "min_samples_leaf": 1, "n_estimators": 4}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant features or targets
        dense = GradientBoostingRegressor(**params).fit(X, y, weight)
        sparse = GradientBoostingRegressor(n_jobs=threads, **params)
        sparse.fit(getattr(sp, f"{form}_array")(X), y, weight)
    assert sparse.fingerprint() == dense.fingerprint()
    predicted = sparse.predict(sp.csr_array(X))
    np.testing.assert_array_equal(predicted, dense.predict(X), strict=True)


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint16, np.int32, np.int64, np.float32])
def test_every_dtype_gives_the_model_of_its_dense_copy(kind, table):
    X = (np.nan_to_num(table[0]) * 4).astype(kind)
    for index in (np.int32, np.int64):
        S = sp.csr_matrix(X)
        S.indices, S.indptr = S.indices.astype(index), S.indptr.astype(index)
        sparse = quick(GradientBoostingClassifier).fit(S, table[2])
        assert (
            sparse.fingerprint() == quick(GradientBoostingClassifier).fit(X, table[2]).fingerprint()
        )


@pytest.mark.parametrize("missing", [[0], [-4.0, 1], [0, 2.5]])
def test_missing_values_are_missing_in_a_sparse_matrix_too(missing, table):
    X, _, two, _ = table
    models = [
        quick(GradientBoostingClassifier, missing_values=missing).fit(form(X), two)
        for form in (np.asarray, sp.csr_array, sp.csc_matrix)
    ]
    assert len({m.fingerprint() for m in models}) == 1
    reports = [m.fit_report_["missing_value_counts"] for m in models]
    assert reports[0] == reports[1] == reports[2]
    assert reports[0]
    plain = quick(GradientBoostingClassifier).fit(X, two)
    assert plain.fingerprint() != models[0].fingerprint()
    np.testing.assert_array_equal(models[1].predict_proba(sp.csr_array(X)),
                                  models[0].predict_proba(X))  # fmt: skip


def test_held_out_rows_weights_and_folds_work_on_sparse_rows(table):
    X, number, _, many = table
    S = sp.csr_array(X)
    weight = 1.0 + hashed(ROWS, 1, 5)[:, 0] % 3
    for params, more in (
        ({"early_stopping": True, "n_iter_no_change": 2}, {}),
        ({"early_stopping": 3, "n_iter_no_change": 2}, {}),
        ({"n_iter_no_change": 2}, {"y_val": many[:200]}),
    ):
        models = []
        for own in (X, S):
            held = {"X_val": own[:200], **more} if more else {}
            model = quick(GradientBoostingClassifier, n_estimators=15, **params)
            models.append(model.fit(own, many, sample_weight=weight, **held))
        assert models[0].fingerprint() == models[1].fingerprint(), params
        assert models[0].validation_loss_.tobytes() == models[1].validation_loss_.tobytes()
        if params.get("early_stopping") == 3:
            np.testing.assert_array_equal(models[0].oof_prediction_, models[1].oof_prediction_)
    mixed = quick(GradientBoostingRegressor, n_estimators=5, oob_score=True, subsample=0.5)
    a, b = mixed.fit(X, number).oob_improvement_, mixed.fit(S, number).oob_improvement_
    np.testing.assert_array_equal(a, b)


def test_a_continued_fit_equals_an_uninterrupted_one(table):
    X, number, _, _ = table
    S = sp.csc_array(X)
    whole = quick(GradientBoostingRegressor, n_estimators=9, subsample=0.6).fit(X, number)
    parts = quick(GradientBoostingRegressor, n_estimators=4, subsample=0.6, warm_start=True)
    parts.fit(S, number)
    parts.set_params(n_estimators=6).fit(X, number)  # a dense copy between two sparse ones
    parts.set_params(n_estimators=9).fit(sp.coo_matrix(X), number)
    assert parts.fingerprint() == whole.fingerprint()


def test_the_number_of_threads_does_not_matter():
    table = make_sparse(rows=20_000, columns=200, every=20)
    X = sp.csr_array(table[0])
    for params in ({}, {"max_leaf_nodes": 200, "min_samples_leaf": 2}, {"subsample": 0.5}):
        found = {
            n: quick(GradientBoostingClassifier, n_jobs=n, **params).fit(X, table[2]).fingerprint()
            for n in (1, 2, 3)
        }
        assert len(set(found.values())) == 1, found
    dense = quick(GradientBoostingClassifier, subsample=0.5).fit(table[0], table[2])
    assert dense.fingerprint() == found[1]


def test_every_prediction_method_reads_sparse_rows(table):
    X, _, _, many = table
    S = sp.csr_array(X)
    model = quick(GradientBoostingClassifier).fit(S, many)
    for method in ("predict", "predict_proba", "decision_function", "apply"):
        own, theirs = getattr(model, method)(S), getattr(model, method)(X)
        np.testing.assert_array_equal(own, theirs, strict=True)
        np.testing.assert_array_equal(np.concatenate([getattr(model, method)(S[i : i + 1])
                                                      for i in range(40)]), own[:40])  # fmt: skip
        assert len(getattr(model, method)(S[:0])) == 0
    for own, theirs in zip(model.staged_predict_proba(S), model.staged_predict_proba(X),
                           strict=True):  # fmt: skip
        np.testing.assert_array_equal(own, theirs, strict=True)
    assert model.score(S, many) == model.score(X, many)


def test_large_trees_read_sparse_rows(table):
    X, number, _, _ = table
    model = GradientBoostingRegressor(n_estimators=3, max_leaf_nodes=None, min_samples_leaf=1)
    model.fit(sp.csr_array(X), number)
    assert max(len(tree.feature) for tree in model.model_.ensemble.trees) > 127
    np.testing.assert_array_equal(model.predict(sp.csr_array(X)), model.predict(X))


def test_a_saved_model_reads_sparse_rows(table, tmp_path):
    S = sp.csr_array(table[0])
    model = quick(GradientBoostingRegressor).fit(S, table[1])
    model.save(tmp_path / "a.stgw")
    again = load(tmp_path / "a.stgw")
    assert again.fingerprint() == model.fingerprint()
    np.testing.assert_array_equal(again.predict(S), model.predict(S))


@pytest.mark.parametrize("kind", [AdaBoostClassifier, GentleBoostClassifier, StagewiseClassifier])
def test_other_estimators_of_trees_read_sparse_rows(kind, table):
    a, b = (kind(n_estimators=4).fit(X, table[3]) for X in (table[0], sp.csr_array(table[0])))
    assert a.fingerprint() == b.fingerprint()


def test_pipelines_and_cross_validation_pass_sparse_rows():
    colours = (hashed(400, 2, 3) % 9).astype(str)
    y = (colours[:, 0] > "4").astype(int)
    model = make_pipeline(OneHotEncoder(), quick(GradientBoostingClassifier))
    assert cross_val_predict(model, colours, y, cv=3).tolist() == y.tolist()


def test_frames_of_sparse_columns_are_matched_by_name(table):
    X = np.nan_to_num(table[0])
    names = [f"w{j}" for j in range(COLUMNS)]
    frame = pd.DataFrame.sparse.from_spmatrix(sp.csr_array(X), columns=names)
    model = quick(GradientBoostingRegressor).fit(frame, table[1])
    assert list(model.feature_names_in_) == names
    assert model.fingerprint() == quick(GradientBoostingRegressor).fit(X, table[1]).fingerprint()
    np.testing.assert_array_equal(model.predict(frame[names[::-1]]), model.predict(frame))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(model.predict(sp.csr_array(X)), model.predict(frame))


def test_unsupported_options_of_sparse_matrices_are_refused_with_the_remedy(table):
    X, number, _, _ = table
    S = sp.csr_array(X)
    with pytest.raises(InvalidParameterError, match=r"split='exact' sorts all rows.*sparse"):
        quick(GradientBoostingRegressor, split="exact").fit(S, number)
    with pytest.raises(ValueError, match=r"categorical_features must be None.*one-hot"):
        quick(GradientBoostingRegressor, categorical_features=[3]).fit(S, number)
    model = quick(GradientBoostingRegressor).fit(S, number)
    with pytest.raises(ValueError, match=f"X has 5 features, but .* expecting {COLUMNS}"):
        model.predict(S[:, :5])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        quick(GradientBoostingRegressor).fit(S[:0], number[:0])
    with pytest.raises(ValueError, match=r"In X_val|expecting"):
        quick(GradientBoostingRegressor).fit(S, number, X_val=S[:, :5], y_val=number)
    coded = quick(GradientBoostingRegressor, categorical_features=[3]).fit(np.nan_to_num(X), number)
    with pytest.raises(ValueError, match=r"column 3 was categorical.*sparse matrix cannot hold"):
        coded.predict(S)
    wide = np.nan_to_num(X).astype(np.int64)
    wide[0, 3] = 2**60
    with pytest.raises(ValueError, match=r"was integers beyond 2\*\*53.*sparse matrix"):
        quick(GradientBoostingRegressor).fit(wide, number).predict(S)


def test_tags_state_which_estimators_read_sparse_rows():
    tags = GradientBoostingRegressor(n_estimators=100).__sklearn_tags__()
    assert tags.input_tags.sparse
    assert (
        not GradientBoostingRegressor(n_estimators=100, split="exact")
        .__sklearn_tags__()
        .input_tags.sparse
    )


MEMORY = """
import resource
import numpy as np, scipy.sparse as sp
from stagewise import GradientBoostingClassifier

rng = np.random.default_rng(0)
rows, columns, per_row = 20_000, 20_000, 10
index = rng.integers(0, columns, (rows, per_row)).astype(np.int32)
X = sp.csr_array((np.ones(index.size, np.float32), index.ravel(),
                  np.arange(0, index.size + 1, per_row, dtype=np.int32)), (rows, columns))
X.sum_duplicates()
y = (np.asarray(X[:, :2000].sum(axis=1)).ravel() > 1).astype(int)
GradientBoostingClassifier(n_estimators=1).fit(X[:500], y[:500])  # whatever is loaded late
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model = GradientBoostingClassifier(n_estimators=3).fit(X, y)
model.predict(X), model.apply(X)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss is in kB on Linux")
def test_a_sparse_matrix_is_never_made_dense():
    run = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    # A byte for each of 400 million values would be 381 MB.
    assert float(run.stdout) < 60.0


def test_vector_leaves_are_refused(table):
    with pytest.raises(InvalidParameterError, match=r"leaves='vector'.*sparse"):
        quick(GradientBoostingClassifier, leaves="vector").fit(sp.csr_array(table[0]), table[3])


def test_weights_that_are_almost_0_give_the_same_model_for_sparse_and_dense_rows():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(120, 4)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    y, weight = rng.normal(size=120), rng.choice([0.0, 1e-9, 1.0, 1e6], 120)
    model = GradientBoostingRegressor(n_estimators=8, min_samples_leaf=1)
    dense, sparse = (
        clone(model).fit(rows, y, sample_weight=weight) for rows in (X, sp.csr_array(X))
    )
    assert dense.fingerprint() == sparse.fingerprint()

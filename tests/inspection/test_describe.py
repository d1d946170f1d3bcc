"""Descriptions of tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import scipy.stats
from sklearn.metrics import mutual_info_score

from stagewise import InvalidParameterError
from stagewise.inspection import describe
from stagewise.inspection.tables.association import (
    correlation_ratio,
    cramers_v,
    mutual_information,
    pearson,
    rank_correlations,
    spearman,
)


def frame(n=200):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    return pd.DataFrame(
        {
            "x": x,
            "count": rng.integers(0, 9, n),
            "city": rng.choice(["oslo", "rome", "lima"], n),
            "gap": np.where(rng.random(n) < 0.7, np.nan, x),
            "id": np.arange(n),
            "same": 1.0,
            "copied": x,
            "when": pd.date_range("2024-01-01", periods=n),
            "code": rng.choice(["1", "2", "3"], n),
            "name": [f"name {i % 80}" for i in range(n)],
            "old": np.where(rng.random(n) < 0.05, -999.0, rng.normal(size=n)),
            "y": 3 * x + 1e-6 * rng.normal(size=n),
            "label": np.where(x > 0, "up", "down"),
        }
    )


def test_a_numeric_column_is_described():
    X = frame()
    row = {r["column"]: r for r in describe(X).table()}["x"]
    x = X.x
    assert row["kind"] == "number"
    assert (row["missing"], row["distinct"]) == (0, 200)
    assert (row["min"], row["max"]) == (x.min(), x.max())
    np.testing.assert_allclose([row["q1"], row["median"], row["q3"]], x.quantile([0.25, 0.5, 0.75]))
    np.testing.assert_allclose([row["mean"], row["deviation"]], [x.mean(), x.std()])
    reach = 1.5 * (row["q3"] - row["q1"])
    assert row["outliers"] == ((x < row["q1"] - reach) | (x > row["q3"] + reach)).sum()
    profile = describe(X).columns[0]
    assert profile.density[0].sum() == 200
    assert len(profile.deciles) == 11


def test_kinds_of_columns():
    kinds = {row["column"]: row["kind"] for row in describe(frame()).table()}
    assert kinds["count"] == kinds["id"] == "whole number"
    assert kinds["city"] == kinds["code"] == "category"
    assert kinds["when"] == "date"
    empty = pd.DataFrame({"a": [None, None], "b": [np.nan, np.nan], "c": [1, 2]})
    assert [row["kind"] for row in describe(empty).table()] == ["empty", "empty", "whole number"]


def test_all_kinds_of_tables_have_the_same_description():
    X = frame().drop(columns="when")
    first = describe(X, "y")
    for other in (pl.from_pandas(X), pa.Table.from_pandas(X)):
        again = describe(other, "y")
        assert str(again) == str(first)
        assert str(again.associations) == str(first.associations)
    backwards = describe(X[::-1], "y")
    assert {h.text for h in backwards.hints} == {h.text for h in first.hints}


def test_hints_are_found():
    found = describe(frame(), "y")
    hints = {(h.column, h.kind) for h in found.hints}
    assert hints == {
        ("gap", "many missing"),
        ("id", "id-like"),
        ("same", "constant"),
        ("copied", "duplicate"),
        ("when", "timestamps"),
        ("code", "numbers as text"),
        ("name", "high cardinality"),
        ("old", "sentinel"),
        ("x", "leak"),
        ("copied", "leak"),
        ("gap", "leak"),
    }
    assert "missing_values=[-999]" in found.hints_text()


def test_a_clean_table_has_no_hints():
    rng = np.random.default_rng(0)
    found = describe(rng.normal(size=(100, 3)), rng.normal(size=100))
    assert found.hints == ()
    assert found.hints_text() == "No hints."
    assert found.target == "target"


def test_hints_about_the_target():
    y = ["a"] * 60 + ["b"] * 58 + ["c"] * 2
    X = pd.DataFrame({"z": np.random.default_rng(0).normal(size=120), "t": pd.Series(y)})
    found = describe(X, pd.Series(y, name="class"))
    kinds = {(h.column, h.kind) for h in found.hints}
    assert kinds == {("class", "rare classes"), ("t", "leak")}
    gaps = describe(X.assign(w=[np.nan] * 3 + [1.0] * 117), "w")
    assert {h.kind for h in gaps.hints if h.column == "w"} == {"missing target", "constant"}


def test_associations_are_ordered_and_of_the_right_kind():
    found = describe(frame()[["x", "count", "city", "y"]], "y").associations
    assert found[0]["column"] == "x"
    rows = {row["column"]: row for row in found}
    assert rows["x"]["pearson"] == pytest.approx(1)
    assert np.isnan(rows["city"]["pearson"])
    assert 0 <= rows["city"]["eta"] < 0.3
    of_classes = {
        r["column"]: r for r in describe(frame()[["x", "city", "label"]], "label").associations
    }
    assert of_classes["x"]["eta"] > 0.7
    assert of_classes["city"]["cramers_v"] < 0.3


def test_the_strongest_pairs_come_first():
    pairs = describe(frame()[["x", "count", "copied", "gap"]]).pairs
    assert pairs[0] == {"columns": "x ~ copied", "spearman": pytest.approx(1)}


# ---- measures ------------------------------------------------------------------------------------


def test_correlations_equal_scipys():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 300))
    y = y + x
    x[:30] = np.nan
    both = ~np.isnan(x)
    assert pearson(x, y) == pytest.approx(scipy.stats.pearsonr(x[both], y[both])[0])
    assert spearman(x, y) == pytest.approx(scipy.stats.spearmanr(x[both], y[both])[0])
    assert pearson(x * 1e200, y * 1e-200) == pytest.approx(pearson(x, y))
    assert np.isnan(pearson(np.ones(9), np.arange(9.0)))
    whole = rng.integers(0, 6, size=(300, 3)).astype(float)
    found = rank_correlations(list(whole.T))
    np.testing.assert_allclose(found, scipy.stats.spearmanr(whole)[0])


def test_the_correlation_ratio_is_r_of_the_category_means():
    rng = np.random.default_rng(0)
    codes, y = rng.integers(-1, 5, 300), rng.normal(size=300)
    y = y + codes
    known = codes >= 0
    means = pd.Series(y[known]).groupby(codes[known]).transform("mean")
    assert correlation_ratio(codes, y) == pytest.approx(np.sqrt(means.var(ddof=0) / y[known].var()))


def test_cramers_v_equals_scipys():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 300)
    b = (a + rng.integers(0, 3, 300)) % 5
    slow = scipy.stats.contingency.association(pd.crosstab(a, b).to_numpy(), method="cramer")
    assert cramers_v(a, b) == pytest.approx(slow)


def test_mutual_information_equals_scikit_learns():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 300)
    b = (a + rng.integers(0, 3, 300)) % 5
    by_chance = (4 - 1) * (5 - 1) / (2 * 300)
    assert mutual_information(a, b) == pytest.approx(mutual_info_score(a, b) - by_chance)
    assert np.isnan(mutual_information(a, np.full(300, -1)))  # no values
    hidden = np.where(rng.random(300) < 0.9, -1, a)  # a missing value is a category
    expected = mutual_info_score(hidden, b) - (5 - 1) * (5 - 1) / (2 * 300)
    assert mutual_information(hidden, b) == pytest.approx(max(expected, 0.0))


def test_many_categories_with_few_rows_have_little_information():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    assert mutual_information(np.arange(600) // 3, y) < mutual_information(
        y ^ (rng.random(600) < 0.2), y
    )


# ---- errors --------------------------------------------------------------------------------------


def test_error_names_invalid_targets():
    with pytest.raises(InvalidParameterError, match=r"no column 'city_'\. Did you mean 'city'"):
        describe(frame(), "city_")
    with pytest.raises(InvalidParameterError, match="each of the 200 rows"):
        describe(frame(), [1, 2, 3])


def test_unusual_tables():
    with pytest.raises(TypeError, match="toarray"):
        describe(scipy.sparse.eye_array(5).tocsr())
    with pytest.raises(ValueError, match="0 sample"):
        describe(np.empty((0, 3)))
    wide = pd.DataFrame({"big": 2**60 + np.arange(30), "inf": [np.inf, -np.inf, *range(28)]})
    rows = describe(wide).table()
    assert rows[0]["distinct"] == 30
    assert rows[1]["max"] == np.inf
    assert rows[1]["mean"] == pytest.approx(13.5)
    one = describe(np.array([[1.0, 2.0]]))
    assert one.n_rows == 1

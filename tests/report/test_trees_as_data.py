"""Trees as a data frame and as JSON."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from reference.json_reader import scores
from stagewise import (
    AutoRegressor,
    DecisionTreeClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearLeaves,
    LinearRegression,
    OrderedTargetEncoding,
    RandomForestClassifier,
    export_json,
    trees_to_frame,
)
from stagewise.export.tree_facts import tree_facts

SMALL = {"n_estimators": 12, "max_leaf_nodes": 6, "min_samples_leaf": 5}


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    n = 240
    X = pd.DataFrame(
        {
            "number": random.normal(size=n),
            "whole": random.integers(2**60, 2**61, n),
            "text": random.choice(["red", "green", "blue", "grey", "pink", "teal"], n),
            "code": pd.Categorical(random.choice([1.0, 2.5, 7.0], n)),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 999, n), "D"),
        }
    )
    y = X["number"] + (X["text"] == "red") + (X["day"] > "2021-06-01") + (X["whole"] > 3 * 2**59)
    X.loc[::7, "number"] = np.nan
    X.loc[::11, "text"] = None
    X["text"] = X["text"].astype("category")
    X.loc[::13, "day"] = pd.NaT
    return X, y.to_numpy() + 0.1 * random.normal(size=n)


def plain_rows(X):
    """Return rows as JSON has them: texts, numbers, None, and dates in nanoseconds."""
    return [
        {
            "number": None if math.isnan(r.number) else r.number,
            "whole": int(r.whole),
            "text": None if pd.isna(r.text) else r.text,
            "code": float(r.code),
            "day": None if pd.isna(r.day) else r.day.value,
        }
        for r in X.itertuples()
    ]


def classes(y, k):
    return np.array(["low", "mid", "high"])[np.digitize(y, np.quantile(y, np.arange(1, k) / k))]


MODELS = {
    "numbers, categories and dates": lambda X, y: GradientBoostingRegressor(**SMALL).fit(X, y),
    "linear leaves": lambda X, y: GradientBoostingRegressor(
        **SMALL, leaves=LinearLeaves(l2=0.1), dropout="dart"
    ).fit(X[["number", "text", "day"]], y),
    "two classes": lambda X, y: GradientBoostingClassifier(**SMALL).fit(X, classes(y, 2)),
    "three classes": lambda X, y: GradientBoostingClassifier(**SMALL).fit(X, classes(y, 3)),
    "vector leaves": lambda X, y: GradientBoostingClassifier(**SMALL, leaves="vector").fit(
        X, classes(y, 3)
    ),
    "several targets": lambda X, y: GradientBoostingRegressor(**SMALL).fit(
        X, np.column_stack([y, -y])
    ),
    "target encoding": lambda X, y: GradientBoostingRegressor(
        **SMALL, category_encoding=OrderedTargetEncoding()
    ).fit(X, y),
    "forest": lambda X, y: ExtraTreesRegressor(n_estimators=5).fit(X, y),
    "forest of several targets": lambda X, y: ExtraTreesRegressor(n_estimators=5).fit(
        X, np.column_stack([y, -y])
    ),
    "forest of classes": lambda X, y: RandomForestClassifier(n_estimators=5).fit(X, classes(y, 3)),
    "tree": lambda X, y: DecisionTreeClassifier(max_leaf_nodes=9).fit(X, classes(y, 2)),
    "counts": lambda X, y: GradientBoostingRegressor(**SMALL, loss="poisson").fit(X, np.exp(y)),
}


@pytest.fixture(scope="module")
def models(table):
    return {name: make(*table) for name, make in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_a_reader_of_json_computes_the_same_scores(name, models, table):
    X = table[0]
    model = models[name]
    read = json.loads(export_json(model))
    X = X[[feature["name"] for feature in read["features"]]]
    rows = plain_rows(table[0])
    found = np.array([scores(read, row) for row in rows])
    expected = model._score(X)
    np.testing.assert_array_equal(found, expected)
    link = read["link"]
    if model.model_.classes is None and link["kind"] == "identity":
        predicted = np.array(link["offset"]) + np.array(link["scale"]) * found
        np.testing.assert_array_equal(predicted, model.predict(X).reshape(predicted.shape))


@pytest.mark.parametrize("handle_unknown", ["missing", "prior"])
@pytest.mark.filterwarnings("ignore::stagewise.UnknownCategoryWarning")
def test_unknown_categories_of_json(handle_unknown, table):
    X, y = table
    model = GradientBoostingRegressor(**SMALL, handle_unknown=handle_unknown).fit(X, y)
    X = X.iloc[:30].assign(text="violet")
    read = json.loads(export_json(model))
    expected = model._score(X)
    np.testing.assert_array_equal([scores(read, row) for row in plain_rows(X)], expected)


def test_json_has_names_and_metadata(models):
    read = json.loads(export_json(models["three classes"], indent=1))
    assert read["format"] == 1
    assert read["classes"] == ["high", "low", "mid"]
    assert [f["kind"] for f in read["features"]] == [
        "number",
        "integer",
        "category",
        "category",
        "integer",
    ]
    assert read["features"][4]["temporal_type"] == "date"
    assert [tree["output"] for tree in read["trees"][:4]] == [0, 1, 2, 0]
    assert [tree["round"] for tree in read["trees"][:4]] == [0, 0, 0, 1]
    assert read["link"]["kind"] == "softmax"


@pytest.mark.parametrize("name", MODELS)
def test_the_frame_has_every_node(name, models):
    model = models[name]
    frame = trees_to_frame(model)
    trees = model.model_.ensemble.trees
    assert len(frame) == sum(len(tree.feature) for tree in trees)
    assert list(frame["tree"].unique()) == list(range(len(trees)))
    for number, own in frame.groupby("tree"):
        facts = tree_facts(model, number)
        assert own["node"].tolist() == [node.number for node in facts.nodes]
        assert own["depth"].tolist() == [node.depth for node in facts.nodes]
        assert own["weight"].tolist() == [node.weight for node in facts.nodes]
        inner = own[own["left"] >= 0].set_index("node")
        children = own.set_index("node")
        for node, row in inner.iterrows():
            assert children.loc[row["left"], "parent"] == node
            assert children.loc[row["right"], "parent"] == node
            assert (row["categories"] is None) == (not math.isnan(row["threshold"]))
            assert row["missing"] in ("left", "right")
            assert row["gain"] >= 0
        leaves = own[own["left"] < 0]
        assert leaves[["feature", "categories", "missing", "condition"]].isna().all(axis=None)


def test_the_values_of_the_leaves_add_up_to_the_prediction(models, table):
    model = models["numbers, categories and dates"]
    frame = trees_to_frame(model).set_index(["tree", "node"])["value"]
    leaves = model.apply(table[0])
    total = sum(frame.loc[[(t, n) for n in leaves[:, t]]].to_numpy() for t in range(12))
    base = model.model_.offset + model.model_.scale * model.model_.ensemble.base[0]
    np.testing.assert_allclose(base + total, model.predict(table[0]), rtol=1e-12)


def test_dates_and_categories_are_readable(models):
    frame = trees_to_frame(models["numbers, categories and dates"])
    days = frame.loc[frame["feature"] == "day", "condition"]
    assert days.str.match(r"day <= \d{4}-\d\d-\d\d").all()
    assert len(days)
    texts = frame.loc[frame["feature"] == "text", "categories"]
    assert all(set(own) <= {"red", "green", "blue", "grey", "pink", "teal"} for own in texts)


def test_names_of_outputs_and_values(models):
    vector = trees_to_frame(models["vector leaves"])
    assert [c for c in vector.columns if c.startswith("value")] == [
        "value(high)",
        "value(low)",
        "value(mid)",
    ]
    assert set(vector["output"]) == {""}
    per_class = trees_to_frame(models["three classes"])
    assert per_class["output"].unique().tolist() == ["high", "low", "mid"]


def test_other_libraries(models):
    frame = trees_to_frame(models["tree"], library="polars")
    assert isinstance(frame, pl.DataFrame)
    assert frame["node"].to_list() == trees_to_frame(models["tree"])["node"].tolist()
    with pytest.raises(ValueError, match="library must be one of"):
        trees_to_frame(models["tree"], library="numpy")


def test_what_has_no_trees_is_an_error(table):
    X, y = table
    with pytest.raises(TypeError, match="needs a fitted stagewise estimator with trees"):
        export_json(LinearRegression().fit(X[["code"]], y))
    start = GradientBoostingRegressor(**SMALL, init=LinearRegression()).fit(X[["code"]], y)
    with pytest.raises(ValueError, match="starts from an estimator"):
        export_json(start)
    assert len(trees_to_frame(start))


def test_an_automatic_model_is_one_list_of_trees(table):
    X, y = table
    model = AutoRegressor(quality=1).fit(X[["number", "whole"]], y)
    read = json.loads(export_json(model))
    rows = plain_rows(X)[:20]
    expected = model._score(X[["number", "whole"]])[:20]
    np.testing.assert_array_equal([scores(read, row) for row in rows], expected)

"""Trees as text, rules and SVG drawings."""

from __future__ import annotations

import pickle
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from report.reports import report_of
from stagewise import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    InvalidParameterError,
    RandomForestClassifier,
    StagewiseRegressor,
    export_svg,
    export_text,
    rules,
)
from stagewise.export.rules import leaf_rules
from stagewise.export.tree_facts import tree_facts
from stagewise.inspection import decision_path

RECT = "{http://www.w3.org/2000/svg}rect"


def frame(n=300, seed=0):
    rng = np.random.default_rng(seed)
    city = rng.choice(["Ulm", "Bonn & Köln", "<Jena>"], n)
    table = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "city": pd.Categorical(city),
            "id": 2**60 + rng.integers(0, n, n),
        }
    )
    table.loc[rng.random(n) < 0.1, "size"] = None
    y = table["size"].fillna(1.5) + (city == "Ulm") + rng.normal(size=n) / 4
    return table, y.to_numpy(), np.where(y > 1, "much", np.where(y > 0, "some", "little"))


@pytest.fixture(scope="module")
def fitted():
    X, number, classes = frame()
    two = classes == "much"
    return {
        "classes": DecisionTreeClassifier(max_leaf_nodes=12).fit(X, classes),
        "two": DecisionTreeClassifier(max_leaf_nodes=12).fit(X, two),
        "number": DecisionTreeRegressor(max_leaf_nodes=12).fit(X, number),
        "fractional rows": DecisionTreeRegressor(
            max_leaf_nodes=12, missing_strategy="probability"
        ).fit(X, number),
        "forest": RandomForestClassifier(n_estimators=4, max_leaf_nodes=9).fit(X, classes),
        "boosted": GradientBoostingRegressor(n_estimators=3, max_leaf_nodes=6).fit(X, number),
        "boosted classes": GradientBoostingClassifier(n_estimators=2).fit(X, classes),
        "vectors": GradientBoostingClassifier(n_estimators=2, leaves="vector").fit(X, classes),
        "lines": GradientBoostingRegressor(n_estimators=2, leaves="linear").fit(X, number),
    }


def holds(condition, cell):
    if cell is None or cell != cell:
        return condition.missing
    if condition.categories is not None:
        return cell in condition.categories
    return condition.above < cell <= condition.at_most


@pytest.mark.parametrize("name", ["classes", "two", "number"])
def test_the_rule_of_a_leaf_holds_for_its_rows_and_no_others(fitted, name):
    model = fitted[name]
    X, *_ = frame(200, 1)
    leaf = model.apply(X)
    found = leaf_rules(tree_facts(model))
    assert len(found) == model.get_n_leaves()
    for place, row in enumerate(X.to_dict("records")):
        fits = [r for r in found if all(holds(c, row[c.name]) for c in r.conditions)]
        assert [r.leaf.number for r in fits] == [leaf[place]]


@pytest.mark.parametrize("name", ["classes", "two"])
def test_class_shares_of_leaves_are_the_probabilities(fitted, name):
    model = fitted[name]
    X, *_ = frame(200, 1)
    by_leaf = {row["leaf"]: row for row in rules(model)}
    for leaf, p, label in zip(
        model.apply(X), model.predict_proba(X), model.predict(X), strict=True
    ):
        row = by_leaf[leaf]
        np.testing.assert_allclose([row[f"p({c})"] for c in model.classes_], p)
        assert row["class"] == str(label)


def test_values_of_leaves_are_the_predictions(fitted):
    model = fitted["number"]
    X, *_ = frame(200, 1)
    by_leaf = {row["leaf"]: row["value"] for row in rules(model)}
    values = [by_leaf[leaf] for leaf in model.apply(X)]
    np.testing.assert_allclose(values, model.predict(X))


def test_additions_of_boosted_trees_make_the_prediction(fitted):
    model = fitted["boosted"]
    X, *_ = frame(50, 1)
    total = np.full(50, float(model.model_.offset))
    for tree, leaf in enumerate(model.apply(X).T):
        by_leaf = {row["leaf"]: row["value"] for row in rules(model, tree)}
        total += [by_leaf[j] for j in leaf]
    np.testing.assert_allclose(total, model.predict(X))


def test_weights_and_shares_add_up(fitted):
    for model in fitted.values():
        table = rules(model)
        assert sum(row["share"] for row in table) == pytest.approx(1)
        assert pd.DataFrame(table).shape[0] == len(table)


def test_text_has_a_line_for_each_node(fitted):
    for model in fitted.values():
        nodes = len(model.model_.ensemble.trees[0].feature)
        assert len(export_text(model).splitlines()) == nodes
    text = export_text(fitted["classes"])
    assert "city in {Ulm}" in text
    assert "size <= " in text
    assert "or missing" in text
    assert "or missing" not in export_text(fitted["fractional rows"])
    assert " plus a linear model" in export_text(fitted["lines"])


def test_depth_can_be_limited(fitted):
    text = export_text(fitted["number"], max_depth=2)
    assert len(text.splitlines()) <= 7
    assert "leaves" in text
    assert len(export_text(fitted["number"], digits=2)) < len(export_text(fitted["number"]))


def test_wide_integers_are_shown_exactly():
    X, _, _ = frame()
    y = (X["id"] > 2**60 + 150).astype(float)
    (left, _) = rules(DecisionTreeRegressor(max_depth=1).fit(X[["id"]], y))
    cut = left["rule"].removeprefix("(").split(" <= ")[1].split(" ")[0]
    assert 2**60 + 140 < int(cut) < 2**60 + 160


@pytest.mark.parametrize("tree", [0, 1, -1])
def test_an_svg_is_valid_and_shows_every_node(fitted, tree):
    for model in fitted.values():
        if not -len(model.model_.ensemble.trees) <= tree < len(model.model_.ensemble.trees):
            continue
        root = ET.fromstring(export_svg(model, tree))
        boxes = [r for r in root.iter(RECT) if r.get("class") == "box"]
        assert len(boxes) == len(model.model_.ensemble.trees[tree].feature)
        width, height = float(root.get("width")), float(root.get("height"))
        for box in boxes:
            assert 0 <= float(box.get("x")) <= width - float(box.get("width"))
            assert 0 <= float(box.get("y")) <= height - float(box.get("height"))


def test_boxes_of_an_svg_do_not_overlap(fitted):
    X, y, _ = frame(2000)
    model = DecisionTreeRegressor(max_leaf_nodes=120).fit(X, y)
    root = ET.fromstring(export_svg(model))
    boxes = [r for r in root.iter(RECT) if r.get("class") == "box"]
    places = sorted((float(b.get("x")), float(b.get("y"))) for b in boxes)
    for (x, y0), (other, y1) in pairwise(places):
        assert other != x or y1 - y0 >= 44


def test_large_trees_are_drawn_down_to_some_depth():
    X, y, _ = frame(3000)
    model = DecisionTreeRegressor().fit(X, y)
    assert len(model.model_.ensemble.trees[0].feature) > 3000
    root = ET.fromstring(export_svg(model))
    boxes = [r for r in root.iter(RECT) if r.get("class") == "box"]
    assert 50 < len(boxes) <= 511
    deep = ET.fromstring(export_svg(model, max_depth=3))
    assert sum(r.get("class") == "box" for r in deep.iter(RECT)) == 15


def test_notebooks_show_an_svg(fitted):
    picture = export_svg(fitted["two"])
    assert picture._repr_svg_() == picture


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
def test_a_tree_of_one_leaf_is_shown():
    with pytest.warns(UserWarning, match="No tree has a split"):
        model = DecisionTreeRegressor(max_depth=1, min_samples_leaf=200).fit(frame()[0], frame()[1])
    assert export_text(model).count("\n") == 0
    assert rules(model)[0]["rule"] == "all rows"
    ET.fromstring(export_svg(model))


def test_models_and_trees_that_cannot_be_exported_are_errors(fitted):
    X, y, _ = frame()
    with pytest.raises(IndexError, match="tree=7 is out of range: the model has 4 trees"):
        export_text(fitted["forest"], 7)
    with pytest.raises(TypeError, match="tree must be the index of a tree"):
        export_text(fitted["forest"], "first")
    with pytest.raises(NotFittedError):
        rules(DecisionTreeRegressor())
    with pytest.raises(TypeError, match="Ridge has none"):
        export_svg(Ridge())
    boosted = StagewiseRegressor(learner=Ridge(), n_estimators=2).fit(X[["id"]], y)
    with pytest.raises(TypeError, match="are other estimators"):
        export_text(boosted)
    with pytest.raises(InvalidParameterError, match="max_depth must be a whole number at least 1"):
        export_text(fitted["two"], max_depth=0)
    with pytest.raises(InvalidParameterError, match="digits must be"):
        export_svg(fitted["two"], digits=0)
    with pytest.warns(UserWarning, match="one class"):
        one = DecisionTreeClassifier().fit([[0.0], [1.0]], [1, 1])
    with pytest.raises(IndexError, match="all training rows had the same class"):
        export_text(one)


def test_dates_and_times_are_shown_as_text():
    model, *_ = report_of("datetimes")
    text = export_text(model)
    assert re.search(r"day <= 2020-0\d-\d\d( 12:00:00)? or missing", text)
    assert re.search(r"lasts > \d d \d\d:\d\d:\d\d", text)
    assert not re.search(r"\d{10}", text)
    assert not any(re.search(r"\d{10}", row["rule"]) for t in range(12) for row in rules(model, t))
    assert "day &lt;= 2020-0" in export_svg(model)
    # The texts are the thresholds: they send the same rows left.
    split = tree_facts(model).nodes[0].split
    shown = pd.Timestamp(text.split("day <= ")[1].split(" or missing")[0])
    assert (split.temporal_type, shown.value) == ("date", split.threshold)
    assert export_text(pickle.loads(pickle.dumps(model))) == text


def test_wide_integers_with_missing_values():
    wide = pd.Series(2**60 + np.arange(60), dtype="Int64").mask(np.arange(60) % 2 == 0)
    X = pd.DataFrame({"id": wide, "day": pd.to_datetime(wide.astype("float"), unit="ns")})
    y = np.arange(60) % 2
    for name in X:
        tree = DecisionTreeRegressor(max_leaf_nodes=2).fit(X[[name]], y)
        assert export_text(tree).splitlines()[1].startswith(f"├─ {name} <= inf: 1 ")
        assert decision_path(tree, X[[name]].iloc[[1]]).paths[0].rule == (f"{name} ≤ inf",)

"""Predictions and Shapley values on a page equal those of Python."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from browser.samples import SAMPLES, Rooted, cells, fitted, hard_rows, table, target
from model_samples import make_model, random_tree, sample_models, with_sets
from reference.shap import goes_left, path_game, shapley
from stagewise import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestRegressor
from stagewise.data.categories.categories import Categories
from stagewise.data.categories.target_encoding import TargetEncoding
from stagewise.data.feature import Feature
from stagewise.data.features import Features
from stagewise.data.reading.datetimes import format_datetime_short
from stagewise.estimators.bases.model_access import predict_scores
from stagewise.export.tree_facts import tree_facts
from stagewise.inspection import shap_values
from stagewise.inspection.fitted_model import FittedModel
from stagewise.model.ensemble import Ensemble
from stagewise.report.exported_model import category_labels, export_model, model_script
from stagewise.trees.linear_leaves import LINEAR_LEAF_ARRAYS, LinearLeaves
from stagewise.trees.tree import NODE_ARRAYS, Tree

ASK = """async ([payload, rows, treesRead]) => {
  const model = await Model.open(payload);
  const trees = Array.from({ length: model.nTrees }, (_, t) => t);
  return {
    score: rows.map((row) => Array.from(model.score(row))),
    prediction: model.predictable ? rows.map((row) => model.predict(row)) : null,
    paths: rows.map((row) => trees.map((t) => model.path(t, row))),
    why: model.explainable ? rows.map((row) => model.explain(row)) : model.reason,
    trees: trees.slice(0, treesRead).map((t) => model.tree(t)),
    outputs: model.outputs,
    scoreOutputs: model.scoreOutputs,
    features: treesRead > 0 ? model.features : null,
    nTrees: model.nTrees,
    complete: model.complete,
  };
}"""


def predict_on_page(lab, model, columns, trees_read=4):
    rows = np.column_stack(columns).tolist()
    return lab.evaluate(ASK, [export_model(model).payload(), rows, trees_read])


@pytest.fixture(scope="module", params=SAMPLES)
def case(request, lab):
    name = request.param
    return fitted(name), cells(name), predict_on_page(lab, fitted(name), cells(name))


# ---- agreement -----------------------------------------------------------------------------------


def test_scores_are_identical_and_predictions_equal(case):
    model, columns, result = case
    score = model._score_values(model.model_, columns)
    assert np.array_equal(result["score"], score)
    prediction = predict_scores(model, score).reshape(len(score), -1)
    assert np.allclose(result["prediction"], prediction, rtol=1e-12, atol=1e-14)
    assert result["outputs"] == list(FittedModel.of(model, "").outputs("mean"))
    assert result["complete"]


def test_shapley_values_equal_those_of_python(case):
    model, columns, result = case
    if isinstance(result["why"], str):
        has_linear_leaves = FittedModel.of(model, "").has_linear_leaves
        fractional = getattr(model, "missing_strategy", None) == "probability"
        assert has_linear_leaves or fractional
        return
    names = FittedModel.of(model, "").names
    X = rows_again(model, columns)
    known = shap_values(model, X)
    values = known.values.reshape(len(X), len(names), -1)
    assert np.allclose([why["values"] for why in result["why"]], values, rtol=1e-9, atol=1e-11)
    base = [np.atleast_1d(known.base_values)] * len(X)
    assert np.allclose([why["base"] for why in result["why"]], base, rtol=1e-12, atol=1e-12)
    assert len(result["scoreOutputs"]) == values.shape[2]


def rows_again(model, columns):
    """Return the difficult rows, without unknown categories if these are taken as missing."""
    X = hard_rows()
    for j, feature in enumerate(model.model_.features):
        if feature.categories is not None and getattr(model, "handle_unknown", "") != "prior":
            X[feature.name] = X[feature.name].where(~np.isnan(columns[j]), None)
    return X


def test_paths_end_in_the_leaves_of_python(case):
    model, columns, result = case
    facts = [tree_facts(model, t) for t in range(result["nTrees"])]
    leaves = np.array([[path[-1] for path in paths] for paths in result["paths"]])
    if facts:
        assert np.array_equal(
            leaves, model.apply(rows_again(model, columns)).reshape(len(leaves), -1)
        )
    for paths in result["paths"][:5]:
        for path, tree in zip(paths, facts, strict=True):
            assert path[0] == 0
            for above, below in itertools.pairwise(path):
                assert below in (tree.nodes[above].left, tree.nodes[above].right)


def test_exported_trees_equal_those_of_python(case):
    model, _, result = case
    features = {feature["name"]: feature for feature in result["features"]}
    for t, tree in enumerate(result["trees"]):
        facts = tree_facts(model, t)
        assert (tree["valueKind"], tree["names"]) == (facts.value_kind, list(facts.names))
        size = max(1e-3, *(abs(v) for node in facts.nodes for v in node.value))
        for node, known in zip(tree["nodes"], facts.nodes, strict=True):
            exact = ("id", "left", "right", "depth", "cover", "line")
            same = (known.number, known.left, known.right, known.depth, known.weight, known.line)
            assert tuple(node[name] for name in exact) == same
            assert node["gain"] == pytest.approx(known.gain, rel=1e-6)
            near = 0.0 if known.split is None else 1e-6 * size  # leaf values are identical
            assert np.abs(np.subtract(node["value"], known.value)).max() <= near
            assert (node["split"] is None) == (known.split is None)
            if known.split is not None:
                check_split(node["split"], known.split, features)


def check_split(shown, known, features):
    assert shown["name"] == known.name
    assert shown["missingLeft"] == {"left": True, "right": False, "both": None}[known.missing]
    if known.left is None:
        wide = features.get(known.name, {}).get("kind") == "integer"
        plain = str(known.threshold) if wide and np.isfinite(known.threshold) else known.threshold
        in_words = known.temporal_type and format_datetime_short(
            known.threshold, known.temporal_type, 4
        )
        assert shown["threshold"] == (in_words or plain)
        return
    both = known.left + known.right
    words = dict(zip(both, category_labels(both), strict=True))
    assert sorted(shown["leftCategories"]) == sorted(words[category] for category in known.left)
    assert sorted(shown["rightCategories"]) == sorted(words[category] for category in known.right)
    assert set(shown["leftCategories"] + shown["rightCategories"]) == set(
        features[known.name]["categories"]
    )


# ---- trees made by hand, and references ----------------------------------------------------------

NOT_ON_PAGES = ("linear model", "class targets")
HAND_MADE = [name for name in sample_models() if not name.startswith(NOT_ON_PAGES)]


@pytest.mark.parametrize("name", HAND_MADE)
def test_random_trees_agree_with_the_reference(lab, name):
    model = sample_models()[name]
    kind = GradientBoostingRegressor if model.classes is None else GradientBoostingClassifier
    estimator = kind._from_model(model, {"loss": model.loss}, {})
    rng = np.random.default_rng(3)
    special = [np.nan, np.inf, -np.inf, 0.0, 1.0, 3.0, 5.0, 1e9]
    special += [cut for tree in model.ensemble.trees for cut in tree.threshold[tree.feature >= 0]]
    shape = (12, model.features.n)
    x = np.where(rng.random(shape) < 0.5, rng.choice(special, shape), rng.normal(size=shape))
    result = predict_on_page(lab, estimator, list(x.T))
    fitted_model = FittedModel.of(estimator, "")
    assert np.array_equal(result["score"], fitted_model.score(list(np.ascontiguousarray(x.T))))
    trees, n_categories = model.ensemble.trees, model.ensemble.n_categories
    assert result["paths"] == [[walk(tree, row, n_categories) for tree in trees] for row in x]
    if isinstance(result["why"], str):
        assert fitted_model.has_linear_leaves
        return
    for row, why in zip(x[:4], result["why"], strict=False):
        game = path_game(trees, row, model.ensemble.n_outputs, n_categories)
        values = shapley(game, model.features.n) * model.scale
        assert np.allclose(why["values"], values, rtol=1e-9, atol=1e-11)
        base = model.offset + model.scale * (model.ensemble.base + game(frozenset()))
        assert np.allclose(why["base"], base, rtol=1e-12)


@pytest.mark.parametrize("beyond", [0, 1])
@pytest.mark.parametrize("grain", [0.0, 1.0])
def test_linear_leaves_are_bounded_and_rounded_as_in_the_core(lab, beyond, grain):
    leaf = random_tree(np.random.default_rng(0), 1, 0)
    one = {name: np.zeros(1, dtype=kind) for name, kind in LINEAR_LEAF_ARRAYS.items()}
    given = {"start": [0, 1], "slope": [1.0], "low": [-3.0], "high": [4.0]}
    given |= {"beyond": [beyond], "grain": [grain]}
    one |= {name: np.array(value, dtype=LINEAR_LEAF_ARRAYS[name]) for name, value in given.items()}
    tree = replace(leaf, linear_leaves=LinearLeaves(**one))
    model = replace(
        make_model(features=[Feature("x", "real")]), ensemble=Ensemble(1, np.zeros(1), [tree])
    )
    estimator = GradientBoostingRegressor._from_model(model, {}, {})
    halves = np.arange(-8, 11) / 2
    x = np.concatenate([halves, np.nextafter(halves, 9), [np.nan, np.inf, -np.inf]])
    result = predict_on_page(lab, estimator, [x])
    assert np.array_equal(result["score"], FittedModel.of(estimator, "").score([x]))
    assert result["why"].startswith("Tree-path-dependent Shapley values")


def mirrored(tree):
    """Return the same tree with the indices of siblings exchanged."""
    order = np.arange(len(tree.feature))
    order[1:] = order[1:].reshape(-1, 2)[:, ::-1].ravel()
    arrays = {name: getattr(tree, name)[order] for name in NODE_ARRAYS}
    for name in ("left", "right"):
        children = arrays[name]
        arrays[name] = np.where(children < 0, -1, order[children]).astype(np.int32)
    return Tree(**arrays)


def combining_model(rng):
    """A model of combinations of categories; some keys are larger than a double can represent."""
    n = 10_000
    known = Categories.of(range(n))
    keys = {
        2: np.sort(rng.choice(12, 6, replace=False)).astype(np.uint64),
        4: np.array([0, 1, (n + 2) ** 3, (n + 2) ** 4 - 2, (n + 2) ** 4 - 1], dtype=np.uint64),
    }
    encodings = [
        TargetEncoding(
            tuple(range(sources)),
            (n,) * sources,
            own,
            rng.normal(size=(1, len(own) + 1)).astype(np.float32),
        )
        for sources, own in keys.items()
    ]
    features = Features(
        [Feature(None, "categorical", None, known) for _ in range(4)], target_encodings=encodings
    )
    n_categories = features.n_categories_per_column()
    trees = [mirrored(random_tree(rng, 6, 6)) for _ in range(4)]
    trees = [with_sets(tree, n_categories, rng) for tree in trees]
    return replace(
        make_model(), features=features, ensemble=Ensemble(6, np.array([0.25]), trees, n_categories)
    )


def test_combinations_of_categories_are_found_by_keys_of_any_width(lab):
    rng = np.random.default_rng(1)
    model = combining_model(rng)
    estimator = GradientBoostingRegressor._from_model(model, {}, {})
    x = rng.choice([0.0, 1.0, 2.0, 9_999.0, 10_000.0, 12_345.0, np.nan], size=(40, 4))
    x[:3] = [[0, 0, 0, 1], [np.nan] * 4, [np.nan, np.nan, np.nan, 10_000.0]]  # known keys
    columns = list(np.ascontiguousarray(x.T))
    fitted_model = FittedModel.of(estimator, "")
    result = predict_on_page(lab, estimator, columns, trees_read=0)
    assert np.array_equal(result["score"], fitted_model.score(columns))
    extended = np.column_stack(fitted_model.append_derived(columns))
    assert set(extended[:, 5]) > set(model.features.target_encodings[1].values[0, [1, 3, 4]])
    trees, n_categories = model.ensemble.trees, model.ensemble.n_categories
    assert result["paths"] == [
        [walk(tree, row, n_categories) for tree in trees] for row in extended
    ]
    for row, why in zip(extended[:3], result["why"], strict=False):
        values = shapley(path_game(trees, row, 1, n_categories), 6) * model.scale
        shared = values[:4] + values[5] / 4
        shared[:2] += values[4] / 2
        assert np.allclose(why["values"], shared, rtol=1e-9, atol=1e-11)


def walk(tree, row, n_categories):
    nodes = [0]
    while tree.feature[nodes[-1]] >= 0:
        node = nodes[-1]
        to = (
            tree.left
            if goes_left(tree, node, row[tree.feature[node]], n_categories)
            else tree.right
        )
        nodes.append(int(to[node]))
    return nodes


def test_long_paths_have_exact_shapley_values(lab):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 40))
    model = RandomForestRegressor(n_estimators=2, max_features=0.2).fit(X, X.sum(axis=1))
    why = shap_values(model, X[:5])
    result = predict_on_page(lab, model, list(X[:5].T), trees_read=0)["why"]
    assert np.allclose(
        [one["values"] for one in result], why.values[..., None], rtol=1e-9, atol=1e-12
    )


# ---- errors --------------------------------------------------------------------------------------

REFUSE = """async ([payload, row]) => {
  const model = await Model.open(payload);
  const tried = (f) => { try { return f(); } catch (e) { return `refused: ${e.message}`; } };
  return {
    complete: model.complete, nTrees: model.nTrees, treeCount: model.treeCount,
    explainable: model.explainable, answerable: model.predictable,
    score: tried(() => Array.from(model.score(row))), prediction: tried(() => model.predict(row)),
    explain: tried(() => model.explain(row)), path: tried(() => model.path(0, row)),
    tree: tried(() => model.tree(0).nodes.length), none: tried(() => model.tree(1e6)),
    short: tried(() => model.path(0, row.slice(1))),
  };
}"""


def test_first_trees_of_a_too_large_model_are_shown(lab):
    model = RandomForestRegressor(n_estimators=6).fit(table()[["a", "b"]], target("number"))
    row = [0.3, -0.2]
    all_trees = lab.evaluate(REFUSE, [export_model(model).payload(), row])
    few = export_model(model, max_bytes=20_000)
    assert 0 < few.n_trees < 6
    assert len(few.packed) <= 20_000
    result = lab.evaluate(REFUSE, [few.payload(), row])
    assert (result["complete"], result["nTrees"], result["treeCount"]) == (False, few.n_trees, 6)
    assert not result["explainable"]
    assert (result["tree"], result["path"]) == (all_trees["tree"], all_trees["path"])
    for name in ("score", "prediction", "explain"):
        assert result[name].startswith("refused: ")
        assert not isinstance(all_trees[name], str)
    assert all_trees["none"].startswith("refused: There is no tree 1000000")
    assert all_trees["short"] == "refused: A row has 2 codes, not 1."
    whole = export_model(fitted("target encoding"))
    part = export_model(fitted("target encoding"), max_bytes=len(whole.packed) // 2)
    result = lab.evaluate(REFUSE, [part.payload(), [0.0] * 5])
    assert result["path"].startswith("refused: The target encodings are not on this page")
    none = lab.evaluate(REFUSE, [export_model(model, max_bytes=0).payload(), row])
    assert (none["complete"], none["nTrees"]) == (False, 0)


def test_custom_loss_with_unknown_link_has_scores_only(lab):
    X = table()[["a", "b"]]
    model = GradientBoostingRegressor(loss=Rooted(), n_estimators=3).fit(X, target("amount"))
    result = lab.evaluate(REFUSE, [export_model(model).payload(), [0.3, -0.2]])
    assert result["complete"]
    assert not result["answerable"]
    assert result["prediction"].startswith("refused: The predictions of this loss")
    assert (
        result["score"] == FittedModel.of(model, "").score([np.array([0.3]), np.array([-0.2])])[0]
    )


def test_names_with_markup_and_quotes_survive_a_file(page, tmp_path):
    names = ["</script><b>", 'it\'s "quoted"', "größe 🌲", "<!--"]
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=names[:3])
    X[names[3]] = pd.Categorical(rng.choice(["</script>", "\\u003c", "身長"], 60))
    model = GradientBoostingRegressor(n_estimators=3).fit(X, X[names[0]])
    payload = json.dumps(export_model(model).payload()).replace("<", "\\u003c")
    file = tmp_path / "page.html"
    file.write_text(
        f"<!doctype html><meta charset=utf-8><script>(() => {{ 'use strict'; {model_script()}"
        f"window.opened = Model.open({payload}); }})();</script>",
        encoding="utf-8",
    )
    page.goto(file.as_uri())
    features = page.evaluate("window.opened.features")
    assert [feature["name"] for feature in features] == names
    assert features[3]["categories"] == list(model.model_.features[3].categories.values)

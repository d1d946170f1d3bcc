"""Explanations of models of several labels have the names of the labels."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import pytest

from inspection.tables import fitted, mixed
from stagewise import GradientBoostingClassifier, InvalidParameterError, RandomForestClassifier
from stagewise.inspection import (
    accumulated_effects,
    importance,
    importance_table,
    partial_dependence,
    shap_values,
)

LABELS = ("l1", "l2", "l3")
CLASSES = ("l1=0", "l1=1", "l2=0", "l2=1", "l3=0", "l3=1")


@functools.cache
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(150, 4)), columns=list("abcd"))
    Y = X[["a", "b", "c"]].to_numpy() + 0.5 * rng.normal(size=(150, 3)) > 0.3
    return X, pd.DataFrame(Y.astype(int), columns=LABELS)


@functools.cache
def model(leaves):
    X, Y = table()
    return GradientBoostingClassifier(n_estimators=5, early_stopping=False, leaves=leaves).fit(X, Y)


@pytest.mark.parametrize("leaves", ["constant", "vector"])
def test_shapley_values_have_one_output_per_label(leaves):
    X, _ = table()
    found = shap_values(model(leaves), X)
    assert found.output_names == LABELS
    sums = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(sums, model(leaves).decision_function(X))
    assert found.beeswarm().get_xlabel() == "Shapley value for l3"
    assert found.waterfall(0, output="l2").get_xlabel() == "model output for l2"


@pytest.mark.parametrize("leaves", ["constant", "vector"])
def test_importances_have_one_column_per_label(leaves):
    X, _ = table()
    rows = {row["feature"]: row for row in importance(model(leaves)).table()}
    assert rows["b"]["l2"] > max(rows["b"]["l1"], rows["b"]["l3"])
    assert "l3" in str(importance(model(leaves)))
    assert importance(model(leaves), "shap", X=X).outputs == LABELS
    outputs = {row["output"] for row in importance_table(model(leaves), ["gain", "shap"], X=X)}
    assert outputs == {None, *LABELS}


@pytest.mark.parametrize("leaves", ["constant", "vector"])
@pytest.mark.parametrize("effects", [partial_dependence, accumulated_effects])
def test_effects_are_scores_of_labels_or_probabilities_of_classes(leaves, effects):
    X, _ = table()
    scores = effects(model(leaves), X, "b", grid_resolution=[-0.5, 0.5, 1.0])
    shares = effects(model(leaves), X, "b", grid_resolution=[-0.5, 0.5, 1.0], response="mean")
    assert scores.outputs == LABELS
    assert shares.outputs == CLASSES
    assert {row["output"] for row in scores.table()} == set(LABELS)


@pytest.mark.parametrize("leaves", ["constant", "vector"])
def test_the_mean_score_is_that_of_changed_rows(leaves):
    X, _ = table()
    found = partial_dependence(model(leaves), X, "b", grid_resolution=[0.5, 1.0])
    own = model(leaves).decision_function(X.assign(b=0.5)).mean(axis=0)
    np.testing.assert_allclose(found.mean[0], own)


def test_labels_without_names_are_numbered():
    X, Y = table()
    plain = GradientBoostingClassifier(n_estimators=2, early_stopping=False).fit(X, Y.to_numpy())
    assert shap_values(plain, X[:2]).output_names == ("y0", "y1", "y2")


def test_scores_of_forests_are_probabilities_of_classes():
    X, Y = table()
    forest = RandomForestClassifier(n_estimators=3, random_state=0).fit(X, Y)
    found = shap_values(forest, X)
    assert found.output_names == CLASSES
    sums = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(sums, np.hstack(forest.predict_proba(X)), atol=1e-12)


@pytest.mark.parametrize("several", [False, True])
def test_recursion_refuses_means_of_probabilities(several):
    """Points that are symmetric about 0 do not show that a logistic function is no line."""
    own = model("constant") if several else fitted("two classes")
    X = table()[0] if several else mixed()
    with pytest.raises(InvalidParameterError, match="averages scores"):
        partial_dependence(own, X, "b", method="recursion", response="mean")

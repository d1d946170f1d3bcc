"""All kinds of importance, and the tidy table of several."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from inspection.tables import fitted, mixed, targets
from stagewise import InvalidParameterError
from stagewise.inspection import (
    importance,
    importance_table,
    permutation_importance,
    shap_values,
)

KEYS = ["kind", "feature", "output", "importance", "error", "low", "high"]


@pytest.mark.parametrize("weighted", [False, True])
def test_shapley_importance_is_the_mean_absolute_shapley_value(weighted):
    X = mixed(80)
    weight = np.arange(80) % 3 if weighted else None
    found = importance(fitted("a number"), "shap", X=X, sample_weight=weight)
    size = np.abs(shap_values(fitted("a number"), X).values)
    times = np.ones(80, dtype=int) if weight is None else weight
    np.testing.assert_allclose(found.value, np.repeat(size, times, axis=0).mean(axis=0))
    if not weighted:
        np.testing.assert_allclose(found.error, size.std(axis=0, ddof=1) / 80**0.5)
        assert (found.low <= found.value).all()
        assert (found.value <= found.high).all()


def test_shapley_importance_of_classes_has_each_class_and_their_mean():
    X = mixed(80)
    found = importance(fitted("three classes"), "shap", X=X)
    size = np.abs(shap_values(fitted("three classes"), X).values)
    np.testing.assert_allclose(found.by_output, size.mean(axis=0).T)
    np.testing.assert_allclose(found.value, size.mean(axis=(0, 2)))
    assert found.outputs == ("hi", "lo", "mid")


def test_permutation_equals_permutation_importance():
    X, y = mixed(), targets(mixed())["two"]
    one = importance(fitted("two classes"), "permutation", X=X, y=y)
    other = permutation_importance(fitted("two classes"), X, y)
    for name in ("value", "error", "low", "high"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize(
    ("name", "target"), [("a forest", "number"), ("a forest of classes", "three")]
)
def test_forests_use_out_of_bag_rows(name, target):
    X, y = mixed(), targets(mixed())[target]
    found = importance(fitted(name), "permutation_oob", X=X, y=y)
    other = fitted(name).oob_importances(X, y)
    np.testing.assert_array_equal(found.value, other.mean)
    np.testing.assert_array_equal(found.error, other.error)
    assert (found.by_output is None) == (target == "number")
    if target == "three":
        np.testing.assert_array_equal(found.by_output, other.by_class)
        assert found.outputs == ("hi", "lo", "mid")


def test_several_kinds_are_one_tidy_table():
    X, y = mixed(), targets(mixed())["three"]
    kinds = ("gain", "shap", "permutation")
    rows = importance_table(fitted("three classes"), kinds, X=X, y=y)
    table = pd.DataFrame(rows)
    assert table.columns.tolist() == KEYS
    whole = table[table.output.isna()]
    for kind in kinds:
        found = importance(
            fitted("three classes"),
            kind,
            X=None if kind == "gain" else X,
            y=y if kind == "permutation" else None,
        )
        own = whole[whole.kind == kind].set_index("feature").importance
        assert own.index.tolist() == [found.features[j] for j in found.order]
        np.testing.assert_array_equal(own[list(found.features)], found.value)
    hi = table[(table.kind == "shap") & (table.output == "hi")].set_index("feature").importance
    own = importance(fitted("three classes"), "shap", X=X).by_output[0]
    np.testing.assert_array_equal(hi[["a", "b", "c", "d"]], own)
    assert table[table.kind == "gain"].error.isna().all()
    assert [row["kind"] for row in importance_table(fitted("a number"))][::4] == [
        "gain",
        "squared_improvement",
        "splits",
        "cover",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "gains"}, "Did you mean 'gain'"),
        ({"kind": 3}, "kind must be one of 'squared_improvement', .*got 3"),
        ({"kind": "gain", "X": 1}, "X was passed, but 'gain' does not use it. Leave X out"),
        ({"kind": "shap"}, "kind='shap' needs X"),
        ({"kind": "shap", "X": mixed(9), "y": 1}, "y was passed"),
        ({"kind": "permutation", "X": mixed(9)}, "needs y: pass held-out rows"),
    ],
)
def test_arguments_that_a_kind_does_not_use_are_errors(options, message):
    with pytest.raises(InvalidParameterError, match=message):
        importance(fitted("a number"), **options)


def test_incompatible_kinds_are_refused():
    model = fitted("a forest")
    with pytest.raises(InvalidParameterError, match="in two calls"):
        importance_table(model, ["permutation", "permutation_oob"], X=mixed(), y=1)
    with pytest.raises(InvalidParameterError, match="list of different kinds"):
        importance_table(model, ["gain", "gain"])
    with pytest.raises(InvalidParameterError, match="list of different kinds"):
        importance_table(model, "gain")
    with pytest.raises(InvalidParameterError, match="y was passed, but 'gain' and 'shap' do"):
        importance_table(model, ["gain", "shap"], X=mixed(), y=1)
    with pytest.raises(TypeError, match="GradientBoostingRegressor is not one"):
        importance(fitted("a number"), "permutation_oob", X=mixed(), y=1)
    with pytest.raises(ValueError, match="X has no rows"):
        importance(fitted("a number"), "shap", X=mixed().iloc[:0])

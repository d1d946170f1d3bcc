"""Imputation: the numbers of the page, and errors that name the remedy."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from estimators.every import EVERY, has
from stagewise import DecisionTreeRegressor, Goss
from stagewise.datasets import make_friedman1

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "data.md"


def read_tool():
    path = ROOT / "tools" / "measure_imputation.py"
    spec = importlib.util.spec_from_file_location("measure_imputation", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


tool = read_tool()


@pytest.mark.parametrize("mechanism", list(tool.MECHANISMS))
def test_the_page_has_the_measured_errors(mechanism):
    page = PAGE.read_text(encoding="utf-8")
    assert f"| missing | {' | '.join(tool.MODELS)} |" in page
    assert tool.table_row(mechanism, tool.measure(mechanism)) in page


@EVERY
def test_missing_strategy_of_other_estimators_is_an_error_with_the_remedy(kind):
    if has(kind, "missing_strategy"):
        kind(missing_strategy="mean")
        return
    remedy = (
        rf"It is a parameter of DecisionTree.*make_pipeline\(SimpleImputer\(\), {kind.__name__}\("
    )
    with pytest.raises(TypeError, match=remedy):
        kind(missing_strategy="mean")
    with pytest.raises(ValueError, match=remedy):
        kind().set_params(missing_strategy="mean")


def test_an_option_is_not_put_into_a_pipeline():
    with pytest.raises(TypeError, match="no parameter 'missing_strategy'") as found:
        Goss(missing_strategy="mean")
    assert "make_pipeline" not in str(found.value)


def test_a_tree_that_replaces_by_the_mean_is_the_tree_of_the_pipeline():
    """Two ways of mean imputation are the same, up to the rounding of the means."""
    X, y = make_friedman1(400)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    own = DecisionTreeRegressor(missing_strategy="mean", max_leaf_nodes=20).fit(X, y)
    other = make_pipeline(SimpleImputer(), DecisionTreeRegressor(max_leaf_nodes=20)).fit(X, y)
    np.testing.assert_allclose(own.predict(X), other.predict(X))

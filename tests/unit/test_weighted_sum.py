"""A weighted sum of models has the weighted sum of their scores."""

from __future__ import annotations

import numpy as np
import pytest

from estimators.tables import make_table
from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.model.weighted_sum import weighted_sum

WEIGHTS = (0.5, 0.3, 0.2)


@pytest.fixture(scope="module")
def table():
    return make_table(300)


def with_codes(table):
    """Return the table with a categorical column of many categories, and the parameters for it."""
    X = np.column_stack([table.X, np.random.default_rng(0).integers(0, 70, len(table.X))])
    return X, {"categorical_features": [X.shape[1] - 1]}


def sum_of(models, X, weights=WEIGHTS):
    """Return the scores of an estimator with the weighted sum of its models."""
    estimator = models[0]
    model = weighted_sum([m.model_ for m in models], weights)
    found = estimator._from_model(model, estimator.get_params(), {})
    expected = sum(w * m._score(X) for m, w in zip(models, weights, strict=True))
    return found, expected


@pytest.mark.parametrize("leaves", ["constant", "linear"])
@pytest.mark.parametrize("encoding", ["sets", "target"])
def test_the_scores_are_the_weighted_sum(table, leaves, encoding):
    if (leaves, encoding) == ("linear", "target"):
        pytest.skip("target encodings have constant leaves")
    X, categorical = with_codes(table)
    models = [
        GradientBoostingRegressor(
            n_estimators=9,
            leaves=leaves,
            category_encoding=encoding,
            max_leaf_nodes=4 + seed,
            random_state=seed,
            **categorical,
        ).fit(X, table.number)
        for seed in range(3)
    ]
    found, expected = sum_of(models, X)
    np.testing.assert_allclose(found._score(X), expected, rtol=1e-12, atol=1e-12)
    assert len(found.model_.features.target_encodings) == sum(
        len(m.model_.features.target_encodings) for m in models
    )
    assert found.feature_importances_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("leaves", [("constant",) * 3, ("vector",) * 3, ("constant", "vector")])
def test_trees_of_one_class_and_of_all_classes_can_be_added(table, leaves):
    models = [
        GradientBoostingClassifier(n_estimators=5, leaves=kind, random_state=seed).fit(
            table.X, table.many
        )
        for seed, kind in enumerate(leaves)
    ]
    found, expected = sum_of(models, table.X, WEIGHTS[: len(models)])
    np.testing.assert_allclose(found._score(table.X), expected, rtol=1e-12, atol=1e-12)


def test_the_sum_of_one_model_is_the_model(table):
    model = GradientBoostingClassifier(n_estimators=5).fit(table.X, table.two)
    other = GradientBoostingClassifier(n_estimators=7).fit(table.X, table.two)
    alone = weighted_sum([model.model_, other.model_], [1.0, 0.0])
    assert alone.fingerprint() == model.fingerprint()


def test_models_in_different_units_are_refused(table):
    fit = GradientBoostingRegressor(n_estimators=2).fit
    one = fit(table.X, table.number).model_
    for other in (
        GradientBoostingRegressor(n_estimators=2).fit(table.X, 2 * table.number),
        GradientBoostingRegressor(n_estimators=2).fit(table.X[:, :3], table.number),
        GradientBoostingRegressor(n_estimators=2, loss="huber").fit(table.X, table.number),
    ):
        with pytest.raises(ValueError, match="cannot be added"):
            weighted_sum([one, other.model_], [0.5, 0.5])

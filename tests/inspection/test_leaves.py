"""Proximity, contributions and decision paths."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from inspection.tables import MODELS, fitted, mixed, targets
from reference.inspection import leaf_of
from stagewise import GradientBoostingRegressor, StagewiseLinearRegressor
from stagewise.inspection import decision_path, proximity, staged_contributions


@pytest.mark.parametrize("name", MODELS)
def test_contributions_add_up_to_the_score(name):
    model, X = fitted(name), mixed()[:30]
    found = staged_contributions(model, X)
    ensemble = model.model_.ensemble
    assert found.rounds.shape == (30, ensemble.n_rounds, ensemble.n_outputs)
    predicted = found.scores()[:, -1]
    if hasattr(model, "decision_function"):
        truth = model.decision_function(X).reshape(predicted.shape)
    else:
        truth = model.predict(X).reshape(predicted.shape)
    np.testing.assert_allclose(predicted, truth, rtol=1e-9, atol=1e-12)
    assert found.table(3)[-1]["score"] == pytest.approx(predicted[3, -1])


@pytest.mark.parametrize("name", MODELS)
def test_paths_end_in_the_leaf_of_the_core(name):
    model, X = fitted(name), mixed()[:5]
    leaves = model.apply(X).reshape(5, -1)
    for i in range(5):
        found = decision_path(model, X.iloc[[i]])
        assert [p.nodes[-1] for p in sorted(found.paths, key=lambda p: p.tree)] == list(leaves[i])
        sizes = [np.abs(p.deviation).max() for p in found.paths]
        assert sizes == sorted(sizes, reverse=True)
        expected = staged_contributions(model, X.iloc[[i]]).scores()[0, -1]
        np.testing.assert_allclose(found.score, expected, rtol=1e-9)


def test_a_rule_holds_for_exactly_the_rows_of_its_leaf():
    model, X = fitted("a number"), mixed()
    row = X.iloc[[7]]
    path = decision_path(model, row).paths[0]
    inside = model.apply(X)[:, path.tree] == path.nodes[-1]
    numbers = {}
    for rule in path.rule:
        if " is " in rule or "missing" in rule:
            continue
        message = rule.split()
        if message[1] in ("≤", ">"):
            numbers[message[0]] = (
                (-np.inf, float(message[2])) if message[1] == "≤" else (float(message[2]), np.inf)
            )
        else:
            numbers[message[2]] = (float(message[0]), float(message[4]))
    for name, (low, high) in numbers.items():
        values = X.loc[inside, name].dropna()
        assert ((values > low - 1e-4) & (values <= high + 1e-4)).all()


def test_categories_missing_values_and_unknown_categories_as_text():
    X, y = mixed(), 5.0 * mixed().c.isin(["u", "w"]) + 2 * mixed().b.isna()
    model = GradientBoostingRegressor(n_estimators=1, max_leaf_nodes=4, min_samples_leaf=3)
    model.fit(X, y)
    row = X[X.c.eq("u") & X.b.isna()].iloc[[0]]
    message = str(decision_path(model, row))
    assert "c is in {'u', 'w'}" in message
    assert "b is missing" in message
    strange = row.assign(c="q")
    model.set_params(handle_unknown="prior")
    assert "unknown category" in str(decision_path(model, strange))


def test_wide_integers_as_text():
    when = 2**60 + np.arange(400, dtype=np.int64)
    X = pd.DataFrame({"when": when, "x": np.arange(400.0) % 7})
    model = GradientBoostingRegressor(n_estimators=1, max_leaf_nodes=2, max_features=1.0)
    model.fit(X, np.arange(400) > 199)
    assert f"when ≤ {2**60}"[:16] in str(decision_path(model, X.iloc[[0]]))


def test_more_than_one_row_is_refused():
    with pytest.raises(ValueError, match="one row; got 2"):
        decision_path(fitted("a number"), mixed()[:2])


def test_proximity_is_the_share_of_shared_leaves():
    model, X = fitted("a forest"), mixed()[:12]
    ensemble = model.model_.ensemble
    codes = X.c.cat.codes.to_numpy().astype(float)
    rows = np.column_stack([X.a, X.b, codes, X.d])
    leaves = np.array([[leaf_of(ensemble, tree, row) for tree in ensemble.trees] for row in rows])
    slow = (leaves[:, None] == leaves[None]).mean(axis=2)
    np.testing.assert_array_equal(proximity(model, X), slow)
    np.testing.assert_array_equal(proximity(model, X[:3], X[5:]), slow[:3, 5:])


def test_the_chunk_size_of_proximity_does_not_matter(monkeypatch):
    model, X = fitted("a number"), mixed()
    whole = proximity(model, X)
    monkeypatch.setattr("stagewise.inspection.leaves.PAIRS", 1000)
    np.testing.assert_array_equal(proximity(model, X), whole)
    assert (np.diag(whole) == 1).all()


def test_linear_leaves_contribute_their_predictions():
    X, y = mixed(), targets(mixed())["number"]
    model = GradientBoostingRegressor(n_estimators=5, leaves="linear").fit(X, y)
    found = decision_path(model, X[:1])
    base = staged_contributions(model, X[:1]).base[0]
    assert base + sum(p.value[0] for p in found.paths) == pytest.approx(found.score[0])
    assert found.score[0] == pytest.approx(model.predict(X[:1])[0])


def test_linear_terms_have_no_leaves():
    X = np.arange(40.0).reshape(20, 2)
    model = StagewiseLinearRegressor(n_estimators=3).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="only linear terms"):
        proximity(model, X)

"""Accumulated local effects and interactions."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from inspection.tables import MODELS, fitted, mixed, targets
from reference.inspection import accumulated, accumulated_pair, expectation
from stagewise import GradientBoostingRegressor, InvalidParameterError
from stagewise.inspection import accumulated_effects, interactions, partial_dependence


def plane(n=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[:, 1] += X[:, 0]  # correlated
    return X, X[:, 0] * X[:, 1] + X[:, 2]


@pytest.fixture(scope="module")
def model():
    X, y = plane()
    return GradientBoostingRegressor(n_estimators=20).fit(X, y)


def test_effects_equal_those_of_the_paper(model):
    X, _ = plane(150)
    weight = np.arange(150.0) % 3
    found = accumulated_effects(model, X, 1, sample_weight=weight, grid_resolution=6)
    ends = found.grids[0].codes
    assert len(ends) == 7
    slow = accumulated(
        lambda row: model.predict(row[None])[0], X[weight > 0], weight[weight > 0], 1, ends
    )
    np.testing.assert_allclose(found.effect[:, 0], slow, rtol=1e-9, atol=1e-10)
    twice = accumulated_effects(
        model, np.repeat(X, weight.astype(int), axis=0), 1, grid_resolution=6
    )
    np.testing.assert_allclose(twice.effect, found.effect, rtol=1e-9, atol=1e-10)


def test_effects_of_pairs_equal_those_of_the_paper(model):
    X, _ = plane(200)
    found = accumulated_effects(model, X, [0, 2], grid_resolution=3)
    slow = accumulated_pair(
        lambda row: model.predict(row[None])[0], X, (0, 2), [g.codes for g in found.grids]
    )
    np.testing.assert_allclose(found.effect[..., 0], slow, rtol=1e-8, atol=1e-9)


def test_an_additive_model_has_no_effects_of_pairs():
    X, y = plane()
    model = GradientBoostingRegressor(n_estimators=40, interaction_cst="no_interactions").fit(X, y)
    found = accumulated_effects(model, X, [0, 1], grid_resolution=5)
    np.testing.assert_allclose(found.effect, 0, atol=1e-9)
    assert (found.rows == 0).any()  # columns are correlated: some cells of the grid are empty
    one, two = accumulated_effects(model, X, 1, grid_resolution=5), partial_dependence(model, X, 1)
    same = partial_dependence(model, X, 1, grid_resolution=one.grids[0].values)
    np.testing.assert_allclose(np.diff(one.effect[:, 0]), np.diff(same.mean[:, 0]), atol=1e-9)
    assert two.mean.shape[1] == 1


def test_correlated_columns_do_not_share_effects():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 1)) + rng.normal(size=(4000, 2)) / 20
    model = GradientBoostingRegressor(n_estimators=50).fit(X, X[:, 0] + X[:, 1] ** 2)
    found = accumulated_effects(model, X, [0], grid_resolution=10)
    assert np.isfinite(found.effect).all()
    np.testing.assert_allclose(np.average(found.effect[:, 0]), 0, atol=0.5)


@pytest.mark.parametrize("name", MODELS)
def test_categories_have_effects(name):
    X, model = mixed(), fitted(name)
    found = accumulated_effects(model, X, "c", response="mean")
    assert sorted(found.grids[0].values) == list("uvwxyz")
    np.testing.assert_allclose(np.average(found.effect, axis=0, weights=found.rows), 0, atol=1e-9)


def test_differences_between_categories_use_their_own_rows():
    X, model = mixed(), fitted("a number")
    found = accumulated_effects(model, X, "c")
    categories = found.grids[0].values
    for k, (first, second) in enumerate(itertools.pairwise(categories)):
        own = X[X.c.isin([first, second])]
        low, high = (
            own.assign(c=pd.Categorical([v] * len(own), X.c.cat.categories))
            for v in (first, second)
        )
        step = (model.predict(high) - model.predict(low)).mean()
        assert found.effect[k + 1, 0] - found.effect[k, 0] == pytest.approx(step, abs=1e-9)


def test_similar_categories_are_neighbours():
    rng = np.random.default_rng(0)
    place = rng.integers(0, 5, 2000)
    names = np.array(["d", "a", "e", "b", "c"])  # along x: d a e b c
    X = pd.DataFrame({"c": pd.Categorical(names[place]), "x": place + rng.normal(size=2000) / 2})
    model = GradientBoostingRegressor(n_estimators=20).fit(X, place.astype(float))
    categories = accumulated_effects(model, X, "c").grids[0].values
    assert categories in (tuple("daebc"), tuple("cbead"))


@pytest.mark.parametrize(
    ("features", "options", "message"),
    [
        (["a", "c"], {}, "'c' is categorical"),
        (["a", "b", "d"], {}, "got 3"),
        ("a", {"grid_resolution": [1.0, 0.0]}, "increasing"),
        ("a", {"grid_resolution": 0}, "grid_resolution must be"),
        ("a", {"response": "log"}, "response must be"),
    ],
)
def test_error_names_invalid_parameters_of_effects(features, options, message):
    with pytest.raises(InvalidParameterError, match=message):
        accumulated_effects(fitted("a number"), mixed(), features, **options)


def test_a_constant_feature_has_no_effect():
    with pytest.raises(ValueError, match="'a' has only one value"):
        accumulated_effects(fitted("a number"), mixed().assign(a=1.0), "a")
    with pytest.raises(ValueError, match="No row of X has a finite value of 'b'"):
        accumulated_effects(fitted("a number"), mixed().assign(b=np.nan), "b")


def test_effect_plots():
    X = mixed()
    found = accumulated_effects(fitted("three classes"), X, "a")
    assert len(found.plot().get_legend().get_texts()) == 3
    assert len(found.table()) == 3 * len(found.grids[0].values)
    assert (
        accumulated_effects(fitted("a number"), X, ["a", "b"], grid_resolution=5)
        .plot()
        .get_ylabel()
        == "b"
    )
    assert accumulated_effects(fitted("a number"), X, "c").plot().get_xlabel() == "c"


# ---- Friedman's H --------------------------------------------------------------------------------


def slow_h(ensemble, rows, weight, places):
    """Friedman's H of some columns, from the definition."""

    def part(chosen):
        predicted = np.array([expectation(ensemble, {j: row[j] for j in chosen}) for row in rows])
        return predicted - np.average(predicted, axis=0, weights=weight)

    whole, everything = part(places), range(rows.shape[1])
    if len(places) == 1:
        whole = part(everything)
        left = whole - part(places) - part([j for j in everything if j not in places])
    elif len(places) == 2:
        left = whole - part(places[:1]) - part(places[1:])
    else:
        a, b, c = places
        left = (
            whole - part([a, b]) - part([a, c]) - part([b, c]) + part([a]) + part([b]) + part([c])
        )
    over, under = (np.average(v**2, axis=0, weights=weight) for v in (left, whole))
    return np.sqrt(over / under)


@pytest.mark.parametrize("name", ["a number", "three classes", "vector leaves", "a forest"])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_h_equals_friedmans_definition(name, order):
    model, X = fitted(name), mixed()[:40]
    weight = 1.0 + np.arange(40) % 2
    found = interactions(model, X, ["a", "b", "c"], sample_weight=weight, order=order)
    codes = X.c.cat.codes.to_numpy().astype(float)
    rows = np.column_stack([X.a, X.b, codes, X.d])
    for names, h in zip(found.features, found.h, strict=True):
        places = ["abcd".index(n) for n in names]
        slow = slow_h(model.model_.ensemble, rows, weight, places)
        np.testing.assert_allclose(h, slow, rtol=1e-8, atol=1e-10)


def test_only_interacting_features_have_a_large_h():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(3000, 4))
    model = GradientBoostingRegressor(n_estimators=80).fit(X, 3 * X[:, 0] * X[:, 1] + X[:, 2])
    found = interactions(model, X, [0, 1, 2])
    assert found.features == (("x0", "x1"), ("x0", "x2"), ("x1", "x2"))
    assert found.h[0, 0] > 0.9
    assert found.strength[0, 0] > 10 * found.strength[1:].max()
    assert found.table()[0]["features"] == "x0 × x1"
    additive = GradientBoostingRegressor(n_estimators=90, interaction_cst="no_interactions")
    found = interactions(additive.fit(X, X[:, 0] + X[:, 1] + X[:, 2]), X, [0, 1, 2], order=1)
    np.testing.assert_allclose(found.h, 0, atol=1e-7)


def test_the_brute_method_gives_h_of_predictions():
    X, model = mixed()[:60], fitted("a number")
    brute = interactions(model, X, ["a", "b"], method="brute")
    predicted = {}
    for names in (["a"], ["b"], ["a", "b"]):
        means = []
        for i in range(60):
            moved = X.assign(**{n: X[n].iloc[i] for n in names})
            means.append(model.predict(moved).mean())
        predicted["".join(names)] = np.array(means) - np.mean(means)
    left = predicted["ab"] - predicted["a"] - predicted["b"]
    assert brute.h[0, 0] == pytest.approx(np.sqrt((left**2).sum() / (predicted["ab"] ** 2).sum()))


def test_linear_leaves_need_the_brute_method_for_h():
    X, y = mixed(), targets(mixed())["number"]
    model = GradientBoostingRegressor(n_estimators=5, leaves="linear").fit(X, y)
    with pytest.raises(InvalidParameterError, match="linear leaves"):
        interactions(model, X)
    assert interactions(model, X, ["a", "b"], method="brute", max_samples=30).h.shape == (1, 1)


def test_error_names_invalid_parameters_of_interactions():
    X, model = mixed(), fitted("a number")
    with pytest.raises(InvalidParameterError, match="order must be"):
        interactions(model, X, order=4)
    with pytest.raises(InvalidParameterError, match="needs at least 2"):
        interactions(model, X, ["a"])
    with pytest.raises(InvalidParameterError, match="Did you mean 'a'"):
        interactions(model, X, ["aa", "b"])
    assert len(interactions(model, X, max_samples=50).plot().get_yticklabels()) > 2

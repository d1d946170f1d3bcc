"""Partial dependence, by brute force and by recursion."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.ensemble import GradientBoostingRegressor as ScikitBoosting
from sklearn.inspection import partial_dependence as scikit_dependence

from inspection.tables import MODELS, fitted, mixed, targets
from reference.inspection import expectation
from stagewise import GradientBoostingClassifier, GradientBoostingRegressor, InvalidParameterError
from stagewise.inspection import accumulated_effects, partial_dependence
from stagewise.inspection.dependence.traversal import Traversal
from stagewise.model.ensemble import Ensemble
from stagewise.trees.tree import Tree


def in_units(model, score):
    """Return scores of a regression in the units of its target."""
    model = model.model_
    return score if model.classes is not None else model.offset + model.scale * score


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("places", [(0,), (1,), (2,), (1, 2), (0, 1)])
def test_traversal_equals_friedmans_recursion(name, places):
    model = fitted(name)
    grid = {0: [-1.0, 0.2, 1.5], 1: [-0.5, np.nan, 0.7], 2: ["u", "z", None]}
    found = partial_dependence(
        model, None, list(places), grid_resolution={j: grid[j] for j in places}
    )
    ensemble = model.model_.ensemble
    codes = [g.codes for g in found.grids]
    for place in np.ndindex(*(len(c) for c in codes)):
        known = {j: codes[i][place[i]] for i, j in enumerate(places)}
        slow = in_units(model, expectation(ensemble, known))
        np.testing.assert_allclose(found.mean[place], slow, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("response", ["score", "mean"])
def test_brute_force_equals_the_mean_prediction_of_changed_rows(name, response):
    model, X = fitted(name), mixed()[:80]
    weight = np.arange(80.0) % 4
    for feature, values in {"b": [0.3, np.nan], "c": ["v", "w"]}.items():
        found = partial_dependence(
            model, X, feature, sample_weight=weight, grid_resolution=values, response=response
        )
        for i, value in enumerate(values):
            moved = X.copy()
            moved[feature] = pd.Series([value] * 80, index=X.index).astype(X[feature].dtype)
            if response == "score" and hasattr(model, "decision_function"):
                predicted = model.decision_function(moved)
            elif hasattr(model, "predict_proba"):
                predicted = model.predict_proba(moved)
            else:
                predicted = model.predict(moved)
            mean = np.average(predicted.reshape(80, -1), axis=0, weights=weight)
            np.testing.assert_allclose(found.mean[i], mean, rtol=1e-9)


def from_scikit(model, n_features):
    """Return scikit-learn's trees as an Ensemble."""
    trees = []
    for (one,) in model.estimators_:
        t = one.tree_
        leaf = t.children_left < 0
        trees.append(
            Tree(
                feature=np.where(leaf, -1, t.feature).astype(np.int32),
                threshold=np.where(leaf, 0.0, t.threshold),
                missing_left=np.zeros(t.node_count, np.uint8),
                left=t.children_left.astype(np.int32),
                right=t.children_right.astype(np.int32),
                value=model.learning_rate * t.value[:, 0, 0],
                gain=np.zeros(t.node_count),
                cover=t.weighted_n_node_samples,
            )
        )
    return Ensemble(n_features, np.zeros(1), trees)


@pytest.mark.parametrize("places", [(0,), (2,), (0, 2), (1, 3)])
def test_traversal_of_scikit_learns_trees_equals_its_recursion(places):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32).astype(np.float64)
    X[:, 3] += X[:, 0]
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3]
    theirs = ScikitBoosting(n_estimators=25, max_depth=4, subsample=0.7)
    theirs.fit(X, y, sample_weight=rng.random(300))  # its recursion omits the constant
    theirs_recursion = scikit_dependence(
        theirs, X, list(places), method="recursion", grid_resolution=15
    )
    points = [m.ravel() for m in np.meshgrid(*theirs_recursion["grid_values"], indexing="ij")]
    ours = Traversal(from_scikit(theirs, 4)).score(dict(zip(places, points, strict=True)))
    np.testing.assert_allclose(
        ours[:, 0], theirs_recursion["average"].ravel(), rtol=1e-9, atol=1e-12
    )


def test_both_methods_agree_where_features_are_independent():
    values = np.linspace(-1, 1, 9)
    X = np.stack(np.meshgrid(values, values, values), -1).reshape(-1, 3)  # a full factorial
    y = X[:, 0] * X[:, 1] + X[:, 2] ** 2
    model = GradientBoostingRegressor(n_estimators=30, l2_regularization=0.0).fit(X, y)
    brute = partial_dependence(model, X, 2, grid_resolution=values, max_samples=None)
    walked = partial_dependence(model, X, 2, grid_resolution=values, method="recursion")
    # Trees that split by other features first have the same rows of this one in every part.
    np.testing.assert_allclose(walked.mean, brute.mean, atol=0.02)
    np.testing.assert_allclose(brute.mean[:, 0], values**2, atol=0.1)


def test_both_methods_agree_for_an_additive_model():
    X, y = mixed(), targets(mixed())["number"]
    model = GradientBoostingRegressor(n_estimators=30, max_leaf_nodes=2).fit(X, y)
    brute = partial_dependence(model, X, "a", max_samples=None)
    walked = partial_dependence(model, X, "a", method="recursion")
    np.testing.assert_allclose(walked.mean, brute.mean, rtol=1e-9)


def test_weights_equal_repeated_rows_in_any_order():
    X, model = mixed()[:60], fitted("a number")
    weight = np.arange(60) % 3
    twice = X.iloc[np.repeat(np.arange(60), weight)]
    one = partial_dependence(model, X, "b", sample_weight=weight, grid_resolution=[0.0, 1.0])
    two = partial_dependence(model, twice, "b", grid_resolution=[0.0, 1.0])
    np.testing.assert_allclose(one.mean, two.mean, rtol=1e-12)
    backwards = partial_dependence(model, twice[::-1], "b", grid_resolution=[0.0, 1.0])
    np.testing.assert_allclose(backwards.mean, two.mean, rtol=1e-12)
    grids = [
        partial_dependence(model, data, "a", sample_weight=w, grid_resolution=7).grids[0].codes
        for data, w in ((X, weight), (twice, None))
    ]
    np.testing.assert_array_equal(*grids)


def test_curves_of_rows_average_to_the_dependence():
    X, model = mixed(), fitted("two classes")
    found = partial_dependence(model, X, "a", n_ice=400, grid_resolution=9)
    assert found.individual.shape == (400, 9, 1)
    np.testing.assert_allclose(found.individual.mean(axis=0), found.mean, rtol=1e-10, atol=1e-12)
    centred = found.centred(at=2)
    assert (centred.individual[:, 2] == 0).all()
    np.testing.assert_allclose(centred.mean, found.mean - found.mean[2])


def test_the_chunk_size_does_not_matter(monkeypatch):
    model = fitted("a forest of classes")
    whole = partial_dependence(
        model, None, ["a", "c"], grid_resolution={"a": np.linspace(-2, 2, 30), "c": list("uz")}
    )
    monkeypatch.setattr("stagewise.inspection.dependence.traversal.CELLS", 100)
    parts = partial_dependence(
        model, None, ["a", "c"], grid_resolution={"a": np.linspace(-2, 2, 30), "c": list("uz")}
    )
    np.testing.assert_array_equal(whole.mean, parts.mean)


def test_wide_integers_are_shown_exactly():
    base = 2**60
    when = base + np.arange(400, dtype=np.int64) * 1000
    X = pd.DataFrame({"when": when, "x": np.arange(400) % 7})
    model = GradientBoostingRegressor(n_estimators=20).fit(X, (when - base) / 1e5)
    found = partial_dependence(model, X, "when", grid_resolution=5)
    assert all(isinstance(v, int) and base <= v <= when[-1] + 1000 for v in found.grids[0].values)
    assert (np.diff(found.mean[:, 0]) > 0).all()
    ends = partial_dependence(model, X, "when", grid_resolution=when[[0, -1]])
    np.testing.assert_allclose(ends.mean[:, 0], found.mean[[0, -1], 0], atol=0.1)


def target_encoded_model():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 30, (4000, 2))
    names = pd.DataFrame({"p": codes[:, 0].astype(str), "q": codes[:, 1].astype(str)})
    X = names.astype("category").assign(x=rng.normal(size=4000))
    y = rng.normal(size=(30, 30))[codes[:, 0], codes[:, 1]] * 3 + X.x
    model = GradientBoostingRegressor(n_estimators=15, category_encoding="target").fit(X, y)
    return model, X


def test_target_encodings_follow_their_features():
    model, X = target_encoded_model()
    assert any(len(s.sources) == 2 for s in model.model_.features.target_encodings)
    with pytest.raises(InvalidParameterError, match=r"'p', 'q' together.*brute"):
        partial_dependence(model, None, "p")
    both = partial_dependence(
        model, None, ["p", "q"], grid_resolution={"p": ["3"], "q": ["5", "7"]}
    )
    brute = partial_dependence(
        model, X, ["p", "q"], grid_resolution={"p": ["3"], "q": ["5", "7"]}, max_samples=None
    )
    np.testing.assert_allclose(both.mean, brute.mean, atol=0.25)
    moved = X.assign(p=pd.Categorical(["3"] * 4000, categories=X.p.cat.categories))
    one = partial_dependence(model, X, "p", grid_resolution=["3"], max_samples=None)
    np.testing.assert_allclose(one.mean[0, 0], model.predict(moved).mean(), rtol=1e-9)


def test_linear_leaves_need_the_brute_method():
    X, y = mixed(), targets(mixed())["number"]
    model = GradientBoostingRegressor(n_estimators=5, leaves="linear").fit(X, y)
    with pytest.raises(InvalidParameterError, match=r"linear leaves.*brute"):
        partial_dependence(model, None, "a")
    found = partial_dependence(model, X, "a", grid_resolution=[0.5])
    moved = X.assign(a=0.5)
    np.testing.assert_allclose(found.mean[0, 0], model.predict(moved).mean(), rtol=1e-9)


def test_a_log_link_has_scores_and_means():
    X, y = mixed(), np.exp(targets(mixed())["number"] / 3)
    model = GradientBoostingRegressor(n_estimators=9, loss="poisson").fit(X, y)
    score = partial_dependence(model, X[:1], "a", grid_resolution=[0.5]).mean
    mean = partial_dependence(model, X[:1], "a", grid_resolution=[0.5], response="mean").mean
    np.testing.assert_allclose(np.exp(score) * model.model_.scale + model.model_.offset, mean)
    with pytest.raises(InvalidParameterError, match="averages scores"):
        partial_dependence(model, None, "a", response="mean")


def test_an_unused_feature_has_a_constant_curve_and_a_warning():
    X = np.column_stack([np.arange(100.0), np.zeros(100)])
    model = GradientBoostingRegressor(n_estimators=3).fit(X, X[:, 0])
    with pytest.warns(UserWarning, match="does not use 'x1'"):
        found = partial_dependence(model, X, 1)
    assert np.ptp(found.mean) == 0
    with pytest.warns(UserWarning, match="flat"):
        assert len(partial_dependence(model, None, "x1").mean) == 1


@pytest.mark.parametrize(
    ("features", "options", "message"),
    [
        ("aa", {}, "no feature 'aa'. Did you mean 'a'"),
        (7, {}, "index from 0 to 3; got 7"),
        (True, {}, "got True"),
        (["a", "b", "c"], {}, "one or two features; got 3"),
        (["a", "a"], {}, "different features"),
        ("a", {"method": "traversal"}, "method must be one of .*recursion"),
        ("a", {"method": "brute"}, "pass X"),
        ("a", {"response": "proba"}, "response must be"),
        ("a", {"sample_weight": [1.0]}, "without X"),
        ("a", {"n_ice": 5}, "n_ice"),
        ("a", {"grid_resolution": 1}, "grid_resolution must be a whole number"),
        ("a", {"grid_resolution": {"d": [1]}}, "'d', which is not one of"),
        ("a", {"grid_resolution": ["x"]}, "'a' must be numbers"),
        ("c", {"grid_resolution": ["uu"]}, "not a category of 'c'"),
        (["a", "b"], {"grid_resolution": [1.0, 2.0]}, "dictionary"),
    ],
)
def test_error_names_invalid_parameters(features, options, message):
    with pytest.raises(InvalidParameterError, match=message):
        partial_dependence(fitted("a number"), None, features, **options)


def test_one_class_has_a_constant_curve():
    X = np.arange(60.0).reshape(20, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GradientBoostingClassifier(n_estimators=2).fit(X, np.repeat("a", 20))
        found = partial_dependence(model, X, 0, response="mean")
    assert found.outputs == ("a",)
    assert (found.mean == 1).all()


def test_threads_do_not_matter():
    X, y = mixed(), targets(mixed())["three"]
    found = [
        partial_dependence(
            GradientBoostingClassifier(n_estimators=5, n_jobs=n).fit(X, y), X, "a", response="mean"
        ).mean
        for n in (1, 2, 3)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_tables_and_plots():
    X = mixed()
    found = partial_dependence(fitted("three classes"), X, ["a", "c"], grid_resolution=4)
    rows = found.table()
    assert len(rows) == 4 * 4 * 3
    assert rows[0].keys() == {"a", "c", "output", "dependence"}
    assert found.plot(output="lo").get_xlabel() == "a"
    curves = partial_dependence(fitted("three classes"), X, "a", grid_resolution=9)
    assert [t.get_text() for t in curves.plot().get_legend().get_texts()] == ["hi", "lo", "mid"]
    ice = partial_dependence(fitted("a number"), X, "a", grid_resolution=9, n_ice=20)
    assert len(ice.plot().lines) == 21
    dots = partial_dependence(fitted("a number"), X, "c").plot()
    assert [t.get_text() for t in dots.get_xticklabels()] == list("uvwxyz")
    assert (
        partial_dependence(fitted("a number"), X, ["a", "b"], grid_resolution=4).plot().get_ylabel()
        == "b"
    )
    with pytest.raises(InvalidParameterError, match="output must be one of 'hi'"):
        curves.plot(output="high")


def test_two_numbers_have_a_surface():
    X = mixed()
    found = partial_dependence(fitted("a number"), X, ["a", "d"], grid_resolution=4)
    ax = found.plot(kind="surface")
    assert (ax.name, ax.get_xlabel(), ax.get_ylabel()) == ("3d", "a", "d")
    ax.figure.canvas.draw()
    low, high = found.mean.min(), found.mean.max()
    assert ax.get_zlim()[0] <= low < high <= ax.get_zlim()[1]
    given = Figure().add_subplot(projection="3d")
    assert found.plot(given, kind="surface") is given
    assert found.plot(kind="contour").name == "rectilinear"
    with pytest.raises(InvalidParameterError, match="needs 3D axes"):
        found.plot(Figure().add_subplot(), kind="surface")
    with pytest.raises(InvalidParameterError, match="kind must be one of None, 'contour'"):
        found.plot(kind="relief")
    with pytest.raises(InvalidParameterError, match=r"two numeric features.*'c' \(a category\)"):
        partial_dependence(fitted("a number"), X, ["a", "c"], grid_resolution=3).plot(
            kind="surface"
        )
    with pytest.raises(InvalidParameterError, match="two numeric features"):
        partial_dependence(fitted("a number"), X, "a", grid_resolution=3).plot(kind="contour")


@pytest.mark.parametrize("function", [partial_dependence, accumulated_effects])
@pytest.mark.parametrize("features", ["a", 0, ["a", "b"]])
def test_error_names_exchanged_rows_and_features(function, features):
    with pytest.raises(InvalidParameterError, match=r"exchanged.*\(estimator, X, features\)"):
        function(fitted("a number"), features, mixed())

"""Feature importance from splits and by permutation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from inspection.tables import MODELS, fitted, mixed, targets
from reference.inspection import improvements
from stagewise import (
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    InvalidParameterError,
    RandomForestClassifier,
    StagewiseRegressor,
    load,
)
from stagewise.inspection import importance, permutation_importance


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_importances(name):
    model = fitted(name)
    found = importance(model, "squared_improvement")
    assert found.features == ("a", "b", "c", "d")
    assert found.value.max() == pytest.approx(100)
    assert found.table()[0]["feature"] in ("a", "c", "d")
    outputs = model.model_.ensemble.n_outputs
    assert (found.by_output is None) == (outputs == 1)
    if outputs > 1:
        assert found.by_output.max(axis=1) == pytest.approx(100)
    np.testing.assert_allclose(importance(model).value, model.feature_importances_)


@pytest.mark.parametrize("name", ["three classes", "two targets", "AdaBoost of three"])
def test_the_squared_improvement_equals_friedmans(name):
    ensemble = fitted(name).model_.ensemble
    own = np.stack([improvements(ensemble, k) for k in range(ensemble.n_outputs)])
    found = importance(fitted(name), "squared_improvement")
    for k, total in enumerate(own):
        root = np.sqrt(total / ensemble.n_rounds)
        np.testing.assert_allclose(found.by_output[k], 100 * root / root.max())
    root = np.sqrt(own.mean(axis=0))
    np.testing.assert_allclose(found.value, 100 * root / root.max())


def test_the_gain_of_a_stump_is_half_its_improvement_of_the_squared_error():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.where(X[:, 0] > 0.3, 2.0, -1.0) + rng.normal(size=300) / 9
    model = GradientBoostingRegressor(
        n_estimators=1,
        max_leaf_nodes=2,
        l2_regularization=0.0,
        min_samples_leaf=1,
        max_features=1.0,
    ).fit(X, y)
    tree = model.model_.ensemble.trees[0]
    left = X[:, 0] <= tree.threshold[0]
    before = ((y - y.mean()) ** 2).sum()
    after = sum(((y[s] - y[s].mean()) ** 2).sum() for s in (left, ~left))
    assert 2 * tree.gain[0] * model.model_.scale**2 == pytest.approx(before - after, rel=1e-6)


def test_splits_and_cover_are_counted():
    model = fitted("a number")
    splits, cover = np.zeros(4), np.zeros(4)
    for tree in model.model_.ensemble.trees:
        for node, column in enumerate(tree.feature):
            if column >= 0:
                splits[column] += 1
                cover[column] += tree.cover[node]
    np.testing.assert_array_equal(importance(model, "splits").value, splits)
    np.testing.assert_allclose(importance(model, "cover").value, cover / cover.sum())


def test_classes_of_a_forest_have_separate_gini_importances():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 4))
    y = np.select([X[:, 0] > 0.7, X[:, 1] > 0], ["a", "b"], "c")
    forest = RandomForestClassifier(n_estimators=10).fit(X, y)
    own = forest.class_importances_
    found = importance(forest, "gain").by_output
    np.testing.assert_allclose(found, own / own.sum(axis=1, keepdims=True), rtol=1e-6)


def test_the_importance_of_a_target_encoding_belongs_to_its_sources():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 80, (3000, 2))
    X = pd.DataFrame({"p": codes[:, 0].astype(str), "q": codes[:, 1].astype(str)}).astype(
        "category"
    )
    y = rng.normal(size=80)[codes[:, 0]] + rng.normal(size=3000) / 3
    model = GradientBoostingRegressor(n_estimators=20, category_encoding="target").fit(X, y)
    assert model.model_.features.target_encodings
    found = importance(model, "gain")
    np.testing.assert_allclose(found.value, model.feature_importances_)
    assert found.value.sum() == pytest.approx(1)


def test_a_loaded_model_has_the_same_importances(tmp_path):
    model = fitted("three classes")
    model.save(tmp_path / "m.stgw")
    again = importance(load(tmp_path / "m.stgw"))
    np.testing.assert_array_equal(again.by_output, importance(model).by_output)


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
def test_a_constant_model_has_importance_zero_and_a_warning():
    X = np.arange(80.0).reshape(40, 2)
    model = GradientBoostingRegressor(n_estimators=2, min_gain=1e9).fit(X, X[:, 0])
    with pytest.warns(UserWarning, match="no splits"):
        assert importance(model).value.tolist() == [0, 0]


def test_models_without_trees_are_errors():
    with pytest.raises(TypeError, match="BaggingRegressor has none"):
        importance(BaggingRegressor())
    with pytest.raises(TypeError, match="is a class"):
        importance(GradientBoostingRegressor)
    with pytest.raises(InvalidParameterError, match="Did you mean 'gain'"):
        importance(fitted("a number"), "gains")
    with pytest.raises(InvalidParameterError, match="needs X: pass held-out rows"):
        importance(fitted("a number"), "permutation")


def test_terms_that_are_not_trees_are_refused():
    X = np.arange(60.0).reshape(20, 3)
    model = StagewiseRegressor(learner=Ridge(), n_estimators=2).fit(X, X[:, 0])
    with pytest.raises(TypeError, match="are other estimators"):
        importance(model)


def test_a_monotone_transform_of_a_column_changes_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = X[:, 0] * X[:, 1]
    one, two = (
        importance(GradientBoostingRegressor(n_estimators=5).fit(Z, y)).value
        for Z in (X, np.exp(X))
    )
    np.testing.assert_array_equal(one, two)


def test_a_continued_model_has_the_importance_of_an_uninterrupted_one():
    X, y = mixed(), targets(mixed())["number"]
    parts = GradientBoostingRegressor(n_estimators=4, learning_rate=0.1).fit(X, y)
    parts.set_params(warm_start=True, n_estimators=9).fit(X, y)
    whole = GradientBoostingRegressor(n_estimators=9, learning_rate=0.1).fit(X, y)
    np.testing.assert_array_equal(importance(parts).value, importance(whole).value)


# ---- permutation ---------------------------------------------------------------------------------


def test_permutation_importance_is_the_mean_increase_of_the_loss():
    X, y = mixed(), targets(mixed())["number"]
    model = fitted("a number")
    found = permutation_importance(model, X, y, n_repeats=3, random_state=5)
    before = (model.predict(X) - y) ** 2
    for j, name in enumerate(X):
        rows = np.zeros(len(y))
        for r in range(3):
            moved = X.copy()
            order = np.random.default_rng([5, r, j]).permutation(len(y))
            moved[name] = X[name].take(order).to_numpy()
            moved[name] = moved[name].astype(X[name].dtype)
            rows += ((model.predict(moved) - y) ** 2 - before) / 3
        assert found.value[j] == pytest.approx(rows.mean(), abs=1e-12)
        assert found.error[j] == pytest.approx(rows.std(ddof=1) / len(y) ** 0.5, abs=1e-12)
    assert (found.low <= found.value).all()


@pytest.mark.parametrize("loss", ["log_loss", "error", "auc"])
def test_permutation_importance_by_losses_of_classes(loss):
    X, y = mixed(), targets(mixed())["two"]
    found = permutation_importance(fitted("two classes"), X, y, loss=loss)
    assert found.features[found.order[0]] == "a"
    assert found.value[0] > 4 * found.error[0] > 0


def test_a_custom_loss_and_several_targets():
    X, y = mixed(), targets(mixed())["pair"]
    model = fitted("two targets")
    by_name = permutation_importance(model, X, y)
    own = permutation_importance(
        model, X, y, loss=lambda t, p, w: float(np.average(((t - p) ** 2).mean(axis=1), weights=w))
    )
    np.testing.assert_allclose(by_name.value, own.value, rtol=1e-10)


def test_groups_are_permuted_together():
    X, y = mixed(), targets(mixed())["number"]
    found = permutation_importance(
        fitted("a number"), X, y, groups={"numbers": ["a", "b", "d"], "a alone": "a"}
    )
    assert found.features == ("numbers", "a alone")
    alone = permutation_importance(fitted("a number"), X, y)
    assert found.value[1] == alone.value[0]


def test_rows_of_weight_zero_do_not_count():
    X, y = mixed(), targets(mixed())["number"]
    weight = np.ones(len(y))
    weight[:50] = 0
    wrong = np.where(weight > 0, y, 1e6)
    model = fitted("a number")
    found = permutation_importance(model, X, wrong, sample_weight=weight)
    right = permutation_importance(model, X, y, sample_weight=weight)
    np.testing.assert_array_equal(found.value, right.value)


def test_threads_do_not_matter():
    X, y = mixed(), targets(mixed())["three"]
    found = [
        permutation_importance(
            GradientBoostingClassifier(n_estimators=5, n_jobs=n).fit(X, y), X, y
        ).value
        for n in (1, 2, 3)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"loss": "log_los"}, InvalidParameterError, "Did you mean 'log_loss'"),
        ({"loss": "squared_error"}, InvalidParameterError, "'log_loss', 'error', 'brier', 'auc'"),
        ({"n_repeats": 0}, InvalidParameterError, "n_repeats must be a whole number"),
        ({"n_repeats": 1, "loss": "auc"}, InvalidParameterError, "n_repeats must be at least 2"),
        ({"confidence_level": 1.0}, InvalidParameterError, "confidence_level must be"),
        ({"groups": {"g": ["aa"]}}, InvalidParameterError, r"groups\['g'\].*'a'"),
        ({"groups": {"g": ["a", 0]}}, InvalidParameterError, "different features"),
        ({"groups": ["a"]}, InvalidParameterError, "dictionary"),
    ],
)
def test_error_names_invalid_parameters(options, error, message):
    X, y = mixed(), targets(mixed())["two"]
    with pytest.raises(error, match=message):
        permutation_importance(fitted("two classes"), X, y, **options)


def test_error_names_invalid_rows():
    X, y = mixed(), targets(mixed())
    model = fitted("two classes")
    with pytest.raises(ValueError, match=r"only the class 'yes'.*log_loss"):
        permutation_importance(model, X, np.repeat("yes", len(X)), loss="auc")
    with pytest.raises(ValueError, match=r"'lo'|'hi'|'mid'"):
        permutation_importance(model, X, y["three"])
    with pytest.raises(InvalidParameterError, match="two classes, and the model has 3"):
        permutation_importance(fitted("three classes"), X, y["three"], loss="auc")
    with pytest.raises(ValueError, match="names should match"):
        permutation_importance(model, X.rename(columns={"a": "z"}), y["two"])


def test_importance_plots():
    ax = importance(fitted("three classes")).plot(top=3)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b", "c"]
    X, y = mixed(), targets(mixed())["number"]
    ax = permutation_importance(fitted("a number"), X, y).plot()
    assert "squared_error" in ax.get_xlabel()


@pytest.mark.parametrize("name", ["three classes", "two targets", "AdaBoost of three"])
def test_the_raw_importance_is_the_mean_of_those_of_the_outputs(name):
    found = importance(fitted(name), "squared_improvement")
    np.testing.assert_allclose(found.raw, found.raw_by_output.mean(axis=0))
    np.testing.assert_allclose(found.value, 100 * np.sqrt(found.raw / found.raw.max()))
    if name == "three classes":  # each is scaled by itself, so the scaled numbers are not means
        assert np.abs(found.value**2 - (found.by_output**2).mean(axis=0)).max() > 1.0


@pytest.mark.parametrize("unit", [1.0, 1e-3, 700.0])
def test_twice_the_raw_importance_is_the_improvement_of_the_squared_error(unit):
    """ESL 10.13: I² = 1/M Σ_m Σ_t i_t², i² = w_l w_r / (w_l + w_r) (mean_l - mean_r)²."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 2))
    y = unit * (np.where(X[:, 0] > 0.3, 2.0, -1.0) + rng.normal(size=300) / 9)
    model = GradientBoostingRegressor(
        n_estimators=2,
        learning_rate=0.5,
        max_leaf_nodes=2,
        l2_regularization=0.0,
        min_samples_leaf=1,
        max_features=None,
    ).fit(X, y)
    total, residual = np.zeros(2), y - y.mean()
    for tree in model.model_.ensemble.trees:
        column = tree.feature[0]
        left = X[:, column] <= tree.threshold[0]
        both, means = [left.sum(), (~left).sum()], [residual[s].mean() for s in (left, ~left)]
        total[column] += both[0] * both[1] / sum(both) * (means[0] - means[1]) ** 2
        residual = residual - 0.5 * np.where(left, *means)
    found = importance(model, "squared_improvement").raw
    np.testing.assert_allclose(2 * found, total / 2, rtol=1e-5)

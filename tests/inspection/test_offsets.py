"""Explanations and quality of models with an offset or an exposure."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_squared_error

from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.inspection import (
    Lift,
    Predictions,
    accumulated_effects,
    calibration,
    confusion_matrix,
    decision_path,
    importance,
    importance_table,
    interactions,
    lift,
    partial_dependence,
    permutation_importance,
    residuals,
    scores,
    shap_values,
    show_split,
    thresholds,
)

mpl.use("Agg")

N = 300
RNG = np.random.default_rng(0)
FEATURES = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(size=N)})
YEARS = RNG.uniform(0.1, 2.0, N)
TABLE = FEATURES.assign(years=YEARS)
Y = RNG.poisson(YEARS * np.exp(0.7 * FEATURES["a"])).astype(float)
OFFSET = RNG.normal(size=N)


@pytest.fixture(scope="module")
def by_array() -> Any:
    model = GradientBoostingRegressor(loss="poisson", n_estimators=20)
    return model.fit(FEATURES, Y, exposure=YEARS)


@pytest.fixture(scope="module")
def by_column() -> Any:
    model = GradientBoostingRegressor(loss="poisson", n_estimators=20)
    return model.fit(TABLE, Y, exposure="years")


@pytest.fixture(scope="module")
def classes() -> Any:
    model = GradientBoostingClassifier(n_estimators=10)
    return model.fit(FEATURES, np.digitize(Y, [1, 2]), offset=np.column_stack([OFFSET] * 3) / 2)


def test_the_offset_is_a_term_beside_shapley_values(by_array: Any, by_column: Any) -> None:
    found = shap_values(by_array, FEATURES, exposure=YEARS)
    assert found.offset is not None
    np.testing.assert_allclose(found.offset, np.log(YEARS))
    total = found.base_values + found.values.sum(axis=1) + found.offset
    np.testing.assert_allclose(np.exp(total), by_array.predict(FEATURES, exposure=YEARS))
    other = shap_values(by_column, TABLE)
    assert np.array_equal(other.values, found.values)
    assert other.offset is not None
    assert np.array_equal(other.offset, found.offset)
    assert shap_values(by_array, FEATURES, exposure=1).offset is None


def test_offsets_of_classes_and_targets_are_terms(classes: Any) -> None:
    offset = np.column_stack([OFFSET, -OFFSET, OFFSET])
    found = shap_values(classes, FEATURES, offset=offset)
    assert found.offset is not None
    total = found.base_values + found.values.sum(axis=1) + found.offset
    np.testing.assert_allclose(total, classes.decision_function(FEATURES, offset=offset))
    found.waterfall(0, output="1")
    plain = GradientBoostingRegressor(n_estimators=10).fit(FEATURES, 100 * Y, offset=OFFSET)
    own = shap_values(plain, FEATURES, offset=OFFSET)
    assert own.offset is not None
    np.testing.assert_allclose(own.offset, OFFSET)
    total = own.base_values + own.values.sum(axis=1) + own.offset
    np.testing.assert_allclose(total, plain.predict(FEATURES, offset=OFFSET))


def test_a_waterfall_ends_at_the_model_output(by_column: Any) -> None:
    axes = shap_values(by_column, TABLE).waterfall(5)
    texts = " ".join(t.get_text() for t in [*axes.get_yticklabels(), *axes.texts])
    assert "offset" in texts


def test_rows_keep_their_exposure_while_a_feature_is_permuted(by_array: Any) -> None:
    found = permutation_importance(by_array, FEATURES, Y, exposure=YEARS, n_repeats=2)
    order = [np.random.default_rng([0, r, 0]).permutation(N) for r in range(2)]
    before = mean_squared_error(Y, by_array.predict(FEATURES, exposure=YEARS))
    moved = [
        mean_squared_error(
            Y,
            by_array.predict(FEATURES.assign(a=FEATURES["a"].to_numpy()[o]), exposure=YEARS),
        )
        for o in order
    ]
    np.testing.assert_allclose(found.value[0], np.mean(moved) - before)


def test_partial_dependence_of_predictions_has_the_exposures(by_array: Any) -> None:
    grid = [-1.0, 0.0, 1.0]
    found = partial_dependence(
        by_array, FEATURES, "a", response="mean", grid_resolution=grid, exposure=YEARS
    )
    means = [by_array.predict(FEATURES.assign(a=x), exposure=YEARS).mean() for x in grid]
    np.testing.assert_allclose(found.mean[:, 0], means)
    rate = partial_dependence(by_array, None, "a", grid_resolution=grid, exposure=1)
    double = partial_dependence(by_array, None, "a", grid_resolution=grid, exposure=2)
    np.testing.assert_allclose(double.mean - rate.mean, np.log(2))


def test_accumulated_effects_of_scores_do_not_depend_on_the_offset(by_column: Any) -> None:
    own = accumulated_effects(by_column, TABLE, "a")
    np.testing.assert_allclose(
        own.effect, accumulated_effects(by_column, TABLE, "a", exposure=3).effect, atol=1e-12
    )
    twice = [
        accumulated_effects(by_column, TABLE, "a", response="mean", exposure=e) for e in (1, 2)
    ]
    np.testing.assert_allclose(2 * twice[0].effect, twice[1].effect)


def test_interactions_do_not_depend_on_the_offset(by_column: Any) -> None:
    assert len(interactions(by_column, TABLE).table())


def test_importances_have_offsets(by_array: Any, by_column: Any) -> None:
    one = importance(by_array, "permutation", X=FEATURES, y=Y, exposure=YEARS)
    two = importance(by_column, "permutation", X=TABLE, y=Y)
    assert np.array_equal(one.value, two.value)
    assert len(importance_table(by_column, ["gain", "shap"], X=TABLE)) == 4


@pytest.mark.parametrize(
    "explain",
    [
        lambda m: shap_values(m, FEATURES),
        lambda m: permutation_importance(m, FEATURES, Y),
        lambda m: partial_dependence(m, FEATURES, "a"),
        lambda m: partial_dependence(m, None, "a"),
        lambda m: accumulated_effects(m, FEATURES, "a"),
        lambda m: scores(m, FEATURES, Y),
        lambda m: residuals(m, FEATURES, Y),
        lambda m: lift(m, FEATURES, Y),
    ],
)
def test_an_explanation_without_the_exposure_is_refused(explain: Any, by_array: Any) -> None:
    with pytest.raises(ValueError, match="was fitted with exposure"):
        explain(by_array)


def test_functions_of_single_trees_refuse_offsets(by_column: Any) -> None:
    with pytest.raises(ValueError, match="decision_path explains the scores of trees, but"):
        decision_path(by_column, TABLE[:1])
    with pytest.raises(ValueError, match="show_split explains the scores of trees, but"):
        show_split(by_column, TABLE, Y)


def test_the_quality_of_predictions_has_the_exposure(by_array: Any, classes: Any) -> None:
    predicted = by_array.predict(FEATURES, exposure=YEARS)
    found = scores(by_array, FEATURES, Y, exposure=YEARS, n_resamples=0)
    np.testing.assert_allclose(found["rmse"].value, np.sqrt(np.mean((Y - predicted) ** 2)))
    assert np.array_equal(residuals(by_array, FEATURES, Y, exposure=YEARS).predicted, predicted)
    labels, offset = np.digitize(Y, [1, 2]), np.zeros((N, 3))
    for function in (confusion_matrix, calibration, thresholds):
        label = {} if function is confusion_matrix else {"pos_label": 1}
        function(classes, FEATURES, labels, offset=offset, **label)
        with pytest.raises(ValueError, match="was fitted with offset"):
            function(classes, FEATURES, labels, **label)


# ---- lift ----------------------------------------------------------------------------------------


def test_lift_equals_its_definition(by_column: Any) -> None:
    weight = np.random.default_rng(1).uniform(0.5, 2.0, N)
    found = lift(by_column, TABLE, Y, sample_weight=weight, n_bins=5)
    predicted = by_column.predict(TABLE)
    order = np.argsort(predicted / YEARS, kind="stable")
    volume = (weight * YEARS)[order]
    share = np.append(0, np.cumsum(volume) / volume.sum())
    claims = np.append(0, np.cumsum((weight * Y)[order]) / (weight * Y).sum())
    gini = 1 - 2 * np.trapezoid(claims, share)
    np.testing.assert_allclose(found.gini, gini, atol=0.01)  # rows of one rate are one step
    np.testing.assert_allclose(found.exposure.sum(), volume.sum())
    np.testing.assert_allclose((found.observed * found.exposure).sum(), (weight * Y).sum())
    np.testing.assert_allclose(found.balance, (weight * predicted).sum() / (weight * Y).sum())
    assert (np.diff(found.predicted) > 0).all()
    assert (found.exposure / found.exposure.sum()).min() > 0.15
    axes = found.plot()
    assert [ax.get_xlabel() for ax in axes] == ["group by predicted rate", "share of exposure"]


def test_the_lift_of_a_constant_is_flat() -> None:
    predictions = Predictions.from_arrays(Y, np.full(N, 2.0))
    found = Lift.of(predictions)
    assert found.gini == pytest.approx(0.0)
    assert len(found.exposure) == 1
    with pytest.raises(ValueError, match="lift needs targets that are not negative"):
        Lift.of(Predictions.from_arrays(-Y, np.ones(N)))

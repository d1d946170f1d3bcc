"""Several quantiles or expectiles in one model: order, accuracy, laws, files and refusals."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import d2_pinball_score

import stagewise
from stagewise import GradientBoostingRegressor
from stagewise.inspection import scores
from stagewise.losses import Expectile, Expectiles, Loss, Quantiles
from stagewise.metrics.probabilistic import coverage, crps_of_quantiles, d2_pinball, pinball

LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]
SMALL = {"n_estimators": 15, "min_samples_leaf": 5}


def table(n: int = 1200, seed: int = 0):
    """Return features and a target whose spread depends on a feature."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + np.exp(0.5 * X[:, 2]) * rng.normal(size=n)


def quantiles(**parameters) -> GradientBoostingRegressor:
    return GradientBoostingRegressor(
        **{"loss": "quantile", "quantile": LEVELS, **SMALL, **parameters}
    )


# ---- order -------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["quantile", "expectile"])
@pytest.mark.parametrize("leaves", ["vector", "constant"])
def test_levels_never_cross_even_far_from_the_training_rows(loss, leaves):
    X, y = table(300)
    model = quantiles(loss=loss, leaves=leaves, n_estimators=60, learning_rate=1.0).fit(X, y)
    far = np.random.default_rng(1).normal(size=(5000, 4)) * 100
    far[::7, 1] = np.nan
    assert (np.diff(model.predict(far), axis=1) >= 0).all()
    assert all((np.diff(staged, axis=1) >= 0).all() for staged in model.staged_predict(far[:50]))


@given(st.lists(st.floats(-1e3, 1e3), min_size=10, max_size=10))
@settings(max_examples=100, deadline=None)
def test_any_scores_are_in_order(scores):
    for loss in (Quantiles(LEVELS), Expectiles(LEVELS), Quantiles([0.1, 0.2])):
        score = np.array(scores).reshape(2, 5)[:, : loss.n_outputs]
        assert (np.diff(loss.mean(score), axis=1) >= 0).all()


def test_a_target_with_many_ties_has_equal_quantiles():
    X, _ = table(400)
    y = (X[:, 0] > 1.0) * 3.0
    predicted = quantiles(n_estimators=80).fit(X, y).predict(X)
    assert np.abs(predicted[X[:, 0] < 0.5]).max() < 0.3


@pytest.mark.parametrize("value", [0.0, 5.0, -1e8])
def test_a_constant_target_is_predicted_at_all_levels(value):
    X, _ = table(100)
    for loss in ("quantile", "expectile"):
        with pytest.warns(UserWarning, match="only one value"):
            model = quantiles(loss=loss).fit(X, np.full(100, value))
        assert (model.predict(X) == value).all()


def test_one_outlier_does_not_widen_the_intervals():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(800, 3)), rng.normal(size=800)
    y[0] = 1e6
    width = np.median(np.ptp(quantiles(n_estimators=50).fit(X, y).predict(X), axis=1))
    assert 1.5 < width < 5.0  # of the normal distribution 3.3


@pytest.mark.parametrize("tied", [0.9, 0.99])
def test_equal_quantiles_of_the_target_can_part(tied):
    x = np.arange(2000.0)
    y = np.where(x < 2000 * tied, 0.0, 7.0)
    predicted = quantiles(n_estimators=150).fit(x[:, np.newaxis], y).predict(x[:, np.newaxis])
    np.testing.assert_allclose(predicted[y == 7.0].mean(axis=0), 7.0, atol=0.5)
    assert np.abs(predicted[y == 0.0]).mean() < 0.05


def heavy_tail(seed: int):
    """Return features and a log-normal target, whose standard deviation is 5,000 medians."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2000, 5))
    return X, np.exp(X[:, 0] + 3.0 * rng.normal(size=2000))


def test_quantiles_of_a_heavy_tail_are_near_to_the_true_ones():
    X, y = heavy_tail(2)
    fresh, target = heavy_tail(12)
    predicted = quantiles(n_estimators="auto", min_samples_leaf=20).fit(X, y).predict(fresh)
    z = np.array([-1.6449, -0.6745, 0.0, 0.6745, 1.6449])
    true = np.exp(fresh[:, [0]] + 3.0 * z)
    for k, tau in enumerate(LEVELS):
        ours, best = (pinball(target, own[:, [k]], [tau]) for own in (predicted, true))
        assert ours < 1.08 * best
    assert coverage(target, predicted[:, [0, -1]]) > 0.85
    assert np.median(np.ptp(predicted, axis=1)) < 1.35 * np.median(np.ptp(true, axis=1))


def test_a_leaf_in_a_heavy_tail_cannot_move_a_level_far():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 4)), np.exp(6.7 * rng.normal(size=1000))
    low, high = Quantiles([0.5, 0.9]).best_constant(y, None)
    own = {"n_estimators": 1, "learning_rate": 1.0, "min_samples_leaf": 40}
    model = quantiles(quantile=[0.5, 0.9], **own).fit(X, y)
    assert model.predict(X).max() <= (high + 4.0 * (high - low)) * (1 + 1e-9)
    assert model.predict(X).max() < 0.01 * y.max()


# ---- accuracy ----------------------------------------------------------------------------------


def test_shared_trees_are_as_accurate_as_separate_models():
    X, y = table(4000)
    fresh, target = table(4000, seed=1)
    shared = quantiles(n_estimators=50, min_samples_leaf=20).fit(X, y).predict(fresh)
    separate = [
        quantiles(quantile=q, n_estimators=50, min_samples_leaf=20).fit(X, y).predict(fresh)
        for q in LEVELS
    ]
    ours = pinball(target, shared, LEVELS)
    assert ours < 1.01 * pinball(target, np.column_stack(separate), LEVELS)
    assert (np.diff(np.column_stack(separate), axis=1) < 0).any()


def test_the_share_of_rows_below_each_level_is_near_to_it():
    X, y = table(4000)
    fresh, target = table(4000, seed=1)
    model = quantiles(n_estimators=30, min_samples_leaf=50).fit(X, y)
    below = (target[:, np.newaxis] <= model.predict(fresh)).mean(axis=0)
    np.testing.assert_allclose(below, LEVELS, atol=0.05)


def test_expectiles_are_near_to_those_of_separate_models():
    X, y = table(2000)
    own = {"n_estimators": 40, "min_samples_leaf": 20}
    shared = quantiles(loss="expectile", **own).fit(X, y)
    separate = np.column_stack(
        [GradientBoostingRegressor(loss=Expectile(q), **own).fit(X, y).predict(X) for q in LEVELS]
    )
    assert np.abs(shared.predict(X) - separate).mean() < 0.25 * y.std()


# ---- the loss ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Quantiles, Expectiles])
def test_derivatives_equal_differences(kind):
    loss, rng = kind([0.1, 0.3, 0.6, 0.9]), np.random.default_rng(0)
    y, score = rng.normal(size=40), rng.normal(size=(40, 4))
    gradient, hessian = loss.derivatives(y, score)
    for k in range(4):
        step = np.zeros((1, 4))
        step[0, k] = 1e-6
        slope = (loss.loss(y, score + step) - loss.loss(y, score - step)) / 2e-6
        np.testing.assert_allclose(gradient[:, k], slope, atol=1e-6)
    assert (hessian >= 0).all()


@pytest.mark.parametrize("kind", [Quantiles, Expectiles])
def test_the_best_constant_is_not_improved_by_small_steps(kind):
    loss, y = kind(LEVELS), np.random.default_rng(0).gamma(2.0, size=501)
    best = loss.best_constant(y, None)
    least = loss.loss(y, np.tile(best, (len(y), 1))).sum()
    for k in range(5):
        for step in (-0.01, 0.01):
            moved = best.copy()
            moved[k] += step
            assert loss.loss(y, np.tile(moved, (len(y), 1))).sum() >= least - 1e-9


def test_links_are_inverse():
    loss, score = Quantiles(LEVELS), np.sort(np.random.default_rng(0).normal(size=(7, 5)), axis=1)
    np.testing.assert_array_equal(loss.link(loss.mean(score)), score)


# ---- laws --------------------------------------------------------------------------------------


def test_scaled_targets_give_scaled_predictions():
    X, y = table(500)
    one = quantiles().fit(X, y).predict(X)
    other = quantiles().fit(X, 8.0 * y + 16.0).predict(X)
    np.testing.assert_allclose(other, 8.0 * one + 16.0, rtol=1e-9)


@pytest.mark.parametrize("loss", ["quantile", "expectile"])
def test_weights_are_frequencies_and_threads_change_nothing(loss):
    X, y = table(300)
    times = np.random.default_rng(2).integers(0, 4, len(y))
    own = {"loss": loss, "max_features": None}
    weighted = quantiles(**own).fit(X, y, sample_weight=times)
    repeated = quantiles(**own).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)
    assert (
        quantiles(n_jobs=1).fit(X, y).fingerprint() == quantiles(n_jobs=2).fit(X, y).fingerprint()
    )


def test_an_offset_moves_all_levels():
    X, y = table(400)
    offset = X[:, 3] * 5
    plain = quantiles().fit(X, y)
    moved = quantiles().fit(X, y + offset, offset=offset)
    expected = plain.predict(X) + offset[:, np.newaxis]
    np.testing.assert_allclose(moved.predict(X, offset=offset), expected, atol=1e-9)


def test_rounds_can_be_continued():
    X, y = table(400)
    whole = quantiles(n_estimators=20, learning_rate=0.1).fit(X, y)
    parts = quantiles(n_estimators=8, warm_start=True, learning_rate=0.1).fit(X, y)
    parts.set_params(n_estimators=20).fit(X, y)
    assert whole.fingerprint() == parts.fingerprint()
    np.testing.assert_array_equal(whole.predict(X, n_rounds=8), list(whole.staged_predict(X))[7])
    with pytest.raises(ValueError, match="levels"):
        parts.set_params(quantile=[0.1, 0.2, 0.3, 0.4, 0.5], n_estimators=25).fit(X, y)


# ---- files -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [{}, {"loss": Quantiles([0.2, 0.7])}, {"loss": "expectile"}, {"loss": "quantiles"}],
)
def test_files_and_pickles_have_the_levels(parameters, tmp_path):
    X, y = table(200)
    own = {"quantile": None} if isinstance(parameters.get("loss"), Loss) else {}
    model = quantiles(**parameters, **own).fit(X, y)
    model.save(tmp_path / "model.stgw")
    for other in (stagewise.load(tmp_path / "model.stgw"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        assert other.fingerprint() == model.fingerprint()
        assert other.recipe() == model.recipe()


# ---- metrics, folds, rounds --------------------------------------------------------------------


def test_metrics_of_quantiles_are_measured_after_every_round():
    X, y = table(600)
    fresh, target = table(300, seed=3)
    model = quantiles(eval_metric=["pinball", "crps"]).fit(X, y, eval_set=[(fresh, target)])
    predicted = model.predict(fresh)
    last = {name: own[model.n_iter_ - 1] for name, own in model.evals_result_["valid_0"].items()}
    assert last["pinball"] == pytest.approx(pinball(target, predicted, LEVELS))
    assert last["loss"] == pytest.approx(last["pinball"])
    assert last["crps"] == pytest.approx(crps_of_quantiles(target, predicted, LEVELS))
    assert 0 < coverage(target, predicted[:, [0, -1]]) < 1


def test_folds_choose_the_number_of_rounds():
    X, y = table(400)
    model = quantiles(n_estimators="auto", early_stopping=3).fit(X, y)
    assert model.oof_prediction_.shape == (400, 5)
    assert (np.diff(model.oof_prediction_, axis=1) >= 0).all()


def test_crps_of_many_quantiles_is_that_of_the_distribution():
    from scipy.stats import norm

    levels = (np.arange(400) + 0.5) / 400
    y = np.array([-1.0, 0.3, 2.0])
    predicted = np.tile(norm.ppf(levels), (3, 1))
    exact = y * (2 * norm.cdf(y) - 1) + 2 * norm.pdf(y) - 1 / np.sqrt(np.pi)
    assert crps_of_quantiles(y, predicted, levels) == pytest.approx(exact.mean(), abs=1e-3)


def test_pinball_of_one_quantile_is_its_loss():
    X, y = table(200)
    own = {"quantile": 0.9, "eval_metric": "pinball", "n_estimators": 3}
    found = quantiles(**own).fit(X, y, eval_set=[table(50, seed=1)]).evals_result_["valid_0"]
    np.testing.assert_allclose(found["pinball"], found["loss"])
    with pytest.raises(ValueError, match="crps"):
        quantiles(**own | {"eval_metric": "crps"}).fit(X, y, eval_set=[(X, y)])


def test_levels_may_be_a_series_or_an_array():
    X, y = table(200)
    expected = quantiles(quantile=[0.1, 0.9], n_estimators=3).fit(X, y).predict(X)
    for levels in (pd.Series([0.1, 0.9], index=[7, 3]), np.array([0.1, 0.9])):
        found = quantiles(quantile=levels, n_estimators=3).fit(X, y).predict(X)
        np.testing.assert_array_equal(found, expected)


# ---- scores ------------------------------------------------------------------------------------


@pytest.mark.parametrize("quantile", [0.9, [0.05, 0.5, 0.95]])
@pytest.mark.parametrize("times", [None, 3])
def test_score_is_d2_of_the_pinball_loss(quantile, times):
    X, y = table(300)
    model = quantiles(quantile=quantile).fit(X, y)
    fresh, target = table(200, seed=1)
    weight = None if times is None else np.random.default_rng(0).integers(0, times, len(target))
    rows = np.arange(len(target)) if weight is None else np.repeat(np.arange(len(target)), weight)
    predicted = model.predict(fresh).reshape(len(target), -1)
    parts = [
        d2_pinball_score(target[rows], predicted[rows, k], alpha=tau)
        for k, tau in enumerate(np.atleast_1d(quantile))
    ]
    expected = np.mean(parts)
    assert model.score(fresh, target, sample_weight=weight) == pytest.approx(expected, abs=2e-3)
    found = scores(model, fresh, target, sample_weight=weight)
    assert found["d2_pinball"].value == pytest.approx(model.score(fresh, target, weight))
    assert found["d2_pinball"].low < expected < found["d2_pinball"].high
    loss = pinball(target, predicted, list(np.atleast_1d(quantile)), weight)
    assert found["pinball"].value == pytest.approx(loss)
    assert found["pinball"].baseline > loss


def test_score_of_extreme_and_constant_targets_is_a_number():
    X, y = table(100)
    expected = quantiles().fit(X, y).score(X, y)
    for unit in (2.0**900, 2.0**-900):
        model = quantiles().fit(X, y * unit)
        assert model.score(X, y * unit) == pytest.approx(expected)
        assert scores(model, X, y * unit)["d2_pinball"].value == pytest.approx(expected)
    assert quantiles().fit(X, y).score(X, np.zeros(100)) == 0.0
    assert np.isnan(quantiles().fit(X, y).score(X[:1], y[:1]))


def test_score_of_several_targets_is_the_mean_of_theirs():
    X, y = table(200)
    both = np.column_stack([y, X[:, 1]])
    model = quantiles(quantile=0.9).fit(X, both)
    each = [d2_pinball(both[:, k], model.predict(X)[:, [k]], [0.9]) for k in range(2)]
    assert model.score(X, both) == pytest.approx(np.mean(each))


# ---- constraints -------------------------------------------------------------------------------


@pytest.mark.parametrize("constraints", [{0: 1}, [1, 0, 0, 0]])
def test_monotone_constraints_are_refused(constraints):
    X, y = table(100)
    with pytest.raises(ValueError, match=r"monotonic_cst .* 5 levels.* quantile=0\.05"):
        quantiles(monotonic_cst=constraints).fit(X, y)
    quantiles(monotonic_cst=[0, 0, 0, 0], n_estimators=1).fit(X, y)
    quantiles(quantile=0.05, monotonic_cst=constraints, n_estimators=1).fit(X, y)


# ---- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"quantile": [0.5, 1.0]}, "between 0 and 1"),
        ({"quantile": [0.5, 0.5]}, "increase"),
        ({"quantile": [0.5]}, "one number for one quantile"),
        ({"loss": "huber"}, "one number for loss='huber'.*set loss='quantile'"),
        ({"loss": "poisson"}, "quantile"),
        ({"eval_metric": "rmse"}, "pinball"),
        ({"eval_metric": "nll"}, "crps"),
        ({"leaves": "linear"}, "linear"),
    ],
)
def test_bad_parameters_are_named(parameters, words):
    X, y = table(100)
    with pytest.raises(ValueError, match=words):
        quantiles(**parameters).fit(X, y, X_val=X, y_val=y)


def test_a_file_whose_scores_are_gaps_is_refused():
    X, y = table(100)
    model = quantiles().fit(X, y)
    learned = {"loss.levels": np.array(LEVELS)}
    model.model_ = replace(model.model_, learned=learned)
    with pytest.raises(ValueError, match="fit it again"):
        model.predict(X)


def test_several_targets_are_refused():
    X, y = table(100)
    with pytest.raises(ValueError, match=r"y has 2 targets.*Fit one model per target"):
        quantiles().fit(X, np.column_stack([y, y]))

"""`GradientBoostingSurvival`: fits, predictions, files, and the laws that every loss keeps."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import stagewise
from stagewise import GradientBoostingSurvival, survival_target
from stagewise.inspection import permutation_importance, scores, shap_values, survival_quality
from stagewise.losses import SURVIVAL_LOSSES, Aft
from survival.samples import competing, proportional, structured

LOSSES = tuple(SURVIVAL_LOSSES)
SMALL = {"n_estimators": 20, "min_samples_leaf": 5, "max_features": None}


def rows_for(loss):
    """Return X, times and events for a loss."""
    return competing() if loss in ("cause_specific", "fine_gray") else proportional()


def curves(model, X, **arguments):
    """Return the curves that a model predicts, as an array."""
    if model.loss == "fine_gray":
        return model.predict_cumulative_incidence(X, **arguments).values
    return model.predict_survival_function(X, **arguments).values


@pytest.fixture(scope="module", params=LOSSES)
def fitted(request):
    X, time, event = rows_for(request.param)
    model = GradientBoostingSurvival(loss=request.param, **SMALL).fit(X, (time, event))
    return model, X, time, event


@pytest.mark.parametrize("loss", ["cox", "aft"])
@pytest.mark.parametrize(
    "own",
    [
        {},
        {"subsample": 0.5, "split": "exact"},
        {"grow_policy": "symmetric", "max_leaf_nodes": 16},
        {"leaves": "linear"},
        {"dropout": "dart"},
        {"init": "zero"},
    ],
)
def test_what_a_loss_learns_follows_from_the_scores_of_the_model(loss, own):
    X, time, event = proportional()
    model = GradientBoostingSurvival(loss=loss, **{**SMALL, **own}).fit(X, (time, event))
    y, score = structured(time, event), model._score(X).reshape(-1, 1)
    learned = model._make_loss(None).learn(y, None, score)
    for name, values in learned.items():
        assert np.array_equal(model.model_.learned[f"loss.{name}"], values)


def test_the_model_orders_rows_by_risk(fitted):
    model, X, time, event = fitted
    assert model.score(X, (time, event)) > 0.7


def test_survival_falls_from_1(fitted):
    model, X, _, _ = fitted
    if model.loss == "fine_gray":
        return
    found = model.predict_survival_function(X, [0.0, 0.1, 0.5, 1.0, 2.0, 100.0]).values
    np.testing.assert_allclose(found[:, 0], 1.0)
    assert (np.diff(found, axis=1) <= 1e-12).all()


def test_a_loaded_model_predicts_the_same(fitted, tmp_path):
    model, X, _, _ = fitted
    model.save(tmp_path / "model.stgw")
    loaded = stagewise.load(tmp_path / "model.stgw")
    assert isinstance(loaded, GradientBoostingSurvival)
    assert loaded.fingerprint() == model.fingerprint()
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(curves(loaded, X), curves(model, X))
    np.testing.assert_array_equal(loaded.event_times_, model.event_times_)


def test_a_pickled_model_predicts_the_same(fitted):
    model, X, _, _ = fitted
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(curves(again, X), curves(model, X))


def test_curves_can_be_pickled_and_selected(fitted):
    model, X, _, _ = fitted
    found = model.predict_cumulative_hazard(X)
    again = pickle.loads(pickle.dumps(found[:3]))
    np.testing.assert_array_equal(again.values, found.values[:3])
    np.testing.assert_array_equal(found[1].values, found.values[1:2])


def test_a_row_of_weight_2_is_the_row_twice(fitted):
    model, X, time, event = fitted
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    rows = np.repeat(np.arange(len(X)), weight.astype(int))
    once = clone(model).fit(X, (time, event), sample_weight=weight)
    twice = clone(model).fit(X[rows], (time[rows], event[rows]))
    np.testing.assert_allclose(once.predict(X), twice.predict(X), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(curves(once, X), curves(twice, X), rtol=1e-5, atol=1e-6)


def test_scores_count_a_row_of_weight_2_twice(fitted):
    model, X, time, event = fitted
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    weight[time >= np.quantile(time, 0.8)] = 0  # the last times decide where curves end
    rows = np.repeat(np.arange(len(X)), weight.astype(int))
    once = scores(model, X, (time, event), sample_weight=weight, n_resamples=0)
    twice = scores(model, X[rows], (time[rows], event[rows]), n_resamples=0)
    for own, other in zip(once.scores, twice.scores, strict=True):
        assert (own.value, own.baseline) == pytest.approx((other.value, other.baseline))
    quality = survival_quality(model, X, (time, event), sample_weight=weight)
    again = survival_quality(model, X[rows], (time[rows], event[rows]))
    assert quality.time == again.time
    np.testing.assert_allclose(quality.brier, again.brier)


def test_threads_and_the_order_of_rows_change_nothing(fitted):
    model, X, time, event = fitted
    order = np.random.default_rng(1).permutation(len(X))
    several = clone(model).set_params(n_jobs=2).fit(X, (time, event))
    assert several.fingerprint() == model.fingerprint()
    shuffled = clone(model).fit(X[order], (time[order], event[order]))
    np.testing.assert_allclose(shuffled.predict(X), model.predict(X), rtol=1e-5, atol=1e-5)


def test_other_units_of_time_change_no_risk(fitted):
    model, X, time, event = fitted
    days = clone(model).fit(X, (365.0 * time, event))
    scale = 365.0 if model.loss == "aft" else 1.0
    np.testing.assert_allclose(days.predict(X), scale * model.predict(X), rtol=1e-5, atol=1e-6)


def test_an_offset_is_added_to_the_scores(fitted):
    model, X, time, event = fitted
    n_outputs = model.model_.ensemble.n_outputs
    offset = 0.5 * np.repeat(X[:, :1], n_outputs, axis=1)
    own = clone(model).fit(X, (time, event), offset=offset)
    zero, one = own.predict(X, offset=0), own.predict(X, offset=1)
    if model.loss == "aft":
        np.testing.assert_allclose(one, np.e * zero)
    elif model.loss != "discrete_time":
        np.testing.assert_allclose(one, 1 + zero)
    else:
        assert (one > zero).all()


def test_early_stopping_with_validation_rows(fitted):
    model, X, time, event = fitted
    half = len(X) // 2
    own = clone(model).set_params(n_estimators=200, n_iter_no_change=5, eval_metric="c_index")
    own.fit(
        X[:half], (time[:half], event[:half]), X_val=X[half:], y_val=(time[half:], event[half:])
    )
    assert own.n_iter_ < 200
    values, losses = (own.evals_result_["valid"][name] for name in ("c_index", "loss"))
    assert values[own.n_iter_ - 1] == max(values[own.n_iter_ - 1 :])
    assert losses[own.n_iter_ - 1] < losses[0]  # not before the loss has fallen
    expected = own.score(X[half:], (time[half:], event[half:]))
    assert values[own.n_iter_ - 1] == pytest.approx(expected)


def test_folds_choose_the_number_of_rounds(fitted):
    model, X, time, event = fitted
    own = clone(model).set_params(n_estimators="auto").fit(X, (time, event))
    assert own.fit_report_["round_choice"]["folds"] == 5
    assert np.isfinite(own.oof_prediction_).all()


def test_staged_predictions_end_with_the_prediction(fitted):
    model, X, _, _ = fitted
    *_, last = model.staged_predict(X)
    np.testing.assert_allclose(last, model.predict(X))


def test_cross_validation_of_scikit_learn(fitted):
    model, X, time, event = fitted
    y = survival_target(time, event)
    assert cross_val_score(clone(model), X, y, cv=3).mean() > 0.55


def test_a_model_can_be_continued(fitted):
    model, X, time, event = fitted
    first = clone(model).set_params(n_estimators=10, warm_start=True, learning_rate=0.1)
    first.fit(X, (time, event)).set_params(n_estimators=20).fit(X, (time, event))
    whole = clone(model).set_params(learning_rate=0.1).fit(X, (time, event))
    np.testing.assert_allclose(first.predict(X), whole.predict(X), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(curves(first, X), curves(whole, X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ({"loss": "cox", "ties": "breslow"}, {"ties": "efron"}),
        ({"loss": "cause_specific", "ties": "breslow"}, {"ties": "efron"}),
        ({"loss": "aft", "scale": 2.0}, {"scale": None}),
        ({"loss": "aft", "time_distribution": "logistic"}, {"time_distribution": "normal"}),
        ({"loss": "discrete_time", "n_intervals": 4}, {"n_intervals": 5}),
        ({"loss": "fine_gray", "cause": 2}, {"cause": 1}),
    ],
)
def test_parameters_of_the_loss_are_those_of_the_continued_model(own, other, tmp_path):
    X, time, event = rows_for(own["loss"])
    whole = GradientBoostingSurvival(learning_rate=0.1, **SMALL, **own).fit(X, (time, event))
    first = clone(whole).set_params(n_estimators=10, warm_start=True).fit(X, (time, event))
    first.save(tmp_path / "model.stgw")
    for model in (first, stagewise.load(tmp_path / "model.stgw")):
        model.set_params(n_estimators=20, warm_start=True)
        with pytest.raises(ValueError, match="warm_start continues a model with"):
            clone_of(model).set_params(**other).fit(X, (time, event))
        model.fit(X, (time, event))
        np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-6, atol=1e-8)


def clone_of(model):
    """Return a fitted model again."""
    return pickle.loads(pickle.dumps(model))


def test_shapley_values_sum_to_the_score(fitted):
    model, X, _, _ = fitted
    if model.loss not in ("cox", "aft", "fine_gray"):
        return
    found = shap_values(model, X[:20])
    whole = found.values.sum(axis=1) + found.base_values
    score = model.predict(X[:20])
    if model.loss == "aft":
        score = np.log(score)
    np.testing.assert_allclose(whole, score, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_missing_values_and_categories(loss):
    X, time, event = rows_for(loss)
    table = pd.DataFrame(X).rename(columns=str)
    table["kind"] = pd.Categorical(np.where(X[:, 0] > 0, "high", "low"))
    table.loc[::7, "0"] = np.nan
    model = GradientBoostingSurvival(loss=loss, **SMALL).fit(table, (time, event))
    assert model.score(table, (time, event)) > 0.65
    again = GradientBoostingSurvival(loss=loss, category_encoding="target", **SMALL)
    assert again.fit(table, (time, event)).score(table, (time, event)) > 0.65


@pytest.mark.parametrize("loss", ["cox", "aft", "fine_gray"])
def test_monotone_constraints(loss):
    X, time, event = rows_for(loss)
    sign = -1 if loss == "aft" else 1
    model = GradientBoostingSurvival(loss=loss, monotonic_cst={0: sign}, **SMALL)
    model.fit(X, (time, event))
    grid = np.zeros((50, X.shape[1]))
    grid[:, 0] = np.linspace(-3, 3, 50)
    assert (sign * np.diff(model.predict(grid)) >= -1e-12).all()


# ---- forms of y ----------------------------------------------------------------------------------


def forms(time, event):
    sksurv = np.array(list(zip(event, time, strict=True)), dtype=[("d", bool), ("t", float)])
    return [
        (time, event),
        (list(time), list(event)),
        (time, event.astype(int)),
        {"time": time, "event": event},
        pd.DataFrame({"time": time, "event": event}),
        pl.DataFrame({"event": event, "time": time}),
        pd.DataFrame({"died": event, "days": time}),
        survival_target(time, event),
        sksurv,
    ]


def test_all_forms_of_y_give_the_same_model():
    X, time, event = proportional(120)
    models = [GradientBoostingSurvival(**SMALL).fit(X, y) for y in forms(time, event)]
    assert len({model.fingerprint() for model in models}) == 1


def test_intervals_of_one_time_are_events():
    X, time, event = proportional(120)
    upper = np.where(event, time, np.inf)
    own = GradientBoostingSurvival(loss="aft", **SMALL).fit(X, (time, event))
    same = GradientBoostingSurvival(loss="aft", **SMALL)
    same.fit(X, survival_target(lower=time, upper=upper))
    assert own.fingerprint() == same.fingerprint()


def test_intervals_are_fitted():
    X, time, _ = proportional(400)
    lower = np.floor(time * 4) / 4
    model = GradientBoostingSurvival(loss="aft", time_distribution="extreme", **SMALL)
    model.fit(X, survival_target(lower=lower, upper=lower + 0.25))
    assert np.corrcoef(np.log(model.predict(X)), 0.5 * X[:, 1] - X[:, 0])[0, 1] > 0.6


def test_each_stratum_has_its_own_baseline():
    X, time, event = proportional(400)
    group = np.where(np.arange(400) % 2, "fast", "slow")
    time = np.where(group == "fast", time / 5, time)
    y = survival_target(time, event, stratum=group)
    model = GradientBoostingSurvival(**SMALL).fit(X, y)
    assert model.strata_ == ["fast", "slow"]
    fast, slow = (model.predict_survival_function(X[:5], stratum=s).median() for s in model.strata_)
    assert (fast < slow).all()
    with pytest.raises(ValueError, match="stratum of every row"):
        model.predict_survival_function(X[:5])
    with pytest.raises(ValueError, match="stratum 'other'"):
        model.predict_survival_function(X[:5], stratum="other")


def test_three_causes_are_fitted():
    X, time, event = competing(300)
    codes = np.where((event == 2) & (X[:, 2] > 0), 3, event)
    model = GradientBoostingSurvival(loss="cause_specific", **SMALL).fit(X, (time, codes))
    assert model.predict(X).shape == (300, 3)
    curves_of = model.predict_cumulative_incidence(X[:4])
    assert curves_of.causes == [1, 2, 3]
    assert model.score(X, (time, np.minimum(codes, 2))) > 0.5  # no row has the third event
    survival = model.predict_survival_function(X[:4], curves_of.times).values
    np.testing.assert_allclose(curves_of.values.sum(axis=1), 1.0 - survival, atol=1e-12)


def test_causes_are_numbered_without_gaps():
    X, time, event = competing(200)
    model = GradientBoostingSurvival(loss="cause_specific", **SMALL)
    with pytest.raises(ValueError, match=r"only events of code 1\. Use the loss 'cox'"):
        model.fit(X, (time, event > 0))
    with pytest.raises(ValueError, match=r"No row has an event \(all 200 are censored\)"):
        model.fit(X, (time, np.zeros(200, dtype=int)))
    with pytest.warns(UserWarning, match="no event with the code 2, so the predicted incidence"):
        model.fit(X, (time, np.where(event == 2, 3, event)))
    assert (model.predict_cumulative_incidence(X).values[:, 1] == 0.0).all()


@pytest.mark.parametrize("same_time", [False, True])
def test_discrete_time_of_one_interval_is_fitted(same_time):
    X, time, _ = proportional(300)
    y = np.where(time < 1.0, 0.5 if same_time else time, 1.0), time < 1.0
    intervals = 10 if same_time else 1
    model = GradientBoostingSurvival(loss="discrete_time", n_intervals=intervals, **SMALL)
    assert model.fit(X, y).event_times_.tolist() == [y[0][y[1]].max()]
    assert model.score(X, y) > 0.7


def test_strata_are_in_files(tmp_path):
    X, time, event = proportional(200)
    y = survival_target(time, event, stratum=np.arange(200) % 3)
    model = GradientBoostingSurvival(**SMALL).fit(X, y)
    model.save(tmp_path / "model.stgw")
    loaded = stagewise.load(tmp_path / "model.stgw")
    assert loaded.strata_ == [0, 1, 2]
    one, other = (m.predict_survival_function(X, stratum=2).values for m in (model, loaded))
    np.testing.assert_array_equal(one, other)
    assert loaded.score(X, y) == model.score(X, y)


def test_entry_times_correct_the_bias_of_late_entries():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 1))
    time = rng.exponential(np.exp(-X[:, 0]))
    entry = np.where(rng.random(4000) < 0.2, 0.0, rng.exponential(1.0, 4000))
    seen, row, times = time > entry, np.zeros((1, 1)), [0.5, 1.0]
    y = survival_target(time[seen], np.ones(seen.sum(), bool), entry=entry[seen])
    model = GradientBoostingSurvival(n_estimators=40, max_depth=2)
    found = model.fit(X[seen], y).predict_survival_function(row).at(times)[0]
    np.testing.assert_allclose(found, np.exp([-0.5, -1.0]), atol=0.06)
    biased = model.fit(X[seen], (time[seen], y["event"])).predict_survival_function(row)
    assert (biased.at(times)[0] > found + 0.05).all()


def test_an_object_as_loss():
    X, time, event = proportional(120)
    own = GradientBoostingSurvival(loss=Aft("logistic"), **SMALL).fit(X, (time, event))
    named = GradientBoostingSurvival(loss="aft", time_distribution="logistic", **SMALL)
    np.testing.assert_array_equal(own.predict(X), named.fit(X, (time, event)).predict(X))


# ---- curves --------------------------------------------------------------------------------------


def test_the_restricted_mean_is_the_area_below_the_curve(fitted):
    model, X, _, _ = fitted
    if model.loss == "fine_gray":
        return
    found = model.predict_survival_function(X[:5])
    grid = np.linspace(0.0, 1.5, 200_001)
    area = np.trapezoid(found.at(grid), grid, axis=1)
    np.testing.assert_allclose(found.restricted_mean(1.5), area, rtol=1e-4)


def test_the_median_is_where_survival_is_a_half(fitted):
    model, X, _, _ = fitted
    if model.loss == "fine_gray":
        return
    found = model.predict_survival_function(X)
    medians = found.median()
    for row in np.flatnonzero(np.isfinite(medians))[:20]:
        at = found[row].at([medians[row] * (1 - 1e-9), medians[row] * (1 + 1e-9)])[0]
        assert at[1] <= 0.5 + 1e-6
        assert at[0] >= 0.5 - 1e-6


def test_curves_are_drawn(fitted):
    pytest.importorskip("matplotlib").use("Agg")
    model, X, _, _ = fitted
    ax = model.predict_cumulative_hazard(X[:3]).plot(labels=["a", "b", "c"])
    assert len(ax.get_legend().get_texts()) == 3
    if model.loss in ("cause_specific", "fine_gray"):
        model.predict_cumulative_incidence(X[:2]).plot()
    line = model.predict_cumulative_hazard(X[:1], times=[3.0, 1.0, 2.0]).plot().lines[0]
    assert list(line.get_xdata()) == [0.0, 1.0, 2.0, 3.0]
    assert (np.diff(line.get_ydata()) >= 0.0).all()
    import matplotlib.pyplot as plt

    plt.close("all")


def test_permutation_importance_is_the_decrease_of_the_c_index(fitted):
    model, X, time, event = fitted
    found = permutation_importance(model, X, survival_target(time, event), n_repeats=2)
    assert found.unit == "decrease of c_index"
    assert int(np.argmax(found.value)) == 0

"""Bad input of survival models: errors name the column, the row and the remedy."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

from stagewise import GradientBoostingSurvival, InvalidParameterError, survival_target
from stagewise.inspection import residuals, scores, survival_quality
from stagewise.losses import Aft
from survival.samples import proportional

X, TIME, EVENT = proportional(60)


def fit(y, **parameters):
    return GradientBoostingSurvival(n_estimators=3, **parameters).fit(X, y)


def changed(values, row, value):
    found = np.array(values, dtype=float)
    found[row] = value
    return found


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ((changed(TIME, 4, -1.0), EVENT), r"y\['time'\] is negative at row 4 \(-1; 1 of 60"),
        ((changed(TIME, 4, np.nan), EVENT), r"y\['time'\] is missing at row 4"),
        ((changed(TIME, 4, np.inf), EVENT), r"y\['time'\] is infinite at row 4"),
        ((TIME, changed(EVENT, 2, 0.5)), r"y\['event'\] is not 0 \(censored\), 1, or .* at row 2"),
        ((TIME, changed(EVENT, 2, -1)), r"y\['event'\] is not 0"),
        ((TIME, changed(EVENT, 2, np.nan)), r"y\['event'\] is missing at row 2"),
        ((TIME, ["yes"] * 60), "Use True for an event"),
        ((TIME, np.zeros(60)), "No row has an event"),
        ((TIME, changed(EVENT, 7, 2)), "has no several kinds of events.*row 7.*cause_specific"),
        ((EVENT, TIME), r"The order is \(time, event\)"),
        ((TIME[:50], EVENT), "inconsistent numbers of samples"),
        (np.where(EVENT, TIME, -TIME), r"XGBoost's Cox objective, pass \(abs\(y\), y > 0\)"),
        (TIME, r"one number per row.*Pass \(time, event\)"),
        (np.column_stack([TIME, EVENT]), "ambiguous"),
        ("time", "y must be a tuple"),
        (None, "requires y"),
        (pd.DataFrame({"time": TIME, "evnt": EVENT * 1}), "'evnt'.*Did you mean 'event'"),
        (pd.DataFrame({"time": TIME, "events": EVENT, "a": 1}), "has the column 'events'"),
        ({"time": TIME}, "but not 'event'"),
        ({"entry": TIME}, "y has no times"),
        ({"time": TIME, "event": EVENT, "lower": TIME}, "pass either time and event, or"),
        ({"time": TIME, "event": EVENT, "entry": TIME + 1}, "Row 0 enters at .* never at risk"),
        ({"time": TIME, "event": EVENT, "stratum": [None] * 60}, r"In y\['stratum'\].*missing"),
        ({"time": TIME, "event": EVENT, "stratum": TIME}, r"In y\['stratum'\], the labels"),
        ({"time": TIME, "event": EVENT, "stratum": "a"}, r"y\['stratum'\] must have one value"),
        (pd.DataFrame(np.c_[TIME, TIME], columns=["time"] * 2), "y has duplicate column names"),
        ({"lower": TIME, "upper": TIME - 0.001}, "The interval of row 0 ends before it begins"),
        ({"lower": TIME, "upper": changed(TIME, 3, np.nan)}, "Use inf for a row that is censored"),
        (
            pd.DataFrame({"time": pd.to_timedelta(TIME, "D"), "event": EVENT}),
            "Convert it to a number of days",
        ),
    ],
)
def test_targets_that_are_no_times(y, message):
    with pytest.raises((TypeError, ValueError), match=message):
        fit(y)


@pytest.mark.parametrize(
    ("loss", "fields", "message"),
    [
        ("cox", {"lower": TIME, "upper": TIME + 1}, "has no intervals.*Use loss='aft'"),
        ("discrete_time", {"lower": TIME, "upper": TIME + 1}, "has no intervals"),
        ("aft", {"time": TIME, "event": EVENT, "stratum": EVENT}, "has no strata.*a feature"),
        ("discrete_time", {"time": TIME, "event": EVENT, "stratum": EVENT}, "has no strata"),
        ("fine_gray", {"time": TIME, "event": EVENT, "entry": TIME / 2}, "has no entry times"),
        ("aft", {"time": changed(TIME, 5, 0.0), "event": EVENT}, "row 5 has the time 0"),
    ],
)
def test_fields_that_a_loss_does_not_use(loss, fields, message):
    with pytest.raises(ValueError, match=message):
        fit(fields, loss=loss)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "coxx"}, "Did you mean 'cox'"),
        ({"loss": "squared_error"}, "'loss' of GradientBoostingSurvival must be one of 'cox'"),
        (
            {"loss": "cox", "time_distribution": "logistic"},
            "'time_distribution' .* is for loss='aft'",
        ),
        ({"loss": "aft", "ties": "breslow"}, "'ties' .* is for loss='cox' or 'cause_specific'"),
        ({"ties": "exact"}, "ties must be 'efron' or 'breslow'"),
        (
            {"loss": "aft", "time_distribution": "weibull"},
            "time_distribution must be one of 'normal'",
        ),
        ({"loss": "aft", "scale": -1.0}, "scale must be a number at least 0.001 and at most"),
        ({"loss": "aft", "scale": "wide"}, "scale must be a number .* or None; got 'wide'"),
        ({"loss": "discrete_time", "n_intervals": 0}, "n_intervals must be a whole number"),
        ({"loss": "discrete_time", "n_intervals": 2.5}, "n_intervals must be a whole number"),
        ({"loss": "fine_gray", "cause": 0}, "cause must be a whole number at least 1"),
        ({"loss": "fine_gray", "cause": None}, "cause must be a whole number at least 1"),
        ({"loss": Aft("logistic"), "scale": 2.0}, "'scale' .* is for loss='aft'"),
        ({"init": GradientBoostingSurvival()}, "must be 'mean', 'zero' or numbers"),
        ({"eval_metric": "auc", "early_stopping": True}, "one of 'c_index', 'uno_c_index'"),
        ({"eval_metric": "rmse", "early_stopping": True}, "is a metric of regression"),
    ],
)
def test_parameters(parameters, message):
    with pytest.raises((InvalidParameterError, ValueError), match=message):
        fit((TIME, EVENT), **parameters)


def test_a_cause_without_events():
    with pytest.raises(ValueError, match="No row has an event of the cause 2"):
        fit((TIME, EVENT), loss="fine_gray", cause=2)


def test_as_many_strata_as_rows_are_strata():
    y = survival_target(TIME, EVENT, stratum=np.arange(60))
    with pytest.warns(UserWarning, match="No tree has a split"):
        assert len(fit(y).strata_) == 60
    assert len(survival_target([], [])) == 0


def test_one_stratum_is_no_stratum():
    one = fit(survival_target(TIME, EVENT, stratum=["a"] * 60))
    assert one.fingerprint() == fit((TIME, EVENT)).fingerprint()


def test_a_stratum_without_events_has_no_hazard():
    stratum = np.where(np.arange(60) % 2, "dead", "alive")
    model = fit(survival_target(TIME, EVENT & (stratum == "dead"), stratum=stratum))
    assert (model.predict_survival_function(X[:3], stratum="alive").values == 1).all()


def test_rows_of_weight_0_are_absent():
    weight = np.ones(60)
    weight[:20] = 0
    model = GradientBoostingSurvival(n_estimators=5)
    own = model.fit(X, (TIME, EVENT), sample_weight=weight).fingerprint()
    assert own == model.fit(X[20:], (TIME[20:], EVENT[20:])).fingerprint()
    with pytest.raises(ValueError, match=r"all zero|positive"):
        model.fit(X, (TIME, EVENT), sample_weight=np.zeros(60))


def test_all_events_at_one_time():
    y = np.ones(60), np.ones(60, bool)
    with pytest.warns(UserWarning, match="y has only one value"):
        model = fit(y)
    found = model.predict_survival_function(X[:2])
    assert found.at(0.5).tolist() == [1, 1]
    assert (found.at(1.0) < 1).all()
    with pytest.raises(ValueError, match="No pair"):
        model.score(X, y)


def test_datasets_and_exposures_are_refused(tmp_path):
    import stagewise

    path = tmp_path / "rows.parquet"
    pd.DataFrame(X).rename(columns=str).assign(time=TIME).to_parquet(path)
    with pytest.raises(TypeError, match="cannot be fitted to a Dataset"):
        GradientBoostingSurvival().fit(stagewise.read_parquet(path, target="time"))
    with pytest.raises(ValueError, match="exposure is for losses with a log link"):
        GradientBoostingSurvival().fit(X, (TIME, EVENT), exposure=TIME)


def test_predictions_that_a_model_does_not_have():
    model = fit((TIME, EVENT))
    with pytest.raises(InvalidParameterError, match="has one kind of event"):
        model.predict_cumulative_incidence(X)
    with pytest.raises(ValueError, match="fitted without strata"):
        model.predict_survival_function(X, stratum="a")
    with pytest.raises(InvalidParameterError, match="times must be"):
        model.predict_survival_function(X, [-1.0])
    with pytest.raises(InvalidParameterError, match="q must be a number above 0 and below 1"):
        model.predict_survival_function(X).quantile(1.0)
    with pytest.raises(InvalidParameterError, match="limit must be"):
        model.predict_survival_function(X).restricted_mean(np.inf)
    fine_gray = fit((TIME, EVENT), loss="fine_gray")
    with pytest.raises(InvalidParameterError, match="predict_cumulative_incidence"):
        fine_gray.predict_survival_function(X)


def test_validation_rows_are_checked():
    with pytest.raises(ValueError, match=r"In y_val.*y\['time'\] is negative"):
        GradientBoostingSurvival().fit(X, (TIME, EVENT), X_val=X, y_val=(-TIME, EVENT))
    with pytest.raises(ValueError, match=r"In y_val.*stratum 'c'"):
        GradientBoostingSurvival().fit(
            X,
            survival_target(TIME, EVENT, stratum=np.where(X[:, 0] > 0, "a", "b")),
            X_val=X,
            y_val=survival_target(TIME, EVENT, stratum=["c"] * 60),
        )


def test_rows_without_the_strata_of_a_model_are_refused():
    y = survival_target(TIME, EVENT, stratum=np.where(X[:, 0] > 0, "a", "b"))
    model = GradientBoostingSurvival(n_estimators=3)
    message = "no column 'stratum', but the training rows have the strata 'a', 'b'. Add the column"
    with pytest.raises(ValueError, match=f"In y_val.*{message}"):
        model.fit(X, y, X_val=X, y_val=(TIME, EVENT))
    model.fit(X, y)
    for function in (model.score, partial(scores, model), partial(survival_quality, model)):
        with pytest.raises(ValueError, match=message):
            function(X, (TIME, EVENT))


def test_functions_that_survival_models_do_not_have():
    model, y = fit((TIME, EVENT)), survival_target(TIME, EVENT)
    with pytest.raises(InvalidParameterError, match="survival_quality"):
        residuals(model, X, y)
    with pytest.raises(ValueError, match="exposure is for losses with a log link"):
        model.report(X, y, exposure=np.ones(len(X)))
    with pytest.raises(InvalidParameterError, match="has its own scores: c_index"):
        scores(model, X, y, metrics="rmse")
    with pytest.raises(InvalidParameterError, match=r"hazards were learned .* warm_start=True"):
        model.refit(X, y)

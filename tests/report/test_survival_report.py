"""The data of reports of survival models, without a page."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest

from stagewise import GradientBoostingSurvival, survival_target
from stagewise.inspection import partial_dependence, scores, survival_quality
from stagewise.kaplan_meier import AalenJohansen, KaplanMeier
from stagewise.report.html import report_html
from stagewise.report.page_facts import report_facts
from stagewise.report.payload import as_json
from survival.samples import competing, proportional

QUICK = {"n_estimators": 12, "max_leaf_nodes": 6, "random_state": 0}
LOSSES = ("cox", "aft", "discrete_time", "cause_specific", "fine_gray")


def fitted(loss):
    X, time, event = (competing if loss in LOSSES[3:] else proportional)(400)
    y = survival_target(time, event)
    return GradientBoostingSurvival(loss=loss, **QUICK).fit(X[:250], y[:250]), X[250:], y[250:]


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_has_all_facts(loss):
    model, X, y = fitted(loss)
    found = report_facts(model, X, y)
    n_causes = 2 if loss == "cause_specific" else 1
    assert len(found.quality.events) == len(found.overview.scores) == n_causes
    assert found.subgroups.measure == "integrated Brier score"
    assert not found.table.associations  # times of censored rows are not those of events
    assert len(found.rows.base) == len(found.overview.score_outputs)
    json.loads(as_json({"rows": found.rows, "quality": found.quality}))
    assert "one curve for all rows" in report_html(found)
    for part in found.quality.events:
        assert sum(group.n_rows for group in part.groups) == part.n_rows == len(X)
        for curves in (part.whole, *(group.curves for group in part.groups)):
            assert ((curves.low <= curves.observed) & (curves.observed <= curves.high)).all()
            assert (np.diff(curves.predicted) >= -1e-12).all()
        for one in part.horizons:
            assert one.n_rows.sum() == len(X)
            assert (np.diff(one.predicted) >= 0).all()
            assert ((one.low <= one.observed) & (one.observed <= one.high)).all()


def test_the_facts_are_those_of_scores_and_of_survival_quality():
    model, X, y = fitted("cox")
    weight = np.arange(len(y)) % 3.0
    found = report_facts(model, X, y, weight)
    ((_, shown),) = found.overview.scores
    assert shown == scores(model, X, y, sample_weight=weight).scores
    quality = survival_quality(model, X, y, weight)
    (part,) = found.quality.events
    np.testing.assert_allclose(part.times[1:], quality.times)
    np.testing.assert_allclose(part.brier, quality.brier)
    groups = [1.0 - group.curves.predicted[1:] for group in part.groups]
    np.testing.assert_allclose(groups, quality.predicted)
    assert found.overview.n_rows == part.n_rows == np.count_nonzero(weight)


def test_strata_entries_intervals_and_offsets_are_supported():
    X, time, event = proportional(300)
    table = pd.DataFrame(X, columns=list("abcd")).assign(base=0.2)
    town = np.where(X[:, 3] > 0, "north", "south")
    y = survival_target(time, event, entry=np.where(time > 1, 0.5, 0.0), stratum=town)
    model = GradientBoostingSurvival(**QUICK).fit(table, y, offset="base")
    found = report_facts(model, table, y)
    assert found.rows.offset is not None
    assert any("observed from 0.5" in text for text in found.rows.y_true)
    intervals = survival_target(lower=time, upper=np.where(event, time + 0.1, np.inf))
    model = GradientBoostingSurvival(loss="aft", **QUICK).fit(X, intervals)
    texts = report_facts(model, X, intervals).rows.y_true
    assert any(text.startswith("event between") for text in texts)
    assert any(text.startswith("censored at") for text in texts)


def test_rows_without_events_are_refused():
    model, X, y = fitted("cox")
    with pytest.raises(ValueError, match=r"No row has an event.*Pass rows with events"):
        report_facts(model, X, (y["time"], np.zeros(len(y), dtype=bool)))


def test_a_large_table_of_causes_is_sampled(monkeypatch):
    module = sys.modules["stagewise.report.evaluation.survival_rows"]
    monkeypatch.setattr(module, "MOST_VALUES", 1)
    monkeypatch.setattr(module, "FEWEST", 80)
    model, X, y = fitted("cause_specific")
    with pytest.warns(UserWarning, match="a random sample of 80 of 150 rows"):
        found = report_facts(model, X, y)
    assert [part.n_rows for part in found.quality.events] == [80, 80]
    assert (found.overview.n_rows, found.subgroups.n_rows) == (150, 80)
    assert len(found.overview.notes) == 1


def test_a_cause_without_events_is_left_out():
    model, X, y = fitted("cause_specific")
    first = y["event"] < 2
    found = report_facts(model, X[first], y[first])
    assert [part.name for part in found.quality.events] == ["event 1"]


@pytest.mark.parametrize("weighted", [False, True])
def test_confidence_limits_of_kaplan_meier_are_on_the_log_log_scale(weighted):
    _, time, is_event = proportional(60)
    weight = np.full(60, 2.0) if weighted else None  # only the ratios of weights matter
    found = AalenJohansen.of(None, time, is_event, np.zeros(60, dtype=bool), weight)
    at = np.array([0.0, 0.3, 1.0])
    low, high = found.limits(at, 0.9)
    survival = KaplanMeier.of(None, time, is_event).at(at)[1:]
    error = found.standard_error(at)[1:]
    theta = 1.6448536269514722 * error / (survival * np.log(survival))
    np.testing.assert_allclose(1.0 - low[1:], survival ** np.exp(theta))
    np.testing.assert_allclose(1.0 - high[1:], survival ** np.exp(-theta))
    assert low[0] == high[0] == 0.0


def test_scores_and_predictions_have_names():
    model, X, _ = fitted("discrete_time")
    by_score = partial_dependence(model, X, 0, response="score")
    assert len(by_score.outputs) == model.model_.ensemble.n_outputs
    assert all(name.startswith("until ") for name in by_score.outputs)
    assert partial_dependence(model, X, 0, response="mean").outputs == ("prediction",)
    model, X, _ = fitted("cause_specific")
    assert partial_dependence(model, X, 0).outputs == ("event_1", "event_2")

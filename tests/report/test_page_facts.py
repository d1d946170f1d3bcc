"""The data of a report, without a page."""

from __future__ import annotations

import html
import json
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import stagewise as sw
from report.reports import EVIL, NAMES, houses, report_of
from stagewise.inspection import (
    importance,
    learning_curves,
    partial_dependence,
    permutation_importance,
    scores,
    thresholds,
)
from stagewise.inspection.fitted_model import FittedModel
from stagewise.inspection.quality.predictions import Predictions
from stagewise.report.html import report_html
from stagewise.report.importance_facts import N_REPEATS
from stagewise.report.page_facts import report_facts
from stagewise.report.payload import as_json, plain
from stagewise.report.quality_facts import class_quality
from stagewise.report.row_budget import row_budget


@pytest.fixture(scope="module")
def facts():
    found = {}

    def of(name):
        if name not in found:
            model, X, y, weight = report_of(name)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                found[name] = report_facts(model, X, y, weight)
        return found[name]

    return of


@pytest.mark.parametrize(
    ("loss", "unit"),
    [
        ("cross_entropy", "log odds of the prediction"),
        ("squared_log_error", "logarithm of 1 + the prediction"),
        ("poisson", "logarithm of the prediction"),
        ("pseudo_huber", "prediction"),
    ],
)
def test_explanations_have_the_unit_of_the_link(loss, unit):
    X = np.random.default_rng(0).normal(size=(120, 2))
    y = np.round(1 / (1 + np.exp(-X[:, 0])), 1)
    model = sw.GradientBoostingRegressor(loss=loss, n_estimators=3).fit(X, y)
    assert report_facts(model, X, y).rows.unit == unit


@pytest.mark.parametrize("name", NAMES)
def test_every_model_has_all_facts(facts, name):
    found = facts(name)
    model, _, y, weight = report_of(name)
    assert found.overview.estimator == type(model).__name__
    assert found.overview.fingerprint == model.fingerprint()
    assert found.overview.n_rows == (len(y) if weight is None else np.count_nonzero(weight))
    assert found.exported_model.complete
    json.loads(as_json({"overview": found.overview, "rows": found.rows, "table": found.table}))
    assert len(report_html(found).encode()) < 3_000_000


def test_scores_equal_those_of_the_function_scores(facts):
    model, X, y, weight = report_of("two classes")
    ((name, shown),) = facts("two classes").overview.scores
    assert name == ""
    assert shown == scores(model, X, y, sample_weight=weight).scores


def test_every_target_has_scores(facts):
    names = [name for name, _ in facts("two targets").overview.scores]
    assert names == ["price", "rent"]
    assert [n.target for n in facts("two targets").quality.numbers] == names


@pytest.mark.parametrize(
    "name", ["number", "two classes", "three classes", "wide integers", "lines"]
)
def test_shapley_values_sum_to_the_score(facts, name):
    model, X, _, _ = report_of(name)
    rows = facts(name).rows
    total = rows.base + rows.shap.sum(axis=1) + rows.other_shap
    some = X.iloc[rows.row] if hasattr(X, "iloc") else X[rows.row]
    if name == "two classes":
        expected = model.decision_function(some)[:, np.newaxis]
    else:
        expected = model.predict_proba(some) if name == "three classes" else model.predict(some)
    np.testing.assert_allclose(total, expected.reshape(len(some), -1), rtol=1e-5, atol=1e-4)
    known = model.predict_proba(some) if "classes" in name else model.predict(some).reshape(-1, 1)
    np.testing.assert_array_equal(rows.y_pred, known)


def test_rows_without_weight_are_not_shown(facts):
    *_, weight = report_of("two classes")
    assert (weight[facts("two classes").rows.row] > 0).all()


def test_curves_equal_partial_dependence(facts):
    model, X, _, _ = report_of("number")
    curve = facts("number").dependence.curves[0]
    points = partial_dependence(
        model,
        X,
        curve.axis.feature,
        response="mean",
        grid_resolution=curve.axis.codes,
        max_samples=None,
    )
    np.testing.assert_allclose(curve.mean, points.mean, rtol=1e-5)
    assert facts("number").dependence.unused == ("idle",)


def test_rankings_equal_those_of_feature_importance(facts):
    model, *_ = report_of("number")
    by_kind = {one.kind: one for one in facts("number").importance}
    assert set(by_kind) >= {"squared_improvement", "gain", "splits", "cover", "shap", "permutation"}
    found = by_kind["squared_improvement"]
    expected = importance(model, "squared_improvement")
    np.testing.assert_array_equal(found.value, expected.value[expected.order])
    assert found.value[0] == 100.0


def test_learning_curves_are_the_recorded_losses(facts):
    model, *_ = report_of("number")
    curves = facts("number").learning
    assert curves.chosen == model.best_iteration_
    np.testing.assert_array_equal(curves.validation, learning_curves(model).validation)
    assert facts("one tree").learning is None


def test_fractional_rows_have_a_reason_instead_of_shapley_values():
    X, y = np.random.default_rng(0).normal(size=(2, 60, 1))
    X[::5] = np.nan
    tree = sw.DecisionTreeRegressor(max_leaf_nodes=4, missing_strategy="probability").fit(
        X, y[:, 0]
    )
    rows = report_facts(tree, X, y[:, 0]).rows
    assert "missing_strategy='probability'" in rows.reason
    assert rows.shap.shape[1] == 0


def test_wide_integers_are_written_out(facts):
    _, X, _, _ = report_of("wide integers")
    rows = facts("wide integers").rows
    ((place, written),) = rows.texts
    assert place == 0
    assert [int(w) for w in written] == X["id"].iloc[rows.row].tolist()


def test_dates_and_times_are_shown_as_text(facts):
    _, X, _, _ = report_of("datetimes")
    found = facts("datetimes")
    ((place, written),) = found.rows.texts
    assert place == 0
    days = X["day"].iloc[found.rows.row]
    assert list(written) == ["" if pd.isna(d) else str(d.date()) for d in days]
    columns = {c.name: c for c in found.table.columns}
    kinds = [columns[name].kind for name in ("day", "lasts", "at")]
    assert kinds == ["date", "duration", "time of day"]
    assert columns["day"].formatted.min == str(X["day"].min().date())
    assert columns["at"].formatted.max == str(max(X["at"]))
    assert len(columns["lasts"].formatted.quartiles) == 3
    assert columns["late"].formatted is None
    types = {curve.axis.feature: curve.axis.temporal_type for curve in found.dependence.curves}
    assert types == dict(enumerate(kinds))


def test_the_same_rows_give_the_same_bytes(tmp_path):
    model, X, y, _ = report_of("one tree")
    one, two = (model.report(X, y, tmp_path / f"{k}.html").read_bytes() for k in range(2))
    assert one == two
    other = model.report(X, y, tmp_path / "c.html", random_state=1).read_bytes()
    assert other != one  # another seed permutes columns differently


def test_kinds_of_tables_give_the_same_report(tmp_path):
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc")), rng.normal(size=80)
    model = sw.GradientBoostingRegressor(n_estimators=5).fit(X, y)
    tables = [X, pl.from_pandas(X), pl.from_pandas(X).to_arrow()]
    pages = [model.report(t, y, tmp_path / "r.html").read_bytes() for t in tables]
    assert pages[0] == pages[1] == pages[2]


def test_sparse_rows_have_a_report():
    X = scipy.sparse.random(200, 6, density=0.4, random_state=0, format="csr")
    y = X.toarray()[:, 0]
    found = report_facts(sw.GradientBoostingRegressor(n_estimators=5).fit(X, y), X, y)
    assert found.rows.codes.shape[1] == 6


def test_a_large_model_is_exported_in_part():
    model, X, y, _ = report_of("large")
    found = report_facts(model, X[:100], y[:100])
    assert not found.exported_model.complete
    assert 0 < found.exported_model.n_trees < len(model.model_.ensemble.trees)
    assert len(report_html(found).encode()) < 3_000_000


def test_warnings_are_raised_once_and_kept():
    model, X, y, _ = report_of("number")
    strange = X.assign(kind="castle")
    with pytest.warns(UserWarning, match="castle") as caught:
        found = report_facts(model, strange, y)
    assert len(caught) == len(found.overview.notes)
    assert any("castle" in note for note in found.overview.notes)


def test_markup_in_data_is_text():
    model, X, y, _ = report_of("evil")
    page = report_html(report_facts(model, X, y, title=EVIL, target="<b>"))
    assert page.count("<script") == 3  # facts, model, and our own
    assert EVIL not in page
    assert re.search(r"<title>&lt;/script&gt;", page)


def test_arrays_and_lists_have_a_report():
    assert plain(float("nan")) == {"$": "number", "of": "nan"}
    assert plain(np.array([1.0, np.inf])) == [1.0, {"$": "number", "of": "inf"}]
    packed = plain(np.arange(30, dtype=np.float32))
    assert (packed["$"], packed["shape"]) == ("f4", [30])
    assert as_json({"a": "</script>&"}) == '{"a":"\\u003c/script\\u003e\\u0026"}'
    with pytest.raises(TypeError, match="object cannot be serialized"):
        plain(object())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"path": 3}, "path must be a file name"),
        ({"title": 3}, "title must be text"),
        ({"target": 3}, "target must be a name"),
        ({"random_state": -1}, "random_state must be"),
        ({"verbose": -1}, "verbose must be"),
        ({"y": np.zeros(5)}, "5"),
        ({"X": houses()[0].drop(columns="age")}, "age"),
        ({"path": "no/such/folder/r.html"}, "directory does not exist"),
    ],
)
def test_invalid_reports_are_errors(tmp_path, monkeypatch, change, words):
    monkeypatch.chdir(tmp_path)
    model, X, y, _ = report_of("number")
    given = {"X": X, "y": y, "path": "r.html", **change}
    with pytest.raises((ValueError, TypeError, OSError), match=words):
        model.report(given.pop("X"), given.pop("y"), given.pop("path"), **given)
    assert not list(tmp_path.iterdir())


def test_without_a_path_the_page_is_an_object_that_a_notebook_shows(tmp_path):
    model, X, y, weight = report_of("number")
    path = model.report(X, y, tmp_path / "r.html", sample_weight=weight)
    page = model.report(X, y, sample_weight=weight)
    assert page.html == path.read_text()
    assert page.save(tmp_path / "again.html").read_bytes() == path.read_bytes()
    assert len(repr(page)) < 100
    shown = page._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    text = shown.split('srcdoc="')[1].split('"')[0]  # nothing ends the attribute early
    assert html.unescape(text) == page.html
    with pytest.raises(ValueError, match="path must be a file name; got None"):
        page.save(None)


def test_labels_that_the_model_does_not_have_are_an_error(tmp_path):
    model, X, y, _ = report_of("two classes")
    with pytest.raises(ValueError, match="not in the training data: 'free'"):
        model.report(X, np.where(y == "dear", "free", y), tmp_path / "r.html")


def test_rows_of_one_class_have_a_report(tmp_path):
    model, X, y, _ = report_of("two classes")
    found = report_facts(model, X[y == "dear"], y[y == "dear"])
    assert found.quality.classes == ()
    assert np.isnan({s.name: s.value for s in found.overview.scores[0][1]}["auc"])


def test_progress_is_printed(tmp_path, capsys):
    model, X, y, _ = report_of("one tree")
    model.report(X, y, tmp_path / "r.html", verbose=1)
    assert "explaining rows" in capsys.readouterr().err


# ---- special cases -------------------------------------------------------------------------------


def test_the_worst_prediction_is_shown():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    y = X[:, 0].copy()
    y[777] += 100.0
    model = sw.GradientBoostingRegressor(n_estimators=5).fit(X[:500], X[:500, 0])
    found = report_facts(model, X, y)
    assert 777 in found.rows.row
    assert len(found.rows.row) <= 251


def test_thresholds_of_the_slider_and_of_all_costs_are_exact():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 3))
    y = (X[:, 0] + rng.normal(size=5000) > 0).astype(int)
    model = sw.GradientBoostingClassifier(n_estimators=10).fit(X[:2500], y[:2500])
    (quality,) = report_facts(model, X[2500:], y[2500:]).quality.classes
    every = thresholds(model, X[2500:], y[2500:])
    assert len(quality.threshold) < len(every.threshold)
    for t in np.arange(0, 1001, 37) / 1000:
        place = np.flatnonzero(quality.threshold >= t)
        own = quality.true_positive[place[-1]] if len(place) else 0.0
        assert own == every.at(t)["tp"]
    for wrong, missed in [(1.0, 1.0), (1.0, 50.0), (7.0, 1.0), (1.0, 0.3)]:
        missing = quality.positives - quality.true_positive
        cost = (wrong * quality.false_positive + missed * missing) / 2500
        assert cost.min() == pytest.approx(every.cost(wrong, missed).best_cost, rel=1e-12)


def test_probabilities_that_are_steps_of_the_slider_count_there():
    y, p = np.arange(2001) % 2, np.repeat(np.arange(667) / 1000, 3)
    (quality,) = class_quality(Predictions.from_arrays(y, np.column_stack([1 - p, p]), [0, 1]))
    for k in range(0, 667, 3):
        own = quality.true_positive[np.flatnonzero(quality.threshold >= k / 1000)[-1]]
        assert own == np.sum(y[p >= k / 1000])


def test_names_that_are_not_text_have_a_report(tmp_path):
    model, X, y, _ = report_of("one tree")
    assert model.report(X, y, tmp_path / "r.html", title="a\udc80b").stat().st_size > 1000


@pytest.mark.parametrize("shift", [1.7e9, 0.0])
def test_numbers_that_differ_in_late_digits_keep_them(shift):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = shift + 20 * X[:, 0]
    model = sw.GradientBoostingRegressor(n_estimators=10).fit(X, y)
    (quality,) = report_facts(model, X, y).quality.numbers
    expected = (y - model.predict(X))[quality.row]
    np.testing.assert_allclose(quality.residual, expected, atol=1e-3 * np.ptp(expected))


def test_wide_arrays_are_described_under_the_names_of_their_features():
    X = np.random.default_rng(0).normal(size=(150, 230))
    y = 5 * X[:, 229] + X[:, 0]
    model = sw.GradientBoostingRegressor(n_estimators=3, max_leaf_nodes=3).fit(X, y)
    found = report_facts(model, X, y)
    assert found.table.associations[0][0] == "x229"
    assert found.table.n_columns == 230
    assert len(found.table.columns) == 201
    assert set(found.rows.features.tolist()) == set(np.flatnonzero(model.feature_importances_))
    again = report_facts(model, scipy.sparse.coo_matrix(X), y)
    assert again.table.associations[0][0] == "x229"


def test_unknown_categories_are_marked():
    X, y = houses(80)
    model = sw.GradientBoostingRegressor(n_estimators=3, handle_unknown="prior").fit(X, y)
    other = X.assign(kind=np.where(X["rooms"] > 4, "castle", "flat"))
    rows = report_facts(model, other, y).rows
    assert {text for _, _, text in rows.unknown} == {"castle"}
    strange = {i for i, _, _ in rows.unknown}
    assert strange == set(np.flatnonzero(X["rooms"].to_numpy()[rows.row] > 4))
    assert (rows.codes[sorted(strange), 2] == 3).all()


def test_columns_without_points_have_a_report():
    X, y = houses(120)
    model = sw.GradientBoostingRegressor(n_estimators=5, min_samples_leaf=5).fit(X, y)
    found = report_facts(model, X.assign(age=np.nan, rooms=np.inf), y)
    assert set(found.dependence.empty) == {"age", "rooms"}


def test_lists_of_lists_with_text_have_a_report():
    rng = np.random.default_rng(0)
    X = [[float(x), "ab"[int(x > 0)]] for x in rng.normal(size=60)]
    y = [row[0] for row in X]
    model = sw.GradientBoostingRegressor(
        n_estimators=3, min_samples_leaf=5, categorical_features=[1]
    ).fit(X, y)
    assert report_facts(model, X, y).rows.codes.shape == (60, 2)


def test_values_a_few_doubles_apart_have_a_report():
    x = np.where(np.arange(60) % 2, 1e17, 1e17 + 16)
    y = np.where(np.arange(60) % 2, 0.1, np.nextafter(0.1, 1))
    X = np.column_stack([x, np.arange(60.0)])
    model = sw.GradientBoostingRegressor(n_estimators=3, min_samples_leaf=5).fit(X, np.arange(60.0))
    assert len(report_facts(model, X, y).table.columns) == 3


def test_large_models_use_fewer_rows():
    X = np.random.default_rng(0).normal(size=(60, 2))
    few, many = (
        sw.GradientBoostingRegressor(n_estimators=n, max_leaf_nodes=4, min_samples_leaf=5)
        for n in (10, 2500)
    )
    assert row_budget(FittedModel.of(few.fit(X, X[:, 0]), "test")).limit(500, 50) == 500
    assert 50 <= row_budget(FittedModel.of(many.fit(X, X[:, 0]), "test")).limit(500, 50) < 500


def test_linear_terms_have_no_report(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = sw.StagewiseLinearRegressor(n_estimators=5).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="report needs trees with splits"):
        model.report(X, X[:, 0], tmp_path / "r.html")


def test_ignored_warnings_stay_ignored():
    model, X, y, _ = report_of("number")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sw.UnknownCategoryWarning)
        found = report_facts(model, X.assign(kind="castle"), y)
    assert any("castle" in note for note in found.overview.notes)


def test_the_page_shows_how_rounds_and_candidates_were_chosen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = X[:, 0] + rng.normal(size=150)
    default = sw.GradientBoostingRegressor(n_jobs=1).fit(X, y)
    overview = report_facts(default, X, y).overview
    assert overview.round_choice == default.fit_report_["round_choice"]
    assert overview.leaderboard == []
    auto = sw.AutoRegressor(quality=3, n_jobs=1).fit(X, y)
    overview = report_facts(auto, X, y).overview
    assert [row["name"] for row in overview.leaderboard] == [row.name for row in auto.leaderboard_]
    plain_fit = sw.GradientBoostingRegressor(n_estimators=3).fit(X, y)
    assert report_facts(plain_fit, X, y).overview.round_choice is None


@pytest.mark.parametrize(
    ("loss", "name"),
    [("negative_binomial", "exposure"), ("hurdle_poisson", "exposure"), ("normal", "offset")],
)
def test_a_model_of_several_scores_has_the_offset_of_its_rows(loss, name):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    X["own"] = rng.uniform(0.5, 1.0, 200)
    y = rng.poisson(X["own"] * np.exp(0.5 * X["a"])).astype(float)
    model = sw.GradientBoostingRegressor(loss=loss, n_estimators=5).fit(X, y, **{name: "own"})
    found = {one.kind: one for one in report_facts(model, X, y).importance}["permutation"]
    groups = {str(j): j for j in range(2)}
    expected = permutation_importance(
        model, X, y, groups=groups, n_repeats=N_REPEATS, random_state=0
    )
    np.testing.assert_allclose(found.value, expected.value[expected.order])
    assert found.feature[0] == 0

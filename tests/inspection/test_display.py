"""Results have a short text and HTML; hostile names are escaped; new results cannot forget it."""

from __future__ import annotations

import inspect
import json
import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest

import stagewise
from stagewise import inspection
from stagewise.display import MOST_LINES, Displayed, Lines, Summary, Text

HOSTILE = "<script>alert(1)</script>"
RESULTS = [
    value for name in inspection.__all__ if inspect.isclass(value := getattr(inspection, name))
]


@cache
def results():
    """Return an example of every result, from tables with a hostile column name and class."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 40))).rename(columns=str)
    X = X.rename(columns={"0": HOSTILE})
    y = X[HOSTILE] * 3 + X["1"] + rng.normal(size=300)
    label = np.where(y > 0, HOSTILE, "b")
    short = {"n_estimators": 10, "early_stopping": False}
    regressor = stagewise.GradientBoostingRegressor(**short, min_samples_leaf=20).fit(X, y)
    classifier = stagewise.GradientBoostingClassifier(**short).fit(X, label)
    conformal = stagewise.GradientBoostingRegressor(**short).fit(X, y).conformalize(X, y)
    boosted = stagewise.AdaBoostClassifier(n_estimators=30).fit(X, label)
    scores = inspection.scores(regressor, X, y)
    found = inspection.thresholds(classifier, X, label)
    linear = stagewise.LinearRegression().fit(X, y)
    relevance = stagewise.ranking_target((y > 0).astype(float), qid=np.arange(300) % 30)
    ranker = stagewise.GradientBoostingRanker(**short).fit(X, relevance)
    columns = [HOSTILE, "1", "2"]
    times = np.exp(-y / 3), np.arange(300) % 3 > 0
    survival = stagewise.GradientBoostingSurvival(n_estimators=10).fit(X, times)
    examples = [
        scores,
        scores["rmse"],
        found,
        found.roc(),
        found.precision_recall(),
        found.cost(),
        inspection.accumulated_effects(regressor, X, [HOSTILE]),
        inspection.ada_boost_path(boosted, X, label),
        inspection.bias_variance(regressor, (X, y), n_repeats=5),
        inspection.calibration(classifier, X, label),
        inspection.confusion_matrix(classifier, X, label),
        inspection.staged_contributions(classifier, X),
        inspection.decision_path(regressor, X.iloc[[0]]),
        inspection.partial_dependence(regressor, X, [HOSTILE]),
        inspection.describe(X, label),
        inspection.importance(regressor),
        inspection.permutation_importance(regressor, X, y),
        inspection.information_gain(X.round(), label),
        inspection.interactions(regressor, X, columns),
        inspection.learning_curves(regressor),
        inspection.coverage(conformal, X, y),
        inspection.lift(regressor, X, y - y.min()),
        inspection.margins(boosted, X, label),
        inspection.show_split(regressor, X, y),
        inspection.Predictions.of(classifier, X, label),
        inspection.residuals(regressor, X, y),
        inspection.shap_values(regressor, X),
        inspection.structure_score(regressor, X, y),
        inspection.survival_quality(survival, X, times),
        regressor.model_,
        linear.confidence_set(columns[:2]),
        linear.summary(),
        stagewise.export_text(regressor),
        inspection.importance_table(regressor),
        inspection.query_scores(ranker, X, relevance),
    ]
    return {type(example).__name__: example for example in examples}


@pytest.mark.parametrize("kind", RESULTS, ids=lambda kind: kind.__name__)
def test_every_result_of_inspection_has_an_example_and_a_display(kind):
    assert issubclass(kind, Displayed)
    assert isinstance(results()[kind.__name__], kind)


@pytest.mark.parametrize("name", [*(kind.__name__ for kind in RESULTS), "Model", "ConfidenceSet"])
def test_the_display_is_short_and_escaped(name):
    result = results()[name]
    assert 1 <= len(repr(result).splitlines()) <= MOST_LINES
    html = result._repr_html_()
    assert "<script" not in html
    assert len(html) < 20_000


@pytest.mark.parametrize("name", ["Text", "Lines"])
def test_texts_and_tables_are_displayed_as_such(name):
    shown = results()[name]
    assert isinstance(shown, {"Text": Text, "Lines": Lines}[name])
    assert len(repr(shown).splitlines()) <= MOST_LINES
    assert "<script" not in shown._repr_html_()


def test_a_wide_and_long_table_is_cut():
    rows = [{f"c{j}": "x" * 1000 for j in range(500)} for _ in range(500)]
    summary = Summary("t" * 1000, {f"f{j}": "v" * 999 for j in range(99)}, rows)
    assert len(summary.text().splitlines()) <= MOST_LINES
    assert len(summary.html()) < 50_000
    assert "12 of 500 rows" in summary.text()


def test_a_fitted_estimator_shows_its_recipe():
    X = np.arange(40.0)[:, np.newaxis]
    model = stagewise.GradientBoostingRegressor(n_estimators=3, early_stopping=False)
    assert "Fitted model" not in model._repr_html_()
    html = model.fit(X, X[:, 0])._repr_html_()
    assert "sk-container-id" in html
    assert all(fact in html for fact in ("recipe", "rounds", model.fingerprint()[:12]))


@pytest.fixture(scope="module")
def wide():
    """Return a table with a hundred constant columns, and a model of it."""
    X = pd.DataFrame(np.zeros((60, 100))).rename(columns=str)
    X.insert(0, HOSTILE, np.arange(60.0))
    return X, stagewise.GradientBoostingRegressor(n_estimators=3).fit(X, X[HOSTILE])


def test_the_report_of_a_fit_is_a_dictionary_with_a_short_text(wide):
    report = wide[1].fit_report_
    assert isinstance(report, dict)
    assert len(report["constant_features"]) == 100
    assert {**report} == report
    assert json.loads(json.dumps(report))["rounds_kept"] == 3
    text = repr(report)
    assert text.startswith("Fit of GradientBoostingRegressor")
    assert len(text.splitlines()) <= MOST_LINES
    assert "… (94 more)" in text
    assert "Fit of GradientBoostingRegressor" in report._repr_html_()
    assert pickle.loads(pickle.dumps(report)) == report


def test_every_estimator_has_such_a_report():
    X = np.arange(60.0)[:, np.newaxis]
    for model in (
        stagewise.LinearRegression(),
        stagewise.RandomForestRegressor(n_estimators=2),
        stagewise.BaggingRegressor(stagewise.LinearRegression(), n_estimators=2),
    ):
        assert repr(model.fit(X, X[:, 0]).fit_report_).startswith("Fit of ")


def test_rules_are_a_list_with_a_short_text(wide):
    tree = stagewise.DecisionTreeRegressor(min_samples_leaf=1).fit(wide[0], wide[0][HOSTILE])
    rules = stagewise.rules(tree)
    assert isinstance(rules, list)
    assert len(rules) == 60
    assert len(repr(rules).splitlines()) <= MOST_LINES
    assert HOSTILE not in rules._repr_html_()


def test_a_printed_description_is_bounded(wide):
    text = str(inspection.describe(wide[0]))
    assert len(text.splitlines()) <= 45
    assert "… and 81 more columns: table()" in text

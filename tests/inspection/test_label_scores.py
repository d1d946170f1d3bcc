"""Scores of several labels, and functions of several targets of classes."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, hamming_loss, log_loss, roc_auc_score

from stagewise import GradientBoostingClassifier, RandomForestClassifier
from stagewise.errors import InvalidParameterError
from stagewise.inspection import partial_dependence, permutation_importance, scores, shap_values
from stagewise.report.page_facts import report_facts

NAMES = ("drama", "comedy", "crime")


def films(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    Y = X[:, :3] + 0.7 * rng.normal(size=(n, 3)) > [0.0, 0.5, 1.5]
    return X, pd.DataFrame(Y.astype(int), columns=NAMES)


def fitted(**parameters):
    X, Y = films()
    model = GradientBoostingClassifier(n_estimators=15, **parameters).fit(X[:200], Y[:200])
    return model, X[200:], Y[200:]


def test_scores_are_found_by_names_of_labels_in_any_case():
    X, Y = films()
    model = GradientBoostingClassifier(n_estimators=5)
    model.fit(X[:200], Y[:200].set_axis(["Drama", "drama", "CRIME"], axis=1))
    found = scores(model, X[200:], Y[200:].to_numpy(), n_resamples=5)
    own = {score.name: score for score in found.scores}
    assert found["auc_Drama"] is own["auc_Drama"] is not found["auc_drama"]
    assert found["auc_crime"] is own["auc_CRIME"]
    assert found["MEAN AUC"] is own["macro_auc"]


@pytest.mark.parametrize("leaves", ["constant", "vector"])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_scikit_learn(leaves, weighted):
    model, X, Y = fitted(leaves=leaves)
    weight = np.arange(100) % 3.0 if weighted else None
    found, y = scores(model, X, Y, sample_weight=weight, n_resamples=5), Y.to_numpy()
    kept = slice(None) if weight is None else weight > 0
    own = {"sample_weight": weight}
    predicted, proba = model.predict(X), model.predict_proba(X)
    assert found["hamming_loss"].value == pytest.approx(hamming_loss(y, predicted, **own))
    assert found["subset_accuracy"].value == pytest.approx(accuracy_score(y, predicted, **own))
    areas = [roc_auc_score(y[:, k], proba[k][:, 1], **own) for k in range(3)]
    losses = [log_loss(y[:, k], proba[k][:, 1], **own) for k in range(3)]
    for k, name in enumerate(NAMES):
        assert found[f"auc_{name}"].value == pytest.approx(areas[k])
        assert found[f"log_loss_{name}"].value == pytest.approx(losses[k])
        shares = np.full(100, np.average(y[:, k], weights=weight))
        assert found[f"log_loss_{name}"].baseline == pytest.approx(log_loss(y[:, k], shares, **own))
    assert found["macro_auc"].value == pytest.approx(np.mean(areas))
    assert found["log_loss"].value == pytest.approx(np.mean(losses))
    rows, counts = np.unique(y[kept], axis=0, return_counts=True)
    if not weighted:
        assert found["subset_accuracy"].baseline == pytest.approx(counts.max() / counts.sum())
        rare = np.minimum(y.mean(axis=0), 1.0 - y.mean(axis=0)).mean()
        assert found["hamming_loss"].baseline == pytest.approx(rare)
    assert len(rows) > 3
    assert all(score.low <= score.value <= score.high for score in found.scores[:3])


def test_columns_of_y_are_matched_by_name():
    model, X, Y = fitted()
    one, two = scores(model, X, Y), scores(model, X, Y[["crime", "drama", "comedy"]])
    assert one.table() == two.table()


def test_a_label_that_all_rows_have_has_a_reason():
    model, X, Y = fitted()
    found = scores(model, X, Y.assign(crime=0))
    assert np.isnan(found["auc_crime"].value)
    assert "all rows are of one class" in found["auc_crime"].reason
    assert np.isfinite(found["macro_auc"].value)


def test_limits_of_very_many_rows_are_about_those_of_resamples(monkeypatch):
    model, X, Y = fitted()
    resampled = scores(model, X, Y, n_resamples=300)
    module = sys.modules["stagewise.inspection.quality.scores"]
    monkeypatch.setattr(module, "MOST_WORK", 0)
    for one, two in zip(resampled.scores, scores(model, X, Y).scores, strict=True):
        width = one.high - one.low
        assert two.high - two.low == pytest.approx(width, rel=0.35), one.name


def test_offsets_are_part_of_the_baseline():
    X, Y = films()
    offset = np.column_stack([X[:, 3], -X[:, 3], np.zeros(300)])
    model = GradientBoostingClassifier(n_estimators=5).fit(X, Y, offset=offset)
    found = scores(model, X, Y, offset=offset)
    assert found["auc_drama"].baseline == 0.5
    assert (
        found["log_loss_drama"].baseline
        != scores(model, X, Y, offset=0 * offset)["log_loss_drama"].baseline
    )


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (lambda Y: Y[["drama"]], "has 3 targets, and y has 1"),
        (lambda Y: Y.to_numpy()[:, :2], "has 3 targets, and y has 2. Pass a column for each"),
        (lambda Y: Y.assign(drama=7), r"Target drama: y has labels that were not in the training"),
    ],
)
def test_other_targets_are_errors(y, message):
    model, X, Y = fitted()
    with pytest.raises(ValueError, match=message):
        scores(model, X, y(Y))


def test_metrics_are_their_own():
    model, X, Y = fitted()
    with pytest.raises(InvalidParameterError, match="which have their own scores: hamming_loss"):
        scores(model, X, Y, metrics="auc")
    with pytest.raises(InvalidParameterError, match=r"'log_loss'.*for several targets of classes"):
        permutation_importance(model, X, Y, loss="auc")


def test_importance_and_shapley_values_have_the_names_of_the_labels():
    model, X, Y = fitted()
    found = permutation_importance(model, X, Y)
    assert found.unit == "increase of log_loss"
    assert {*np.argsort(-found.value)[:3].tolist()} == {0, 1, 2}
    values = shap_values(model, X[:3])
    assert values.output_names == NAMES
    np.testing.assert_allclose(
        values.values.sum(axis=1) + values.base_values, model.decision_function(X[:3])
    )
    assert partial_dependence(model, X, 0, response="score").outputs == NAMES


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, RandomForestClassifier])
def test_the_report_has_scores_of_every_label(kind):
    X, Y = films()
    model = kind(n_estimators=8).fit(X[:200], Y[:200])
    found = report_facts(model, X[200:], Y[200:])
    assert found.overview.task == "labels"
    assert [label.name for label in found.quality.labels] == [*NAMES]
    known = scores(model, X[200:], Y[200:])
    assert found.overview.scores[0][1] == known.scores[:4]
    assert [s for label in found.quality.labels for s in label.scores] == [*known.scores[4:]]
    assert found.subgroups.measure == "share of wrong labels"
    assert found.subgroups.whole.error == pytest.approx(known["hamming_loss"].value)
    assert found.rows.y_true[0].startswith("drama=")
    assert found.exported_model.facts["link"] is not None

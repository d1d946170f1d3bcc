"""AdaBoost of any classifier."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import AdaBoostClassifier as ScikitAdaBoost
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import stagewise
from estimators.tables import make_table
from stagewise import AdaBoostClassifier, InvalidParameterError, StagewiseClassifier

STUMP = DecisionTreeClassifier(max_depth=1, random_state=0)


@pytest.fixture(scope="module")
def table():
    return make_table(400, missing=False)


@pytest.mark.parametrize("base", [STUMP, GaussianNB()], ids=repr)
@pytest.mark.parametrize("target", ["two", "many"])
@pytest.mark.parametrize("rate", [1.0, 0.4])
def test_agrees_with_scikit_learn(table, base, target, rate):
    X, y = table.X[:, :3], getattr(table, target)
    ours = AdaBoostClassifier(base, n_estimators=6, learning_rate=rate).fit(X, y)
    theirs = ScikitAdaBoost(base, n_estimators=6, learning_rate=rate).fit(X, y)
    n = ours.n_iter_
    assert 0 < n == len(theirs.estimators_)
    # Row weights are float32.
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_[:n], rtol=1e-5)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_[:n], rtol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    k, total = len(ours.classes_), theirs.estimator_weights_[:n].sum()
    # Scores are β = (K-1)²/K times votes; those of scikit-learn are divided by Σ α.
    expected = theirs.decision_function(X) * total * (0.25 if k == 2 else (k - 1) ** 2 / k)
    np.testing.assert_allclose(ours.decision_function(X), expected, rtol=1e-4, atol=1e-5)


def test_the_estimators_vote(table):
    for base in (None, STUMP):
        model = AdaBoostClassifier(base, n_estimators=5).fit(table.X, table.many)
        k = len(model.classes_)
        votes = np.zeros((len(table.X), k))
        assert len(model.estimators_) == model.n_iter_ == 5
        for member, weight in zip(model.estimators_, model.estimator_weights_, strict=True):
            predicted = member.predict(table.X)
            codes = predicted if base else np.searchsorted(model.classes_, predicted)
            vote = np.eye(k)[codes]
            votes += weight * (k - 1) ** 2 / k * np.where(vote > 0, 1.0, -1.0 / (k - 1))
        np.testing.assert_allclose(model.decision_function(table.X), votes, rtol=1e-9, atol=1e-9)


def test_errors_are_those_of_the_path(table):
    from stagewise.inspection import ada_boost_path

    model = AdaBoostClassifier(n_estimators=9, learning_rate=0.5).fit(table.X, table.many)
    path = ada_boost_path(model, table.X, table.many)
    np.testing.assert_allclose(model.estimator_errors_, path.estimator_errors, rtol=1e-5)
    with pytest.raises(AttributeError, match=r"algorithm='discrete'\) has estimator_weights_ and"):
        _ = (
            AdaBoostClassifier(algorithm="real", n_estimators=9)
            .fit(table.X, table.two)
            .estimator_errors_
        )


def test_is_the_stagewise_classifier_with_votes(table):
    base = GaussianNB()
    model = AdaBoostClassifier(base, n_estimators=4).fit(table.X, table.many)
    parts = StagewiseClassifier(
        "exponential", learner=base, response="classes", learning_rate=1.0, n_estimators=4
    )
    assert model.fingerprint() == parts.fit(table.X, table.many).fingerprint()


def test_staged_predictions_end_with_the_prediction(table):
    names = np.array(["no", "yes"])[table.two]
    model = AdaBoostClassifier(STUMP, n_estimators=6).fit(table.X, names)
    for staged, last in (
        (model.staged_predict(table.X), model.predict(table.X)),
        (model.staged_predict_proba(table.X), model.predict_proba(table.X)),
        (model.staged_decision_function(table.X), model.decision_function(table.X)),
    ):
        stages = list(staged)
        assert len(stages) == 6
        np.testing.assert_array_equal(stages[-1], last)
    assert set(model.predict(table.X)) == {"no", "yes"}


def test_an_estimator_without_weights_is_refused_or_gets_drawn_rows(table):
    X = table.X[:, :3]
    with pytest.raises(ValueError, match="KNeighborsClassifier has no argument sample_weight") as e:
        AdaBoostClassifier(KNeighborsClassifier(3)).fit(X, table.two)
    assert "response" not in str(e.value)
    model = AdaBoostClassifier(KNeighborsClassifier(3), resample=True, n_estimators=5)
    first = model.fit(X, table.two).fingerprint()
    assert model.fit(X, table.two).fingerprint() == first
    assert model.score(X, table.two) > 0.8


def test_pipelines_frames_and_searches(table):
    frame = pd.DataFrame(table.X[:, :3], columns=list("abc"))
    base = make_pipeline(StandardScaler(), LogisticRegression())
    model = AdaBoostClassifier(base, n_estimators=3).fit(frame, table.two)
    shuffled = frame[["c", "a", "b"]]
    np.testing.assert_array_equal(model.predict(shuffled), model.predict(frame))
    grid = {"estimator__max_depth": [1, 2], "n_estimators": [3]}
    search = GridSearchCV(AdaBoostClassifier(STUMP), grid, cv=2).fit(frame, table.two)
    assert search.best_params_["estimator__max_depth"] in (1, 2)


def test_a_pickle_predicts_the_same_and_a_file_is_refused(table, tmp_path):
    model = AdaBoostClassifier(STUMP, n_estimators=3).fit(table.X, table.two)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(table.X), model.predict_proba(table.X))
    with pytest.raises(ValueError, match=r"DecisionTreeClassifier terms.*tree as estimator"):
        model.save(tmp_path / "m.stgw")
    own = AdaBoostClassifier(n_estimators=3).fit(table.X, table.two)
    own.save(tmp_path / "m.stgw")
    loaded = stagewise.load(tmp_path / "m.stgw")
    np.testing.assert_array_equal(loaded.estimator_errors_, own.estimator_errors_)
    assert [m.fingerprint() for m in loaded.estimators_] == [
        m.fingerprint() for m in own.estimators_
    ]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"estimator": Ridge()}, r"'estimator'.*must be a classifier; got Ridge"),
        ({"estimator": 3}, r"'estimator'.*must be an unfitted scikit-learn classifier; got 3"),
        ({"estimator": STUMP, "max_depth": 2}, r"'max_depth'.*no effect with this estimator"),
        ({"estimator": STUMP, "algorithm": "real"}, r"'algorithm'.*no effect"),
        ({"estimator": STUMP, "warm_start": True}, r"'warm_start'.*no effect"),
        ({"resample": True}, r"'resample'.*no effect with this estimator, None"),
    ],
)
def test_invalid_combinations_are_refused(table, params, words):
    with pytest.raises(InvalidParameterError, match=words):
        AdaBoostClassifier(**params).fit(table.X, table.two)


def test_attributes_of_trees(table):
    model = AdaBoostClassifier(STUMP, n_estimators=4).fit(table.X, table.two)
    weights = model.estimator_weights_ / model.estimator_weights_.sum()
    expected = weights @ [stump.feature_importances_ for stump in model.estimators_]
    np.testing.assert_allclose(model.feature_importances_, expected)
    model = AdaBoostClassifier(GaussianNB(), n_estimators=2).fit(table.X, table.two)
    for name in ("feature_importances_", "apply"):
        assert not hasattr(model, name)


def test_staged_scores_are_accuracies(table):
    model = AdaBoostClassifier(n_estimators=4).fit(table.X, table.many)
    scores = list(model.staged_score(table.X, table.many))
    assert scores == [np.mean(p == table.many) for p in model.staged_predict(table.X)]

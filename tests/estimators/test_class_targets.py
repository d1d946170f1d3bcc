"""Several targets of classes: scikit-learn's shapes, agreement, laws, files and refusals."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn import ensemble, tree
from sklearn.datasets import make_multilabel_classification

import stagewise
from stagewise import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    InvalidParameterError,
    RandomForestClassifier,
    export_text,
)
from stagewise.cli.main import main
from stagewise.inspection import (
    Predictions,
    importance,
    partial_dependence,
    shap_values,
    show_split,
)

FORESTS = pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
EVERY = pytest.mark.parametrize(
    "kind", [RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier]
)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))
    three = np.digitize(X[:, 0] + rng.normal(size=500) / 2, [-0.5, 0.5])
    return X, np.c_[three, X[:, 1] + X[:, 2] > 0, rng.integers(0, 2, 500)].astype(int)


@pytest.fixture(scope="module")
def labels():
    return make_multilabel_classification(300, n_features=8, random_state=0)


def few(kind, **params):
    return kind(**params) if "Decision" in kind.__name__ else kind(n_estimators=5, **params)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_depth", [1, 4])
def test_a_tree_is_that_of_scikit_learn(table, criterion, weighted, max_depth):
    X, y = table
    weight = np.random.default_rng(1).integers(1, 4, len(X)) * 1.0 if weighted else None
    rules = {"criterion": criterion, "max_depth": max_depth, "min_weight_fraction_leaf": 0.05}
    own = DecisionTreeClassifier(**rules).fit(X, y, weight)
    other = tree.DecisionTreeClassifier(random_state=0, **rules).fit(X, y, weight)
    for found, expected in zip(own.predict_proba(X), other.predict_proba(X), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_array_equal(own.predict(X), other.predict(X))
    assert own.n_outputs_ == other.n_outputs_ == 3
    assert list(own.n_classes_) == list(other.n_classes_) == [3, 2, 2]
    np.testing.assert_allclose(own.feature_importances_, other.feature_importances_, atol=1e-9)


@pytest.mark.parametrize("class_weight", ["balanced", [{0: 1, 1: 2, 2: 3}, {0: 5, 1: 1}, None]])
def test_weights_of_classes_are_those_of_scikit_learn(table, class_weight):
    X, y = table
    rules = {"max_depth": 3, "min_weight_fraction_leaf": 0.05}
    own = DecisionTreeClassifier(class_weight=class_weight, **rules).fit(X, y)
    theirs = class_weight if isinstance(class_weight, str) else [*class_weight[:2], {0: 1, 1: 1}]
    other = tree.DecisionTreeClassifier(class_weight=theirs, random_state=0, **rules).fit(X, y)
    for found, expected in zip(own.predict_proba(X), other.predict_proba(X), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)


@FORESTS
def test_shapes_are_those_of_scikit_learn(kind, labels):
    X, y = labels
    params = {"n_estimators": 40, "bootstrap": True, "oob_score": True, "random_state": 0}
    own, other = kind(**params).fit(X, y), getattr(ensemble, kind.__name__)(**params).fit(X, y)
    assert own.n_outputs_ == other.n_outputs_
    assert [c.tolist() for c in own.classes_] == [c.tolist() for c in other.classes_]
    found, expected = own.predict_proba(X), other.predict_proba(X)
    assert isinstance(found, list)
    assert [p.shape for p in found] == [p.shape for p in expected]
    for logs, p in zip(own.predict_log_proba(X), found, strict=True):
        np.testing.assert_allclose(np.exp(logs), p, atol=1e-12)
    assert own.predict(X).shape == other.predict(X).shape
    assert own.predict(X).dtype == other.predict(X).dtype
    assert own.oob_decision_function_.shape == other.oob_decision_function_.shape
    assert abs(own.oob_score_ - other.oob_score_) < 0.12
    assert own.score(X, y) == (own.predict(X) == y).all(axis=1).mean()
    each = [one.predict_proba(X)[1] for one in own.estimators_]
    np.testing.assert_allclose(np.mean(each, axis=0), own.predict_proba(X)[1], atol=1e-12)
    assert np.isclose(np.hstack(own.predict_proba(X)).sum(axis=1), 5).all()


def test_targets_with_other_numbers_of_classes_have_lists_of_out_of_bag_probabilities(table):
    forest = RandomForestClassifier(n_estimators=30).fit(*table)
    assert [p.shape for p in forest.oob_decision_function_] == [(500, 3), (500, 2), (500, 2)]
    assert forest.oob_prediction_.shape == (500, 7)
    assert next(forest.staged_predict_proba(table[0]))[0].shape == (500, 3)


@EVERY
def test_a_target_beside_constants_is_predicted_as_alone(kind, table):
    X, y = table
    params = {} if "Decision" in kind.__name__ else {"bootstrap": False, "max_features": None}
    params |= {"min_samples_leaf": 5, "criterion": "entropy"}
    beside = np.c_[np.ones(len(X)), y[:, 0], np.full(len(X), 7)].astype(int)
    several = few(kind, **params).fit(X, beside)
    alone = few(kind, **params).fit(X, y[:, 0])
    np.testing.assert_allclose(several.predict_proba(X)[1], alone.predict_proba(X), atol=1e-9)
    assert several.n_classes_ == [1, 3, 1]


@EVERY
@pytest.mark.parametrize("split", ["histogram", "exact"])
def test_weights_and_threads(kind, table, split):
    X, y = table
    weight = np.random.default_rng(3).integers(0, 3, len(X))
    params = {"split": split, "min_samples_split": 8}
    params |= {} if "Decision" in kind.__name__ else {"bootstrap": False}
    own = few(kind, n_jobs=1, **params).fit(X, y, weight)
    twice = few(kind, n_jobs=4, **params)
    twice.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight, axis=0))
    np.testing.assert_array_equal(own.predict(X), twice.predict(X))
    assert own.fingerprint() == few(kind, n_jobs=3, **params).fit(X, y, weight).fingerprint()


@EVERY
def test_frames_of_any_labels_files_and_pickles(kind, table, tmp_path):
    X, y = table
    frame = pd.DataFrame({"size": np.array(["S", "M", "L"])[y[:, 0]], "sold": y[:, 1] > 0})
    fitted = few(kind).fit(X, frame)
    assert fitted.target_names_.tolist() == ["size", "sold"]
    assert [c.tolist() for c in fitted.classes_] == [["L", "M", "S"], [False, True]]
    assert fitted.predict(X).dtype == object
    fitted.save(tmp_path / "model.stgw")
    loaded = stagewise.load(tmp_path / "model.stgw")
    for other in (loaded, pickle.loads(pickle.dumps(fitted))):
        assert other.fingerprint() == fitted.fingerprint()
        assert other.predict(X).tolist() == fitted.predict(X).tolist()
        assert [c.dtype for c in other.classes_] == [c.dtype for c in fitted.classes_]
        assert other.target_names_.tolist() == ["size", "sold"]
    assert loaded.score(X, frame) > 0.5


def test_a_forest_is_continued(labels):
    X, y = labels
    warm = RandomForestClassifier(n_estimators=8, warm_start=True).fit(X, y)
    warm.set_params(n_estimators=20).fit(X, y)
    one = RandomForestClassifier(n_estimators=20).fit(X, y)
    assert warm.fingerprint() == one.fingerprint()
    np.testing.assert_array_equal(warm.oob_prediction_, one.oob_prediction_)
    with pytest.raises(ValueError, match="of its targets, but y has"):
        warm.set_params(n_estimators=21).fit(X, y[:, :2])
    with pytest.raises(ValueError, match="of its targets, but y has"):
        warm.fit(X, y[:, 0])


def test_balanced_bags_and_early_stopping(table):
    X, y = table
    forest = RandomForestClassifier(class_weight="balanced_subsample", n_estimators=3).fit(X, y)
    roots = [one.value[0] * 3 for one in forest.model_.ensemble.trees]
    np.testing.assert_allclose(np.array(roots)[:, :3], 1 / 3, atol=0.05)
    params = {"n_estimators": 300, "early_stopping": True, "n_iter_no_change": 5}
    assert RandomForestClassifier(**params).fit(X, y).n_iter_ < 300
    stopped = RandomForestClassifier(**params).fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    assert len(stopped.validation_loss_) < 300


@pytest.mark.parametrize("pruning", ["cost_complexity", "reduced_error", "early_stopping"])
def test_trees_are_pruned(table, pruning):
    X, y = table
    pruned = DecisionTreeClassifier(pruning=pruning).fit(X, y)
    assert pruned.get_n_leaves() < DecisionTreeClassifier().fit(X, y).get_n_leaves()
    assert pruned.predict(X).shape == y.shape


def test_explanations_have_a_column_for_each_class(labels):
    X, y = labels
    forest = RandomForestClassifier(n_estimators=5, max_depth=4).fit(X, y)
    values = shap_values(forest, X[:10])
    total = values.values.sum(axis=1) + values.base_values
    np.testing.assert_allclose(total, np.hstack(forest.predict_proba(X[:10])), atol=1e-9)
    assert values.output_names[:2] == ("y0=0", "y0=1")
    assert "y4=1" in str(export_text(forest, tree=0))
    assert partial_dependence(forest, X, 0).mean.shape[-1] == 10
    assert len(importance(forest).outputs) == 10


def test_what_is_for_one_target_is_refused(labels):
    X, y = labels
    forest = RandomForestClassifier(n_estimators=3).fit(X, y)
    refused = {
        "cost is for one": lambda: forest.predict(X, cost=np.ones((2, 2))),
        "class_importances_ is for one": lambda: forest.class_importances_,
        "is of one target, but the forest": lambda: forest.oob_importances(X, y),
        "show_split is for one": lambda: show_split(forest, X, y),
        "eval_metric is of one": lambda: RandomForestClassifier(eval_metric="auc").fit(X, y),
        "bounds the values of one": lambda: RandomForestClassifier(monotonic_cst={0: 1}).fit(X, y),
        "of 5 targets must be None": lambda: RandomForestClassifier(class_weight={0: 1}).fit(X, y),
        "y with several targets add up": lambda: RandomForestClassifier().fit(csr_array(X), y),
    }
    for words, call in refused.items():
        with pytest.raises(InvalidParameterError, match=words):
            call()
    assert not hasattr(forest, "decision_function")
    with pytest.raises(AttributeError, match="decision_function"):
        forest.decision_function(X)
    with pytest.raises(ValueError, match="has 5 targets, and the quality is that of one"):
        Predictions.of(forest, X, y)
    with pytest.raises(ValueError, match=r"In target 1 of y: .*continuous"):
        RandomForestClassifier().fit(X, y + np.array([0, 0.5, 0, 0, 0]))
    with pytest.raises(ValueError, match="as many targets as in y, 5; got 2"):
        RandomForestClassifier(early_stopping=True).fit(X, y, X_val=X, y_val=y[:, :2])
    with pytest.raises(ValueError, match="y has the shape"):
        forest.score(X, y[:, 0])


def test_a_single_target_after_several(table):
    X, y = table
    forest = RandomForestClassifier(n_estimators=3).fit(X, y).fit(X, y[:, 0])
    assert forest.classes_.tolist() == [0, 1, 2]
    assert forest.predict_proba(X).shape == (500, 3)
    assert forest.n_outputs_ == 1


def test_the_command_line_predicts_every_target(table, tmp_path):
    X, y = table
    names = [f"x{j}" for j in range(5)]
    frame = pd.DataFrame({"size": np.array(["S", "M", "L"])[y[:, 0]], "sold": y[:, 1]})
    rows = pd.DataFrame(X, columns=names)
    forest = RandomForestClassifier(n_estimators=3).fit(rows, frame)
    forest.save(tmp_path / "model.stgw")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    files = [str(tmp_path / name) for name in ("model.stgw", "rows.csv", "out.csv")]
    assert main(["predict", files[0], files[1], "--out", files[2]]) == 0
    found = pd.read_csv(files[2])
    assert found.columns.tolist() == ["prediction_size", "prediction_sold"]
    assert found["prediction_size"].tolist() == forest.predict(rows)[:, 0].tolist()
    assert main(["predict", files[0], files[1], "--out", files[2], "--proba"]) != 0

"""The estimators follow scikit-learn's conventions: its own checks, and its tools."""

from __future__ import annotations

import copy
import pickle
import re

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.linear_model import Ridge
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import stagewise
from estimators.tables import make_table, quick
from stagewise import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GentleBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearRegression,
    LogitBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StagewiseClassifier,
    StagewiseLinearRegressor,
    StagewiseRegressor,
    StepwiseRegressor,
)
from stagewise.model.file.format import read_model

BOTH = pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])


@pytest.fixture(scope="module")
def table():
    return make_table(400)


def target(kind, table):
    return table.number if kind is GradientBoostingRegressor else table.many


def drawn_by_row_number(estimator):
    """Two checks repeat rows and also change their order, on which a bootstrap depends."""
    if not (
        getattr(estimator, "bootstrap", False) or getattr(estimator, "sampling", "") == "bootstrap"
    ):
        return {}
    names = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    found = dict.fromkeys(names, "rows in another order are other bags")
    if hasattr(getattr(estimator, "estimator", None), "decision_function"):
        found["check_classifiers_classes"] = "a mean of scores may prefer another class than one of"
        found["check_classifiers_classes"] += " probabilities"
    return found


@parametrize_with_checks(
    [
        GradientBoostingRegressor(),
        GradientBoostingRegressor(
            loss="absolute_error", grow_policy="depth_wise", max_bins=300, n_estimators=30
        ),
        GradientBoostingClassifier(),
        GradientBoostingClassifier(max_depth=3, n_jobs=2, min_samples_leaf=1, n_estimators=30),
        GradientBoostingClassifier(response="gradient", n_estimators=15),
        AdaBoostClassifier(n_estimators=30),
        AdaBoostClassifier(GaussianNB(), n_estimators=3),
        AdaBoostRegressor(n_estimators=5),
        AdaBoostRegressor(Ridge(), n_estimators=3),
        AdaBoostClassifier(algorithm="real", criterion="gini", n_estimators=10),
        GentleBoostClassifier(n_estimators=30),
        LogitBoostClassifier(n_estimators=30),
        StagewiseRegressor(n_estimators=30),
        StagewiseClassifier(n_estimators=30),
        StagewiseRegressor(learner=Ridge(), n_estimators=5),
        RandomForestClassifier(n_estimators=20),
        RandomForestRegressor(n_estimators=20, split="exact", max_leaf_nodes=20),
        ExtraTreesClassifier(n_estimators=20),
        ExtraTreesRegressor(n_estimators=20),
        DecisionTreeClassifier(),
        DecisionTreeClassifier(criterion="entropy", missing_strategy="mean", split="histogram"),
        DecisionTreeRegressor(),
        DecisionTreeRegressor(criterion="absolute_error", grow_policy="depth_wise", max_depth=4),
        DecisionTreeRegressor(pruning="cost_complexity", ccp_alpha=0.01),
        BaggingRegressor(n_estimators=3, oob_score=True),
        BaggingRegressor(Ridge(), n_estimators=6, max_features=0.7),
        BaggingClassifier(n_estimators=3, max_samples=0.3),
        BaggingClassifier(n_estimators=3, combine="vote", sampling="uniform", max_samples=0.7),
        BaggingClassifier(GradientBoostingClassifier(n_estimators=5), n_estimators=2),
        BaggingRegressor(GradientBoostingRegressor(n_estimators=20), sampling="folds", cv=2),
        BaggingClassifier(GaussianNB(), sampling="folds", cv=2, combine="weighted"),
        LinearRegression(),
        LinearRegression(fit_intercept=False),
        StepwiseRegressor(),
        StepwiseRegressor(criterion="cv", cv=3),
        StagewiseLinearRegressor(n_estimators=30),
        StagewiseLinearRegressor(step_size=0.01, n_estimators=200),
    ],
    expected_failed_checks=drawn_by_row_number,
)
@pytest.mark.filterwarnings("ignore")  # as in check_estimator; a single class warns
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


def test_a_default_is_in_the_signature_and_in_the_parameters():
    params = GradientBoostingRegressor().get_params()
    assert params["learning_rate"] == "auto"
    assert params["n_estimators"] == params["max_leaf_nodes"] == "auto"
    own = {"quantile", "power"}
    of_classes = {"class_weight", "class_order", "calibration"}
    assert set(GradientBoostingClassifier().get_params()) == {*params, *of_classes} - own


def test_tags_state_the_estimator_type():
    assert is_regressor(GradientBoostingRegressor())
    assert is_classifier(GradientBoostingClassifier())


@BOTH
def test_a_clone_has_the_parameters_and_is_not_fitted(kind, table):
    model = quick(kind, learning_rate=0.3, callbacks=[print][:0]).fit(table.X, target(kind, table))
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        copied.predict(table.X)


@BOTH
def test_the_representation_shows_what_was_changed(kind):
    assert repr(kind(learning_rate=0.3)) == f"{kind.__name__}(learning_rate=0.3)"


@BOTH
@pytest.mark.parametrize("name", ["learnin_rate", "learning_rat", "learningrate"])
def test_a_misspelt_parameter_suggests_the_nearest_one(kind, name):
    with pytest.raises(TypeError, match=rf"no parameter '{name}'.*'learning_rate'"):
        kind(**{name: 0.1})
    with pytest.raises(ValueError, match=rf"'{name}' for estimator .*'learning_rate'\?.*Valid"):
        kind().set_params(**{name: 0.1})


@BOTH
def test_an_unknown_parameter_without_a_near_name_has_no_suggestion(kind):
    with pytest.raises(TypeError, match=r"no parameter 'zzz'\.$"):
        kind(zzz=1)
    model = kind()
    with pytest.raises(ValueError, match=r"Invalid parameter 'zzz'"):
        model.set_params(zzz=1, learning_rate=0.5)
    assert model.learning_rate == "auto", "nothing is set when something is wrong"


@BOTH
def test_set_params_sets_and_returns_the_estimator(kind):
    model = kind()
    assert model.set_params(learning_rate=0.5, max_depth=3) is model
    assert (model.learning_rate, model.max_depth) == (0.5, 3)


# ---- scikit-learn's tools -----------------------------------------------------------------------


@BOTH
def test_pipeline(kind, table):
    y = target(kind, table)
    pipeline = make_pipeline(StandardScaler(), quick(kind)).fit(table.X, y)
    assert pipeline.score(table.X, y) > 0.5
    with pytest.raises(ValueError, match=r"Did you mean 'max_depth'\?"):
        pipeline.set_params(**{f"{kind.__name__.lower()}__max_dept": 3})


@pytest.mark.parametrize("frame", ["pandas", "polars"])
@BOTH
def test_pipeline_with_frames_between_steps(kind, frame, table):
    names = [f"column {j}" for j in range(table.X.shape[1])]
    X = pd.DataFrame(table.X, columns=names)
    X = X if frame == "pandas" else pl.from_pandas(X, nan_to_null=False)
    y = target(kind, table)
    pipeline = make_pipeline(StandardScaler(), quick(kind)).set_output(transform=frame).fit(X, y)
    assert pipeline[-1].feature_names_in_.tolist() == names
    plain = make_pipeline(StandardScaler(), quick(kind)).fit(table.X, y)
    np.testing.assert_array_equal(pipeline.predict(X), plain.predict(table.X))


@BOTH
def test_grid_search(kind, table):
    grid = {"max_leaf_nodes": [2, 8], "learning_rate": np.array([0.01, 0.3])}
    search = GridSearchCV(quick(kind), grid, cv=3, n_jobs=1).fit(table.X, target(kind, table))
    assert search.best_params_["learning_rate"] == 0.3
    assert search.best_score_ > 0.3


@BOTH
def test_cross_val_score(kind, table):
    y = target(kind, table)
    scores = cross_val_score(quick(kind), table.X, y, cv=4)
    assert scores.shape == (4,)
    assert scores.min() > 0.3
    assert cross_val_predict(quick(kind), table.X, y, cv=3).shape == y.shape


def test_calibrated_classifier(table):
    model = CalibratedClassifierCV(quick(GradientBoostingClassifier), cv=3)
    proba = model.fit(table.X, table.many).predict_proba(table.X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert log_loss(table.many, proba) < np.log(5)


def test_one_vs_rest_classifier(table):
    model = OneVsRestClassifier(quick(GradientBoostingClassifier)).fit(table.X, table.many)
    assert model.score(table.X, table.many) > 0.5


def test_voting_and_transformed_target(table):
    vote = VotingClassifier(
        [("a", quick(GradientBoostingClassifier)), ("b", quick(GradientBoostingClassifier))],
        voting="soft",
    ).fit(table.X, table.two)
    assert vote.score(table.X, table.two) > 0.8
    scaled = TransformedTargetRegressor(
        quick(GradientBoostingRegressor), func=np.sqrt, inverse_func=np.square
    ).fit(table.X, table.number)
    assert scaled.score(table.X, table.number) > 0.5


@BOTH
def test_importances_agree_on_which_feature_matters(kind, table):
    y = target(kind, table)
    model = quick(kind).fit(table.X, y)
    assert model.feature_importances_.shape == (5,)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    shuffled = permutation_importance(model, table.X, y, n_repeats=3, random_state=0)
    assert np.argmax(model.feature_importances_) == np.argmax(shuffled.importances_mean)


# ---- labels and names ----------------------------------------------------------------------------


LABELS = {
    "text": np.array(["no", "yes", "perhaps, but later"]),
    "text objects": np.array(["no", "yes", "perhaps"], dtype=object),
    "booleans": np.array([True, False]),
    "integers with gaps": np.array([0, 2, 5]),
    "bytes of integers": np.array([7, 3], dtype=np.uint8),
    "negative and huge integers": np.array([-5, 2**62, 2**62 + 1]),
    "whole floats": np.array([1.0, 2.0, -3.0]),
    "unicode": np.array(["ä", "日本", "😀"]),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_keep_their_values(labels, table, tmp_path):
    y = labels[table.many % len(labels)]
    model = quick(GradientBoostingClassifier).fit(table.X, y)
    assert model.classes_.tolist() == sorted(labels.tolist())
    assert model.classes_.dtype == labels.dtype
    predicted = model.predict(table.X)
    assert predicted.dtype == labels.dtype
    assert set(predicted.tolist()) <= set(labels.tolist())
    proba = model.predict_proba(table.X)
    assert proba.shape == (len(y), len(labels))
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], predicted)
    model.save(tmp_path / "model.stgw")
    assert stagewise.load(tmp_path / "model.stgw").predict(table.X).tolist() == predicted.tolist()


@pytest.mark.parametrize(
    "series",
    [
        lambda y: pd.Series(y, dtype="category"),
        lambda y: pd.Series(y, dtype="str"),
        pl.Series,
        lambda y: pl.Series(y, dtype=pl.Categorical),
        list,
    ],
    ids=["pandas categorical", "pandas text", "polars", "polars categorical", "a list"],
)
def test_labels_may_be_any_series(series, table):
    y = np.array(["a", "b", "c"])[table.many % 3].tolist()
    model = quick(GradientBoostingClassifier).fit(table.X, series(y))
    plain = quick(GradientBoostingClassifier).fit(table.X, np.array(y))
    assert model.fingerprint() == plain.fingerprint()


def test_feature_names_are_kept_and_removed(table):
    X = pd.DataFrame(table.X, columns=["one", "two", "3", "ü", ""])
    model = quick(GradientBoostingRegressor).fit(X, table.number)
    assert model.feature_names_in_.tolist() == ["one", "two", "3", "ü", ""]
    assert model.feature_names_in_.dtype == object
    assert model.n_features_in_ == 5
    model.fit(table.X, table.number)
    assert not hasattr(model, "feature_names_in_")


def test_scores_are_those_of_scikit_learn(table):
    regressor = quick(GradientBoostingRegressor).fit(table.X, table.number)
    assert regressor.score(table.X, table.number) == r2_score(
        table.number, regressor.predict(table.X)
    )
    classifier = quick(GradientBoostingClassifier).fit(table.X, table.many)
    right = np.mean(classifier.predict(table.X) == table.many)
    assert classifier.score(table.X, table.many) == right


def test_decisions_and_probabilities_agree(table):
    two = quick(GradientBoostingClassifier).fit(table.X, table.two)
    score, proba = two.decision_function(table.X), two.predict_proba(table.X)
    assert score.shape == (400,)
    np.testing.assert_array_equal(score > 0, proba[:, 1] > 0.5)
    many = quick(GradientBoostingClassifier).fit(table.X, table.many)
    score, proba = many.decision_function(table.X), many.predict_proba(table.X)
    assert score.shape == (400, 5)
    np.testing.assert_allclose(
        np.log(proba),
        score - score.max(axis=1, keepdims=True) + np.log(proba.max(axis=1, keepdims=True)),
        atol=1e-9,
    )


# ---- copies and files ----------------------------------------------------------------------------


def by_file(model, folder):
    model.save(folder / "model.stgw")
    return stagewise.load(folder / "model.stgw")


def by_joblib(model, folder):
    joblib.dump(model, folder / "model.joblib")
    return joblib.load(folder / "model.joblib")


COPIES = {
    "pickle": lambda model, folder: pickle.loads(pickle.dumps(model)),
    "old pickle": lambda model, folder: pickle.loads(pickle.dumps(model, protocol=2)),
    "joblib": by_joblib,
    "copy": lambda model, folder: copy.copy(model),
    "deepcopy": lambda model, folder: copy.deepcopy(model),
    "file": by_file,
}


@pytest.mark.parametrize("way", COPIES.values(), ids=COPIES)
@BOTH
def test_a_copy_is_the_same_model(kind, way, table, tmp_path):
    X = pd.DataFrame(table.X, columns=list("abcde"))
    y = target(kind, table)
    model = quick(kind, learning_rate=0.2, early_stopping=True, random_state=3).fit(X, y)
    copied = way(model, tmp_path)
    assert type(copied) is kind
    assert copied.get_params() == model.get_params()
    assert copied.fingerprint() == model.fingerprint()
    assert copied.feature_names_in_.tolist() == list("abcde")
    assert copied.n_iter_ == model.n_iter_
    np.testing.assert_array_equal(copied.predict(X), model.predict(X))
    np.testing.assert_array_equal(copied.train_loss_, model.train_loss_)
    np.testing.assert_array_equal(copied.validation_loss_, model.validation_loss_)
    np.testing.assert_array_equal(copied.feature_importances_, model.feature_importances_)
    assert copied.fit(X, y).fingerprint() == model.fingerprint(), "it can be fitted again"


@BOTH
def test_an_estimator_that_is_not_fitted_can_be_copied_but_not_saved(kind, tmp_path):
    model = kind(max_depth=3)
    assert pickle.loads(pickle.dumps(model)).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        model.save(tmp_path / "model.stgw")
    assert not list(tmp_path.iterdir())


def test_notes_are_restored_from_the_file(table, tmp_path):
    model = quick(GradientBoostingRegressor).fit(table.X, table.number)
    notes = {"target": "price", "rows": [1, 2], "größe": None}
    model.save(tmp_path / "model.stgw", notes=notes)
    _, found = read_model(tmp_path / "model.stgw")
    assert {name: found[name] for name in notes} == notes
    assert stagewise.load(tmp_path / "model.stgw").fingerprint() == model.fingerprint()


@pytest.mark.parametrize("name", ["class", "params", "seed", 3])
def test_reserved_note_names_are_refused(name, table, tmp_path):
    model = quick(GradientBoostingRegressor).fit(table.X, table.number)
    with pytest.raises(ValueError, match=f"A note cannot be called {name!r}.*must be text"):
        model.save(tmp_path / "model.stgw", notes={name: "x"})
    assert not list(tmp_path.iterdir())


def test_parameters_of_numpy_types_are_saved(table, tmp_path):
    model = GradientBoostingClassifier(
        n_estimators=np.int64(4),
        learning_rate=np.float32(0.25),
        early_stopping=np.bool_(False),
        class_weight={np.int64(0): 1, np.int64(1): 2},
        random_state=np.random.RandomState(5),
    ).fit(table.X, table.two)
    copied = by_file(model, tmp_path)
    assert copied.fit(table.X, table.two).fingerprint() == model.fingerprint()


@pytest.mark.parametrize(
    "use",
    [
        "predict",
        "apply",
        "staged_predict",
        "predict_proba",
        "decision_function",
        "staged_predict_proba",
    ],
)
def test_predict_before_fit_is_an_error(use, table):
    model = GradientBoostingClassifier()
    with pytest.raises(NotFittedError, match=re.escape("not fitted yet. Call 'fit'")):
        list(getattr(model, use)(table.X))


@pytest.mark.parametrize("name", ["best_iteration_", "feature_importances_", "model_", "n_iter_"])
def test_fitted_attributes_are_absent_before_fit(name):
    assert not hasattr(GradientBoostingRegressor(), name)

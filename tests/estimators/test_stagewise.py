"""StagewiseRegressor and StagewiseClassifier: any learner, and other methods as special cases."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler
from sklearn.svm import SVR

import stagewise
from estimators.tables import make_table
from stagewise import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    InvalidParameterError,
    StagewiseClassifier,
    StagewiseRegressor,
)
from stagewise.learners import HistogramTree


@pytest.fixture(scope="module")
def table():
    return make_table(300, missing=False)


LEARNERS = {
    "linear": LinearRegression(),
    "neighbours": KNeighborsRegressor(7),
    "network": make_pipeline(
        StandardScaler(), MLPRegressor(hidden_layer_sizes=(5,), solver="lbfgs", max_iter=30)
    ),
    "splines": make_pipeline(StandardScaler(), SplineTransformer(4), Ridge()),
    "support vectors": make_pipeline(StandardScaler(), SVR()),
    "a boosted model": GradientBoostingRegressor(n_estimators=3),
    "a forest": RandomForestRegressor(5, max_depth=3),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", LEARNERS)
def test_any_learner_lowers_the_training_loss_reproducibly(name, table):
    for loss in ("squared_error", "huber"):
        model = StagewiseRegressor(loss, learner=LEARNERS[name], n_estimators=6, learning_rate=0.5)
        model.fit(table.X, table.number)
        again = clone(model).fit(table.X, table.number)
        np.testing.assert_array_equal(model.predict(table.X), again.predict(table.X))
        assert model.fingerprint() == again.fingerprint()
        start = np.abs(table.number - np.median(table.number)).mean()
        assert np.abs(table.number - model.predict(table.X)).mean() < 0.97 * start
        staged = list(model.staged_predict(table.X))
        assert len(staged) == model.n_iter_ == 6
        np.testing.assert_allclose(staged[-1], model.predict(table.X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("target", ["two", "many"])
@pytest.mark.parametrize("name", LEARNERS)
def test_any_learner_separates_classes(name, target, table):
    y = getattr(table, target)
    model = StagewiseClassifier(learner=LEARNERS[name], resample=True, n_estimators=5)
    model.fit(table.X, y)
    proba = model.predict_proba(table.X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert model.train_loss_[-1] < model.train_loss_[0] * 1.001
    assert set(model.predict(table.X)) <= set(y)


def test_other_methods_are_special_cases(table):
    tree = HistogramTree(max_leaf_nodes=6, min_samples_leaf=5, l2=3.0)
    own = {
        "max_features": 1.0,
        "max_leaf_nodes": 6,
        "min_samples_leaf": 5,
        "l2_regularization": 3.0,
    }
    cases = [
        (StagewiseRegressor(learner=tree), GradientBoostingRegressor(**own), table.number),
        (
            StagewiseRegressor("absolute_error", learner=tree, subsample=0.5),
            GradientBoostingRegressor(loss="absolute_error", subsample=0.5, **own),
            table.number,
        ),
        (StagewiseClassifier(learner=tree), GradientBoostingClassifier(**own), table.many),
        (
            StagewiseClassifier("exponential", learner=tree, response="gradient"),
            GradientBoostingClassifier(loss="exponential", response="gradient", **own),
            table.two,
        ),
        (
            StagewiseClassifier(
                "exponential",
                learner=HistogramTree(
                    max_depth=1, max_leaf_nodes=None, min_samples_leaf=1, min_hessian=0.0, l2=0.0
                ),
                response="classes",
                learning_rate=1.0,
            ),
            AdaBoostClassifier(),
            table.many,
        ),
    ]
    for general, special, y in cases:
        a = general.set_params(n_estimators=7).fit(table.X, y)
        b = special.set_params(n_estimators=7).fit(table.X, y)
        assert a.fingerprint() == b.fingerprint(), special


def test_a_model_of_trees_can_be_saved_and_others_pickled(table, tmp_path):
    model = StagewiseRegressor(learner=HistogramTree(max_depth=2), n_estimators=4)
    model.fit(table.X, table.number).save(tmp_path / "m.stgw")
    loaded = stagewise.load(tmp_path / "m.stgw")
    assert loaded.fingerprint() == model.fingerprint()
    assert loaded.learner == HistogramTree(max_depth=2)
    other = StagewiseRegressor(learner=Ridge(), n_estimators=4).fit(table.X, table.number)
    with pytest.raises(ValueError, match=r"Ridge terms cannot be saved.*Pickle"):
        other.save(tmp_path / "n.stgw")
    back = pickle.loads(pickle.dumps(other))
    np.testing.assert_array_equal(back.predict(table.X), other.predict(table.X))
    assert back.fingerprint() == other.fingerprint()


def test_learners_without_sample_weight_are_refused_unless_rows_are_drawn(table):
    model = StagewiseClassifier(learner=KNeighborsRegressor(), n_estimators=3)
    with pytest.raises(
        ValueError, match=r"KNeighborsRegressor has no argument sample_weight.*resample"
    ):
        model.fit(table.X, table.two)
    gradient = clone(model).set_params(response="gradient").fit(table.X, table.two)
    drawn = clone(model).set_params(resample=True).fit(table.X, table.two)
    assert gradient.score(table.X, table.two) > 0.6
    assert drawn.score(table.X, table.two) > 0.6
    with pytest.raises(ValueError, match="has no argument sample_weight"):
        gradient.fit(table.X, table.two, sample_weight=np.arange(1.0, 301))


def test_weight_two_equals_the_row_twice_for_learners_with_sample_weight(table):
    weight = np.arange(300) % 3
    a = StagewiseRegressor("poisson", learner=LinearRegression(), n_estimators=5)
    a.fit(table.X, table.number, sample_weight=weight)
    b = clone(a).fit(np.repeat(table.X, weight, axis=0), np.repeat(table.number, weight))
    np.testing.assert_allclose(a.predict(table.X), b.predict(table.X), rtol=1e-5)


def test_the_learner_gets_the_frame_unchanged():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200), "kind": rng.choice(list("abc"), 200)})
    y = frame["x"] + (frame["kind"] == "b")
    learner = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough"), Ridge()
    )
    model = StagewiseRegressor(learner=learner, learning_rate=1.0, n_estimators=5).fit(frame, y)
    assert model.score(frame, y) > 0.99
    assert model.feature_names_in_.tolist() == ["x", "kind"]
    np.testing.assert_array_equal(model.predict(frame[["kind", "x"]]), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"x": "z"}))


def test_early_stopping_with_a_validation_set_or_held_out_rows(table):
    model = StagewiseRegressor(
        learner=KNeighborsRegressor(1), n_estimators=60, learning_rate=0.5, n_iter_no_change=3
    )
    held = model.fit(
        table.X[:200], table.number[:200], X_val=table.X[200:], y_val=table.number[200:]
    )
    assert held.n_iter_ == np.argmin(held.validation_loss_) + 1 < 60
    own = clone(model).set_params(early_stopping=True).fit(table.X, table.number)
    assert own.n_iter_ < 60


def test_stages_of_a_convex_loss_with_an_exact_step_never_raise_the_loss(table):
    for loss in ("absolute_error", "huber", "poisson"):
        model = StagewiseRegressor(
            loss, learner=KNeighborsRegressor(3), response="gradient", learning_rate=1.0
        ).set_params(n_estimators=15)
        losses = model.fit(table.X, table.number).train_loss_
        if loss != "huber":  # its width changes from round to round
            assert (np.diff(losses) <= 1e-7 * np.abs(losses[0])).all()
    model = StagewiseClassifier(learner=Ridge(), response="gradient", learning_rate=1.0)
    losses = model.set_params(n_estimators=15).fit(table.X, table.many).train_loss_
    assert losses[-1] < losses[0]


BAD_TREES = [
    (HistogramTree(proposal="local"), "proposal='local'; it has an effect only .*split='approx'"),
    (HistogramTree(sketch_eps=0.1), r"sketch_eps=0\.1; it has an effect only .*: leave it at 0\.0"),
    (HistogramTree(criterion="gini"), "criterion='gini'; it has an effect only for trees of class"),
    (HistogramTree(monotone="up"), "monotone='up'; it must be a tuple of -1, 0 and 1"),
    (HistogramTree(monotone=(2, 0, 0, 0, 0)), "monotone=.*; it must be a tuple of -1, 0 and 1"),
    (HistogramTree(monotone=np.array([1, 0])), "monotone has 2 values, but the table has 5"),
    (HistogramTree(interaction_groups=(0, 1)), "interaction_groups=.* a tuple of groups"),
    (HistogramTree(interaction_groups=((0, 9),)), "interaction_groups: there is no feature 9"),
    (HistogramTree(feature_penalty=(-1.0,)), "feature_penalty=.* numbers, at least 0"),
    (HistogramTree(used_features=(0.5,)), "used_features=.* positions of features"),
    (HistogramTree(used_features=(5,)), "used_features: there is no feature 5"),
    (HistogramTree(feature_weights=("a",)), "feature_weights=.* numbers, at least 0"),
    (HistogramTree(feature_weights=(1,) * 5), "none are drawn"),
    (HistogramTree(feature_weights=(0,) * 5, max_features=2), "must have a number above 0"),
    (HistogramTree(forced_splits=((0, 0.0, 0, -1),)), "forced_splits=.* positions of later splits"),
    (HistogramTree(forced_splits=((7, 0.0, -1, -1),)), "forced_splits: there is no feature 7"),
    (
        HistogramTree(grow_policy="symmetric", max_features=0.5),
        r"max_features=0\.5; it must be None or 1\.0 with grow_policy='symmetric'",
    ),
    (
        HistogramTree(grow_policy="symmetric", random_thresholds=True),
        "random_thresholds=True; it must be False with grow_policy='symmetric'",
    ),
]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (StagewiseRegressor(learner=LogisticRegression()), "must be a regressor for this response"),
        (StagewiseRegressor(learner=Ridge), "an unfitted scikit-learn regressor"),
        (StagewiseRegressor(learner="tree"), "an unfitted scikit-learn regressor"),
        (StagewiseClassifier(learner=GaussianNB()), "must be a regressor for this response"),
        (StagewiseRegressor(learner=StandardScaler()), "an unfitted scikit-learn regressor"),
        (StagewiseRegressor(learner=Ridge(), step="region_optimum"), "have no leaves"),
        (StagewiseRegressor(learner=HistogramTree(max_leaf_nodes=8.5)), "max_leaf_nodes=8.5"),
        (StagewiseRegressor(learner=HistogramTree(l2=-1)), "l2=-1; it must be"),
        *((StagewiseRegressor(learner=tree), words) for tree, words in BAD_TREES),
        (
            StagewiseClassifier("exponential", response="classes", learner=Ridge()),
            "a classifier for this",
        ),
        (StagewiseClassifier(response="classes"), "'loss'.*must be 'exponential'"),
        (StagewiseClassifier(step="votes"), "'step'.*must be 'auto' or one of 'newton'"),
        (StagewiseRegressor(step="votes"), "'step'.*must be one of 'auto'"),
        (StagewiseRegressor(response="classes"), "'response'.*must be one of 'newton'"),
        (StagewiseRegressor(resample=1), "'resample'.*True or False"),
        (
            StagewiseRegressor(resample=True),
            "'resample'.*no effect with this learner, HistogramTree",
        ),
        (StagewiseRegressor(learner=Ridge(), max_bins=9), "'max_bins'.*no effect with.*Ridge"),
        (StagewiseRegressor(learner=Ridge(), missing_values=-1), "'missing_values'.*no effect"),
    ],
)
def test_invalid_combinations_are_refused(model, words, table):
    with pytest.raises(InvalidParameterError, match=words):
        model.fit(table.X, table.two)


def test_methods_of_trees_are_errors_for_other_learners(table):
    model = StagewiseRegressor(learner=Ridge(), n_estimators=2).fit(table.X, table.number)
    with pytest.raises(AttributeError, match="only if the learner is a tree"):
        _ = model.feature_importances_


def test_attributes_of_trees_are_absent_for_other_learners(table):
    model = StagewiseRegressor(learner=Ridge(), n_estimators=2).fit(table.X, table.number)
    assert not hasattr(model, "apply")
    assert not hasattr(model, "feature_importances_")
    trees = StagewiseRegressor(n_estimators=2).fit(table.X, table.number)
    assert trees.apply(table.X).shape == (len(table.X), 2)


def test_nested_parameters_are_set_on_the_learner():
    model = StagewiseRegressor().set_params(learner=Ridge(), learner__alpha=3.0)
    assert model.learner.alpha == 3.0
    with pytest.raises(ValueError, match="Invalid parameter 'lerner__alpha'"):
        model.set_params(lerner__alpha=1.0)


def test_sparse_rows_are_passed_to_a_learner_that_reads_them(table):
    rows = sp.coo_matrix(np.where(table.X > 2000, table.X, 0.0))
    model = StagewiseRegressor(learner=Ridge(), n_estimators=3).fit(rows, table.number)
    dense = StagewiseRegressor(learner=Ridge(), n_estimators=3).fit(rows.toarray(), table.number)
    np.testing.assert_allclose(model.predict(rows), dense.predict(rows.toarray()), rtol=1e-3)


def test_the_recipe_names_the_learner():
    words = StagewiseRegressor("huber", learner=Ridge(), step="line_search").recipe()
    assert "huber x newton x line search step x Ridge" in words


@pytest.mark.parametrize(
    "rule",
    [
        {"monotone": (-1, 0, 0, 0)},
        {"interaction_groups": ((0,), (1,), (2,), (3,))},
        {"max_interaction_order": 1},
        {"feature_penalty": (50.0, 0.0, 0.0, 0.0)},
        {"forced_splits": ((3, 0.0, -1, -1),)},
        {"feature_weights": (0.0, 1.0, 1.0, 1.0), "max_features": 0.5},
    ],
    ids=lambda rule: next(iter(rule)),
)
def test_parameters_of_a_tree_learner_have_an_effect(rule):
    X = np.random.default_rng(0).normal(size=(300, 4))
    y = X[:, 0] + X[:, 1] ** 2
    plain, ruled = (
        StagewiseRegressor(learner=HistogramTree(**own), n_estimators=10).fit(X, y)
        for own in ({k: v for k, v in rule.items() if k == "max_features"}, rule)
    )
    assert plain.fingerprint() != ruled.fingerprint()
    if "monotone" in rule:
        line = np.zeros((50, 4))
        line[:, 0] = np.linspace(-3, 3, 50)
        assert (np.diff(ruled.predict(line)) <= 0).all()


def test_numpy_numbers_are_valid_parameters_of_a_tree():
    X = np.random.default_rng(0).normal(size=(300, 4))
    rules = {"max_features": np.int64(2), "max_leaf_nodes": 4.0, "max_step": None}
    given = StagewiseRegressor(learner=HistogramTree(**rules), n_estimators=3)
    plain = HistogramTree(max_features=2, max_leaf_nodes=4)
    same = StagewiseRegressor(learner=plain, n_estimators=3)
    assert given.fit(X, X[:, 0]).fingerprint() == same.fit(X, X[:, 0]).fingerprint()

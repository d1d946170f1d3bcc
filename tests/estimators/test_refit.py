"""New leaf values from other rows."""

from __future__ import annotations

import lightgbm
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import stagewise
from estimators.tables import make_table, quick
from stagewise import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    GentleBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LogitBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StagewiseRegressor,
)
from stagewise.datasets import make_friedman1
from stagewise.errors import InvalidParameterError

Regressor, Classifier = GradientBoostingRegressor, GradientBoostingClassifier
ALL = {"sampling": "uniform", "subsample": 1.0}


@pytest.fixture(scope="module")
def table():
    return make_table(500)


@pytest.fixture(scope="module")
def new():
    return make_table(300, seed=7)


KINDS = {
    "squared error": (Regressor, "number", {}),
    "absolute error": (Regressor, "number", {"loss": "absolute_error"}),
    "huber": (Regressor, "number", {"loss": "huber"}),
    "quantile": (Regressor, "number", {"loss": "quantile", "quantile": 0.8}),
    "mape": (Regressor, "number", {"loss": "mape"}),
    "poisson": (Regressor, "number", {"loss": "poisson"}),
    "gradient response": (Regressor, "number", {"response": "gradient"}),
    "penalties": (Regressor, "number", {"l1_regularization": 900.0, "max_step": 200.0}),
    "smoothed paths": (Regressor, "number", {"path_smoothing": 3.0}),
    "start": (Regressor, "number", {"init": "zero"}),
    "categories": (Regressor, "number", {"categorical_features": [1]}),
    "several targets": (Regressor, "numbers", {}),
    "two classes": (Classifier, "two", {}),
    "class weights": (Classifier, "two", {"class_weight": {0: 1, 1: 3}}),
    "many classes": (Classifier, "many", {}),
    "vector leaves": (Classifier, "many", {"leaves": "vector"}),
    "exponential": (Classifier, "two", {"loss": "exponential"}),
    "gentle": (GentleBoostClassifier, "two", {}),
    "tree": (DecisionTreeRegressor, "number", {"max_leaf_nodes": 9}),
    "tree of medians": (
        DecisionTreeRegressor,
        "number",
        {"max_leaf_nodes": 9, "criterion": "absolute_error"},
    ),
    "tree of classes": (DecisionTreeClassifier, "many", {"max_leaf_nodes": 9}),
    "forest": (ExtraTreesRegressor, "number", {"bootstrap": False}),
    "forest of several targets": (ExtraTreesRegressor, "numbers", {"bootstrap": False}),
    "tree of counts": (
        DecisionTreeRegressor,
        "number",
        {"max_leaf_nodes": 9, "criterion": "poisson"},
    ),
    "forest of classes": (
        RandomForestClassifier,
        "two",
        {"bootstrap": False, "criterion": "entropy"},
    ),
}


def fitted(kind, target, params, table, weight=None):
    if kind in (DecisionTreeRegressor, DecisionTreeClassifier):
        model = kind(**params)
    else:
        model = quick(kind, **(ALL if kind in (Regressor, Classifier) else {}), **params)
    return model.fit(table.X, getattr(table, target), weight)


def outputs(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("case", KINDS)
def test_the_rows_of_the_fit_give_its_own_leaf_values(case, weighted, table):
    kind, target, params = KINDS[case]
    weight = 1.0 + np.arange(500) % 3 if weighted else None
    model = fitted(kind, target, params, table, weight)
    again = model.refit(table.X, getattr(table, target), weight, decay=0.0)
    # Gradients are float32, and the core adds them as integers.
    np.testing.assert_allclose(outputs(again, table.X), outputs(model, table.X), rtol=2e-6)
    same = model.refit(table.X, getattr(table, target), weight, decay=1.0)
    assert same.fingerprint() == model.fingerprint()


@pytest.mark.parametrize("case", KINDS)
def test_weight_two_is_the_row_twice_and_weight_zero_its_absence(case, table, new):
    kind, target, params = KINDS[case]
    model = fitted(kind, target, params, table)
    y, weight = getattr(new, target), np.arange(300) % 3
    rows = np.repeat(np.arange(300), weight)
    own = model.refit(new.X, y, weight, decay=0.5)
    twice = model.refit(new.X[rows], y[rows], decay=0.5)
    np.testing.assert_allclose(outputs(own, new.X), outputs(twice, new.X), rtol=1e-6)


def test_refit_equals_the_formula_round_by_round(table, new):
    """Decay · old + (1 - decay) · ν · -G / (H + λ), by NumPy."""
    params = {"loss": "log_loss", "learning_rate": 0.3, "l2_regularization": 2.0, "init": "zero"}
    model = quick(Classifier, **ALL, **params).fit(table.X, table.two)
    weight = 1.0 + np.arange(300) % 4
    again = model.refit(new.X, new.two, weight, decay=0.7)
    leaves = model.apply(new.X).reshape(300, -1)
    score = np.zeros(300)
    for m, tree in enumerate(model.model_.ensemble.trees):
        p = expit(score)
        G, H = (
            np.bincount(leaves[:, m], weight * part, len(tree.feature))
            for part in (p - new.two, p * (1 - p))
        )
        value = np.where(
            np.bincount(leaves[:, m], weight, len(tree.feature)) > 0,
            0.7 * tree.value + 0.3 * 0.3 * -G / (H + 2.0),
            tree.value,
        )
        leaf = tree.feature < 0
        found = again.model_.ensemble.trees[m]
        np.testing.assert_allclose(found.value[leaf], value[leaf], rtol=1e-5, atol=1e-9)
        for name in ("feature", "threshold", "left", "right", "missing_left", "cover", "gain"):
            np.testing.assert_array_equal(getattr(found, name), getattr(tree, name))
        score += value[leaves[:, m]]
    np.testing.assert_allclose(again.decision_function(new.X), score, rtol=1e-5)
    loss = np.average(np.logaddexp(0, score) - new.two * score, weights=weight)
    assert again.train_loss_[-1] == pytest.approx(loss, rel=1e-5)


def test_the_leaves_of_a_forest_are_means_of_the_new_rows(table, new):
    model = quick(ExtraTreesRegressor, n_estimators=3).fit(table.X, table.number)
    again = model.refit(new.X, new.number, decay=0.25)
    leaves = model.apply(new.X)
    expected = np.zeros(300)
    for old, leaf in zip(model, leaves.T, strict=True):
        means = np.bincount(leaf, new.number) / np.maximum(np.bincount(leaf), 1)
        expected += (0.25 * old.predict(new.X) + 0.75 * means[leaf]) / 3
    np.testing.assert_allclose(again.predict(new.X), expected, rtol=1e-9)


def test_the_best_constant_is_averaged(table, new):
    model = quick(Regressor, **ALL, max_leaf_nodes=2, learning_rate=1e-9).fit(table.X, table.number)
    again = model.refit(new.X, new.number + 500.0, decay=0.9)
    expected = 0.9 * table.number.mean() + 0.1 * (new.number.mean() + 500.0)
    np.testing.assert_allclose(again.predict(new.X), expected, rtol=1e-6)


@pytest.mark.parametrize("objective", ["regression", "binary"])
def test_agreement_with_lightgbm(objective, table, new):
    """Both refit the same stumps; LightGBM starts from 0 without boost_from_average.

    A column of ten values has the same bins in both. Gradients are float32 in both, so the
    tolerance is 1e-5.
    """
    X, X2 = (
        make_table(n, seed=seed, missing=False).X[:, :1] // 410 for n, seed in ((500, 0), (300, 7))
    )
    y, y2 = (
        (table.number / 1000, new.number / 1000)
        if objective == "regression"
        else (table.two, new.two)
    )
    theirs = lightgbm.train(
        {
            "objective": objective,
            "num_leaves": 2,
            "learning_rate": 0.2,
            "lambda_l2": 1.0,
            "boost_from_average": False,
            "min_data_in_leaf": 20,
            "min_data_in_bin": 1,
            "min_sum_hessian_in_leaf": 0.0,
            "verbose": -1,
            "num_threads": 1,
        },
        lightgbm.Dataset(X, y),
        num_boost_round=6,
    )
    kind = Regressor if objective == "regression" else Classifier
    ours = kind(
        n_estimators=6,
        max_leaf_nodes=2,
        grow_policy="best_first",
        learning_rate=0.2,
        l2_regularization=1.0,
        init="zero",
        min_samples_leaf=20,
        min_hessian=0.0,
        max_features=None,
        split="histogram",
        **ALL,
    ).fit(X, y)
    score = ours.predict if objective == "regression" else ours.decision_function
    np.testing.assert_allclose(score(X2), theirs.predict(X2, raw_score=True), rtol=1e-5)
    theirs = theirs.refit(X2, y2, decay_rate=0.6)
    ours = ours.refit(X2, y2, decay=0.6)
    score = ours.predict if objective == "regression" else ours.decision_function
    np.testing.assert_allclose(score(X2), theirs.predict(X2, raw_score=True), rtol=1e-5)


@pytest.mark.parametrize("loss", ["poisson", "squared_error", "absolute_error"])
def test_offsets_are_part_of_the_scores(loss, table):
    y = np.round(table.number / 100)
    exposure = 1.0 + np.arange(500) % 4
    given = {"exposure": exposure} if loss == "poisson" else {"offset": 10 * exposure}
    model = quick(Regressor, **ALL, loss=loss).fit(table.X, y, **given)
    again = model.refit(table.X, y, decay=0.0, **given)
    found, expected = again.predict(table.X, **given), model.predict(table.X, **given)
    np.testing.assert_allclose(found, expected, rtol=2e-6)
    with pytest.raises(ValueError, match="exposure" if loss == "poisson" else "offset"):
        model.refit(table.X, y)


def test_a_shift_of_the_target_is_followed():
    X, y = make_table(500).X, make_table(500).number
    model = quick(Regressor, **ALL, n_estimators=40).fit(X, y)
    again = model
    for _ in range(40):
        again = again.refit(X, y + 1000.0, decay=0.8)
    shift = again.predict(X).mean() - model.predict(X).mean()
    assert shift == pytest.approx(1000.0, rel=0.01)


def test_categories_early_stopping_and_files(tmp_path):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"c": random.choice(list("abcde"), 400), "x": random.normal(size=400)})
    X["c"] = X["c"].astype("category")
    y = X["x"] + (X["c"] == "a")
    model = Regressor(n_estimators=100, early_stopping=True, random_state=0).fit(X, y)
    again = model.refit(X.iloc[::-1], 2 * y.iloc[::-1])
    assert again.n_iter_ == model.n_iter_
    assert len(again.train_loss_) == model.n_iter_
    assert len(again.validation_loss_) == 0
    assert not hasattr(again, "fit_report_")
    assert hasattr(model, "fit_report_"), "the model itself is not changed"
    again.save(tmp_path / "m.stgw")
    loaded = stagewise.load(tmp_path / "m.stgw")
    np.testing.assert_array_equal(loaded.predict(X), again.predict(X))
    once_more = loaded.refit(X, y)
    np.testing.assert_array_equal(once_more.predict(X), again.refit(X, y).predict(X))


def test_many_rounds_are_read_in_blocks(table, new, monkeypatch):
    from stagewise.training import refit

    model = fitted(Classifier, "many", {}, table)
    whole = model.refit(new.X, new.many)
    monkeypatch.setattr(refit, "LEAF_BYTES", 1)
    assert model.refit(new.X, new.many).fingerprint() == whole.fingerprint()


REFUSED = {
    "dropout": (lambda: quick(Regressor, dropout="dart"), "number", "rounds that were dropped"),
    "linear leaves": (lambda: quick(Regressor, leaves="linear"), "number", "linear models"),
    "monotone": (
        lambda: quick(Regressor, monotonic_cst=[1, 0, 0, 0, 0]),
        "number",
        "would not keep monotonic_cst",
    ),
    "init": (
        lambda: quick(Regressor, init=DecisionTreeRegressor(max_leaf_nodes=2)),
        "number",
        "starts from an estimator",
    ),
    "votes": (lambda: quick(AdaBoostClassifier), "two", "no Newton steps"),
    "medians": (lambda: AdaBoostRegressor(n_estimators=3), "number", "weighted medians"),
    "logits": (lambda: quick(LogitBoostClassifier), "two", "no Newton steps"),
    "line search": (lambda: StagewiseRegressor(n_estimators=3), "number", "no Newton steps"),
    "both sides": (
        lambda: DecisionTreeRegressor(max_leaf_nodes=5, missing_strategy="probability"),
        "number",
        "several leaves",
    ),
}


@pytest.mark.parametrize(("make", "target", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_refitted_is_an_error(make, target, words, table):
    model = make().fit(table.X, getattr(table, target))
    with pytest.raises(InvalidParameterError, match=rf"refit of this .* is not defined: .*{words}"):
        model.refit(table.X, getattr(table, target))


def test_invalid_arguments(table):
    model = fitted(Classifier, "two", {}, table)
    with pytest.raises(ValueError, match="decay must"):
        model.refit(table.X, table.two, decay=1.5)
    with pytest.raises(ValueError, match=r"In the rows of refit: .*label 2, which y does not have"):
        model.refit(table.X, table.two + 1)
    with pytest.raises(ValueError, match="expecting 5 features"):
        model.refit(table.X[:, :3], table.two)
    with pytest.raises(ValueError, match=r"negative|>= 0|at least 0"):
        model.refit(table.X, table.two, -np.ones(500))
    with pytest.raises(stagewise.errors.InvalidParameterError, match="decay"):
        model.refit(table.X, table.two, decay=None)


@pytest.mark.parametrize("loss", ["huber", "absolute_error", "quantile"])
def test_limited_steps_of_residuals_are_those_of_the_fit(loss):
    X, y = make_friedman1(200, seed=0)
    model = GradientBoostingRegressor(n_estimators=5, loss=loss, max_step=0.1, learning_rate=1.0)
    model.fit(X, y)
    np.testing.assert_allclose(model.refit(X, y, decay=0.0).predict(X), model.predict(X), rtol=1e-5)


def test_bad_rows_of_a_refit_are_errors():
    X, y = make_friedman1(200, seed=0)
    model = GradientBoostingRegressor(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="X of refit has no rows"):
        model.refit(X[:0], y[:0])
    with pytest.raises(ValueError, match="too large"), np.errstate(all="ignore"):
        model.refit(X, y * 1e40)
    several = RandomForestRegressor(n_estimators=2).fit(X, np.c_[y, y])
    with pytest.raises(ValueError, match="y of refit has 1 target, and the model has 2"):
        several.refit(X, y)


def test_a_refitted_model_has_no_history_of_the_fit():
    X, y = make_friedman1(200, seed=0)
    model = GradientBoostingRegressor(n_estimators=3).fit(X, y, eval_set=[(X, y)])
    again = model.refit(X, y)
    assert not hasattr(again, "evals_result_")
    assert not hasattr(again, "best_score_")


CONTINUED = {
    "learning rate": {"learning_rate": 0.05},
    "penalties": {"l1_regularization": 40.0, "l2_regularization": 50.0},
    "steps": {"max_step": 10.0},
    "paths": {"path_smoothing": 9.0},
    "response": {"response": "gradient"},
}


@pytest.mark.parametrize("changed", CONTINUED.values(), ids=CONTINUED)
def test_rounds_of_a_continued_model_keep_the_parameters_of_their_fit(changed, table, tmp_path):
    model = quick(Regressor, **ALL, n_estimators=4, learning_rate=0.5, warm_start=True)
    model.fit(table.X, table.number)
    model.set_params(n_estimators=7, **changed).fit(table.X, table.number)
    again = model.refit(table.X, table.number, decay=0.0)
    np.testing.assert_allclose(again.predict(table.X), model.predict(table.X), rtol=2e-6)
    model.save(tmp_path / "m.stgw")
    loaded = stagewise.load(tmp_path / "m.stgw").refit(table.X, table.number, decay=0.0)
    np.testing.assert_array_equal(loaded.predict(table.X), again.predict(table.X))


def test_a_loaded_model_that_is_continued_keeps_the_parameters_of_its_rounds(table, tmp_path):
    quick(Regressor, **ALL, n_estimators=4, learning_rate=0.5, warm_start=True).fit(
        table.X, table.number
    ).save(tmp_path / "m.stgw")
    model = stagewise.load(tmp_path / "m.stgw")
    model.set_params(n_estimators=7, learning_rate=0.05).fit(table.X, table.number)
    again = model.refit(table.X, table.number, decay=0.0)
    np.testing.assert_allclose(again.predict(table.X), model.predict(table.X), rtol=2e-6)


def test_a_model_with_dropout_in_some_rounds_is_refused(table):
    model = quick(Regressor, **ALL, n_estimators=3, dropout="dart", warm_start=True)
    model.fit(table.X, table.number)
    model.set_params(n_estimators=5, dropout=None).fit(table.X, table.number)
    with pytest.raises(InvalidParameterError, match="rounds that were dropped"):
        model.refit(table.X, table.number)


@pytest.mark.parametrize("leaves", ["constant", "vector"])
def test_a_class_without_rows_follows_the_formula(leaves, table, new):
    """Its probability before the first round stays; its gradients are p_k in every row."""
    model = quick(Classifier, **ALL, leaves=leaves, n_estimators=1, learning_rate=0.3)
    model.set_params(l2_regularization=2.0).fit(table.X, table.many)
    rows = new.many != 1
    X, y = new.X[rows], new.many[rows]
    again = model.refit(X, y, decay=0.6)
    old = model.model_.ensemble.base
    p = np.exp(old) / np.exp(old).sum()
    share = np.bincount(y, minlength=len(old)) / len(y) * (1 - p[1])
    share[1] = p[1]
    logs = np.log(share) - np.log(share).mean()
    np.testing.assert_allclose(again.model_.ensemble.base, 0.6 * old + 0.4 * logs, rtol=1e-9)
    base = again.model_.ensemble.base
    p = np.exp(base) / np.exp(base).sum()
    leaf = model.apply(X).reshape(len(X), -1)[:, 0 if leaves == "vector" else 1]
    number = 0 if leaves == "vector" else 1
    trees = [m.model_.ensemble.trees[number] for m in (model, again)]
    before, after = (t.value.reshape(len(t.feature), -1)[:, 1 - number] for t in trees)
    n = np.bincount(leaf, minlength=len(before))
    newton = -n * p[1] / (n * p[1] * (1 - p[1]) + 2.0)
    reached = n > 0
    expected = 0.6 * before + 0.4 * 0.3 * newton
    np.testing.assert_allclose(after[reached], expected[reached], rtol=1e-5)


@pytest.mark.parametrize("target", ["two", "many"])
def test_rows_of_one_class_move_no_other_class_by_the_constant(target, table):
    y = getattr(table, target)
    model = quick(Classifier, **ALL, learning_rate=1e-12, n_estimators=1).fit(table.X, y)
    again = model.refit(table.X[y == 1], y[y == 1], decay=0.0)
    np.testing.assert_allclose(
        again.predict_proba(table.X), model.predict_proba(table.X), rtol=1e-9
    )


def test_an_absent_class_with_an_offset_keeps_its_probability(table):
    y, offset = table.many, np.zeros((500, 5))
    offset[:, 0] = np.arange(500) % 2
    model = quick(Classifier, **ALL, learning_rate=1e-12, n_estimators=1)
    model.fit(table.X, y, offset=offset)
    rows = y != 2
    again = model.refit(table.X[rows], y[rows], decay=0.0, offset=offset[rows])
    found = [m.predict_proba(table.X[:1], offset=np.zeros((1, 5)))[0, 2] for m in (model, again)]
    assert np.isfinite(found).all()
    assert found[1] == pytest.approx(found[0], rel=0.3)


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, RandomForestRegressor])
def test_negative_counts_are_refused_as_by_fit(kind, table):
    model = kind(criterion="poisson", max_leaf_nodes=4).fit(table.X, table.number)
    bad = table.number.copy()
    bad[7] = -1.5
    with pytest.raises(ValueError, match=r"not negative, but y of refit holds -1.5 at row 7"):
        model.refit(table.X, bad)


def test_messages_for_names_of_lightgbm_have_ours():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = GradientBoostingRegressor(n_estimators=2).fit(X, X[:, 0])
    with pytest.raises(TypeError, match=r"no argument 'decay_rate'\. Here it is decay\."):
        model.refit(X, X[:, 0], decay_rate=0.9)
    with pytest.raises(
        AttributeError, match=r"booster_\.refit\(.*: model\.refit\(X, y, decay=0\.9"
    ):
        model.booster_  # noqa: B018

"""Every kind of row sampling in the estimators: invariants and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier

from estimators.tables import make_table, quick
from stagewise import (
    AdaBoostClassifier,
    Goss,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    InvalidParameterError,
    RandomForestRegressor,
    StagewiseClassifier,
    StagewiseRegressor,
)

Regressor, Classifier = GradientBoostingRegressor, GradientBoostingClassifier

WAYS: dict[str, dict[str, Any]] = {
    "uniform": {"subsample": 0.5},
    "fixed_size": {"sampling": "fixed_size", "subsample": 0.5},
    "bootstrap": {"sampling": "bootstrap"},
    "half a bootstrap": {"sampling": "bootstrap", "subsample": 0.5},
    "goss": {"sampling": Goss(top=0.3, other=0.2)},
    "mvs": {"sampling": "mvs", "subsample": 0.5},
    "group": {"sampling": "group", "subsample": 0.5},
}
every_way = pytest.mark.parametrize("params", WAYS.values(), ids=WAYS)
ROWS = 600
GROUPS = np.array([f"group {i}" for i in np.arange(ROWS) * 7 % 40])


def fitted(model: Any, X: Any, y: Any, **more: Any) -> Any:
    groups = {"groups": GROUPS[: len(y)]} if model.sampling == "group" else {}
    return model.fit(X, y, **groups, **more)


@pytest.fixture(scope="module")
def table():
    return make_table(ROWS)


# ---- invariants ----------------------------------------------------------------------------------


@every_way
@pytest.mark.parametrize("target", ["number", "two", "many"])
def test_threads_do_not_matter(params, target, table):
    kind = Regressor if target == "number" else Classifier
    y = getattr(table, target)
    models = [fitted(quick(kind, n_jobs=n, **params), table.X, y) for n in (1, 2, 3)]
    assert len({m.fingerprint() for m in models}) == 1


@every_way
def test_a_continued_fit_equals_the_uninterrupted_one(params, table):
    for kind, y in ((Regressor, table.number), (Classifier, table.many)):
        whole = fitted(quick(kind, n_estimators=9, **params), table.X, y)
        parts = quick(kind, warm_start=True, **params)
        for rounds in (2, 3, 9):
            parts.set_params(n_estimators=rounds)
            fitted(parts, table.X, y)
        assert parts.fingerprint() == whole.fingerprint()
        np.testing.assert_array_equal(parts.train_loss_, whole.train_loss_)


@every_way
@pytest.mark.parametrize(
    ("kind", "target", "more"),
    [
        (Regressor, "number", {}),
        (Regressor, "number", {"loss": "absolute_error"}),
        (Regressor, "number", {"loss": "huber"}),
        (Regressor, "number", {"loss": "poisson"}),
        (Classifier, "two", {}),
        (Classifier, "two", {"response": "gradient"}),
        (Classifier, "many", {}),
    ],
    ids=["squared", "absolute", "huber", "poisson", "two", "gradient", "many"],
)
@pytest.mark.parametrize("least", [1, 7, 30])
def test_every_leaf_has_min_samples_leaf_rows(params, kind, target, more, least, table):
    model = quick(kind, min_samples_leaf=least, n_estimators=4, max_leaf_nodes=20, **more, **params)
    fitted(model, table.X, getattr(table, target))
    trees = model.model_.ensemble.trees
    covers = np.concatenate([tree.cover[tree.feature < 0] for tree in trees])
    assert covers.min() >= least
    assert any(len(tree.cover) > 1 for tree in trees)
    # Rows of the bag, unweighted: integers, and never more than there are.
    np.testing.assert_array_equal(covers, np.rint(covers))
    assert max(tree.cover[0] for tree in trees) <= ROWS


@every_way
def test_leaves_respect_weights_too(params, table):
    weight = 1 + np.arange(ROWS) % 3
    model = quick(Classifier, min_samples_leaf=25, n_estimators=4, **params)
    fitted(model, table.X, table.two, sample_weight=weight)
    for tree in model.model_.ensemble.trees:
        assert tree.cover[tree.feature < 0].min() >= 25


@every_way
def test_outputs_of_a_round_share_their_rows(params, table):
    model = fitted(quick(Classifier, n_estimators=6, **params), table.X, table.many)
    covers = np.array([tree.cover[0] for tree in model.model_.ensemble.trees]).reshape(6, 5)
    assert (covers == covers[:, :1]).all()
    assert len(set(covers[:, 0])) > 1 or params.get("sampling") == "fixed_size"


@pytest.mark.parametrize("name", ["goss", "mvs", "bootstrap", "uniform"])
def test_weight_zero_equals_absence(name, table):
    kept = np.arange(ROWS) % 3 != 1
    for kind, y in ((Regressor, table.number), (Classifier, table.two)):
        weighted = quick(kind, **WAYS[name]).fit(table.X, y, sample_weight=kept)
        dropped = quick(kind, **WAYS[name]).fit(table.X[kept], y[kept])
        assert weighted.fingerprint() == dropped.fingerprint()


@every_way
def test_scaling_y_scales_predictions(params, table):
    plain = fitted(quick(Regressor, **params), table.X, table.number)
    scaled = fitted(quick(Regressor, **params), table.X, table.number * 1024 + 4096)
    np.testing.assert_allclose(
        scaled.predict(table.X), plain.predict(table.X) * 1024 + 4096, rtol=1e-9
    )


@pytest.mark.parametrize("name", ["goss", "mvs", "bootstrap"])
def test_sampled_fits_are_nearly_as_accurate_as_full_ones(name):
    table, held = make_table(20_000), make_table(5_000, seed=9)
    loss = {}
    for params in ({}, WAYS[name]):
        model = Classifier(n_estimators=40, **params).fit(table.X, table.two)
        p = model.predict_proba(held.X)[np.arange(5_000), held.two]
        loss[str(params)] = -np.log(p).mean()
    whole, sampled = loss.values()
    assert sampled < 1.03 * whole


# ---- groups --------------------------------------------------------------------------------------


def test_groups_are_in_the_bag_as_a_whole(table):
    model = fitted(quick(Regressor, n_estimators=20, **WAYS["group"]), table.X, table.number)
    seen = {tree.cover[0] for tree in model.model_.ensemble.trees}
    assert all(count % 15 == 0 for count in seen)  # 40 groups of 15 rows
    assert len(seen) > 3


def test_the_names_of_groups_do_not_matter(table):
    numbers = np.unique(GROUPS, return_inverse=True)[1]
    models = [
        quick(Regressor, **WAYS["group"]).fit(table.X, table.number, groups=groups)
        for groups in (GROUPS, numbers, numbers * 10.5)
    ]
    assert len({m.fingerprint() for m in models}) == 1


def test_groups_are_used_for_folds_and_sampling(table):
    model = quick(Regressor, early_stopping=4, **WAYS["group"])
    model.fit(table.X, table.number, groups=GROUPS)
    assert np.isfinite(model.oof_prediction_).all()


def test_invalid_groups_are_refused(table):
    X, y = table.X, table.number
    with pytest.raises(ValueError, match=r"sampling='group' needs groups: pass them to fit"):
        quick(Regressor, **WAYS["group"]).fit(X, y)
    with pytest.raises(ValueError, match=r"groups has shape \(3,\); expected one entry for each"):
        quick(Regressor, **WAYS["group"]).fit(X, y, groups=[1, 2, 3])
    with pytest.raises(ValueError, match="only sampling='group' draws groups"):
        quick(Regressor).fit(X, y, groups=GROUPS)
    unknown = GROUPS.astype(object)
    unknown[7] = None
    with pytest.raises(ValueError, match=r"groups contains missing values: 1 of \d+.*at row 7"):
        quick(Regressor, **WAYS["group"]).fit(X, y, groups=unknown)
    mixed = np.array(["one", *range(1, len(y))], dtype=object)
    with pytest.raises(ValueError, match=r"values of one type.*it has int, str"):
        quick(Regressor, early_stopping=3).fit(X, y, groups=mixed)
    for kind in (RandomForestRegressor, AdaBoostClassifier):
        with pytest.raises(ValueError, match="groups was passed, but") as caught:
            quick(kind).fit(X, table.two, groups=GROUPS)
        has_folds = kind is AdaBoostClassifier
        assert ("early_stopping='cv'" in str(caught.value)) == has_folds
        assert ("RandomForestRegressor has no parameter that" in str(caught.value)) != has_folds
        assert "sampling" not in str(caught.value)
    with pytest.raises(ValueError, match="would divide groups"):
        quick(Regressor, early_stopping=True, **WAYS["group"]).fit(X, y, groups=GROUPS)
    held = {"X_val": X[:50], "y_val": y[:50]}
    quick(Regressor, early_stopping=True, **WAYS["group"]).fit(X, y, groups=GROUPS, **held)


# ---- combinations with other options -------------------------------------------------------------


@every_way
def test_cross_validation_works_with_sampling(params, table):
    model = quick(Classifier, early_stopping=3, n_estimators=30, **params)
    fitted(model, table.X, table.two)
    assert model.n_iter_ == np.argmin(model.validation_loss_) + 1
    again = fitted(clone(model).set_params(n_jobs=1), table.X, table.two)
    np.testing.assert_array_equal(model.oof_prediction_, again.oof_prediction_)


@pytest.mark.parametrize("name", ["goss", "mvs", "bootstrap"])
def test_a_fold_is_sampled_like_a_fit_to_its_rows(name):
    """Both draw by row index, so the held-out rows come last."""
    full = make_table(300, missing=False)
    train, held = np.arange(200), np.arange(200, 300)
    params = {"n_estimators": 6, "tol": 0.0, "max_bins": 400, **WAYS[name]}
    folds = quick(Classifier, early_stopping=[(train, held)], **params)
    folds.fit(full.X, full.two)
    alone = quick(Classifier, **params)
    alone.fit(full.X[train], full.two[train], X_val=full.X[held], y_val=full.two[held])
    np.testing.assert_allclose(folds.validation_loss_, alone.validation_loss_, rtol=0.05)


@pytest.mark.parametrize("name", ["uniform", "bootstrap", "half a bootstrap", "group"])
def test_out_of_bag_improvement_is_measured_with_random_sampling(name, table):
    model = quick(Regressor, oob_score=True, n_estimators=12, **WAYS[name])
    fitted(model, table.X, table.number)
    assert model.oob_improvement_.shape == (12,)
    assert model.oob_improvement_[0] > 0


@pytest.mark.parametrize("name", ["goss", "mvs"])
def test_out_of_bag_improvement_is_refused_with_gradient_sampling(name, table):
    with pytest.raises(InvalidParameterError, match="left out at random"):
        quick(Regressor, oob_score=True, **WAYS[name]).fit(table.X, table.number)


@every_way
def test_any_learner_is_fitted_to_sampled_rows(params, table):
    full = make_table(ROWS, missing=False)
    model = StagewiseRegressor(learner=Ridge(), n_estimators=30, **params)
    fitted(model, full.X, full.number)
    assert model.score(full.X, full.number) > 0.5
    tree = StagewiseClassifier(n_estimators=5, **params)
    assert fitted(tree, full.X, full.two).score(full.X, full.two) > 0.7


@every_way
@pytest.mark.parametrize("learner", [None, DecisionTreeClassifier(max_depth=2)])
def test_classifiers_learn_from_sampled_rows(params, learner, table):
    full = make_table(ROWS, missing=False)
    model = StagewiseClassifier(
        "exponential", learner=learner, response="classes", n_estimators=10, **params
    )
    assert fitted(model, full.X, full.two).score(full.X, full.two) > 0.7


def test_a_learner_without_sample_weight_is_an_error():
    full = make_table(200, missing=False)
    model = StagewiseRegressor(learner=KNeighborsRegressor(), n_estimators=3, sampling="goss")
    with pytest.raises(ValueError, match="has no argument sample_weight"):
        model.fit(full.X, full.number)
    model.set_params(resample=True).fit(full.X, full.number)
    model.set_params(resample=False, sampling="uniform", subsample=0.5).fit(full.X, full.number)


def test_zero_gradients_give_a_nonempty_bag():
    X = np.arange(40.0).reshape(-1, 1)
    y = np.repeat([0.0, 1.0], 20)
    for params in WAYS.values():
        model = quick(Regressor, learning_rate=1.0, l2_regularization=0.0, **params)
        fitted(model, X, y)
        assert np.isfinite(model.predict(X)).all()


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
@pytest.mark.parametrize(("share", "n"), [(0.5, 200), (0.251, 100), (1e-9, 1), (0.9999, 400)])
def test_a_fixed_size_is_exact(share, n, table):
    """Of 600 rows, 200 have weight 0."""
    weight = np.where(np.arange(ROWS) % 3 == 0, 0.0, 1.0)
    model = Regressor(
        n_estimators=4, sampling="fixed_size", subsample=share, min_samples_leaf=1
    ).fit(table.X, table.number, weight)
    assert [tree.cover[0] for tree in model.model_.ensemble.trees] == [n] * 4


def test_a_fixed_size_without_a_fraction_leaves_rows_out(table):
    drawn = Regressor(n_estimators=4, sampling="fixed_size").fit(table.X, table.number)
    share = Regressor(n_estimators=4, sampling="fixed_size", subsample=0.8)
    whole = Regressor(n_estimators=4).fit(table.X, table.number)
    assert drawn.fingerprint() == share.fit(table.X, table.number).fingerprint()
    assert drawn.fingerprint() != whole.fingerprint()
    assert "exactly 0.8 of the rows per round" in drawn.recipe()


def test_all_rows_are_no_sample_of_fixed_size(table):
    with pytest.raises(InvalidParameterError, match="must be below 1 with sampling='fixed_size'"):
        Regressor(sampling="fixed_size", subsample=1.0).fit(table.X, table.number)


# ---- recipes and errors --------------------------------------------------------------------------


WORDS = {
    "uniform": "0.5 of the rows per round",
    "fixed_size": "exactly 0.5 of the rows per round",
    "bootstrap": "bootstrap of the rows per round",
    "goss": (
        "GOSS (0.3 of all rows by the largest gradients and 0.2 of all rows drawn from the "
        "others, per round)"
    ),
    "mvs": "MVS (0.5 of the rows per round)",
    "group": "0.5 of the groups per round",
}


@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize("kind", [Regressor, Classifier, StagewiseRegressor, StagewiseClassifier])
def test_a_recipe_states_the_sampling(name, kind):
    assert f" x {WORDS[name]} x " in kind(**WAYS[name]).recipe()


def test_recipes_without_sampling_are_unchanged():
    assert " x all rows x " in Regressor(n_estimators=100).recipe()
    assert " x all rows x " in AdaBoostClassifier().recipe()


REFUSED = {
    "subsample beside goss": (
        {"subsample": 0.5, "sampling": "goss"},
        "'subsample' .* no effect with sampling='goss'; set sampling=Goss\\(top=",
    ),
    "all rows by mvs": (
        {"sampling": "mvs", "subsample": 1.0},
        "'subsample' .* must be below 1 .*; got 1",
    ),
    "all groups": ({"sampling": "group", "subsample": 1.0}, "'subsample' .* must be below 1"),
    "all rows by goss": (
        {"sampling": Goss(top=0.5, other=0.5)},
        "must be below 1 in sum.*got 0.5 and 0.5",
    ),
}


@pytest.mark.parametrize("kind", [Regressor, Classifier])
@pytest.mark.parametrize(("params", "words"), REFUSED.values(), ids=REFUSED)
def test_a_parameter_without_effect_is_refused(params, words, kind, table):
    model = kind(**params)
    with pytest.raises(InvalidParameterError, match=words):
        model.fit(table.X, table.two)
    with pytest.raises(InvalidParameterError, match=words):
        model.recipe()

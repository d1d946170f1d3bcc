"""n_estimators="auto": held-out rows choose the rounds, and trees of two kinds take turns."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse
from sklearn.model_selection import KFold, TimeSeriesSplit

import stagewise
from estimators.tables import make_table
from stagewise import (
    FeatureSampling,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Mvs,
    SplitSearch,
)
from stagewise.estimators.parameters.defaults import DataFacts, resolve_auto
from stagewise.training.reading.folds import FoldSizes, refit_rounds

BOTH = pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])
ROWS = {"sampling": Mvs(), "subsample": 0.8, "learning_rate": 0.05}
BEST_FIRST = {
    "grow_policy": "best_first",
    "max_leaf_nodes": 31,
    "max_depth": None,
    "min_samples_leaf": 1,
    "l2_regularization": 3.0,
    "max_features": 0.7,
    "split": "histogram",
}
RANDOM = {**BEST_FIRST, "split": SplitSearch(random_thresholds=True)}
SYMMETRIC = {
    "grow_policy": "symmetric",
    "max_leaf_nodes": 64,
    "max_depth": 6,
    "min_samples_leaf": 1,
    "l2_regularization": 3.0,
    "max_features": FeatureSampling(per_level=0.7),
    "split": "histogram",
}
TURNS = (RANDOM, RANDOM, SYMMETRIC)


@pytest.fixture(scope="module")
def table():
    return make_table(300)


def target(kind, table):
    return table.number if kind is GradientBoostingRegressor else table.two


def in_turn(kind, rounds, X, y, *shapes):
    """Return a model whose rounds have the parameters of the shapes in turn, by warm_start."""
    model = kind(warm_start=True, **ROWS)
    for m in range(rounds):
        model.set_params(n_estimators=m + 1, **shapes[m % len(shapes)]).fit(X, y)
    return model


def is_symmetric(tree):
    """Return whether a tree has one split per depth, 6; nodes that it does not divide skip it."""
    inner = tree.feature >= 0
    return len({*zip(tree.feature[inner], tree.threshold[inner], strict=True)}) <= 6


@BOTH
def test_the_kinds_of_trees_take_turns(kind, table):
    y = target(kind, table)
    model = kind().fit(table.X, y)
    other = in_turn(kind, model.n_iter_, table.X, y, *TURNS)
    assert other.fingerprint() == model.fingerprint()
    trees = model.model_.ensemble.trees
    assert all(is_symmetric(tree) for tree in trees[2::3])
    # A tree whose random thresholds have no gain may be small.
    assert sum(is_symmetric(tree) for m, tree in enumerate(trees[:30]) if m % 3 < 2) < 3
    random = "best_first, random thresholds"
    assert model.fit_report_["trees"] == [random, random, "symmetric"]


@BOTH
@pytest.mark.parametrize("shape", [BEST_FIRST, SYMMETRIC], ids=["best_first", "symmetric"])
def test_a_given_policy_is_the_only_one(kind, shape, table):
    y, policy = target(kind, table), shape["grow_policy"]
    model = kind(grow_policy=policy).fit(table.X, y)
    other = kind(n_estimators=model.n_iter_, **ROWS, **shape).fit(table.X, y)
    assert other.fingerprint() == model.fingerprint()
    assert "trees" not in model.fit_report_


def test_the_trees_of_all_classes_of_a_round_are_of_one_kind(table):
    model = GradientBoostingClassifier().fit(table.X, table.many)
    trees = model.model_.ensemble.trees[:50]
    rounds = [all(map(is_symmetric, trees[first : first + 5])) for first in range(0, 50, 5)]
    assert all(rounds[2::3])
    assert not any(rounds[m] for m in range(10) if m % 3 < 2)


def test_several_classes_have_a_smaller_l2(table):
    assert "λ=1" in GradientBoostingClassifier().fit(table.X, table.many).recipe()
    assert "λ=3" in GradientBoostingClassifier().fit(table.X, table.two).recipe()


@BOTH
def test_a_number_of_rounds_is_a_plain_fit(kind, table):
    y = target(kind, table)
    plain = {
        **BEST_FIRST,
        "min_samples_leaf": 15 if kind is GradientBoostingRegressor else 20,  # of 300 rows
        "l2_regularization": 1.0 if kind is GradientBoostingRegressor else 3.0,
        "subsample": 1.0,
        "sampling": "uniform",
        "learning_rate": 0.1,
    }
    model = kind(n_estimators=100).fit(table.X, y)
    assert kind(n_estimators=100, **plain).fit(table.X, y).fingerprint() == model.fingerprint()
    assert "round_choice" not in model.fit_report_


@pytest.mark.parametrize(
    "params",
    [
        {"max_depth": 3},
        {"split": "histogram"},
        {"max_leaf_nodes": 5},
        {"min_samples_leaf": 40},
        {"l2_regularization": 0.5},
        {"learning_rate": 0.3},
        {"subsample": 0.5},
        {"sampling": "bootstrap"},
        {"n_iter_no_change": 3},
    ],
    ids=lambda params: next(iter(params)),
)
def test_a_parameter_that_is_set_holds_for_all_trees(params, table):
    model = GradientBoostingRegressor(**params).fit(table.X, table.number)
    name, value = next(iter(params.items()))
    shapes = [{**ROWS, **shape, **params} for shape in TURNS]
    if name in ("subsample", "sampling"):
        rows = {"sampling": "uniform", "subsample": 1.0}
        shapes = [{**shape, **rows, **params} for shape in shapes]
    if name == "n_iter_no_change":  # no rows decide when the expected fit stops
        shapes = [{**shape, "early_stopping": False} for shape in shapes]
    other = in_turn(
        GradientBoostingRegressor, min(model.n_iter_, 12), table.X, table.number, *shapes
    )
    same = list(model.staged_predict(table.X))[other.n_iter_ - 1]
    np.testing.assert_array_equal(other.predict(table.X), same)
    assert model.get_params()[name] == value


@pytest.mark.parametrize(
    "params",
    [
        {"split": "exact"},
        {"split": "approx"},
        {"max_features": 0.5},
        {"grow_policy": "depth_wise"},
    ],
    ids=str,
)
def test_parameters_without_symmetric_trees_have_trees_of_one_kind(params, table):
    model = GradientBoostingClassifier(**params, max_leaf_nodes=6, learning_rate=0.3)
    model.fit(table.X, table.many)
    assert "trees" not in model.fit_report_
    assert "in turn" not in model.recipe()


# ---- the choice of the rounds --------------------------------------------------------------------


@BOTH
def test_few_rows_have_five_folds(kind, table):
    model = kind().fit(table.X, target(kind, table))
    choice = model.fit_report_["round_choice"]
    assert choice["folds"] == 5
    assert choice["held_out_rows"] == 300
    assert choice["best_round"] == int(np.argmin(model.validation_loss_)) + 1
    assert choice["validation_loss"] == model.validation_loss_.min()
    assert choice["rounds"] == model.n_iter_ == round(choice["best_round"] * 1.25**0.5)
    assert np.isfinite(model.oof_prediction_).all()
    assert len(model.train_loss_) == model.n_iter_


def test_more_rows_hold_a_fifth_out():
    table = make_table(2000)
    model = GradientBoostingRegressor(max_leaf_nodes=4, learning_rate=0.3)
    choice = model.fit(table.X, table.number).fit_report_["round_choice"]
    assert (choice["folds"], choice["held_out_rows"]) == (1, 400)
    assert np.isfinite(model.oof_prediction_).sum() == 400


@BOTH
def test_fewer_than_fifty_rows_are_a_plain_fit(kind):
    table = make_table(49)
    y = target(kind, table)
    model = kind(min_samples_leaf=5).fit(table.X, y)
    plain = kind(min_samples_leaf=5, n_estimators=100).fit(table.X, y)
    assert model.fingerprint() == plain.fingerprint()


def test_many_rows_have_one_kind_of_tree_and_few_rounds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_500, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 1] + rng.normal(size=len(X))
    model = GradientBoostingRegressor(n_jobs=1).fit(X, y)
    choice = model.fit_report_["round_choice"]
    assert choice["rounds"] == round(2 * choice["best_round"])
    assert choice["rounds"] <= 320
    assert model.learning_rate_ == 0.1
    assert "symmetric" not in model.recipe()
    own = GradientBoostingRegressor(early_stopping=KFold(2), n_jobs=1).fit(X, y)
    own = own.fit_report_["round_choice"]
    assert own["rounds"] == round(own["best_round"] * 2**0.5)
    assert own["rounds"] <= 320


@pytest.mark.parametrize(("n_rows", "most"), [(50_001, 320), (60_000, 267), (10**6, 250)])
def test_many_rows_have_at_least_250_rounds(n_rows, most):
    """With 100 rounds, the loss of held-out rows still falls on large tables."""
    facts = DataFacts(n_rows, fold_share=1.0)
    params = GradientBoostingRegressor().get_params(deep=False)
    assert resolve_auto(params, facts)["n_estimators"] == most


def test_groups_of_fit_are_used(table):
    groups = np.arange(300) // 30
    model = GradientBoostingRegressor().fit(table.X, table.number, groups=groups)
    alone = GradientBoostingRegressor().fit(table.X, table.number)
    assert model.fit_report_["round_choice"] != alone.fit_report_["round_choice"]
    one = GradientBoostingRegressor().fit(table.X, table.number, groups=np.zeros(300))
    assert one.fit_report_["rounds_kept"] == 100  # one group cannot be divided


def test_groups_are_checked_for_any_number_of_rows(table):
    with pytest.raises(ValueError, match="groups has shape"):
        GradientBoostingRegressor().fit(table.X[:40], table.number[:40], groups=np.arange(3))


def test_the_message_for_groups_without_folds_has_the_remedy(table):
    model = GradientBoostingRegressor(early_stopping=True)
    with pytest.raises(ValueError, match="n_estimators='auto' without X_val"):
        model.fit(table.X, table.number, groups=np.arange(300))


def test_every_fold_has_positive_targets():
    X, y = make_table(120).X, (np.arange(120) == 3) * 1.0
    model = GradientBoostingRegressor(loss="poisson", learning_rate=0.3, n_iter_no_change=5).fit(
        X, y
    )
    assert model.predict(X).min() > 0
    groups = np.arange(120) // 12  # the positive one is in one group
    GradientBoostingRegressor(loss="poisson", learning_rate=0.3, n_iter_no_change=5).fit(
        X, y, groups=groups
    )


def test_one_class_holds_nothing_out(table):
    with pytest.warns(UserWarning, match="only one class"):
        model = GradientBoostingClassifier().fit(table.X, np.ones(300))
    assert "round_choice" not in model.fit_report_


def test_the_recipe_is_true_after_a_fit_without_held_out_rows(table):
    model = GradientBoostingRegressor().fit(table.X[:40], table.number[:40])
    assert "100 rounds, ν=0.1" in model.recipe()
    held = make_table(100, seed=9)
    model.fit(table.X, table.number, X_val=held.X, y_val=held.number)
    assert "chosen by held-out rows" not in model.recipe()


def test_a_loaded_model_continues_without_the_history_of_the_folds(table, tmp_path):
    model = GradientBoostingRegressor(learning_rate=0.3).fit(table.X, table.number)
    model.save(tmp_path / "model.stgw")
    held = make_table(200, seed=9)
    more = [
        one.set_params(warm_start=True, n_estimators=model.n_iter_ + 60).fit(
            table.X, table.number, X_val=held.X, y_val=held.number
        )
        for one in (stagewise.load(tmp_path / "model.stgw"), model)
    ]
    assert more[0].fingerprint() == more[1].fingerprint()


def test_a_penalty_of_a_feature_is_paid_once():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    y = np.sign(X[:, 0]) + 0.3 * rng.normal(size=300)
    model = GradientBoostingRegressor(feature_penalty=[80.0], learning_rate=0.5).fit(X, y)
    assert all((tree.feature >= 0).any() for tree in model.model_.ensemble.trees[:6])


def test_trees_without_a_limit_of_depth_have_a_limit_of_leaves(table):
    model = GradientBoostingRegressor(max_depth=None).fit(table.X, table.number)
    assert max((tree.feature < 0).sum() for tree in model.model_.ensemble.trees) <= 64


@pytest.mark.parametrize("stopping", ["cv", 3, KFold(4, shuffle=True), TimeSeriesSplit(4)], ids=str)
def test_given_folds_choose_the_rounds(stopping, table):
    model = GradientBoostingRegressor(early_stopping=stopping, random_state=1)
    choice = model.fit(table.X, table.number).fit_report_["round_choice"]
    folds = {"cv": 5, 3: 3}.get(stopping if isinstance(stopping, (str, int)) else "", 4)
    assert choice["folds"] == folds
    learned = 300 * (1 - 1 / folds) if not isinstance(stopping, TimeSeriesSplit) else 150
    assert choice["rounds"] == round(choice["best_round"] * (300 / learned) ** 0.5)


def test_rounds_grow_with_the_square_root_of_the_rows():
    folds = [FoldSizes(75, 25), FoldSizes(25, 75)]
    assert refit_rounds(100, folds, 100) == round(100 * 2**0.5)
    assert refit_rounds(0, folds, 100) == 1


@BOTH
def test_own_validation_rows_stop_the_fit(kind, table):
    y, held = target(kind, table), make_table(200, seed=9)
    model = kind().fit(table.X, y, X_val=held.X, y_val=target(kind, held))
    best = int(np.argmin(model.validation_loss_)) + 1
    assert model.n_iter_ == best == len(model.train_loss_) - 50
    assert "round_choice" not in model.fit_report_
    assert not hasattr(model, "oof_prediction_")
    other = in_turn(kind, best, table.X, y, *TURNS)
    np.testing.assert_array_equal(other.predict(held.X), model.predict(held.X))


def test_a_share_of_the_rows_stops_the_fit(table):
    model = GradientBoostingRegressor(early_stopping=True).fit(table.X, table.number)
    assert model.model_.ensemble.trees[0].cover[0] < 300 * 0.9
    assert "round_choice" not in model.fit_report_


def test_warm_start_needs_a_number_of_rounds(table):
    with pytest.raises(ValueError, match="n_estimators='auto' cannot be combined"):
        GradientBoostingRegressor(warm_start=True).fit(table.X, table.number)
    model = GradientBoostingRegressor().fit(table.X, table.number)
    rounds = model.n_iter_
    model.set_params(warm_start=True, n_estimators=rounds + 5).fit(table.X, table.number)
    assert model.n_iter_ == rounds + 5


def test_a_time_limit_covers_the_folds_and_the_final_fit():
    table = make_table(1900, columns=12)
    start = time.perf_counter()
    model = GradientBoostingRegressor(time_limit=0.5, learning_rate=0.001).fit(
        table.X, table.number
    )
    assert time.perf_counter() - start < 2.5
    assert model.fit_report_["stop_reason"].startswith("time_limit")


# ---- laws ----------------------------------------------------------------------------------------


@BOTH
def test_threads_do_not_change_the_model(kind, table):
    y = target(kind, table)
    models = [kind(n_jobs=n).fit(table.X, y) for n in (1, 2, 5)]
    assert len({model.fingerprint() for model in models}) == 1


@BOTH
def test_rows_of_weight_zero_are_absent_and_a_factor_of_the_weights_has_no_effect(kind, table):
    y, weight = target(kind, table), 0.3 + np.arange(300) % 3
    model = kind().fit(table.X, y, weight)
    halved = kind().fit(table.X, y, 0.5 * weight)
    np.testing.assert_array_equal(halved.predict(table.X), model.predict(table.X))
    more = make_table(60, seed=3)
    X, targets = np.vstack([table.X, more.X]), np.concatenate([y, target(kind, more)])
    padded = kind().fit(X, targets, np.concatenate([weight, np.zeros(60)]))
    assert padded.fingerprint() == model.fingerprint()


def test_monotone_transforms_of_features_do_not_change_predictions(table):
    model = GradientBoostingRegressor().fit(table.X, table.number)
    other = GradientBoostingRegressor().fit(table.X * 8 - 3, table.number)
    np.testing.assert_array_equal(model.predict(table.X), other.predict(table.X * 8 - 3))


def test_predictions_follow_the_units_of_the_target(table):
    model = GradientBoostingRegressor().fit(table.X, table.number)
    other = GradientBoostingRegressor().fit(table.X, 4 * table.number + 1024)
    np.testing.assert_allclose(other.predict(table.X), 4 * model.predict(table.X) + 1024, rtol=1e-9)


@pytest.mark.parametrize("loss", ["absolute_error", "huber", "quantile", "poisson", "gamma"])
def test_other_losses_choose_their_rounds(loss, table):
    y = table.number + 1
    model = GradientBoostingRegressor(loss=loss).fit(table.X, y)
    assert model.validation_loss_.min() < model.validation_loss_[0]
    assert 1 < model.n_iter_ < 3000


def test_several_targets(table):
    model = GradientBoostingRegressor().fit(table.X, table.numbers)
    assert model.predict(table.X).shape == table.numbers.shape


def test_a_sparse_matrix():
    dense = make_table(300, missing=False).X * (np.arange(5) % 2)
    y = dense[:, 1] + dense[:, 3]
    fast = {"learning_rate": 0.3}
    model = GradientBoostingRegressor(**fast).fit(scipy.sparse.csr_matrix(dense), y)
    np.testing.assert_array_equal(
        model.predict(dense), GradientBoostingRegressor(**fast).fit(dense, y).predict(dense)
    )


def test_constraints_hold_for_both_kinds_of_trees(table):
    X, y = np.nan_to_num(table.X), table.number
    model = GradientBoostingRegressor(monotonic_cst=[1, 0, 0, 0, 0]).fit(X, y)
    grid = np.repeat(X[:20], 50, axis=0)
    grid[:, 0] = np.tile(np.linspace(X[:, 0].min(), X[:, 0].max(), 50), 20)
    assert (np.diff(model.predict(grid).reshape(20, 50), axis=1) >= 0).all()


@BOTH
def test_a_saved_model_keeps_its_recipe_and_can_be_fitted_again(kind, table, tmp_path):
    y = target(kind, table)
    model = kind().fit(table.X, y)
    model.save(tmp_path / "model.stgw")
    loaded = stagewise.load(tmp_path / "model.stgw")
    assert loaded.get_params() == model.get_params()
    assert loaded.recipe() == model.recipe()
    assert loaded.fit(table.X, y).fingerprint() == model.fingerprint()


def test_the_recipe_names_both_kinds_of_trees():
    recipe = GradientBoostingRegressor().recipe()
    assert "best-first" in recipe
    assert "symmetric" in recipe
    assert "in turn" in recipe
    assert "chosen by held-out rows" in recipe


def test_the_default_is_more_accurate_than_a_plain_fit():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 6))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=3000)
    errors = [
        np.mean((model.fit(X[:1200], y[:1200]).predict(X[1200:]) - y[1200:]) ** 2)
        for model in (GradientBoostingRegressor(), GradientBoostingRegressor(n_estimators=100))
    ]
    assert errors[0] < 0.95 * errors[1]


def test_many_classes_have_vector_leaves():
    table = make_table(400)
    nine = (table.number // 600).astype(int) % 9
    model = GradientBoostingClassifier(learning_rate=0.3).fit(table.X, nine)
    assert model.model_.ensemble.outputs_per_tree == 9
    assert "vector leaves" in model.recipe()
    plain = GradientBoostingClassifier(n_estimators=2).fit(table.X, nine)
    assert plain.model_.ensemble.outputs_per_tree == 1
    few = GradientBoostingClassifier(learning_rate=0.3).fit(table.X, nine % 8)
    assert few.model_.ensemble.outputs_per_tree == 1
    bound = GradientBoostingClassifier(learning_rate=0.3, monotonic_cst=[1, 0, 0, 0, 0])
    assert bound.fit(table.X, nine).model_.ensemble.outputs_per_tree == 1  # vectors have no bounds
    sparse = scipy.sparse.csr_matrix(np.nan_to_num(table.X))
    model = GradientBoostingClassifier(learning_rate=0.3).fit(sparse, nine)
    assert model.model_.ensemble.outputs_per_tree == 1

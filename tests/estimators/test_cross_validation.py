"""The number of rounds by cross-validation, followed by a fit to all rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold, TimeSeriesSplit
from sklearn.neighbors import KNeighborsRegressor

import stagewise
from estimators.tables import make_table
from reference import sampling as draws
from stagewise import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    InvalidParameterError,
    StagewiseRegressor,
)
from stagewise.inspection import learning_curves

QUICK = {"n_estimators": 40, "min_samples_leaf": 5, "max_leaf_nodes": 8, "learning_rate": 0.3}


@pytest.fixture(scope="module")
def table():
    return make_table(500)


def fold_curve(model, X, y, folds):
    """Return the mean held-out loss after every round, each fold fitted separately."""
    curves, sizes = [], []
    for train, held in folds:
        m = clone(model).set_params(early_stopping=False)
        m.set_params(n_iter_no_change=10_000)
        m.fit(X[train], y[train], X_val=X[held], y_val=y[held])
        curves.append(m.validation_loss_)
        sizes.append(len(held))
    return np.average(curves, axis=0, weights=sizes)


@pytest.mark.parametrize("target", ["number", "two", "many"])
def test_the_loss_curve_equals_that_of_separate_fits(target, table):
    # Few distinct values: the bins of each fold are then the shared ones.
    X = np.floor(table.X / 400)
    y = getattr(table, target)
    kind = GradientBoostingRegressor if target == "number" else GradientBoostingClassifier
    folds = list(KFold(4, shuffle=True, random_state=1).split(X))
    model = kind(early_stopping=folds, **QUICK, n_iter_no_change=10_000)
    model.fit(X, y)
    curve = fold_curve(model, X, y, folds)
    np.testing.assert_allclose(model.validation_loss_, curve, rtol=1e-4)
    assert model.n_iter_ == np.argmin(model.validation_loss_) + 1


def test_the_model_is_a_fit_to_all_rows_with_the_best_number_of_rounds(table):
    model = GradientBoostingClassifier(early_stopping="cv", **QUICK).fit(table.X, table.many)
    assert model.n_iter_ < 40
    same = GradientBoostingClassifier(**{**QUICK, "n_estimators": model.n_iter_})
    assert same.fit(table.X, table.many).fingerprint() == model.fingerprint()
    assert len(model.train_loss_) == model.n_iter_


def test_out_of_fold_predictions_come_from_models_without_the_row(table):
    X = np.floor(table.X / 400)
    folds = list(KFold(5).split(X))
    model = GradientBoostingRegressor(early_stopping=folds, **QUICK).fit(X, table.number)
    for train, held in folds:
        own = GradientBoostingRegressor(**{**QUICK, "n_estimators": model.n_iter_})
        own.fit(X[train], table.number[train])
        np.testing.assert_allclose(model.oof_prediction_[held], own.predict(X[held]), rtol=1e-4)
    many = GradientBoostingClassifier(early_stopping=3, **QUICK).fit(X, table.many)
    assert many.oof_prediction_.shape == (500, 5)
    np.testing.assert_allclose(many.oof_prediction_.sum(axis=1), 1.0)


def test_out_of_fold_predictions_are_the_mean_of_repeats(table):
    repeats = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    pairs = list(repeats.split(table.X))
    both, first, second = (
        GradientBoostingRegressor(n_estimators=3, early_stopping=folds).fit(table.X, table.number)
        for folds in (repeats, pairs[:3], pairs[3:])
    )
    mean = (first.oof_prediction_ + second.oof_prediction_) / 2
    np.testing.assert_allclose(both.oof_prediction_, mean, rtol=1e-12)


def test_group_and_time_series_splitters(table):
    groups = np.arange(500) // 50
    model = GradientBoostingRegressor(early_stopping=GroupKFold(5), **QUICK)
    a = model.fit(table.X, table.number, groups=groups).oof_prediction_
    folds = list(GroupKFold(5).split(table.X, table.number, groups))
    b = clone(model).set_params(early_stopping=folds).fit(table.X, table.number).oof_prediction_
    np.testing.assert_array_equal(a, b)
    drawn = clone(model).set_params(early_stopping=5).fit(table.X, table.number, groups=groups)
    assert drawn.n_iter_ > 0
    ordered = clone(model).set_params(early_stopping=TimeSeriesSplit(4)).fit(table.X, table.number)
    assert np.isnan(ordered.oof_prediction_[:100]).all()  # never held out
    assert not np.isnan(ordered.oof_prediction_[100:]).any()


def test_rows_of_weight_zero_are_in_no_fold(table):
    weight = (np.arange(500) % 4 > 0).astype(float)
    model = GradientBoostingClassifier(early_stopping="cv", **QUICK)
    model.fit(table.X, table.two, sample_weight=weight)
    assert np.isnan(model.oof_prediction_[weight == 0]).all()
    assert not np.isnan(model.oof_prediction_[weight > 0]).any()


def test_custom_folds_index_all_given_rows(table):
    weight = (np.arange(500) % 4 > 0).astype(float)
    halves = [np.arange(250), np.arange(250, 500)]
    folds = [(halves[0], halves[1]), (halves[1], halves[0])]
    model = GradientBoostingRegressor(early_stopping=folds, **QUICK)
    model.fit(table.X, table.number, sample_weight=weight)
    kept = weight > 0
    own = [tuple(np.flatnonzero(np.isin(np.flatnonzero(kept), p)) for p in fold) for fold in folds]
    same = clone(model).set_params(early_stopping=own).fit(table.X[kept], table.number[kept])
    np.testing.assert_allclose(same.validation_loss_, model.validation_loss_, rtol=1e-6)
    for bad in ([(halves[0], halves[0])], [(halves[0], [500])], [([0, 0], halves[1])]):
        with pytest.raises(ValueError, match="fold 1 of cv"):
            clone(model).set_params(early_stopping=bad).fit(table.X, table.number)


def test_a_line_search_does_not_use_held_out_rows():
    full = make_table(200, missing=False)
    folds = [(np.arange(100), np.arange(100, 200))]
    model = StagewiseRegressor(
        learner=KNeighborsRegressor(3), step="line_search", early_stopping=folds
    ).set_params(n_estimators=8, n_iter_no_change=100)
    y = full.number.copy()
    curve = model.fit(full.X, y).validation_loss_
    alone = clone(model).set_params(early_stopping=False)
    alone.fit(full.X[:100], y[:100], X_val=full.X[100:], y_val=y[100:])
    np.testing.assert_allclose(curve, alone.validation_loss_, rtol=1e-4)


def test_a_model_with_custom_folds_can_be_saved(table, tmp_path):
    model = GradientBoostingRegressor(early_stopping=TimeSeriesSplit(3), **QUICK)
    model.fit(table.X, table.number).save(tmp_path / "m.stgw")
    assert stagewise.load(tmp_path / "m.stgw").fingerprint() == model.fingerprint()


def test_the_result_does_not_depend_on_threads_and_is_reproducible(table):
    model = GradientBoostingClassifier(early_stopping="cv", subsample=0.7, **QUICK)
    fits = [clone(model).set_params(n_jobs=n).fit(table.X, table.many) for n in (1, 2, 3)]
    assert len({m.fingerprint() for m in fits}) == 1
    np.testing.assert_array_equal(fits[0].oof_prediction_, fits[2].oof_prediction_)


def test_other_methods_and_learners_support_cross_validation(table):
    ada = AdaBoostClassifier(early_stopping="cv", n_estimators=40).fit(table.X, table.two)
    assert ada.n_iter_ == np.argmin(ada.validation_loss_) + 1
    full = make_table(300, missing=False)
    any_learner = StagewiseRegressor(
        learner=KNeighborsRegressor(1), early_stopping="cv", n_estimators=30, learning_rate=0.5
    ).fit(full.X, full.number)
    assert any_learner.n_iter_ < 30
    assert any_learner.oof_prediction_.shape == (300,)


def test_a_perfect_tree_ends_a_fold_like_a_fit():
    X = np.arange(60.0).reshape(-1, 1)
    y = X[:, 0] > 24
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    model = AdaBoostClassifier(early_stopping=folds, n_estimators=20).fit(X, y)
    assert len(model.validation_loss_) == 1
    assert "no fold has another round" not in model.fit_report_["stop_reason"]
    alone = [
        AdaBoostClassifier().fit(X[a], y[a], X_val=X[b], y_val=y[b]).validation_loss_
        for a, b in folds
    ]
    np.testing.assert_allclose(model.validation_loss_, np.mean(alone, axis=0), rtol=1e-6)


def test_out_of_bag_rows_and_folds_can_be_combined(table):
    model = GradientBoostingRegressor(early_stopping=3, subsample=0.6, oob_score=True, **QUICK).fit(
        table.X, table.number
    )
    assert model.oob_improvement_.shape == (model.n_iter_,)


def test_invalid_folds_are_refused(table):
    X, y = table.X, table.number
    with pytest.raises(InvalidParameterError, match=r"'early_stopping'.*folds, at least 2.*got 1"):
        GradientBoostingRegressor(n_estimators=100, early_stopping=1).fit(X, y)
    with pytest.raises(InvalidParameterError, match=r"'early_stopping'.*True, False, 'cv', a"):
        GradientBoostingRegressor(n_estimators=100, early_stopping="kfold").fit(X, y)
    with pytest.raises(ValueError, match="only folds keep them together"):
        GradientBoostingRegressor(n_estimators=100).fit(X, y, groups=np.zeros(500))
    with pytest.raises(ValueError, match="leave X_val out"):
        GradientBoostingRegressor(n_estimators=100, early_stopping="cv").fit(X, y, X_val=X, y_val=y)
    with pytest.raises(ValueError, match="warm_start"):
        GradientBoostingRegressor(n_estimators=100, early_stopping="cv", warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="need at least 5 rows; there are 3"):
        GradientBoostingRegressor(n_estimators=100, early_stopping="cv").fit(X[:3], y[:3])
    with pytest.raises(ValueError, match="a class has no training row in fold 1"):
        GradientBoostingClassifier(n_estimators=100, early_stopping="cv").fit(
            X[:20], np.arange(20) == 0
        )


# ---- out-of-bag rows -----------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["number", "two", "many"])
def test_out_of_bag_improvement_is_the_decrease_of_the_out_of_bag_loss(target):
    table = make_table(300)
    y = getattr(table, target)
    kind = GradientBoostingRegressor if target == "number" else GradientBoostingClassifier
    model = kind(subsample=0.5, oob_score=True, n_estimators=6, random_state=3)
    model.fit(table.X, y)
    assert model.oob_improvement_.shape == (6,)
    if target == "number":
        stages = [np.full(300, y.mean()), *model.staged_predict(table.X)]
        losses = [0.5 * (y - F) ** 2 for F in stages]
    else:
        shares = np.bincount(y) / 300
        stages = [np.tile(shares, (300, 1)), *model.staged_predict_proba(table.X)]
        losses = [-np.log(p[np.arange(300), y]) for p in stages]
    for m in range(6):
        outside = np.setdiff1d(np.arange(300), draws.uniform(300, 0.5, 3, m))
        fall = losses[m][outside].mean() - losses[m + 1][outside].mean()
        assert model.oob_improvement_[m] == pytest.approx(fall, rel=1e-4)
    total = np.cumsum(model.oob_improvement_)
    assert model.oob_best_iteration_ == np.argmax(total) + 1


def test_oob_score_needs_subsampling():
    table = make_table(100)
    with pytest.raises(InvalidParameterError, match="set subsample below 1"):
        GradientBoostingRegressor(n_estimators=100, oob_score=True).fit(table.X, table.number)
    model = GradientBoostingRegressor(n_estimators=2).fit(table.X, table.number)
    with pytest.raises(AttributeError, match="without oob_score=True"):
        _ = model.oob_best_iteration_


def test_rounds_without_a_measurement_have_no_out_of_bag_improvement(tmp_path):
    table = make_table(300)
    model = GradientBoostingRegressor(n_estimators=4, subsample=0.5, warm_start=True)
    model.fit(table.X, table.number).save(tmp_path / "m.stgw")
    for later in (model, stagewise.load(tmp_path / "m.stgw")):
        later.set_params(oob_score=True, n_estimators=9).fit(table.X, table.number)
        assert np.isnan(later.oob_improvement_[:4]).all()
        assert np.isfinite(later.oob_improvement_[4:]).all()
        best = 4 + np.argmax(np.cumsum([0.0, *later.oob_improvement_[4:]]))
        assert later.oob_best_iteration_ == best
        curve = learning_curves(later).out_of_bag
        assert np.isnan(curve[:4]).all()
        np.testing.assert_allclose(-np.diff(curve[4:]), later.oob_improvement_[5:])

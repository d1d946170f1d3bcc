"""Early stopping, and the rows that are held out for it."""

from __future__ import annotations

import numpy as np
import pytest

from estimators.tables import hashed, make_table, overfit, quick
from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.inspection import scores
from stagewise.training.reading.folds import draw_held_out

BOTH = pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])


@pytest.fixture(scope="module")
def table():
    return make_table(500)


@pytest.fixture(scope="module")
def held():
    return make_table(200, seed=9)


def target(kind, table):
    return table.number if kind is GradientBoostingRegressor else table.many


@BOTH
@pytest.mark.parametrize("patience", [1, 4])
def test_a_fit_stops_after_n_iter_no_change_rounds_without_improvement(kind, patience, table):
    model = overfit(kind, early_stopping=True, n_iter_no_change=patience)
    model.fit(table.X, target(kind, table))
    best = int(np.argmin(model.validation_loss_)) + 1
    assert model.n_iter_ == model.best_iteration_ == best < 80
    assert len(model.validation_loss_) == len(model.train_loss_) == best + patience
    assert model.fit_report_["rounds_run"] == best + patience
    assert model.fit_report_["stop_reason"].startswith("no better validation loss")


@BOTH
def test_predictions_use_the_best_round(kind, table):
    y = target(kind, table)
    stopped = overfit(kind, early_stopping=True).fit(table.X, y)
    exact = overfit(kind, early_stopping=True, n_estimators=stopped.n_iter_).fit(table.X, y)
    assert stopped.fingerprint() == exact.fingerprint()
    assert len(list(stopped.staged_predict(table.X))) == stopped.n_iter_


@pytest.mark.parametrize("share", [0.1, 0.35])
def test_held_out_rows_are_not_trained_on(share, table):
    model = overfit(GradientBoostingRegressor, early_stopping=True, validation_fraction=share).fit(
        table.X, table.number
    )
    assert model.model_.ensemble.trees[0].cover[0] == 500 - round(share * 500)


def test_held_out_rows_do_not_change_the_cuts():
    table = make_table(60)
    model = quick(GradientBoostingRegressor, n_estimators=1, early_stopping=True, max_bins=4)

    def learned(X, y):
        return model.fit(X, y).fingerprint()

    plain = learned(table.X, table.number)
    # A row is held out if its target does not matter.
    held_out = [
        learned(table.X, np.where(np.arange(60) == row, 1e6, table.number)) == plain
        for row in range(60)
    ]
    assert sum(held_out) == 6
    wild = np.where(np.array(held_out)[:, np.newaxis], 1e9, table.X)
    assert learned(wild, table.number) == plain


@pytest.mark.parametrize("weighted", [False, True])
def test_held_out_rows_do_not_change_the_ranks_of_wide_integers(weighted):
    # As many cuts as there are distinct ids, one less than training rows.
    X = (2**60 + np.arange(200))[:, np.newaxis]
    weight = 1 + np.arange(200) % 2 if weighted else None
    model = quick(GradientBoostingRegressor, early_stopping=True, validation_fraction=0.3)
    model.fit(X, np.arange(200), sample_weight=weight)
    assert len(model.model_.features[0].cuts) == 140 - 1
    model.set_params(early_stopping=False, validation_fraction=0.1).fit(
        X, np.arange(200), sample_weight=weight
    )
    assert len(model.model_.features[0].cuts) == 200 - 1


@pytest.mark.parametrize("way", ["held out", "weight zero"])
def test_rows_without_weight_and_held_out_rows_do_not_make_a_column_wide(way):
    rows, _ = draw_held_out(None, np.arange(200), 0.1, 0, by_class=False)
    X = np.full((200, 1), 2**60)
    X[rows, 0] = rows
    weight = np.isin(np.arange(200), rows).astype(float) if way == "weight zero" else None
    model = quick(GradientBoostingRegressor, early_stopping=weight is None, n_estimators=1)
    model.fit(X, np.arange(200), sample_weight=weight)
    alone = quick(GradientBoostingRegressor, n_estimators=1).fit(X[rows], rows)
    assert model.model_.features[0].kind == "real"
    assert model.fingerprint() == alone.fingerprint()


def test_held_out_rows_are_stratified_by_class():
    # 480 rows of class 0 and 20 of class 1: by chance alone the share of class 1 would vary.
    X = hashed(500, 3).astype(float)
    y = (np.arange(500) % 25 == 0).astype(int)
    for seed in range(5):
        model = quick(GradientBoostingClassifier, early_stopping=True, random_state=seed).fit(X, y)
        # The first score is the log of the odds among the training rows: 18 to 432.
        assert model.model_.ensemble.base[0] == pytest.approx(np.log(18 / 432), rel=1e-12)


@BOTH
def test_a_validation_set_does_not_change_the_trees(kind, table, held):
    y, y_held = target(kind, table), target(kind, held)
    watched = overfit(kind).fit(table.X, y, X_val=held.X, y_val=y_held)
    assert watched.n_iter_ < 80
    alone = overfit(kind, n_estimators=watched.n_iter_).fit(table.X, y)
    assert watched.fingerprint() == alone.fingerprint()


def test_an_improvement_counts_only_beyond_tol(table, held):
    given = {"X_val": held.X, "y_val": held.number}
    fine = quick(GradientBoostingRegressor, n_estimators=60).fit(table.X, table.number, **given)
    steps = -np.diff(fine.validation_loss_)
    tol = float(np.sort(steps)[-5])  # the four largest improvements are larger
    coarse = quick(GradientBoostingRegressor, n_estimators=60, tol=tol, n_iter_no_change=1)
    coarse.fit(table.X, table.number, **given)
    first_small = int(np.flatnonzero(~(steps > tol))[0]) + 1
    assert len(coarse.validation_loss_) == first_small + 1 < fine.n_iter_


def test_tol_decides_when_to_stop_but_the_best_round_is_kept(table, held):
    model = quick(GradientBoostingRegressor, tol=1e30, n_iter_no_change=4)
    model.fit(table.X, table.number, X_val=held.X, y_val=held.number)
    assert len(model.validation_loss_) == 5
    assert (np.diff(model.validation_loss_) < 0).all()
    assert model.n_iter_ == 5


def test_without_early_stopping_all_rounds_are_run_without_validation(table):
    model = quick(GradientBoostingRegressor).fit(table.X, table.number)
    assert len(model.train_loss_) == model.n_iter_ == 8
    assert model.validation_loss_.shape == (0,)
    assert model.fit_report_["stop_reason"] == "all 8 rounds"


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
@pytest.mark.parametrize("rows", [2, 3, 5])
@pytest.mark.filterwarnings("ignore:y has only one:UserWarning")
def test_early_stopping_works_with_few_rows(rows, table):
    model = quick(GradientBoostingRegressor, early_stopping=True)
    model.fit(table.X[:rows], table.number[:rows])
    assert model.model_.ensemble.trees[0].cover[0] == rows - 1


@BOTH
def test_a_fit_of_given_rounds_waits_for_30_of_them(kind, table):
    model = overfit(kind, early_stopping=True, n_estimators=2000).fit(table.X, target(kind, table))
    assert model.fit_report_["stop_reason"] == "no better validation loss for 30 rounds"
    assert len(model.validation_loss_) == model.n_iter_ + 30


def test_the_brier_score_is_the_same_for_stopping_and_for_reports(table):
    held = make_table(200, seed=9)
    model = quick(GradientBoostingClassifier, n_estimators=20, eval_metric="brier")
    model.fit(table.X, table.two, X_val=held.X, y_val=held.two)
    found = scores(model, held.X, held.two)
    assert found["brier"].value == pytest.approx(
        model.evals_result_["valid"]["brier"][model.n_iter_ - 1]
    )

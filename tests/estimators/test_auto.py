"""AutoRegressor and AutoClassifier: a search over configurations, and their weighted sum."""

from __future__ import annotations

import pickle
import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, RepeatedKFold, TimeSeriesSplit

import stagewise
from estimators.tables import make_table
from stagewise import (
    AutoClassifier,
    AutoRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from stagewise.estimators.auto import search as search_module
from stagewise.estimators.auto.candidates import PLANS
from stagewise.estimators.auto.distillation import repeat_by_class
from stagewise.estimators.auto.held_out_losses import HeldOutLosses
from stagewise.estimators.auto.leaderboard import HEADINGS
from stagewise.estimators.auto.search import Trial
from stagewise.estimators.auto.weights import choose_factor, choose_weights
from stagewise.inspection.quality import learning_curves
from stagewise.model.file.format import write_model
from stagewise.training.results import CrossFit

ROWS = 120
BOTH = pytest.mark.parametrize("kind", [AutoRegressor, AutoClassifier])
DEFAULT = {AutoRegressor: GradientBoostingRegressor, AutoClassifier: GradientBoostingClassifier}


@pytest.fixture(scope="module")
def table():
    whole = make_table(ROWS)
    noise = np.random.default_rng(0).normal(size=ROWS) * whole.number.std() / 2
    return replace(whole, number=whole.number + noise)  # so that few rounds are enough


@pytest.fixture(scope="module")
def fitted(table):
    return {
        kind: kind(n_jobs=1).fit(table.X, target(kind, table))
        for kind in (AutoRegressor, AutoClassifier)
    }


def target(kind, table):
    return table.number if kind is AutoRegressor else table.two


def interrupt_at(monkeypatch, function, number):
    """Raise KeyboardInterrupt at a call of a function of the search."""
    original, calls = getattr(search_module, function), []

    def wrapper(*args):
        calls.append(1)
        if len(calls) == number:
            raise KeyboardInterrupt
        return original(*args)

    monkeypatch.setattr(search_module, function, wrapper)


# ---- qualities -----------------------------------------------------------------------------------


@BOTH
def test_quality_two_is_the_default_model(kind, table):
    y = target(kind, table)
    model, default = kind(quality=2).fit(table.X, y), DEFAULT[kind]().fit(table.X, y)
    assert model.fingerprint() == default.fingerprint()
    np.testing.assert_array_equal(model.oof_prediction_, default.oof_prediction_)


@BOTH
def test_quality_one_is_a_plain_fit(kind, table):
    y = target(kind, table)
    plain = DEFAULT[kind](n_estimators=100).fit(table.X, y)
    model = kind(quality=1).fit(table.X, y)
    assert model.fingerprint() == plain.fingerprint()
    assert np.isnan(model.leaderboard_[0].loss)


@BOTH
def test_quality_three_is_the_best_candidate(kind, table):
    model = kind(quality=3).fit(table.X, target(kind, table))
    rows = model.leaderboard_[1:]
    assert [row.weight for row in rows] == [1.0] + [0.0] * (len(rows) - 1)
    assert rows[0].loss == min(row.loss for row in rows) == model.leaderboard_[0].loss


@pytest.mark.parametrize(
    ("kind", "quality"), [(AutoRegressor, 4), (AutoClassifier, 4), (AutoRegressor, 5)]
)
def test_the_sum_is_not_worse_than_the_mean_of_its_members(kind, quality, table):
    model = kind(quality=quality).fit(table.X, target(kind, table))
    whole, *rows = model.leaderboard_
    assert whole.loss <= sum(row.weight * row.loss for row in rows) + 1e-12  # losses are convex
    assert sum(row.weight for row in rows) == pytest.approx(1.0)
    assert np.count_nonzero([row.weight for row in rows]) <= PLANS[quality].members


def test_successive_halving_runs_fewer_candidates_in_every_rung(table):
    rows = AutoRegressor(quality=5).fit(table.X, table.number).leaderboard_[1:]
    counts = sorted((row.folds for row in rows), reverse=True)
    assert counts == [5, 5, 5, 5, 2, 1, 1, 1, 1][: len(counts)]


# ---- the leaderboard -----------------------------------------------------------------------------


@BOTH
def test_the_loss_of_the_leaderboard_is_that_of_the_held_out_rows(kind, fitted, table):
    model, y = fitted[kind], target(kind, table)
    if kind is AutoRegressor:
        losses = (model.oof_prediction_ - y) ** 2 / 2
    else:
        codes = np.searchsorted(model.classes_, y)
        losses = -np.log(model.oof_prediction_[np.arange(len(y)), codes])
    whole = model.leaderboard_[0]
    assert whole.loss == pytest.approx(losses.mean(), rel=1e-9)
    assert whole.standard_error == pytest.approx(losses.std() / np.sqrt(len(y)), rel=1e-9)


def test_the_leaderboard_is_a_table_and_a_plot(fitted):
    board = fitted[AutoRegressor].leaderboard_
    lines = repr(board).splitlines()
    assert len(lines) == len(board) + 2
    assert lines[1].split() == list(HEADINGS)
    assert board.records()[0]["name"] == "fitted model"
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = board.plot()
    assert [label.get_text().split(" (")[0] for label in ax.get_yticklabels()] == [
        row.name for row in board
    ]
    plt.close(ax.figure)


@BOTH
def test_a_file_keeps_the_model_and_the_leaderboard(kind, fitted, table, tmp_path):
    model = fitted[kind]
    model.save(tmp_path / "auto.stgw")
    loaded = stagewise.load(tmp_path / "auto.stgw")
    assert type(loaded) is kind
    assert loaded.fingerprint() == model.fingerprint()
    assert loaded.leaderboard_ == model.leaderboard_
    assert loaded.recipe() == model.recipe()
    np.testing.assert_array_equal(loaded.predict(table.X), model.predict(table.X))
    assert pickle.loads(pickle.dumps(model)).leaderboard_ == model.leaderboard_


def test_a_sum_of_models_has_no_learning_curves(fitted):
    with pytest.raises(ValueError, match=r"sum of models.*leaderboard_"):
        learning_curves(fitted[AutoRegressor])


# ---- laws ----------------------------------------------------------------------------------------


@BOTH
def test_the_number_of_threads_does_not_matter(kind, fitted, table):
    other = kind(n_jobs=2).fit(table.X, target(kind, table))
    assert other.fingerprint() == fitted[kind].fingerprint()


@BOTH
def test_rows_of_weight_zero_are_absent(kind, fitted, table):
    more = make_table(30, seed=5)
    X = np.vstack([table.X, more.X])
    y = np.concatenate([target(kind, table), target(kind, more)])
    weight = np.repeat([1.0, 0.0], [len(table.X), len(more.X)])
    model = kind(n_jobs=1).fit(X, y, sample_weight=weight)
    assert model.fingerprint() == fitted[kind].fingerprint()
    assert np.isnan(model.oof_prediction_[len(table.X) :]).all()


def test_groups_stay_together(table):
    groups = np.arange(ROWS) // 4
    given = AutoRegressor(quality=3, cv=GroupKFold(2)).fit(table.X, table.number, groups=groups)
    assert given.leaderboard_[0].folds == 2
    # A feature that is the group: with rows of a group on both sides it predicts the target.
    noise = np.random.default_rng(0).normal(size=ROWS // 4)[groups]
    X = groups[:, None].astype(float)
    together = AutoRegressor(quality=2).fit(X, noise, groups=groups)
    apart = AutoRegressor(quality=2).fit(X, noise)
    assert together.leaderboard_[0].loss > 2 * apart.leaderboard_[0].loss


def test_folds_in_the_order_of_time_are_used(table):
    model = AutoRegressor(quality=4, cv=TimeSeriesSplit(3)).fit(table.X, table.number)
    assert np.isnan(model.oof_prediction_[: ROWS // 4]).all()
    assert np.isfinite(model.oof_prediction_[ROWS // 4 :]).all()


# ---- limits and interrupts -----------------------------------------------------------------------


@BOTH
def test_an_interrupt_keeps_the_models_of_the_folds(kind, table, monkeypatch):
    interrupt_at(monkeypatch, "cross_fit", 3)
    model = kind().fit(table.X, target(kind, table))
    assert model.fit_report_["stop_reason"] == "interrupted"
    assert model.fit_report_["refitted"] is False
    assert [row.folds for row in model.leaderboard_[1:]].count(5) == 2
    assert model.score(table.X, target(kind, table)) > 0.5


def test_an_interrupt_of_the_last_fits_keeps_the_others(table, monkeypatch):
    interrupt_at(monkeypatch, "train_boosting", 1)
    model = AutoRegressor().fit(table.X, table.number)
    assert model.fit_report_["stop_reason"] == "interrupted"
    assert np.isfinite(model.predict(table.X)).all()


def test_an_interrupt_before_the_first_model_is_raised(table, monkeypatch):
    interrupt_at(monkeypatch, "cross_fit", 1)
    with pytest.raises(KeyboardInterrupt):
        AutoRegressor().fit(table.X, table.number)


def test_the_time_limit_holds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 20))
    y = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + 0.1 * rng.normal(size=20_000)
    begin = time.perf_counter()
    model = AutoRegressor(quality=5, time_limit=2.0).fit(X, y)
    assert time.perf_counter() - begin < 4.0
    assert model.fit_report_["stop_reason"] == "time_limit of 2 s"
    assert model.score(X, y) > 0.1
    short = AutoRegressor(quality=2, time_limit=0.2).fit(X, y)
    assert short.fit_report_["stop_reason"] == "time_limit of 0.2 s"


# ---- data ----------------------------------------------------------------------------------------


def test_candidates_that_are_not_possible_are_reported():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, size=(200, 2))
    y = rng.normal(size=9)[X[:, 0]] + rng.normal(size=200)
    model = AutoRegressor(categorical_features=[0, 1]).fit(X, y)
    assert (
        "every column is categorical" in model.fit_report_["candidates_left_out"]["linear leaves"]
    )
    assert "target encoding" in [row.name for row in model.leaderboard_]


def test_many_classes_have_no_linear_leaves():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4))
    y = np.clip((2 * X[:, 0] + 6).round(), 0, 11).astype(int)
    model = AutoClassifier(n_jobs=1, cv=2).fit(X, y)
    assert "value for each class" in model.fit_report_["candidates_left_out"]["linear leaves"]
    assert model.score(X, y) > 0.7


@pytest.mark.parametrize(
    ("n_categories", "other"),
    [(4, None), (9, "target encoding"), (70, "sets of categories")],
)
def test_the_encoding_of_categories_that_is_not_the_default_is_tried(n_categories, other):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, n_categories, 400), rng.normal(size=400)])
    X[:n_categories, 0] = np.arange(n_categories)
    y = rng.normal(size=n_categories)[X[:, 0].astype(int)] + 0.3 * rng.normal(size=400)
    model = AutoRegressor(quality=3, categorical_features=[0]).fit(X, y)
    names = {row.name for row in model.leaderboard_}
    assert names & {"target encoding", "sets of categories"} == ({other} if other else set())
    losses = [row.loss for row in model.leaderboard_[1:]]
    assert len({*losses}) == len(losses)


@pytest.mark.parametrize("unit", [2.0**-160, 2.0**160])
def test_the_unit_of_the_target_changes_the_leaderboard_by_its_square(table, unit):
    plain = AutoRegressor(quality=2).fit(table.X, table.number).leaderboard_[0]
    other = AutoRegressor(quality=2).fit(table.X, unit * table.number).leaderboard_[0]
    assert other.loss / unit / unit == pytest.approx(plain.loss, rel=1e-6)
    assert other.standard_error / unit / unit == pytest.approx(plain.standard_error, rel=1e-6)


def test_few_rows_and_one_class_have_no_search(table):
    few = AutoRegressor().fit(table.X[:40], table.number[:40])
    assert np.isnan(few.leaderboard_[0].loss)
    reasons = few.fit_report_["candidates_left_out"]
    same = "it is the same as another candidate for these data"
    assert reasons.pop("target encoding") == reasons.pop("all thresholds") == same
    assert {*reasons.values()} == {"no row was held out"}
    with pytest.warns(UserWarning, match="only one class") as caught:
        one = AutoClassifier().fit(table.X, np.zeros(ROWS, dtype=int))
    assert len(caught) == 1
    assert (one.predict(table.X) == 0).all()


def test_several_targets(table):
    Y = np.column_stack([table.number, -2 * table.number + 3])
    model = AutoRegressor(quality=3).fit(table.X, Y)
    assert model.predict(table.X).shape == Y.shape
    assert model.score(table.X, Y) > 0.5


@pytest.mark.parametrize("loss", ["absolute_error", "huber", "poisson", "gamma"])
def test_other_losses(table, loss):
    y = np.exp(table.number / np.abs(table.number).max())
    model = AutoRegressor(loss=loss).fit(table.X, y)
    assert np.isfinite(model.leaderboard_[0].loss)
    assert np.corrcoef(model.predict(table.X), y)[0, 1] > 0.7


def test_quality_must_be_one_to_five(table):
    with pytest.raises(stagewise.InvalidParameterError, match="'quality' of AutoRegressor"):
        AutoRegressor(quality=6).fit(table.X, table.number)
    with pytest.raises(ValueError, match="quality=1 holds no rows out"):
        AutoRegressor(quality=1).fit(table.X, table.number, groups=np.arange(ROWS))
    assert "weighted sum of" in AutoRegressor().recipe()
    with pytest.raises(stagewise.InvalidParameterError, match="quality"):
        AutoRegressor(quality=9).recipe()
    with pytest.raises(stagewise.InvalidParameterError, match="AutoRegressor must be"):
        AutoRegressor(loss="log_loss").fit(table.X, table.number)
    with pytest.warns(UserWarning, match="'cv' of AutoRegressor has no effect"):
        AutoRegressor(quality=1, cv=3).fit(table.X, table.number)
    assert clone(AutoRegressor(quality=5)).quality == 5


# ---- weights and calibration ---------------------------------------------------------------------


@pytest.mark.parametrize("members", [1, 2, 5])
def test_the_weight_of_a_model_decreases_with_its_distance_from_the_best(members):
    rng = np.random.default_rng(members)
    values = [rng.normal(mean, 1.0, 200) for mean in (0.1, 0.0, 0.15, 1.0)]
    values.append(values[1].copy())  # as good as the best
    best = min(range(4), key=lambda m: values[m].mean())
    expected = []
    for own in values:
        difference = own - values[best]
        error = np.sqrt(np.sum((difference - difference.mean()) ** 2)) / len(own)
        z = difference.mean() / error if error else 0.0
        expected.append(np.exp(-(z**2) / 2) if z < 2 else 0.0)
    kept = sorted(range(5), key=lambda m: (-expected[m], m))[:members]
    expected = np.array([e if m in kept else 0.0 for m, e in enumerate(expected)])
    found = choose_weights([HeldOutLosses(own, np.ones(200)) for own in values], members)
    np.testing.assert_allclose(found, expected / expected.sum(), atol=1e-12)
    assert found[3] == 0.0
    if members == 5:
        assert found[1] == found[4]


def test_a_model_that_is_always_worse_by_the_same_amount_has_no_weight():
    values = [np.arange(5.0), np.arange(5.0) + 0.1]
    found = choose_weights([HeldOutLosses(own, np.ones(5)) for own in values], 2)
    assert found.tolist() == [1.0, 0.0]


def test_the_factor_of_scores_calibrates_probabilities():
    rng = np.random.default_rng(0)
    score = rng.normal(size=(4000, 1)) * 2
    y = rng.random(4000) < expit(score[:, 0])

    def losses(s):
        return np.logaddexp(0, np.where(y, -s[:, 0], s[:, 0]))

    assert choose_factor(3 * score, losses, np.ones(4000)) == pytest.approx(1 / 3, rel=0.1)
    assert choose_factor(score, losses, np.ones(4000)) == pytest.approx(1.0, rel=0.1)
    assert choose_factor(score / 3, losses, np.ones(4000)) == 1.0
    noise = rng.normal(size=(40, 1)) * 0.01
    y = y[:40]
    assert choose_factor(noise, losses, np.ones(40)) == 1.0


# ---- distillation --------------------------------------------------------------------------------


def test_copies_of_rows_have_the_cross_entropy_of_probabilities():
    rng = np.random.default_rng(0)
    p, q = (rng.dirichlet(np.ones(4), 50) for _ in range(2))
    rows, classes, weight = repeat_by_class(p)
    expected = -(np.where(p >= 1e-3, p, 0) / np.where(p >= 1e-3, p, 0).sum(1, keepdims=True)
                 * np.log(q)).sum()  # fmt: skip
    assert (-np.log(q[rows, classes]) * weight).sum() == pytest.approx(expected)
    np.testing.assert_allclose(np.bincount(rows, weight), 1.0)


@BOTH
def test_a_distilled_model_is_small_and_predicts_almost_the_same(kind, fitted, table):
    model = fitted[kind]
    small = model.distill(table.X, n_estimators=60, min_samples_leaf=1)
    assert type(small) is DEFAULT[kind]
    assert small.n_iter_ == 60
    if kind is AutoRegressor:
        assert np.corrcoef(small.predict(table.X), model.predict(table.X))[0, 1] > 0.95
    else:
        difference = small.predict_proba(table.X) - model.predict_proba(table.X)
        assert np.abs(difference).mean() < 0.1
    with_seed = model.distill(table.X, n_estimators=3, random_state=5, learning_rate=0.3)
    assert with_seed.random_state == 5
    weight = np.repeat([1.0, 0.0], ROWS // 2)
    some = model.distill(table.X, weight, n_estimators=3)
    assert some.fingerprint() == model.distill(table.X[: ROWS // 2], n_estimators=3).fingerprint()


def test_a_distilled_classifier_has_all_classes():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(100, 2)) + shift for shift in (0, 20, -20)])
    y = np.repeat(list("abc"), 100)
    model = AutoClassifier(quality=1).fit(X, y)
    small = model.distill(X[120:200], n_estimators=5)
    assert list(small.classes_) == ["a", "b", "c"]
    sparse = model.distill(scipy.sparse.coo_matrix(X), n_estimators="auto")
    assert sparse.fit_report_["round_choice"]["folds"] == 5


def test_rows_that_several_folds_hold_out_have_the_mean_of_their_scores(table):
    whole = AutoRegressor(quality=2, cv=RepeatedKFold(n_splits=3, n_repeats=2, random_state=0))
    whole.fit(table.X, table.number)
    trial = Trial("one", None, None, np.full((ROWS, 1), np.nan))
    scores = np.random.default_rng(0).normal(size=(6, ROWS, 1))
    folds = [(np.arange(0), held) for held in np.array_split(np.arange(ROWS), 3)] * 2
    for number, fold in enumerate(folds):
        own = np.full((ROWS, 1), np.nan)
        own[fold[1]] = scores[number, fold[1]]
        trial.add([fold], CrossFit([], own, 1, ""), 0.0)
    expected = np.concatenate(
        [(scores[k, held] + scores[k + 3, held]) / 2 for k, (_, held) in enumerate(folds[:3])]
    )
    np.testing.assert_allclose(trial.oof_scores, expected)
    assert np.isfinite(whole.oof_prediction_).all()


@pytest.mark.parametrize("rows", [1, [1], [{"name": "x"}], [{"other": 1}]], ids=str)
def test_a_damaged_leaderboard_in_a_file_is_refused(rows, fitted, tmp_path):
    model, path = fitted[AutoRegressor], tmp_path / "damaged.stgw"
    write_model(path, model.model_, {**model._notes(), "leaderboard": rows})
    with pytest.raises(stagewise.ModelFormatError):
        stagewise.load(path)

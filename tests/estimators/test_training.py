"""The course of a fit: history, stages, callbacks and output."""

from __future__ import annotations

import io

import numpy as np
import pytest

from estimators.tables import make_table, overfit, quick
from stagewise import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    InvalidParameterError,
)
from stagewise.boosting.progress import ProgressDisplay

BOTH = pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])


@pytest.fixture(scope="module")
def table():
    return make_table(500)


@pytest.fixture(scope="module")
def held():
    return make_table(200, seed=9)


# ---- history ------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_the_history_of_a_regression_is_the_mean_loss_of_its_stages(loss, table, held):
    def mean_loss(y, p):
        apart = np.abs(y - p)
        return np.mean(apart if loss == "absolute_error" else 0.5 * apart**2)

    model = quick(GradientBoostingRegressor, loss=loss).fit(
        table.X, table.number, X_val=held.X, y_val=held.number
    )
    # The kernels sum float32 losses.
    stages = [mean_loss(table.number, p) for p in model.staged_predict(table.X)]
    np.testing.assert_allclose(model.train_loss_, stages, rtol=1e-6)
    stages = [mean_loss(held.number, p) for p in model.staged_predict(held.X)]
    np.testing.assert_allclose(model.validation_loss_, stages, rtol=1e-6)


@pytest.mark.parametrize("classes", ["two", "many"])
def test_the_history_of_a_classification_is_the_log_loss_of_its_stages(classes, table, held):
    y, y_held = getattr(table, classes), getattr(held, classes)
    weight = 1.0 + np.arange(500) % 3
    model = quick(GradientBoostingClassifier).fit(
        table.X, y, sample_weight=weight, X_val=held.X, y_val=y_held
    )

    def mean_loss(y, p, weight=None):
        return np.average(-np.log(p[np.arange(len(y)), y]), weights=weight)

    stages = [mean_loss(y, p, weight) for p in model.staged_predict_proba(table.X)]
    np.testing.assert_allclose(model.train_loss_, stages, rtol=1e-5)
    stages = [mean_loss(y_held, p) for p in model.staged_predict_proba(held.X)]
    np.testing.assert_allclose(model.validation_loss_, stages, rtol=1e-5)


@BOTH
def test_the_training_loss_falls(kind, table):
    model = quick(kind, n_estimators=30).fit(
        table.X, table.number if kind is GradientBoostingRegressor else table.many
    )
    assert (np.diff(model.train_loss_) < 0).all()


# ---- stages -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [{}, {"loss": "absolute_error"}, {"subsample": 0.5, "max_features": 0.5}],
    ids=["squared error", "absolute error", "drawn"],
)
def test_each_stage_of_a_regression_equals_a_shorter_fit(params, table):
    model = quick(GradientBoostingRegressor, **params).fit(table.X, table.number)
    stages = list(model.staged_predict(table.X))
    np.testing.assert_array_equal(stages[-1], model.predict(table.X))
    for rounds in (1, 3, 8):
        short = quick(GradientBoostingRegressor, **params, n_estimators=rounds)
        predicted = short.fit(table.X, table.number).predict(table.X)
        np.testing.assert_array_equal(stages[rounds - 1], predicted)


@pytest.mark.parametrize("classes", ["two", "many"])
def test_each_stage_of_a_classification_equals_a_shorter_fit(classes, table):
    y = getattr(table, classes)
    model = quick(GradientBoostingClassifier).fit(table.X, y)
    labels, proba = (list(getattr(model, f"staged_predict{k}")(table.X)) for k in ("", "_proba"))
    np.testing.assert_array_equal(labels[-1], model.predict(table.X))
    np.testing.assert_array_equal(proba[-1], model.predict_proba(table.X))
    short = quick(GradientBoostingClassifier, n_estimators=3).fit(table.X, y)
    np.testing.assert_array_equal(labels[2], short.predict(table.X))
    np.testing.assert_array_equal(proba[2], short.predict_proba(table.X))


def test_stages_are_independent_arrays(table):
    model = quick(GradientBoostingRegressor).fit(table.X, table.number)
    first, second, *_ = model.staged_predict(table.X)
    assert not np.shares_memory(first, second)
    assert (first != second).any()


# ---- callbacks ----------------------------------------------------------------------------------


def test_a_callback_is_called_after_every_round(table, held):
    seen = []
    model = overfit(GradientBoostingRegressor, callbacks=seen.append, n_iter_no_change=3).fit(
        table.X, table.number, X_val=held.X, y_val=held.number
    )
    assert [p.round for p in seen] == list(range(1, len(model.train_loss_) + 1))
    assert {p.n_rounds for p in seen} == {80}
    assert [p.train_loss for p in seen] == model.train_loss_.tolist()
    assert [p.valid_loss for p in seen] == model.validation_loss_.tolist()
    running = [int(np.argmin(model.validation_loss_[: k + 1])) + 1 for k in range(len(seen))]
    assert [p.best_round for p in seen] == running
    times = [p.seconds for p in seen]
    assert times == sorted(times)
    assert times[0] >= 0


def test_without_held_out_rows_the_best_round_is_the_last(table):
    seen = []
    quick(GradientBoostingRegressor, callbacks=[seen.append]).fit(table.X, table.number)
    assert [(p.best_round, p.valid_loss) for p in seen] == [(k, None) for k in range(1, 9)]


@pytest.mark.parametrize("returned", [True, 1, np.bool_(True)])
def test_a_callback_can_stop_a_fit(returned, table):
    def enough(progress):
        return returned if progress.round == 3 else None

    model = quick(GradientBoostingRegressor, callbacks=[lambda progress: False, enough])
    model.fit(table.X, table.number)
    assert model.n_iter_ == len(model.train_loss_) == 3
    assert "enough" in model.fit_report_["stop_reason"]
    short = quick(GradientBoostingRegressor, n_estimators=3).fit(table.X, table.number)
    assert model.fingerprint() == short.fingerprint()


def test_a_fit_that_a_callback_stops_keeps_its_best_round(table, held):
    given = {"X_val": held.X, "y_val": held.number}
    free = overfit(GradientBoostingRegressor).fit(table.X, table.number, **given)
    stopped = overfit(
        GradientBoostingRegressor, callbacks=lambda p: p.round == p.best_round + 2
    ).fit(table.X, table.number, **given)
    assert stopped.n_iter_ <= free.n_iter_
    assert stopped.n_iter_ == int(np.argmin(stopped.validation_loss_)) + 1


# ---- printed output -----------------------------------------------------------------------------


def test_nothing_is_printed_by_default(table, capfd):
    quick(GradientBoostingRegressor).fit(table.X, table.number).predict(table.X)
    assert capfd.readouterr() == ("", "")


def test_verbose_2_prints_a_line_for_every_round(table, held, capsys):
    quick(GradientBoostingRegressor, verbose=2).fit(
        table.X, table.number, X_val=held.X, y_val=held.number
    )
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 8
    assert lines[-1].startswith("round 8/8  train ")
    assert "  valid " in lines[-1]
    assert "  best 8" in lines[-1]


@pytest.mark.parametrize("verbose", [1, True])
def test_verbose_1_prints_few_lines_where_there_is_no_terminal(verbose, table, capsys):
    quick(GradientBoostingRegressor, verbose=verbose).fit(table.X, table.number)
    lines = capsys.readouterr().err.splitlines()
    assert 1 <= len(lines) < 8
    assert lines[-1].startswith("round 8/8")


def test_lines_of_a_log_are_spaced_geometrically(table, capsys):
    quick(GradientBoostingRegressor, n_estimators=130, verbose=1).fit(table.X, table.number)
    lines = capsys.readouterr().err.splitlines()
    rounds = [int(line.split("/")[0].removeprefix("round ")) for line in lines]
    assert rounds == [1, 2, 5, 10, 20, 50, 100, 130]


def test_a_long_round_is_followed_by_a_line(table, capsys, monkeypatch):
    monkeypatch.setattr(ProgressDisplay, "SECONDS", 0.0)
    quick(GradientBoostingRegressor, verbose=1).fit(table.X, table.number)
    assert len(capsys.readouterr().err.splitlines()) == 8


def test_verbose_is_silent_where_there_is_no_console(table, monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    quick(GradientBoostingRegressor, verbose=1).fit(table.X, table.number)


def test_verbose_1_shows_a_bar_on_a_terminal(table, monkeypatch):
    pytest.importorskip("rich")

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    quick(GradientBoostingRegressor, verbose=1).fit(table.X, table.number)
    assert "━" in screen.getvalue()
    assert "round 8/8" in screen.getvalue().splitlines()[-2], "the bar stays, finished"


def test_the_last_line_of_the_progress_has_the_reason_for_stopping(table, capsys):
    model = quick(GradientBoostingRegressor, n_estimators=50, verbose=1)
    model.set_params(callbacks=lambda progress: progress.round == 3)
    model.fit(table.X, table.number)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("round 3/50")
    assert "stopped: callback" in lines[-1]
    assert sum("round 3/50" in line for line in lines) == 1


def test_linear_leaves_of_several_targets_and_quantiles_are_refused():
    table = make_table(120)
    with pytest.raises(InvalidParameterError, match="is for one target; y has 3"):
        GradientBoostingRegressor(n_estimators=2, loss="absolute_error", leaves="linear").fit(
            table.X, table.numbers
        )

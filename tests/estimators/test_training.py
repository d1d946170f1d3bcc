"""How a fit goes on and ends: early stopping, history, callbacks, stages, what the user sees."""

from __future__ import annotations

import io

import numpy as np
import pytest

from estimators.tables import hashed, make_table, quick
from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.estimators.rows import hold_out
from stagewise.losses import (
    AbsoluteError,
    Logistic,
    Loss,
    Multinomial,
    SquaredError,
)

BOTH = pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])


@pytest.fixture(scope="module")
def table():
    return make_table(500)


@pytest.fixture(scope="module")
def held():
    return make_table(200, seed=9)


def target(kind, table):
    return table.number if kind is GradientBoostingRegressor else table.many


def overfit(kind, **params):
    """An estimator that is at its best after a few rounds."""
    return quick(kind, **{"n_estimators": 80, "learning_rate": 0.8, **params})


# ---- early stopping -----------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("patience", [1, 4])
def test_a_fit_stops_after_so_many_rounds_without_improvement(kind, patience, table):
    model = overfit(kind, early_stopping=True, n_iter_no_change=patience)
    model.fit(table.X, target(kind, table))
    best = int(np.argmin(model.validation_loss_)) + 1
    assert model.n_iter_ == model.best_iteration_ == best < 80
    assert len(model.validation_loss_) == len(model.train_loss_) == best + patience
    assert model.fit_report_["rounds_run"] == best + patience
    assert model.fit_report_["stopped_because"].startswith("no better validation loss")


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


def test_held_out_rows_have_no_say_in_the_cuts():
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
def test_held_out_rows_have_no_say_in_the_ranks_of_wide_integers(weighted):
    # As many cuts as there are ids to tell apart, one less than training rows.
    X = (2**60 + np.arange(200))[:, np.newaxis]
    weight = 1 + np.arange(200) % 2 if weighted else None
    model = quick(GradientBoostingRegressor, early_stopping=True, validation_fraction=0.3)
    model.fit(X, np.arange(200), sample_weight=weight)
    assert len(model.model_.features[0].cuts) == 140 - 1
    model.set_params(early_stopping=False).fit(X, np.arange(200), sample_weight=weight)
    assert len(model.model_.features[0].cuts) == 200 - 1


@pytest.mark.parametrize("way", ["held out", "weight zero"])
def test_rows_that_are_not_learned_from_have_no_say_in_what_is_wide(way):
    rows, _ = hold_out(None, np.arange(200), 0.1, 0, by_class=False)
    X = np.full((200, 1), 2**60)
    X[rows, 0] = rows
    weight = np.isin(np.arange(200), rows).astype(float) if way == "weight zero" else None
    model = quick(GradientBoostingRegressor, early_stopping=weight is None, n_estimators=1)
    model.fit(X, np.arange(200), sample_weight=weight)
    alone = quick(GradientBoostingRegressor, n_estimators=1).fit(X[rows], rows)
    assert model.model_.features[0].kind == "real"
    assert model.fingerprint() == alone.fingerprint()


def test_rows_are_held_out_of_every_class_alike():
    # 480 rows of class 0 and 20 of class 1: by chance alone the share of class 1 would vary.
    X = hashed(500, 3).astype(float)
    y = (np.arange(500) % 25 == 0).astype(int)
    for seed in range(5):
        model = quick(GradientBoostingClassifier, early_stopping=True, random_state=seed).fit(X, y)
        # The first score is the log of the odds among the training rows: 18 to 432.
        assert model.model_.ensemble.base[0] == pytest.approx(np.log(18 / 432), rel=1e-12)


@BOTH
def test_a_validation_set_is_only_looked_at(kind, table, held):
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
    assert coarse.n_iter_ == first_small < fine.n_iter_
    at_once = quick(GradientBoostingRegressor, tol=1e30, n_iter_no_change=2)
    assert at_once.fit(table.X, table.number, **given).n_iter_ == 1


def test_without_early_stopping_all_rounds_are_run_and_nothing_is_validated(table):
    model = quick(GradientBoostingRegressor).fit(table.X, table.number)
    assert len(model.train_loss_) == model.n_iter_ == 8
    assert model.validation_loss_.shape == (0,)
    assert model.fit_report_["stopped_because"] == ""


@pytest.mark.parametrize("rows", [2, 3, 5])
@pytest.mark.filterwarnings("ignore:y has only one:UserWarning")
def test_early_stopping_works_with_few_rows(rows, table):
    model = quick(GradientBoostingRegressor, early_stopping=True)
    model.fit(table.X[:rows], table.number[:rows])
    assert model.model_.ensemble.trees[0].cover[0] == rows - 1


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
    model = quick(kind, n_estimators=30).fit(table.X, target(kind, table))
    assert (np.diff(model.train_loss_) < 0).all()


# ---- stages -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [{}, {"loss": "absolute_error"}, {"subsample": 0.5, "columns_per_node": 0.5}],
    ids=["squared error", "absolute error", "drawn"],
)
def test_each_stage_of_a_regression_is_a_shorter_fit(params, table):
    model = quick(GradientBoostingRegressor, **params).fit(table.X, table.number)
    stages = list(model.staged_predict(table.X))
    np.testing.assert_array_equal(stages[-1], model.predict(table.X))
    for rounds in (1, 3, 8):
        short = quick(GradientBoostingRegressor, **params, n_estimators=rounds)
        predicted = short.fit(table.X, table.number).predict(table.X)
        np.testing.assert_array_equal(stages[rounds - 1], predicted)


@pytest.mark.parametrize("classes", ["two", "many"])
def test_each_stage_of_a_classification_is_a_shorter_fit(classes, table):
    y = getattr(table, classes)
    model = quick(GradientBoostingClassifier).fit(table.X, y)
    labels, proba = (list(getattr(model, f"staged_predict{k}")(table.X)) for k in ("", "_proba"))
    np.testing.assert_array_equal(labels[-1], model.predict(table.X))
    np.testing.assert_array_equal(proba[-1], model.predict_proba(table.X))
    short = quick(GradientBoostingClassifier, n_estimators=3).fit(table.X, y)
    np.testing.assert_array_equal(labels[2], short.predict(table.X))
    np.testing.assert_array_equal(proba[2], short.predict_proba(table.X))


def test_stages_are_arrays_of_their_own(table):
    model = quick(GradientBoostingRegressor).fit(table.X, table.number)
    first, second, *_ = model.staged_predict(table.X)
    assert not np.shares_memory(first, second)
    assert (first != second).any()


# ---- callbacks ----------------------------------------------------------------------------------


def test_a_callback_is_told_of_every_round(table, held):
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


@pytest.mark.parametrize("answer", [True, 1, np.bool_(True)])
def test_a_callback_can_stop_a_fit(answer, table):
    def enough(progress):
        return answer if progress.round == 3 else None

    model = quick(GradientBoostingRegressor, callbacks=[lambda progress: False, enough])
    model.fit(table.X, table.number)
    assert model.n_iter_ == len(model.train_loss_) == 3
    assert "enough" in model.fit_report_["stopped_because"]
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


# ---- losses of one's own ------------------------------------------------------------------------


def plainly(loss):
    """The same loss without its native kernel."""
    return type(loss.__name__, (loss,), {"bind": Loss.bind})


@pytest.mark.parametrize(
    "params", [{}, {"subsample": 0.6, "early_stopping": True}], ids=["all rows", "drawn rows"]
)
@pytest.mark.parametrize("loss", [SquaredError, AbsoluteError])
def test_a_loss_in_python_learns_what_the_kernel_learns(loss, params, table):
    weight = 1 + np.arange(500) % 3
    own, native = (
        quick(GradientBoostingRegressor, loss=choice, **params).fit(
            table.X, table.number, sample_weight=weight
        )
        for choice in (plainly(loss)(), loss.name)
    )
    assert own.fingerprint() == native.fingerprint()
    np.testing.assert_allclose(own.train_loss_, native.train_loss_, rtol=1e-6)


@pytest.mark.parametrize(
    ("loss", "classes"), [(plainly(Logistic)(), "two"), (plainly(Multinomial)(5), "many")]
)
def test_a_class_loss_in_python_learns_what_the_kernel_learns(loss, classes, table, monkeypatch):
    y = getattr(table, classes)
    native = quick(GradientBoostingClassifier).fit(table.X, y)
    monkeypatch.setattr(GradientBoostingClassifier, "_make_loss", lambda self, classes: loss)
    own = quick(GradientBoostingClassifier).fit(table.X, y)
    # The kernels work in float32; see the docstrings.
    np.testing.assert_allclose(own.predict_proba(table.X), native.predict_proba(table.X), atol=1e-5)


class Asymmetric(Loss):
    """Too little costs three times as much as too much; as a user would write it."""

    def loss(self, y, score):
        apart = y - score[0]
        return np.where(apart > 0, 3.0, 1.0) * apart**2

    def derivatives(self, y, score):
        apart = y - score
        factor = np.where(apart > 0, 3.0, 1.0)
        return -2 * factor * apart, 2 * factor


def test_a_loss_nobody_has_heard_of_is_minimised(table):
    y = table.number / 1000
    own = quick(GradientBoostingRegressor, loss=Asymmetric(), n_estimators=40).fit(table.X, y)
    plain = quick(GradientBoostingRegressor, n_estimators=40).fit(table.X, y)
    loss = Asymmetric()
    assert (
        loss.loss(y, own.predict(table.X)[np.newaxis]).mean()
        < loss.loss(y, plain.predict(table.X)[np.newaxis]).mean()
    )
    assert own.model_.loss == "custom"


@pytest.mark.parametrize("factor", [1e-20, 1e-15, 1e15, 1e30])
def test_a_loss_of_ones_own_starts_from_its_best_constant_in_any_unit(factor, table):
    y = table.number / 1000
    plain, scaled = (Asymmetric().best_constant(y * unit, None)[0] for unit in (1.0, factor))
    assert scaled / factor == pytest.approx(plain, rel=1e-6)
    assert plain > y.mean(), "too little costs more"


def test_a_loss_of_ones_own_cannot_be_put_in_a_file(table, tmp_path):
    model = quick(GradientBoostingRegressor, loss=Asymmetric()).fit(table.X, table.number)
    with pytest.raises(ValueError, match="holds no code"):
        model.save(tmp_path / "m.stgw")
    assert not list(tmp_path.iterdir())


def broken(**parts):
    return type("Broken", (Asymmetric,), {name: staticmethod(f) for name, f in parts.items()})()


def derivatives(y, score):
    return score - y, np.ones_like(score)


BROKEN = {
    "a loss that is not a number": (
        broken(loss=lambda y, s: y * np.nan, derivatives=derivatives),
        "the training loss became nan in round 1",
    ),
    "an infinite loss": (
        broken(loss=lambda y, s: y * np.inf, derivatives=derivatives),
        "the training loss became (inf|nan) in round 1",
    ),
    "gradients that are not numbers": (
        broken(derivatives=lambda y, s: (s * np.nan, s * 0)),
        "gradients that are not finite",
    ),
    "gradients beyond float32": (
        broken(derivatives=lambda y, s: (s + 1e39, s * 0 + 1)),
        "too large for a float32",
    ),
    "gradients too large to add": (
        broken(derivatives=lambda y, s: (s + 1e38, s * 0 + 1)),
        r"gradients whose absolute values sum to 5e\+40, too much .*degree",
    ),
    "hessians too large to add": (
        broken(derivatives=lambda y, s: (s - y, s * 0 + 1e38)),
        r"hessians whose absolute values sum to 5e\+40, too much",
    ),
    "gradients too small to tell apart": (
        broken(derivatives=lambda y, s: (1e-30 * (s - y), s * 0 + 1)),
        r"gradients whose absolute values sum to [0-9.]+e-27, too little .*degree",
    ),
    "infinite hessians": (
        broken(derivatives=lambda y, s: (s, s * np.inf)),
        "hessians that are not finite",
    ),
    "negative hessians": (
        broken(derivatives=lambda y, s: (s - y, s * 0 - 1)),
        r"negative hessian \(-1\)",
    ),
    "too few gradients": (
        broken(derivatives=lambda y, s: (s[:, :5], s * 0)),
        r"gradients of 5 numbers; expected shape \(1, 500\)",
    ),
}


@pytest.mark.parametrize(("loss", "words"), BROKEN.values(), ids=BROKEN)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_broken_loss_is_found_out(loss, words, table):
    monkey = quick(GradientBoostingRegressor, loss=loss)
    monkey.loss.best_constant = lambda y, weight: np.zeros(1)
    with pytest.raises(ValueError, match=words):
        monkey.fit(table.X, table.number / 1000)


def test_gradients_may_vanish_once_all_is_learned():
    X = np.arange(50.0)[:, np.newaxis]
    model = quick(GradientBoostingRegressor, loss=Asymmetric(), min_samples_leaf=1)
    model.set_params(learning_rate=1.0, l2_regularization=0.0, n_estimators=200, max_leaf_nodes=50)
    y = np.arange(50) * 1e-20
    np.testing.assert_allclose(model.fit(X, y).predict(X), y, rtol=1e-9, atol=1e-30)
    assert model.train_loss_[-1] < 1e-55, "gradients of 1e-28 were no error in the last rounds"


@pytest.mark.parametrize("value", [0.0, 1e-40, 1e-30, 3.0])
def test_a_constant_target_is_learned_with_a_loss_of_ones_own(value):
    model = quick(GradientBoostingRegressor, loss=Asymmetric())
    with pytest.warns(UserWarning, match="y has only one value"):
        model.fit(np.arange(50.0)[:, np.newaxis], np.full(50, value))
    np.testing.assert_allclose(model.predict([[1.0]]), value, rtol=1e-6, atol=1e-12)


def test_a_degree_makes_the_unit_of_y_a_matter_of_indifference(table):
    loss = type("Scaled", (Asymmetric,), {"degree": 2})()
    plain, tiny = (
        quick(GradientBoostingRegressor, loss=loss).fit(table.X, table.number * unit)
        for unit in (1.0, 2.0**-100)
    )
    np.testing.assert_allclose(tiny.predict(table.X) * 2.0**100, plain.predict(table.X), rtol=1e-9)


def test_a_fit_that_diverges_says_so(table):
    model = GradientBoostingRegressor(learning_rate=3.0, n_estimators=3000, l2_regularization=0)
    with pytest.raises(ValueError, match=r"loss became (inf|nan) in round \d+.*learning_rate"):
        model.fit(table.X, table.number)


# ---- what the user sees -------------------------------------------------------------------------


def test_nothing_is_printed_unless_asked_for(table, capfd):
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
    assert "fitting" in screen.getvalue()

"""StepwiseRegressor: every step is the best one by its criterion."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import f as fisher
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

import stagewise
from coefficient_table import coefficient_table
from estimators.tables import hashed
from reference.linear import residual_squares
from stagewise import InvalidParameterError, LinearRegression, StepwiseRegressor

N = 90


def table(n: int = N) -> tuple[pd.DataFrame, np.ndarray]:
    """Return six correlated numbers and a category; five of them matter."""
    rng = np.random.default_rng(3)
    base = rng.normal(size=(n, 6))
    X = pd.DataFrame(base + 0.7 * base[:, [1, 2, 3, 4, 5, 0]], columns=list("abcdef"))
    city = rng.integers(3, size=n)
    X.insert(2, "city", pd.Categorical(np.array(["Bonn", "Oslo", "Rome"])[city]))
    noise = rng.normal(size=n)
    return X, X["a"] + 0.6 * X["c"] - 0.4 * X["e"] + 0.8 * (city == 2) + 2 * noise + 0.15 * X["f"]


class Criteria:
    """Criteria of sets of features, computed from scratch."""

    def __init__(self, X, y, weight=None):
        self.y, self.n = np.asarray(y), len(y) if weight is None else weight.sum()
        self.weight = np.ones(len(y)) if weight is None else weight
        self.columns = {
            name: [X[name].to_numpy(float)]
            if name != "city"
            else [(X[name] == city).to_numpy(float) for city in ("Oslo", "Rome")]
            for name in X
        }

    def rss(self, names):
        return residual_squares(
            [c for name in names for c in self.columns[name]], self.y, self.weight
        )

    def rank(self, names):
        return 1 + sum(len(self.columns[name]) for name in names)

    def information(self, names, price):
        value = self.n * (np.log(2 * np.pi * self.rss(names) / self.n) + 1)
        return value + price * self.rank(names)

    def p(self, fewer, more):
        q, df = self.rank(more) - self.rank(fewer), self.n - self.rank(more)
        rss = self.rss(more)
        return fisher.sf((self.rss(fewer) - rss) / q / (rss / df), q, df)

    def cv(self, names, folds):
        columns = [c for name in names for c in self.columns[name]]
        A, total = np.column_stack([np.ones(len(self.y)), *columns]), 0.0
        for train, held in folds:
            root = np.sqrt(self.weight[train])
            beta = np.linalg.lstsq(A[train] * root[:, None], self.y[train] * root, rcond=None)[0]
            total += np.sum(self.weight[held] * (self.y[held] - A[held] @ beta) ** 2)
        return total / self.n

    def path(self, direction, value):
        """Return the steps of a search that minimises a score."""
        names = list(self.columns)
        now = set(names) if direction == "backward" else set()
        moves = []
        while True:
            options = [
                n for n in names if direction == "both" or (n in now) == (direction == "backward")
            ]
            scores = {n: value(sorted(now ^ {n})) for n in options}
            best = min(scores, key=scores.get, default=None)
            if best is None or scores[best] >= value(sorted(now)):
                return moves
            now ^= {best}
            moves.append(best)


FOLDS = list(KFold(4, shuffle=True, random_state=1).split(np.zeros((N, 1))))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["aic", "bic", "cv"])
@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
def test_every_step_is_the_best_one(direction, criterion, weighted):
    X, y = table()
    weight = 1.0 + np.arange(N) % 2 if weighted else None
    criteria = Criteria(X, y, weight)
    price = {"aic": 2.0, "bic": np.log(criteria.n)}.get(criterion)

    def value(names):
        return criteria.cv(names, FOLDS) if price is None else criteria.information(names, price)

    own = {"cv": FOLDS} if criterion == "cv" else {}
    model = StepwiseRegressor(direction=direction, criterion=criterion, **own).fit(X, y, weight)
    expected = criteria.path(direction, value)
    assert model.path_["feature"] == ["", *expected]
    assert len(expected) >= 2, "a search with at least two steps"
    now = set(X) if direction == "backward" else set()
    for step, moved in enumerate(model.path_["feature"]):
        now ^= {moved} if moved else set()
        names = sorted(now)
        assert model.path_["score"][step] == pytest.approx(value(names), rel=1e-9)
        assert model.path_["rss"][step] == pytest.approx(criteria.rss(names), rel=1e-9)
        assert model.path_["rank"][step] == criteria.rank(names)
    assert model.selected_features_ == [name for name in X if name in now]


@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
def test_p_values_decide_which_features_enter_and_leave(direction):
    X, y = table()
    criteria = Criteria(X, y)
    own = {"forward": {"alpha_enter": 0.3}, "backward": {"alpha_remove": 0.05}}.get(
        direction, {"alpha_enter": 0.3, "alpha_remove": 0.3}
    )
    model = StepwiseRegressor(direction=direction, criterion="p_value", **own).fit(X, y)
    now = set(X) if direction == "backward" else set()
    enter, stay = own.get("alpha_enter", 0), own.get("alpha_remove", 1)
    path = zip(
        model.path_["action"][1:], model.path_["feature"][1:], model.path_["p"][1:], strict=True
    )
    for action, moved, p in path:
        leave = {n: criteria.p(now - {n}, now) for n in now}
        come = {n: criteria.p(now, now | {n}) for n in X if n not in now}
        if direction != "forward" and now and max(leave.values()) > stay:
            assert (action, moved) == ("remove", max(leave, key=leave.get))
            assert p == pytest.approx(leave[moved], rel=1e-7)
        else:
            assert (action, moved) == ("add", min(come, key=come.get))
            assert p == pytest.approx(come[moved], rel=1e-7)
        now ^= {moved}
    if direction != "backward":
        assert min(criteria.p(now, now | {n}) for n in X if n not in now) > enter
    if direction != "forward":
        assert max(criteria.p(now - {n}, now) for n in now) <= stay
    assert len(model.path_["step"]) >= 3


def test_the_last_fit_is_a_linear_model_of_the_chosen_features():
    X, y = table()
    model = StepwiseRegressor(criterion="bic").fit(X, y)
    plain = LinearRegression().fit(X[model.selected_features_], y)
    assert model.coef_names_ == plain.coef_names_
    for name in ("estimate", "standard_error", "t", "p", "low", "high"):
        np.testing.assert_allclose(
            coefficient_table(model)[name], coefficient_table(plain)[name], rtol=1e-9
        )
    np.testing.assert_allclose(model.predict(X), plain.predict(X), rtol=1e-12)
    np.testing.assert_allclose(model.predict_interval(X), plain.predict_interval(X), rtol=1e-10)
    assert model.support_.tolist() == [name in model.selected_features_ for name in X]
    assert model.path_["aic"][-1] == pytest.approx(plain.aic_)
    assert model.path_["adjusted_r2"][-1] == pytest.approx(plain.adjusted_r2_)


def test_the_path_is_a_table():
    X, y = table()
    path = StepwiseRegressor().fit(X, y).path_
    assert len(pd.DataFrame(path)) == len(pl.DataFrame(path)) == len(path["step"])
    assert path["action"][0] == "start"
    assert np.isnan(path["p"][0])


def test_integer_weights_equal_repeated_rows():
    X, y = table()
    weight = np.arange(N) % 3
    model = StepwiseRegressor(criterion="bic").fit(X, y, weight)
    twice = StepwiseRegressor(criterion="bic").fit(
        X.loc[X.index.repeat(weight)], np.repeat(y, weight)
    )
    assert model.path_["feature"] == twice.path_["feature"]
    np.testing.assert_allclose(model.path_["bic"], twice.path_["bic"], rtol=1e-10)
    np.testing.assert_allclose(model.coef_, twice.coef_, rtol=1e-10)
    absent = StepwiseRegressor(criterion="bic").fit(
        X[weight > 0], y[weight > 0], weight[weight > 0]
    )
    assert absent.fingerprint() == model.fingerprint()


def test_units_do_not_matter():
    X, y = table()
    model = StepwiseRegressor().fit(X, y)
    other = StepwiseRegressor().fit(X.assign(a=X["a"] * 1e8 + 5e8, c=X["c"] * 1e-9), y * 1e-12)
    assert other.path_["feature"] == model.path_["feature"]


def test_a_copy_of_a_column_never_enters():
    X, y = table()
    model = StepwiseRegressor().fit(X.assign(g=X["a"], h=1.0), y)
    assert model.path_["feature"] == StepwiseRegressor().fit(X, y).path_["feature"]


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 40))
    y = 5 * X[:, 7] - X[:, 30] + 0.1 * rng.normal(size=20)
    model = StepwiseRegressor(criterion="p_value", alpha_enter=1e-4).fit(X, y)
    assert model.selected_features_ == ["x7", "x30"]
    assert StepwiseRegressor().fit(X, y).rank_ < 20, "never as many as rows"
    with pytest.raises(ValueError, match=r"direction='backward' starts with all.*20 rows.*forward"):
        StepwiseRegressor(direction="backward").fit(X, y)


def test_a_perfect_fit_ends_the_search():
    X, _ = table()
    model = StepwiseRegressor().fit(X, 2.0 * X["a"] - X["c"])
    assert model.selected_features_ == ["a", "c"]


def test_no_feature_is_chosen_if_none_helps():
    X, _ = table()
    y = hashed(N, 1, 8)[:, 0].astype(float)
    model = StepwiseRegressor(criterion="p_value", alpha_enter=1e-6).fit(X, y)
    assert model.coef_names_ == []
    np.testing.assert_allclose(model.predict(X), y.mean())
    assert "intercept" in model.summary()


def test_folds_do_not_split_groups():
    X, y = table()
    groups = np.arange(N) // 10
    model = StepwiseRegressor(criterion="cv", cv=3).fit(X, y, groups=groups)
    assert len(model.path_["score"]) > 1
    with pytest.raises(ValueError, match="groups was passed, but only criterion='cv'"):
        StepwiseRegressor().fit(X, y, groups=groups)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"direction": "up"}, r"'direction' of StepwiseRegressor must be one of 'forward'.*'up'"),
        ({"criterion": "r2"}, r"'criterion' .* one of 'aic', .*'cv', 'rss'; got 'r2'"),
        ({"criterion": "p_value", "alpha_enter": 0}, r"'alpha_enter'.*above 0 and below 1; got 0"),
        ({"alpha_enter": 0.01}, r"'alpha_enter' .* no effect with criterion='aic'"),
        (
            {"criterion": "p_value", "alpha_remove": 0.2},
            r"'alpha_remove' .* no effect with direction='forward'",
        ),
        (
            {"criterion": "p_value", "direction": "backward", "alpha_enter": 0.2},
            r"'alpha_enter' .* no effect with direction='backward'",
        ),
        (
            {"criterion": "p_value", "direction": "both", "alpha_enter": 0.2},
            r"'alpha_remove' .* at least 'alpha_enter'.*0.1 and 0.2",
        ),
    ],
)
def test_parameters_are_checked(params, message):
    with pytest.raises(InvalidParameterError, match=message):
        StepwiseRegressor(**params).fit(*table())


def test_copies_and_files(tmp_path):
    X, y = table()
    model = StepwiseRegressor(criterion="cv", random_state=np.random.RandomState(4)).fit(X, y)
    restored = pickle.loads(pickle.dumps(model))
    assert restored.path_["feature"] == model.path_["feature"]
    model.save(tmp_path / "model.stgw")
    restored = stagewise.load(tmp_path / "model.stgw")
    assert restored.fingerprint() == model.fingerprint()
    assert restored.selected_features_ == model.selected_features_
    assert restored.summary() == model.summary()
    with pytest.raises(AttributeError, match="read from a file, which has no path_"):
        restored.plot_path()
    assert restored.fit(X, y).path_["feature"] == model.path_["feature"], "the same folds again"
    with pytest.raises(NotFittedError):
        StepwiseRegressor().plot_path()


def test_path_plot():
    pytest.importorskip("matplotlib")
    X, y = table()
    model = StepwiseRegressor(direction="both").fit(X, y)
    ax = model.plot_path()
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.path_["aic"])
    assert [t.get_text() for t in ax.get_xticklabels()][1] == f"+ {model.path_['feature'][1]}"

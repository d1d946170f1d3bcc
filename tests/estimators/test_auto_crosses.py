"""Feature crosses of automatic models: which are tried, and what the model computes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse

from estimators.tables import make_table
from stagewise import AutoRegressor, GradientBoostingRegressor
from stagewise.estimators.auto import search as search_module

ROWS = 120


@pytest.fixture(scope="module")
def table():
    return make_table(ROWS)


def only_crosses(monkeypatch):
    """Give the candidate with feature crosses the weight 1."""
    original = search_module.Search._weigh

    def weigh(self):
        original(self)
        for trial in self.trials:
            trial.weight = float(trial.name == "feature crosses")
        return [trial for trial in self.trials if trial.weight]

    monkeypatch.setattr(search_module.Search, "_weigh", weigh)


def ratios(n=400):
    rng = np.random.default_rng(3)
    X = rng.uniform(1.0, 3.0, size=(n, 4))
    return X, X[:, 2] / X[:, 0] + 0.01 * rng.normal(size=n)


def test_crosses_are_found_if_they_help():
    X, y = ratios()
    plain, auto = GradientBoostingRegressor(n_jobs=1), AutoRegressor(n_jobs=1)
    plain, auto = (model.fit(X[:300], y[:300]) for model in (plain, auto))
    assert auto.leaderboard_[1].name == "feature crosses"
    assert {cross.operation for cross in auto.model_.features.crosses} == {
        "difference",
        "ratio",
        "product",
    }
    losses = [np.mean((model.predict(X[300:]) - y[300:]) ** 2) for model in (plain, auto)]
    assert losses[1] < 0.8 * losses[0]


def test_a_model_with_crosses_is_the_default_of_the_table_with_these_columns(monkeypatch):
    only_crosses(monkeypatch)
    X, y = ratios(200)
    auto = AutoRegressor(n_jobs=1).fit(X, y)
    crosses = auto.model_.features.crosses
    assert len(crosses) == 3 * 6
    function = {"difference": np.subtract, "ratio": np.divide, "product": np.multiply}
    more = [function[c.operation](X[:, c.sources[0]], X[:, c.sources[1]]) for c in crosses]
    table = np.column_stack([X, *more])
    plain = GradientBoostingRegressor(n_jobs=1).fit(table, y)
    np.testing.assert_array_equal(auto.predict(X), plain.predict(table))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_crosses_and_target_encodings_together(monkeypatch, n_jobs):
    only_crosses(monkeypatch)
    X, y = ratios(300)
    X = np.column_stack([X, np.random.default_rng(0).integers(0, 60, len(X))])
    auto = AutoRegressor(n_jobs=n_jobs, categorical_features=[4]).fit(X, y)
    features = auto.model_.features
    assert len(features.crosses) == 18
    assert len(features.target_encodings) == 1
    assert all(4 not in cross.sources for cross in features.crosses)
    again = pickle.loads(pickle.dumps(auto))
    np.testing.assert_array_equal(again.predict(X[:3]), auto.predict(X)[:3])
    assert again.fingerprint() == auto.fingerprint()


def test_features_that_cannot_be_crossed(table):
    y = table.number
    sparse = AutoRegressor(n_jobs=1).fit(scipy.sparse.csr_array(np.nan_to_num(table.X)), y)
    assert "sparse" in sparse.fit_report_["candidates_left_out"]["feature crosses"]
    cst = {0: 1}
    monotone = AutoRegressor(n_jobs=1, monotonic_cst=cst).fit(table.X, y)
    assert "monotonic_cst" in monotone.fit_report_["candidates_left_out"]["feature crosses"]
    one = AutoRegressor(n_jobs=1).fit(table.X[:, :1], y)
    assert "feature crosses" not in {row.name for row in one.leaderboard_}
    assert "the same" in one.fit_report_["candidates_left_out"]["feature crosses"]
    with pytest.warns(UserWarning, match="only one value"):
        constant = AutoRegressor(n_jobs=1).fit(table.X, np.ones(ROWS))
    assert "have a gain" in constant.fit_report_["candidates_left_out"]["feature crosses"]


def test_sparse_rows_of_a_model_with_crosses(monkeypatch):
    only_crosses(monkeypatch)
    X, y = ratios(200)
    X[::3, 1] = 0.0
    auto = AutoRegressor(n_jobs=1).fit(X, y)
    assert auto.model_.features.crosses
    sparse = scipy.sparse.csr_array(X)
    np.testing.assert_array_equal(auto.predict(sparse), auto.predict(X))
    np.testing.assert_array_equal(auto.predict(sparse[:3]), auto.predict(X)[:3])

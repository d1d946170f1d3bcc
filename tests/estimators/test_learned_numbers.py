"""Numbers that a loss learns besides the trees: when they are computed, and where they are kept."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import stagewise
from stagewise import GradientBoostingRegressor
from stagewise.estimators.bases.model_access import read_rows, score_columns
from stagewise.losses import Loss


class Doubled(Loss):
    """Squared error whose predictions are multiplied by a number that is learned at the end."""

    name = "doubled_for_tests"
    learns = True

    def __init__(self):
        self._factor = np.ones(1)

    def loss(self, y, score):
        return (y - score) ** 2

    def derivatives(self, y, score):
        return 2 * (score - y), np.full_like(score, 2.0)

    def learn(self, y, weight, score):
        return {"factor": np.array([2.0]), "mean": np.array([np.mean(score)])}

    def with_learned(self, learned):
        loss = Doubled()
        loss._factor = learned["factor"]
        return loss

    def mean(self, score):
        return self._factor[0] * score


stagewise.register_loss(Doubled)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    return X, X[:, 0] + rng.normal(size=300)


def fitted(rows, **params):
    X, y = rows
    params = {"n_estimators": 20, **params}
    return GradientBoostingRegressor(loss=Doubled(), **params).fit(X, y)


def test_predictions_use_the_numbers_that_the_loss_learned(rows):
    model = fitted(rows)
    score = score_columns(model, read_rows(model, rows[0]))[:, 0]
    np.testing.assert_array_equal(model.predict(rows[0]), 2.0 * score)


def test_a_loss_learns_from_the_scores_of_the_best_round(rows):
    X, y = rows
    model = fitted(rows, n_estimators=300, early_stopping=True, n_iter_no_change=20)
    train = np.setdiff1d(np.arange(len(y)), model.held_out_rows_)
    assert model.best_iteration_ < len(model.train_loss_)
    score = score_columns(model, read_rows(model, X[train]))
    assert model.model_.learned["loss.mean"][0] == pytest.approx(score.mean(), rel=1e-9)


@pytest.mark.parametrize("kept", ["file", "pickle"])
def test_files_and_pickles_have_the_learned_numbers(rows, kept, tmp_path):
    model = fitted(rows)
    if kept == "file":
        model.save(tmp_path / "model.stgw")
        again = stagewise.load(tmp_path / "model.stgw")
    else:
        again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(rows[0]), model.predict(rows[0]))
    assert again.model_.learned.keys() == {"loss.factor", "loss.mean"}
    assert again.fingerprint() == model.fingerprint()


def test_learned_numbers_change_the_fingerprint(rows):
    model = fitted(rows).model_

    other = replace(model, learned={**model.learned, "loss.factor": np.array([3.0])})
    assert other.fingerprint() != model.fingerprint()


@pytest.mark.parametrize("wrong", [np.array([np.nan]), np.ones((2, 2))])
def test_learned_numbers_that_no_file_can_hold_are_an_error(rows, wrong):

    model = replace(fitted(rows).model_, learned={"loss.factor": wrong})
    with pytest.raises(ValueError, match=r"learned numbers 'loss\.factor'"):
        model.to_bytes()

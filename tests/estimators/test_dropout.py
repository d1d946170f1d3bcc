"""DART in the estimators: exact results, and its combination with other options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stagewise
from estimators.tables import make_table, quick
from stagewise import (
    Dart,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from stagewise.losses import Loss

Regressor, Classifier = GradientBoostingRegressor, GradientBoostingClassifier
DROP: dict[str, Any] = {"dropout": Dart(rate=0.4, skip=0.3)}
OVERFIT: dict[str, Any] = {"n_estimators": 60, "learning_rate": 0.8, "min_samples_leaf": 2}

KINDS = {
    "squared error": (Regressor, "number", {}),
    "absolute error": (Regressor, "number", {"loss": "absolute_error"}),
    "two classes": (Classifier, "two", {}),
    "five classes": (Classifier, "many", {}),
    "gradient response": (Classifier, "two", {"response": "gradient"}),
    "forest": (Regressor, "number", {"dropout": Dart(rate=0.4, skip=0.3, normalization="forest")}),
    "goss": (Classifier, "two", {"sampling": "goss"}),
    "bootstrap": (Regressor, "number", {"sampling": "bootstrap"}),
    "vectors": (Classifier, "many", {"leaves": "vector"}),
    "categories": (Classifier, "many", {"categorical_features": [1]}),
}
every_kind = pytest.mark.parametrize(("kind", "target", "params"), KINDS.values(), ids=KINDS)


@pytest.fixture(scope="module")
def table():
    return make_table(400)


@pytest.fixture(scope="module")
def held():
    return make_table(300, seed=5)


@every_kind
def test_threads_do_not_matter(kind, target, params, table):
    models = [
        quick(kind, n_jobs=n, **{**DROP, **params}).fit(table.X, getattr(table, target))
        for n in (1, 2, 3)
    ]
    assert len({m.fingerprint() for m in models}) == 1


@every_kind
def test_a_continued_fit_equals_the_uninterrupted_one(kind, target, params, table, tmp_path):
    y = getattr(table, target)
    whole = quick(kind, n_estimators=20, **{**DROP, **params}).fit(table.X, y)
    parts = quick(kind, warm_start=True, **{**DROP, **params})
    for rounds in (1, 7, 8, 20):
        parts.set_params(n_estimators=rounds).fit(table.X, y)
        parts.save(tmp_path / "m.stgw")
        parts = stagewise.load(tmp_path / "m.stgw")
    assert parts.fingerprint() == whole.fingerprint()
    np.testing.assert_array_equal(parts.train_loss_, whole.train_loss_)


@every_kind
def test_the_best_round_is_restored_to_the_bit(kind, target, params, table, held):
    """Later rounds have rescaled its trees; a fit of exactly that many rounds has not."""
    given = {"X_val": held.X, "y_val": getattr(held, target)}
    y = getattr(table, target)
    stopped = quick(kind, **{**OVERFIT, **DROP, **params}).fit(table.X, y, **given)
    assert stopped.n_iter_ < len(stopped.train_loss_)
    short = {**OVERFIT, "n_estimators": stopped.n_iter_}
    plain = quick(kind, **{**short, **DROP, **params}).fit(table.X, y)
    assert stopped.fingerprint() == plain.fingerprint()


def test_a_continued_fit_starts_from_the_best_round(table, held):
    given = {"X_val": held.X, "y_val": held.number}
    model = quick(Regressor, warm_start=True, **OVERFIT, **DROP)
    model.fit(table.X, table.number, **given)
    rounds, known = model.n_iter_, model.fingerprint()
    model.set_params(n_estimators=rounds).fit(table.X, table.number, **given)
    assert model.fingerprint() == known


@every_kind
def test_recorded_losses_are_those_of_the_model(kind, target, params, table, held):
    """The scores that are updated every round equal those of the model, for both tables."""
    y, y_held = getattr(table, target), getattr(held, target)
    given = {"X_val": held.X, "y_val": y_held, "n_iter_no_change": 1000}
    patience = {"n_iter_no_change": given.pop("n_iter_no_change"), "n_estimators": 25}
    model = quick(kind, **{**OVERFIT, **patience, **DROP, **params}).fit(table.X, y, **given)
    best = model.n_iter_ - 1
    for X, truth, losses in (
        (table.X, y, model.train_loss_),
        (held.X, y_held, model.validation_loss_),
    ):
        if target != "number":
            p = model.predict_proba(X)[np.arange(len(truth)), truth]
            expected = -np.log(p).mean()
        elif params.get("loss") == "absolute_error":
            expected = np.abs(truth - model.predict(X)).mean()
        else:
            expected = 0.5 * np.mean((truth - model.predict(X)) ** 2)
        assert losses[best] == pytest.approx(expected, rel=1e-5)


def test_cross_validation_keeps_the_best_round_of_each_fold(table):
    model = quick(Classifier, **{**OVERFIT, **DROP, "early_stopping": 3})
    model.fit(table.X, table.two)
    p = model.oof_prediction_[np.arange(400), table.two]
    assert -np.log(p).mean() == pytest.approx(model.validation_loss_.min(), rel=1e-5)
    again = quick(Classifier, **{**OVERFIT, **DROP, "n_estimators": model.n_iter_})
    assert again.fit(table.X, table.two).fingerprint() == model.fingerprint()


def test_dropped_trees_with_categorical_splits_are_removed_from_the_scores(table):
    model = quick(Regressor, categorical_features=[1], n_estimators=20, **DROP)
    model.fit(table.X, table.number)
    loss = ((model.predict(table.X) - table.number) ** 2).mean() / 2
    assert loss == pytest.approx(model.train_loss_[-1], rel=1e-6)


def test_stages_are_sums_of_the_final_trees(table):
    model = quick(Regressor, **DROP).fit(table.X, table.number)
    stages = list(model.staged_predict(table.X))
    assert len(stages) == 8
    np.testing.assert_array_equal(stages[-1], model.predict(table.X))


def test_out_of_bag_improvement_is_measured_before_dropping(table):
    model = quick(Regressor, n_estimators=15, subsample=0.5, oob_score=True, **DROP)
    model.fit(table.X, table.number)
    before = model.oob_improvement_[:14]
    model = quick(Regressor, n_estimators=14, subsample=0.5, oob_score=True, **DROP)
    np.testing.assert_array_equal(model.fit(table.X, table.number).oob_improvement_, before)
    # A round that drops half of the model loses less than the dropped part.
    assert before.sum() > 0


def test_zero_dropout_changes_nothing(table):
    plain = quick(Regressor).fit(table.X, table.number)
    assert quick(Regressor, dropout=None).fit(table.X, table.number).fingerprint() == (
        plain.fingerprint()
    )
    assert quick(Regressor, dropout=Dart(rate=0.5)).fit(table.X, table.number).fingerprint() != (
        plain.fingerprint()
    )


def test_a_recipe_states_the_dropout():
    assert "dropped" not in Regressor().recipe()
    words = "0.1 of the rounds, at most 50, dropped in 0.5 of them"
    assert Regressor(dropout=Dart(rate=0.1)).recipe().endswith(words)


def test_leaf_values_are_multiples_of_the_resolution(table):
    model = quick(Regressor, loss="absolute_error", **DROP).fit(table.X, table.number)
    ensemble = model.model_.ensemble
    values = np.concatenate([ensemble.base, *(tree.value for tree in ensemble.trees)])
    np.testing.assert_array_equal(values * 2.0**36, np.rint(values * 2.0**36))


class Squares(Loss):
    """Squared error as a user would write it, without its degree."""

    def loss(self, y, score):
        return 0.5 * (y - score) ** 2

    def derivatives(self, y, score):
        return score - y, np.ones_like(score)


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_scores_beyond_the_resolution_are_refused(factor, table):
    y = table.number / table.number.std() * factor
    with pytest.raises(
        ValueError, match=r"dropout=Dart\(rate=0\.4\) rounds scores to steps of .*degree"
    ):
        quick(Regressor, loss=Squares(), **DROP).fit(table.X, y)
    quick(Regressor, **DROP).fit(table.X, y)
    quick(Regressor, loss=Squares(), **DROP).fit(table.X, y / factor)


def test_one_of_several_scores_may_have_nothing_to_learn() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = rng.poisson(np.exp(0.5 * X[:, 0])).astype(float)  # neither dispersion nor extra zeros
    loss = "zero_inflated_negative_binomial"
    model = GradientBoostingRegressor(loss=loss, dropout="dart", n_estimators=8).fit(X, y)
    assert model.train_loss_[-1] < model.train_loss_[0]

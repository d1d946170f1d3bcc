"""New leaf values of models with other objectives: they work, or are refused with a remedy."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from stagewise import (
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
    GradientBoostingSurvival,
    RandomForestClassifier,
    ranking_target,
    survival_target,
)
from stagewise.errors import InvalidParameterError
from stagewise.losses import Loss

QUICK = {"n_estimators": 6, "max_leaf_nodes": 5, "early_stopping": False, "subsample": 1.0}
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
NUMBER = X[:, 0] + rng.normal(size=300)
TARGETS = {
    "number": NUMBER,
    "count": np.floor(np.exp(NUMBER)),
    "two": (NUMBER > 0).astype(int),
    "grade": np.digitize(NUMBER, [-0.5, 0.5]),
    "labels": (X[:, :2] + rng.normal(size=(300, 2)) > 0).astype(int),
    "rank": ranking_target(np.digitize(NUMBER, [-0.5, 0.5]), qid=np.repeat(np.arange(30), 10)),
    "time": survival_target(np.exp(-NUMBER), X[:, 1] < 1),
    "cause": survival_target(np.exp(-NUMBER), rng.integers(0, 3, 300)),
}
Classifier, Regressor = GradientBoostingClassifier, GradientBoostingRegressor
Ranker, Survival = GradientBoostingRanker, GradientBoostingSurvival

RANKED = ("ndcg", "map", "pairwise", "softmax", "query_squared_error")
WORKS = [
    *((Classifier, loss, "two") for loss in ("focal", "brier", "hinge", "one_vs_rest")),
    *((Classifier, loss, "grade") for loss in ("focal", "brier", "one_vs_rest")),
    (Classifier, Loss.from_formula("log(1 + exp(-y*f))", y="±1"), "two"),
    (Regressor, Loss.from_formula("log(cosh(y-f))"), "number"),
    *((Ranker, loss, "rank") for loss in RANKED),
]


@pytest.mark.parametrize(("kind", "loss", "target"), WORKS, ids=range(len(WORKS)))
def test_the_rows_of_the_fit_give_its_own_leaf_values(kind, loss, target):
    y = TARGETS[target]
    model = kind(loss=loss, **QUICK).fit(X, y)
    again = model.refit(X, y, decay=0.0)
    of = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    np.testing.assert_allclose(getattr(again, of)(X), getattr(model, of)(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", ["xendcg", "yetirank"])
def test_the_noise_of_some_losses_depends_on_the_scores(loss):
    """Scores that differ in the last digit have other noise, so the values are close only."""
    y = TARGETS["rank"]
    model = Ranker(loss=loss, **QUICK).fit(X, y)
    again = model.refit(X, y, decay=0.0)
    assert np.corrcoef(again.predict(X), model.predict(X))[0, 1] > 0.98


REFUSED = [
    (Regressor(loss="quantile", quantile=[0.1, 0.9], **QUICK), "number", "has 2. Fit a new model"),
    (Regressor(loss="expectile", quantile=[0.1, 0.9], **QUICK), "number", "has 2. Fit a new model"),
    (Regressor(loss="normal", **QUICK), "number", "loss='normal' has 2. Fit a new model"),
    (Regressor(loss="negative_binomial", **QUICK), "count", "has 2. Fit a new model"),
    (Classifier(loss="cumulative_logit", **QUICK), "grade", "its thresholds are .*; fit it again"),
    (Classifier(loss="cumulative_probit", **QUICK), "grade", "its thresholds are .*; fit it again"),
    (Classifier(**QUICK), "labels", "several targets of classes; fit it again"),
    (RandomForestClassifier(n_estimators=3), "labels", "several targets of classes; fit it again"),
    (
        Survival(loss="cox", **QUICK),
        "time",
        "baseline hazards were learned with loss='cox' .*warm_start=True",
    ),
    (Survival(loss="aft", **QUICK), "time", "scale was learned with loss='aft' .*warm_start=True"),
    (
        Survival(loss="discrete_time", **QUICK),
        "time",
        "intervals were learned with loss='discrete_time' ",
    ),
    (
        Survival(loss="cause_specific", **QUICK),
        "cause",
        "baseline hazards were learned with loss='cause_spec",
    ),
    (
        Survival(loss="fine_gray", **QUICK),
        "cause",
        "baseline hazards were learned with loss='fine_gray' ",
    ),
]


@pytest.mark.parametrize(("model", "target", "words"), REFUSED, ids=range(len(REFUSED)))
def test_other_models_are_refused_with_the_reason_and_a_remedy(model, target, words):
    y = TARGETS[target]
    model = clone(model).fit(X, y)
    before = model.fingerprint()
    with pytest.raises((InvalidParameterError, ValueError), match=words):
        model.refit(X, y)
    assert model.fingerprint() == before

"""Trees of models with other objectives than one score per target, as JSON, frames and text."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from reference.json_reader import scores
from stagewise import (
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
    GradientBoostingSurvival,
    RandomForestClassifier,
    export_json,
    export_shap,
    export_text,
    ranking_target,
    survival_target,
    trees_to_frame,
)
from stagewise.estimators.bases.model_access import predict_scores
from stagewise.inspection.fitted_model import FittedModel
from stagewise.losses import Loss
from survival.samples import competing, proportional

QUICK = {"n_estimators": 6, "max_leaf_nodes": 5}
FORMULA = Loss.from_formula("log(1 + exp(-y*f))", y="±1")
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
NUMBER = X[:, 0] + rng.normal(size=200)
GRADE = np.digitize(NUMBER, [-0.5, 0.5])
LABELS = (X + rng.normal(size=(200, 3)) > 0).astype(int)


def survival(loss):
    rows, time, event = (competing if loss in ("cause_specific", "fine_gray") else proportional)()
    return GradientBoostingSurvival(loss=loss, **QUICK).fit(rows, survival_target(time, event))


def classifier(loss, y):
    return GradientBoostingClassifier(loss=loss, **QUICK).fit(X, y)


def regressor(loss, y, **parameters):
    return GradientBoostingRegressor(loss=loss, **QUICK, **parameters).fit(X, y)


MODELS = {
    "cox": lambda: survival("cox"),
    "aft": lambda: survival("aft"),
    "discrete_time": lambda: survival("discrete_time"),
    "cause_specific": lambda: survival("cause_specific"),
    "fine_gray": lambda: survival("fine_gray"),
    "quantiles": lambda: regressor("quantile", NUMBER, quantile=[0.1, 0.5, 0.9]),
    "normal": lambda: regressor("normal", NUMBER),
    "counts": lambda: regressor("zero_inflated_poisson", np.floor(np.exp(NUMBER))),
    "shares": lambda: regressor("cross_entropy", 1 / (1 + np.exp(-NUMBER))),
    "ratios": lambda: regressor("squared_log_error", np.exp(NUMBER)),
    "cumulative_logit": lambda: classifier("cumulative_logit", GRADE),
    "cumulative_probit": lambda: classifier("cumulative_probit", GRADE),
    "focal": lambda: classifier("focal", LABELS[:, 0]),
    "hinge": lambda: classifier("hinge", LABELS[:, 0]),
    "brier": lambda: classifier("brier", GRADE),
    "formula": lambda: classifier(FORMULA, LABELS[:, 0]),
    "labels": lambda: classifier("log_loss", LABELS),
    "labels of a forest": lambda: RandomForestClassifier(n_estimators=4).fit(X, LABELS),
    "ranking": lambda: GradientBoostingRanker(**QUICK).fit(
        X, ranking_target(GRADE, qid=np.repeat(np.arange(20), 10))
    ),
}
LINKS = {
    "identity": ("cox", "cause_specific", "fine_gray", "ranking", "labels of a forest"),
    "exp": ("aft", "ratios"),
    "sigmoid": ("shares",),
    "intervals": ("discrete_time",),
    "labels": ("labels",),
    "logistic": ("formula",),
    "softmax": ("brier",),
    "margin": ("hinge",),
}


def link(described, score):
    """Return the prediction of one row, as docs/trees.md describes it."""
    own = described["link"]
    f = [value / own["divisor"] for value in score]
    if own["kind"] == "intervals":
        hazard = np.cumsum([math.log1p(math.exp(value)) for value in f])
        found = [sum(1.0 - math.exp(-h) for h in hazard)]
    elif own["kind"] == "sigmoid":
        found = [1 / (1 + math.exp(-value)) for value in f]
    elif own["kind"] == "labels":
        found = [1 / (1 + math.exp(sign * value)) for value in f for sign in (1, -1)]
    else:
        found = f if own["kind"] == "identity" else [math.exp(value) for value in f]
    return [a + b * v for a, b, v in zip(own["offset"], own["scale"], found, strict=True)]


@pytest.mark.parametrize("name", MODELS)
def test_trees_of_every_objective_are_exported(name):
    model = MODELS[name]()
    rows = np.random.default_rng(1).normal(size=(20, model.n_features_in_))
    described = json.loads(export_json(model))
    names = [feature["name"] for feature in described["features"]]
    found = [scores(described, dict(zip(names, row, strict=True))) for row in rows.tolist()]
    fitted = FittedModel.of(model, "test", of_targets=True)
    known = fitted.score(fitted.columns(rows))
    np.testing.assert_allclose(found, known.reshape(len(rows), -1), rtol=1e-12, atol=1e-12)
    assert len(described["scores"]) == len(found[0])
    kinds = [kind for kind, own in LINKS.items() if name in own]
    assert kinds == ([described["link"]["kind"]] if described["link"] else [])
    if kinds and kinds[0] in ("identity", "exp", "sigmoid", "intervals", "labels"):
        predicted = np.asarray(predict_scores(model, known)).reshape(len(rows), -1)
        np.testing.assert_allclose([link(described, f) for f in found], predicted, rtol=1e-12)
    frame = trees_to_frame(model)
    assert frame["tree"].nunique() == len(described["trees"])
    assert str(export_text(model))
    assert len(export_shap(model)["trees"]) == len(described["trees"])


def test_what_the_loss_has_learned_is_exported():
    described = json.loads(export_json(MODELS["cumulative_logit"]()))
    assert described["learned"]["thresholds"] == sorted(described["learned"]["thresholds"])
    described = json.loads(export_json(MODELS["discrete_time"]()))
    assert len(described["learned"]["ends"]) == len(described["scores"])
    assert described["scores"][0].startswith("until ")
    assert json.loads(export_json(MODELS["labels"]()))["class_targets"] == [[0, 1]] * 3

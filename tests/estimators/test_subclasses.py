"""Subclasses of the estimators, defined by a user."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import stagewise
from stagewise import GradientBoostingRegressor, RandomForestRegressor, StagewiseRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = X[:, 0] + RNG.normal(size=120)
ESTIMATORS = [
    kind
    for name in stagewise.__all__
    if isinstance(kind := getattr(stagewise, name), type) and hasattr(kind, "fit")
]


class FewRounds(GradientBoostingRegressor):
    def __init__(self, n_estimators=5):
        super().__init__(n_estimators=n_estimators, max_depth=2)


class SmallForest(RandomForestRegressor):
    def __init__(self, n_estimators=5, note="mine"):
        super().__init__(n_estimators=n_estimators, max_depth=3, oob_score=False)
        self.note = note


@pytest.mark.parametrize("kind", [FewRounds, SmallForest])
def test_a_subclass_may_have_fewer_parameters(kind, tmp_path):
    model = kind(n_estimators=4)
    assert "4" in model.recipe()
    model.fit(X, Y)
    assert set(clone(model).get_params()) <= {"n_estimators", "note"}
    assert max(tree.depths.max() for tree in model.model_.ensemble.trees) <= 3
    model.save(tmp_path / "model.stgw")
    read = stagewise.load(tmp_path / "model.stgw")
    assert type(read) is kind.__mro__[1]
    assert (read.max_depth, read.n_estimators) == (model.max_depth, 4)
    np.testing.assert_array_equal(read.predict(X), model.predict(X))


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_equal_fits_have_equal_pickles(kind):
    y = Y > 0 if hasattr(kind, "predict_proba") else Y
    y = (np.abs(Y), Y > 0) if hasattr(kind, "predict_survival_function") else y
    if kind is stagewise.GradientBoostingRanker:
        y = stagewise.ranking_target(np.abs(np.rint(Y)), qid=np.arange(len(Y)) // 5)
    params = {"n_estimators": 3} if "n_estimators" in kind().get_params() else {}
    one, other = (kind(**params).fit(X, y) for _ in range(2))
    assert joblib.hash(one) == joblib.hash(other)
    assert pickle.dumps(one) == pickle.dumps(other)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).predict(X), one.predict(X))


def test_a_learner_that_cannot_be_pickled_can_be_fitted():
    learner = make_pipeline(FunctionTransformer(lambda x: x), LinearRegression())
    model = StagewiseRegressor(learner=learner, n_estimators=2).fit(X, Y)
    assert np.isfinite(model.predict(X)).all()
    with pytest.raises(TypeError, match=r"no fingerprint.*cannot be pickled.*not lambdas"):
        model.fingerprint()

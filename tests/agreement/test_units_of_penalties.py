"""The unit of the smallest gain: ½ [...] here and in the paper, [...] in XGBoost and LightGBM.

docs/conventions.md states these factors.
"""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest
import xgboost

from stagewise import GradientBoostingRegressor

L2 = 3.0
UNITS = [1.0, 1000.0]


def make(unit: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Return rows, targets, and the gain ½ [...] of the best first split."""
    rng = np.random.default_rng(0)
    X = np.arange(40.0)[:, np.newaxis]
    y = unit * (3.0 * (X[:, 0] > 25) + rng.normal(size=40))
    g = y.mean() - y
    scores = [
        part.sum() ** 2 / (len(part) + L2) for cut in range(1, 40) for part in (g[:cut], g[cut:])
    ]
    both = np.add(scores[::2], scores[1::2]) - g.sum() ** 2 / (40 + L2)
    return X, y, 0.5 * float(both.max())


def splits(predictions: np.ndarray) -> bool:
    return bool(np.ptp(predictions) > 0)


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
@pytest.mark.parametrize("unit", UNITS)
def test_min_gain_is_half_the_bracket(unit: float) -> None:
    X, y, gain = make(unit)
    for factor, expected in ((0.999, True), (1.001, False)):
        model = GradientBoostingRegressor(
            n_estimators=1, max_depth=1, min_samples_leaf=1, l2_regularization=L2,
            min_gain=factor * gain,
        )  # fmt: skip
        assert splits(model.fit(X, y).predict(X)) == expected


@pytest.mark.parametrize("unit", UNITS)
def test_gamma_of_xgboost_is_twice_min_gain(unit: float) -> None:
    X, y, gain = make(unit)
    for factor, expected in ((0.999, True), (1.001, False)):
        model = xgboost.XGBRegressor(
            n_estimators=1, max_depth=1, min_child_weight=0, reg_lambda=L2, base_score=y.mean(),
            gamma=factor * 2 * gain, tree_method="exact",
        )  # fmt: skip
        assert splits(model.fit(X, y).predict(X)) == expected


@pytest.mark.parametrize("unit", UNITS)
def test_min_split_gain_of_lightgbm_is_twice_min_gain(unit: float) -> None:
    X, y, gain = make(unit)
    for factor, expected in ((0.999, True), (1.001, False)):
        model = lightgbm.LGBMRegressor(
            n_estimators=1, max_depth=1, min_child_samples=1, min_child_weight=0, reg_lambda=L2,
            min_split_gain=factor * 2 * gain, verbose=-1, min_data_in_bin=1,
        )  # fmt: skip
        assert splits(model.fit(X, y).predict(X)) == expected


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
def test_min_impurity_decrease_of_scikit_learn_is_a_mean_over_the_rows() -> None:
    """Without λ, the decrease of the variance is 2 / n of the gain."""
    from sklearn.tree import DecisionTreeRegressor

    X, y, _ = make(1.0)
    stump = GradientBoostingRegressor(
        n_estimators=1, max_depth=1, min_samples_leaf=1, l2_regularization=0.0, learning_rate=1.0
    ).fit(X, y)
    gain = 0.5 * (((y - y.mean()) ** 2).sum() - ((y - stump.predict(X)) ** 2).sum())
    for factor, expected in ((0.999, True), (1.001, False)):
        tree = DecisionTreeRegressor(max_depth=1, min_impurity_decrease=factor * 2 * gain / 40)
        assert splits(tree.fit(X, y).predict(X)) == expected
        other = GradientBoostingRegressor(
            n_estimators=1, max_depth=1, min_samples_leaf=1, l2_regularization=0.0,
            min_gain=factor * gain,
        )  # fmt: skip
        assert splits(other.fit(X, y).predict(X)) == expected

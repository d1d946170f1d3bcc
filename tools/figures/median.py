"""The figure of AdaBoost.R2: the weighted median of trees, and test errors by rounds."""

from __future__ import annotations

import numpy as np
from data import wave
from style import BLUE, GREY, ORANGE, RED, plt, save

from stagewise import AdaBoostRegressor

__all__ = ["ada_boost_r2"]

ROUNDS = 100


def ada_boost_r2() -> None:
    """Draw the median of 1, 10 and 100 trees, and the test errors of the three losses."""
    X, y = wave(200, 0)
    X_test, y_test = wave(2_000, 1)
    grid = np.linspace(0, 10, 500)[:, np.newaxis]
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.6))
    left.scatter(X[:, 0], y, s=6, color=GREY)
    for loss, colour in (("linear", BLUE), ("square", ORANGE), ("exponential", RED)):
        model = AdaBoostRegressor(n_estimators=ROUNDS, loss=loss).fit(X, y)
        errors = [np.sqrt(np.mean((p - y_test) ** 2)) for p in model.staged_predict(X_test)]
        print(f"  {loss}: RMSE of one tree {errors[0]:.3f}, of {model.n_iter_} {errors[-1]:.3f}")
        right.plot(np.arange(1, len(errors) + 1), errors, color=colour, label=loss)
        if loss == "linear":
            for n, shade in ((1, ORANGE), (10, BLUE), (model.n_iter_, RED)):
                left.plot(grid[:, 0], model.predict(grid, n_rounds=n), color=shade, label=f"{n}")
    left.set(xlabel="x", ylabel="y")
    left.legend(title="trees", frameon=False)
    right.set(xlabel="round", ylabel="test RMSE")
    right.legend(title="loss", frameon=False)
    save(fig, "ada_boost_r2")

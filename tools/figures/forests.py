"""The figure of forests: the error by the number of trees, and by the features of a node."""

from __future__ import annotations

import numpy as np
from data import additive
from style import BLUE, GREEN, GREY, ORANGE, plt, save

from stagewise import ExtraTreesRegressor, GradientBoostingRegressor, RandomForestRegressor

__all__ = ["random_forest"]


def random_forest() -> None:
    """Draw the error by the number of trees, and by `max_features`."""
    (X, y), (X_test, y_test) = additive(500, 0), additive(5_000, 1)
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
    forest = RandomForestRegressor(n_estimators=300).fit(X, y)
    errors = [np.mean((p - y_test) ** 2) for p in forest.staged_predict(X_test)]
    number = range(1, 301)
    left.plot(number, errors, color=BLUE, label="test rows")
    left.plot(number, 2 * forest.oob_loss_, color=ORANGE, label="out-of-bag rows")
    boosted = GradientBoostingRegressor(n_estimators=300, max_depth=3, early_stopping="cv")
    error = np.mean((boosted.fit(X, y).predict(X_test) - y_test) ** 2)
    left.axhline(error, color=GREEN, lw=1)
    left.text(1, error - 0.2, "boosting", color=GREEN, va="top")
    left.axhline(9.0, color=GREY, ls="--")
    left.text(300, 9.1, "noise", ha="right", va="bottom", color=GREY)
    left.set(xlabel="trees", ylabel="squared error", xscale="log", ylim=(8, 32))
    left.legend()
    print(f"  300 trees: test {errors[-1]:.2f}, out of bag {2 * forest.oob_loss_[-1]:.2f}")
    print(f"  boosting: {error:.2f}")
    columns = range(1, X.shape[1] + 1)
    for kind, colour, name in (
        (RandomForestRegressor, BLUE, "random forest"),
        (ExtraTreesRegressor, ORANGE, "extra trees"),
    ):
        found = [
            np.mean(
                (kind(n_estimators=200, max_features=m).fit(X, y).predict(X_test) - y_test) ** 2
            )
            for m in columns
        ]
        right.plot(columns, found, "o-", color=colour, label=name)
        print(f"  {name}, by columns: {' '.join(f'{e:.2f}' for e in found)}")
    right.set(xlabel="features drawn per node", ylabel="squared test error")
    right.legend()
    save(fig, "random_forest")

"""The figure of fully corrective boosting."""

from __future__ import annotations

import numpy as np
from data import additive
from style import BLUE, GREEN, ORANGE, plt, save

from stagewise import StagewiseRegressor
from stagewise.learners import HistogramTree

__all__ = ["corrective"]

ROUNDS = range(2, 61, 2)
WAYS = {
    None: (BLUE, "stagewise"),
    "end": (GREEN, "corrected at the end"),
    "each_round": (ORANGE, "corrected in each round"),
}


def corrective() -> None:
    """Draw training and test errors of stagewise and of fully corrective boosting."""
    (X, y), (X_test, y_test) = additive(500, 0), additive(10_000, 1)
    tree = HistogramTree(max_leaf_nodes=4, min_samples_leaf=1, l2=0.0)
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
    for when, (colour, name) in WAYS.items():
        errors = []
        for n in ROUNDS:  # later rounds change the coefficients of earlier ones
            model = StagewiseRegressor(
                learner=tree, learning_rate=0.3, n_estimators=n, corrective=when
            ).fit(X, y)
            errors.append(
                (2 * model.train_loss_[-1], np.mean((y_test - model.predict(X_test)) ** 2))
            )
        training, test = np.transpose(errors)
        left.plot(ROUNDS, training, color=colour, label=name)
        right.plot(ROUNDS, test, color=colour, label=name)
        best = ROUNDS[int(test.argmin())]
        print(f"  {name}: training {training[-1]:.1f}, test {test.min():.1f} at {best} rounds")
    left.set(xlabel="rounds", ylabel="training error", ylim=(0, None))
    right.set(xlabel="rounds", ylabel="test error")
    left.legend()
    save(fig, "corrective")

"""Dropout of trees: later trees contribute more, and the model overfits less.

The size of a tree is the standard deviation of what it adds to the predictions.
"""

import numpy as np

from stagewise import Dart, GradientBoostingRegressor
from stagewise.datasets import make_friedman1

(X, y), (X_test, y_test) = make_friedman1(300, noise=3), make_friedman1(5_000, noise=3, seed=1)
for rate in (0, 0.1, 0.3):
    model = GradientBoostingRegressor(
        dropout=Dart(rate=rate, skip=0) if rate else None,
        learning_rate=0.3,
        n_estimators=200,
        random_state=0,
    ).fit(X, y)
    stages = np.array(list(model.staged_predict(X)))
    sizes = np.diff(stages, axis=0).std(axis=1)
    error = np.mean((model.predict(X_test) - y_test) ** 2)
    print(
        f"rate {rate}: test error {error:.1f}; size of trees 2 to 11 {sizes[:10].mean():.3f}, ",
        end="",
    )
    print(f"of the last ten {sizes[-10:].mean():.3f}")

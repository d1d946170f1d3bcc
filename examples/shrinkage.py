"""Small steps need more rounds and end with a smaller error (Friedman 2001, section 5).

Least-squares boosting of trees with six leaves, on Friedman's first function.
"""

import numpy as np

from stagewise import GradientBoostingRegressor
from stagewise.datasets import make_friedman1

(X, y), (X_test, y_test) = make_friedman1(500, noise=3), make_friedman1(5_000, noise=3, seed=1)
for rate in (1, 0.5, 0.1, 0.05):
    model = GradientBoostingRegressor(
        learning_rate=rate,
        n_estimators=600,
        max_leaf_nodes=6,
        min_samples_leaf=5,
        l2_regularization=0,
        max_features=None,
    )
    stages = model.fit(X, y).staged_predict(X_test)
    errors = [np.mean((prediction - y_test) ** 2) for prediction in stages]
    best = np.argmin(errors)
    print(
        f"ν = {rate:4}: {errors[best]:5.2f} after {best + 1:3d} rounds, {errors[-1]:5.2f} after 600"
    )
print("no model is better than the noise: 9.00")

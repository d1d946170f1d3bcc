"""Bagging helps base estimators of high variance, and estimates the error without a test set."""

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from stagewise import BaggingRegressor, DecisionTreeRegressor
from stagewise.datasets import make_friedman1

(X, y), (X_test, y_test) = make_friedman1(300, seed=0), make_friedman1(3000, seed=1)


def error(model):
    """Return the mean squared error of the test rows."""
    return np.mean((model.predict(X_test) - y_test) ** 2)


bases = {
    "complete tree": DecisionTreeRegressor(),
    "tree of 6 leaves": DecisionTreeRegressor(max_leaf_nodes=6),
    "one neighbour": KNeighborsRegressor(1),
    "twenty neighbours": KNeighborsRegressor(20),
    "ridge regression": Ridge(),
}
print("                     alone  bagged")
for name, base in bases.items():
    bagged = BaggingRegressor(base, n_estimators=50).fit(X, y)
    print(f"{name:20s} {error(base.fit(X, y)):5.1f}   {error(bagged):5.1f}")

trees = BaggingRegressor(n_estimators=200, oob_score=True).fit(X, y)
print(f"\n200 trees: R² {trees.score(X_test, y_test):.3f}, out of bag {trees.oob_score_:.3f}")

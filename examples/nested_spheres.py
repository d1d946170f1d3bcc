"""Boosted stumps on nested spheres (Elements of Statistical Learning, figure 10.2).

Ten standard normal features; the class is whether their squares sum to more than 9.34, the median
of chi-squared with ten degrees of freedom. One stump is hardly better than chance.
"""

import numpy as np

from stagewise import AdaBoostClassifier


def spheres(n, seed):
    """Return n rows and their classes."""
    X = np.random.default_rng(seed).normal(size=(n, 10))
    return X, np.where((X**2).sum(axis=1) > 9.34, 1, -1)


X, y = spheres(2_000, 0)
X_test, y_test = spheres(10_000, 1)


def error(model):
    """Return the share of test rows that are predicted wrongly."""
    return 1 - model.fit(X, y).score(X_test, y_test)


print(f"one stump          {error(AdaBoostClassifier(n_estimators=1)):.1%} wrong")
one_tree = AdaBoostClassifier(n_estimators=1, max_depth=None, criterion="gini")
print(f"one large tree     {error(one_tree):.1%}")
boosted = AdaBoostClassifier(n_estimators=400)
print(f"400 boosted stumps {error(boosted):.1%}")
print(boosted.recipe())

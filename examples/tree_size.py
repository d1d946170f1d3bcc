"""The right size of trees: J leaves allow interactions of up to J - 1 features.

The logit of nested spheres is a sum of functions of one feature, so stumps (J = 2) suffice, and
larger trees only add variance (Elements of Statistical Learning, section 10.11).
"""

import numpy as np

from stagewise import GradientBoostingClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(7_000, 10))
y = (X**2).sum(axis=1) > 9.34
train, test = slice(0, 2_000), slice(2_000, None)

# The settings of the textbook: no penalty, all features in every node.
textbook = {"min_samples_leaf": 1, "l2_regularization": 0, "max_features": None}
for leaves in (2, 6, 20, 100):
    model = GradientBoostingClassifier(
        max_leaf_nodes=leaves, n_estimators=600, learning_rate=0.5, **textbook
    )
    model.fit(X[train], y[train])
    print(f"J = {leaves:3d}: {1 - model.score(X[test], y[test]):.1%} wrong")

stumps = GradientBoostingClassifier(max_leaf_nodes=2, n_estimators=400, **textbook)
stumps.fit(X[train], y[train])
a, b = X[test][:2]
both, neither = a.copy(), a.copy()
first, second = a.copy(), a.copy()
first[0] = both[0] = b[0]
second[1] = both[1] = b[1]
F = stumps.decision_function(np.array([neither, first, second, both]))
print(f"stumps are additive: {F[3] - F[2] - F[1] + F[0]:.1e}")

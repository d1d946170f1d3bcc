"""Pruning: the path of weakest links, and the size that each kind of pruning chooses."""

import numpy as np

from stagewise import DecisionTreeClassifier

rng = np.random.default_rng(0)


def arcs(n):
    """Return two interleaved arcs with noise, one for each class."""
    y = rng.integers(0, 2, n)
    turn, side = rng.uniform(-0.1, 1.1, n) * np.pi, np.where(y == 1, 1.0, -1.0)
    X = np.column_stack([side * (1.5 * np.cos(turn) - 0.75), side * (1.5 * np.sin(turn) - 0.4)])
    return X + rng.normal(0, 0.4, X.shape), y


(X, y), (X_test, y_test) = arcs(600), arcs(5000)

path = DecisionTreeClassifier(pruning="cost_complexity").fit(X, y).pruning_path_
print("        α  leaves  error of the folds")
for alpha, leaves, error in zip(path.alphas, path.n_leaves, path.errors, strict=True):
    print(f"{alpha:9.5f}  {leaves:6d}  {error:.3f}")

kinds = {
    "complete tree": {},
    "least error of the folds": {"pruning": "cost_complexity"},
    "one standard error": {"pruning": "cost_complexity", "one_standard_error": True},
    "reduced error": {"pruning": "reduced_error"},
    "early stopping": {"pruning": "early_stopping"},
}
for name, parameters in kinds.items():
    tree = DecisionTreeClassifier(**parameters, random_state=0).fit(X, y)
    error = np.mean(tree.predict(X_test) != y_test)
    print(f"{name:25s} {tree.get_n_leaves():3d} leaves, test error {error:.3f}")

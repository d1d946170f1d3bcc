"""Gradient boosting in a hundred lines of NumPy, one function per equation.

The equations are those of Chen & Guestrin (2016). A model F = f_0 + ν Σ_t f_t(x) is a sum of trees
f_t with J leaves of values w, which round by round decreases the objective

    Obj = Σ_i L(y_i, F(x_i)) + Σ_t (γ J + ½ λ Σ_j w_j²).

`python examples/tinygbt.py` compares it with Stagewise.
"""

from collections import namedtuple

import numpy as np

Loss = namedtuple("Loss", "value g h f_0")  # L, ∂L/∂F, ∂²L/∂F², the best constant
Split = namedtuple("Split", "feature threshold gain left right")
Leaf = namedtuple("Leaf", "value")
Model = namedtuple("Model", "f_0 trees learning_rate")

# L = ½ (y - F)²: the gradient is the negative residual, F - y.
HALF_SQUARED_ERROR = Loss(
    value=lambda y, F: (y - F) ** 2 / 2,
    g=lambda y, F: F - y,
    h=lambda y, F: np.ones(len(y)),
    f_0=np.mean,
)
# L = (y - F)², without ½: twice the g and h. With 2λ and 2γ the trees are the same as above.
SQUARED_ERROR = Loss(
    value=lambda y, F: (y - F) ** 2,
    g=lambda y, F: 2 * (F - y),
    h=lambda y, F: np.full(len(y), 2.0),
    f_0=np.mean,
)
# L = log(1 + exp F) - y F for y in {0, 1}: F is the log odds of p = σ(F).
LOG_LOSS = Loss(
    value=lambda y, F: np.logaddexp(0, F) - y * F,
    g=lambda y, F: sigmoid(F) - y,
    h=lambda y, F: sigmoid(F) * (1 - sigmoid(F)),
    f_0=lambda y: np.log(np.mean(y) / (1 - np.mean(y))),
)


def sigmoid(F):
    """σ(F) = 1 / (1 + exp(-F))."""
    return 1 / (1 + np.exp(-F))


def objective(loss, y, F, trees, l2, gamma):
    """Obj = Σ_i L(y_i, F(x_i)) + Σ_t (γ J + ½ λ Σ_j w_j²)   (eq. 2)."""
    penalties = [gamma * len(w) + l2 / 2 * (w**2).sum() for w in map(leaf_values, trees)]
    return loss.value(y, F).sum() + sum(penalties)


def leaf_value(G, H, l2):
    """w* = -G / (H + λ) minimises G w + ½ (H + λ) w², with G = Σ g and H = Σ h   (eq. 5)."""
    return -G / (H + l2)


def score(G, H, l2):
    """G² / (H + λ): twice the decrease of the objective by the leaf w*   (eq. 6)."""
    return G**2 / (H + l2)


def gain(G_L, H_L, G_R, H_R, l2, gamma):
    """½ [G_L²/(H_L + λ) + G_R²/(H_R + λ) - (G_L + G_R)²/(H_L + H_R + λ)] - γ   (eq. 7)."""
    both = score(G_L + G_R, H_L + H_R, l2)
    return (score(G_L, H_L, l2) + score(G_R, H_R, l2) - both) / 2 - gamma


def best_split(X, g, h, l2, gamma):
    """Return the largest gain, its feature and its threshold: exact greedy search (Algorithm 1)."""
    best = (0.0, None, None)
    for feature, x in enumerate(X.T):
        order = np.argsort(x, kind="stable")
        G, H, x = g[order].cumsum(), h[order].cumsum(), x[order]
        gains = gain(G[:-1], H[:-1], G[-1] - G[:-1], H[-1] - H[:-1], l2, gamma)
        gains[x[1:] == x[:-1]] = -np.inf  # equal values stay together
        # Features that separate the same rows differ by rounding errors only: the first is taken.
        if len(gains) and gains.max() > best[0] * (1 + 1e-12):
            i = gains.argmax()
            best = (gains[i], feature, (x[i] + x[i + 1]) / 2)
    return best


def grow(X, g, h, depth, l2, gamma):
    """Return the tree f(x) = w_q(x): split while the gain is positive and depth remains."""
    best, feature, threshold = best_split(X, g, h, l2, gamma) if depth else (0.0, None, None)
    if feature is None:
        return Leaf(leaf_value(g.sum(), h.sum(), l2))
    left = X[:, feature] <= threshold
    sides = [grow(X[side], g[side], h[side], depth - 1, l2, gamma) for side in (left, ~left)]
    return Split(feature, threshold, best, *sides)


def leaf_values(tree):
    """Return w, the values of the leaves from left to right."""
    if isinstance(tree, Leaf):
        return np.array([tree.value])
    return np.concatenate([leaf_values(tree.left), leaf_values(tree.right)])


def predict_tree(tree, X):
    """f(x) = w_q(x), where q(x) is the leaf of x   (eq. 1)."""
    if isinstance(tree, Leaf):
        return np.full(len(X), tree.value)
    left = X[:, tree.feature] <= tree.threshold
    return np.where(left, predict_tree(tree.left, X), predict_tree(tree.right, X))


def boost(X, y, loss, n_estimators=50, learning_rate=0.1, max_depth=3, l2=1.0, gamma=0.0):
    """F ← f_0; in every round F ← F + ν f_t, where f_t is grown on g and h at F."""
    model = Model(loss.f_0(y), [], learning_rate)
    F = np.full(len(y), model.f_0)
    for _ in range(n_estimators):
        tree = grow(X, loss.g(y, F), loss.h(y, F), max_depth, l2, gamma)
        F = F + learning_rate * predict_tree(tree, X)
        model.trees.append(tree)
    return model


def predict(model, X):
    """F(x) = f_0 + ν Σ_t f_t(x)."""
    return model.f_0 + model.learning_rate * sum(predict_tree(tree, X) for tree in model.trees)


def main():
    """Compare the models with those of the library, on Friedman's first function."""
    from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
    from stagewise.datasets import make_friedman1

    (X, y), (X_test, y_test) = make_friedman1(300, seed=0), make_friedman1(2_000, seed=1)
    plain = {"split": "exact", "max_leaf_nodes": None, "min_samples_leaf": 1, "min_hessian": 0}
    shared = {"n_estimators": 50, "learning_rate": 0.1, "max_depth": 3, "max_features": None}
    settings = {"l2_regularization": 1.0, "min_gain": 0.5, **plain, **shared}

    ours = predict(boost(X, y, HALF_SQUARED_ERROR, gamma=0.5), X_test)
    full = predict(boost(X, y, SQUARED_ERROR, l2=2.0, gamma=1.0), X_test)
    theirs = GradientBoostingRegressor(**settings).fit(X, y).predict(X_test)
    print(f"squared error: mean test error {np.mean((ours - y_test) ** 2):.3f}")
    print(f"  without ½, 2λ and 2γ: largest difference {np.abs(ours - full).max():.1e}")
    print(f"  Stagewise:            largest difference {np.abs(ours - theirs).max():.1e}")

    c, c_test = (y > 14).astype(float), y_test > 14
    ours = predict(boost(X, c, LOG_LOSS, gamma=0.5), X_test)
    theirs = GradientBoostingClassifier(**settings).fit(X, c).decision_function(X_test)
    print(f"log loss: test error {np.mean((ours > 0) != c_test):.1%}")
    print(f"  Stagewise:            largest difference {np.abs(ours - theirs).max():.1e}")


if __name__ == "__main__":
    main()

"""Draw the figures of docs: `make figures`.

There is one function per figure. Each simulates its data reproducibly, and prints the numbers of
the captions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
from accuracy import accuracy
from bagging import bagging, committees, cross_validation_committees
from bias_variance import bias_variance_figure
from classes import class_losses, formula_losses, label_quality, ordinal
from conformal_intervals import calibrated_probabilities, prediction_intervals, prediction_sets
from corrections import corrective
from data import TEXTBOOK, additive, spheres, wave
from distributions import distributions, families
from forests import random_forest
from guides import columns, intervals, threshold_costs, tuning, tutorial
from insurance import insurance
from landing import landing
from linear import best_subset, linear_model, stagewise_linear, stepwise
from losses import losses
from margins import ada_boost_path_figure, margins_figure
from median import ada_boost_r2
from multiway import multiway_splits
from quality import quality, shapley
from ranking import ranking, ranking_losses
from sampling import dart, sampling
from simulated import simulated
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer
from steps import gradient_rates, newton_errors, newton_rates
from style import BLUE, GREEN, GREY, ORANGE, RED, plt, save
from tables import describe_table
from trees import decision_tree, pruning

from inspection import inspection
from stagewise import (
    AdaBoostClassifier,
    GentleBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LogitBoostClassifier,
    StagewiseRegressor,
)
from stagewise.learners import HistogramTree
from survival import survival, survival_curves


def test_errors(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.array([np.mean(p != y) for p in model.staged_predict(X)])


def forward_stagewise() -> None:
    """Draw F after some rounds, with trees of four leaves."""
    X, y = wave(200, 0)
    grid = np.linspace(0, 10, 500)[:, np.newaxis]
    model = StagewiseRegressor(
        learner=HistogramTree(max_leaf_nodes=4, min_samples_leaf=5, l2=0.0),
        learning_rate=0.5,
        n_estimators=50,
    ).fit(X, y)
    stages = list(model.staged_predict(grid))
    fig, axes = plt.subplots(1, 4, figsize=(9, 2.6), sharey=True)
    for ax, rounds in zip(axes, (1, 3, 10, 50), strict=True):
        ax.plot(X[:, 0], y, ".", color=GREY, ms=2)
        ax.plot(grid[:, 0], stages[rounds - 1], color=BLUE)
        ax.set_title(f"{rounds} round{'s' if rounds > 1 else ''}")
        ax.set_xlabel("x")
    axes[0].set_ylabel("f(x)")
    save(fig, "forward_stagewise")


def ada_boost() -> None:
    """Draw the test error of boosted stumps, beside one stump and one large tree."""
    (X, y), (X_test, y_test) = spheres(2_000, 0), spheres(10_000, 1)
    model = AdaBoostClassifier(n_estimators=400).fit(X, y)
    errors = test_errors(model, X_test, y_test)
    large = AdaBoostClassifier(n_estimators=1, max_depth=None, criterion="gini").fit(X, y)
    tree = 1 - large.score(X_test, y_test)
    print(f"  stump {errors[0]:.3f}, large tree {tree:.3f}, 400 stumps {errors[-1]:.3f}")
    fig, ax = plt.subplots()
    ax.plot(range(1, 401), errors, color=BLUE, label="boosted stumps")
    ax.axhline(errors[0], color=GREY, ls=":")
    ax.text(400, errors[0] - 0.01, "one stump", ha="right", va="top", color=GREY)
    ax.axhline(tree, color=GREY, ls="--")
    ax.text(400, tree + 0.006, "one large tree", ha="right", color=GREY)
    ax.plot(range(1, 401), model.train_loss_, color=ORANGE, label="exponential loss (training)")
    ax.plot(range(1, 401), test_errors(model, X, y), color=GREEN, label="training error")
    ax.set(xlabel="rounds", ylabel="error rate or loss", ylim=(0, 1))
    ax.legend()
    save(fig, "ada_boost")


def samme() -> None:
    """Draw three classes in the plane, and the predictions of 1, 10 and 100 stumps."""
    rng = np.random.default_rng(0)
    y = np.arange(600) % 3
    X = np.array([[-1.2, -0.8], [1.2, -0.8], [0.0, 1.2]])[y] + rng.normal(0, 0.8, (600, 2))
    model = AdaBoostClassifier(n_estimators=100, learning_rate=0.5).fit(X, y)
    side = np.linspace(-3.5, 3.5, 200)
    grid = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    stages = list(model.staged_predict(grid))
    fig, axes = plt.subplots(1, 3, figsize=(9, 3.1), sharey=True)
    colours = mpl.colors.ListedColormap([BLUE, ORANGE, GREEN])
    for ax, rounds in zip(axes, (1, 10, 100), strict=True):
        ax.pcolormesh(side, side, stages[rounds - 1].reshape(200, 200), cmap=colours, alpha=0.35)
        ax.scatter(*X.T, c=y, cmap=colours, s=3)
        ax.set_title(f"{rounds} stump{'s' if rounds > 1 else ''}")
        ax.grid(visible=False)
    print(f"  accuracy {model.score(X, y):.3f}")
    save(fig, "samme")


def real_and_gentle() -> None:
    """Draw the value of a leaf by p, and the test errors of four ways to boost stumps."""
    (X, y), (X_test, y_test) = spheres(2_000, 0), spheres(10_000, 1)
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
    p = np.linspace(0.001, 0.999, 500)
    left.plot(p, 0.5 * np.log(p / (1 - p)), color=ORANGE, label="real: ½ log p/(1-p)")
    left.plot(p, 2 * p - 1, color=GREEN, label="gentle: 2p - 1")
    left.set(xlabel="p, fraction of class 1 in a leaf", ylabel="value of the leaf")
    left.legend()
    ways = {
        "discrete": (AdaBoostClassifier(), BLUE),
        "real": (AdaBoostClassifier(algorithm="real", criterion="gini"), ORANGE),
        "gentle": (GentleBoostClassifier(), GREEN),
        "LogitBoost": (LogitBoostClassifier(), RED),
    }
    for name, (model, colour) in ways.items():
        errors = test_errors(model.set_params(n_estimators=400).fit(X, y), X_test, y_test)
        print(f"  {name}: {errors[-1]:.3f} after 400")
        right.plot(range(1, 401), errors, color=colour, label=name)
    right.set(xlabel="rounds", ylabel="test error, nested spheres", ylim=(0.04, 0.4))
    right.legend()
    save(fig, "real_and_gentle")


def logit_boost() -> None:
    """Draw the working response and its weight, as functions of p."""
    p = np.linspace(0.005, 0.995, 500)
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2))
    left.plot(p, 1 / p, color=GREY, ls=":", label="1/p, without a limit")
    left.plot(p, np.minimum(1 / p, 4), color=BLUE, label="z of a row with y = 1")
    left.plot(p, -np.minimum(1 / (1 - p), 4), color=ORANGE, label="z of a row with y = 0")
    left.set(xlabel="current p", ylabel="working response z", ylim=(-8, 8))
    left.legend(loc="upper right")
    right.plot(p, p * (1 - p), color=GREEN)
    right.set(xlabel="current p", ylabel="weight p(1-p)")
    save(fig, "logit_boost")


def gradient_boosting() -> None:
    """Draw squared, absolute and Huber loss with outliers, one row in twelve."""
    X, y = wave(300, 1)
    rng = np.random.default_rng(2)
    far = rng.random(300) < 1 / 12
    y = y + far * rng.choice([6, 9], 300)
    grid = np.linspace(0, 10, 500)[:, np.newaxis]
    truth = np.sin(grid[:, 0]) + 0.15 * grid[:, 0]
    fig, ax = plt.subplots()
    ax.plot(X[:, 0], y, ".", color=GREY, ms=3)
    ax.plot(grid[:, 0], truth, color="black", lw=1, label="truth")
    for loss, colour in (("squared_error", RED), ("absolute_error", GREEN), ("huber", BLUE)):
        model = GradientBoostingRegressor(
            loss=loss,
            response="gradient",
            max_leaf_nodes=6,
            min_samples_leaf=8,
            n_estimators=80,
            **TEXTBOOK,
        ).fit(X, y)
        error = np.abs(model.predict(grid) - truth).mean()
        print(f"  {loss}: mean distance to the truth {error:.2f}")
        ax.plot(grid[:, 0], model.predict(grid), color=colour, label=loss)
    ax.set(xlabel="x", ylabel="y", ylim=(-2.5, 6))
    ax.legend(ncols=2)
    save(fig, "gradient_boosting")


def newton_boosting() -> None:
    """Draw the probabilities of gradient and Newton boosting after some rounds."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (600, 2))
    p = 1 / (1 + np.exp(-4 * (X[:, 0] * X[:, 1])))
    y = (rng.random(600) < p).astype(int)
    side = np.linspace(-2, 2, 120)
    grid = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    fig, axes = plt.subplots(2, 6, figsize=(10, 3.7), sharex=True, sharey=True)
    for row, response in zip(axes, ("gradient", "newton"), strict=True):
        model = GradientBoostingClassifier(
            response=response,
            max_leaf_nodes=4,
            min_samples_leaf=5,
            learning_rate=0.5,
            n_estimators=50,
            **TEXTBOOK,
        ).fit(X, y)
        stages = [s[:, 1] for s in model.staged_predict_proba(grid)]
        print(f"  {response}: training loss {model.train_loss_[-1]:.3f} after 50")
        for ax, rounds in zip(row, (1, 2, 3, 4, 9, 50), strict=True):
            image = stages[rounds - 1].reshape(120, 120)
            ax.pcolormesh(side, side, image, cmap="RdBu_r", vmin=0, vmax=1)
            ax.grid(visible=False)
            ax.set_xticks([])
            ax.set_yticks([])
            if response == "gradient":
                ax.set_title(f"{rounds} round{'s' if rounds > 1 else ''}")
        row[0].set_ylabel(response)
    save(fig, "newton_boosting")


def regularised() -> None:
    """Draw the held-out loss for three penalties λ, noisy classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6_000, 8))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.logistic(size=6_000) > 0).astype(int)
    fig, ax = plt.subplots()
    for l2, colour in ((0.0, RED), (3.0, BLUE), (100.0, GREEN)):
        model = GradientBoostingClassifier(
            learning_rate=0.1,
            max_features=1.0,
            n_estimators=150,
            l2_regularization=l2,
            min_samples_leaf=1,
            n_iter_no_change=150,
        ).fit(X[:1_000], y[:1_000], X_val=X[1_000:], y_val=y[1_000:])
        print(f"  λ={l2:g}: best {model.validation_loss_.min():.3f}")
        ax.plot(range(1, 151), model.validation_loss_, color=colour, label=f"λ = {l2:g}")
    ax.set(xlabel="rounds", ylabel="held-out log loss")
    ax.legend()
    save(fig, "regularised")


def least_squares() -> None:
    """Draw the test error for four learning rates."""
    (X, y), (X_test, y_test) = additive(500, 0), additive(5_000, 1)
    fig, ax = plt.subplots()
    for rate, colour in ((1.0, RED), (0.5, ORANGE), (0.05, BLUE), (0.005, GREEN)):
        model = GradientBoostingRegressor(
            learning_rate=rate,
            n_estimators=2_000,
            max_leaf_nodes=6,
            min_samples_leaf=5,
            **TEXTBOOK,
        ).fit(X, y)
        errors = [np.mean((p - y_test) ** 2) for p in model.staged_predict(X_test)]
        print(f"  ν={rate:g}: least test error {min(errors):.2f} at {np.argmin(errors) + 1}")
        ax.plot(range(1, 2_001), errors, color=colour, label=f"ν = {rate:g}")
    ax.set(xlabel="rounds", ylabel="squared test error", xscale="log", ylim=(9, 30))
    ax.legend()
    save(fig, "least_squares")


def stochastic() -> None:
    """Draw the test error with half of the rows per round, and the out-of-bag improvement."""
    (X, y), (X_test, y_test) = additive(500, 0), additive(5_000, 1)
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.3))
    for share, colour in ((1.0, ORANGE), (0.5, BLUE)):
        model = GradientBoostingRegressor(
            subsample=share,
            oob_score=share < 1,
            learning_rate=0.1,
            n_estimators=600,
            max_leaf_nodes=6,
            min_samples_leaf=5,
            **TEXTBOOK,
        ).fit(X, y)
        errors = [np.mean((p - y_test) ** 2) for p in model.staged_predict(X_test)]
        print(f"  η={share:g}: least test error {min(errors):.2f} at {np.argmin(errors) + 1}")
        left.plot(range(1, 601), errors, color=colour, label=f"{share:.0%} of the rows per round")
    left.set(xlabel="rounds", ylabel="squared test error", ylim=(9, 20))
    left.legend()
    total = np.cumsum(model.oob_improvement_)
    right.plot(range(1, 601), total, color=BLUE)
    right.axvline(model.oob_best_iteration_, color=GREY, ls="--")
    right.set(xlabel="rounds", ylabel="Σ out-of-bag improvement")
    print(f"  out-of-bag choice {model.oob_best_iteration_}")
    save(fig, "stochastic")


def any_learner() -> None:
    """Draw models with splines, neighbours and trees as learner."""
    X, y = wave(200, 3)
    grid = np.linspace(0, 10, 500)[:, np.newaxis]
    learners = {
        "splines": (make_pipeline(SplineTransformer(12), Ridge(0.1)), GREEN),
        "neighbours": (KNeighborsRegressor(20), ORANGE),
        "trees": (HistogramTree(max_leaf_nodes=4, min_samples_leaf=5), BLUE),
    }
    fig, ax = plt.subplots()
    ax.plot(X[:, 0], y, ".", color=GREY, ms=3)
    for name, (learner, colour) in learners.items():
        model = StagewiseRegressor("absolute_error", learner=learner, n_estimators=60).fit(X, y)
        ax.plot(grid[:, 0], model.predict(grid), color=colour, label=name)
    ax.set(xlabel="x", ylabel="F(x), absolute error")
    ax.legend()
    save(fig, "any_learner")


def rounds() -> None:
    """Draw the mean loss of the folds, the round that it chooses, and the loss of a test set."""
    (X, y), (X_test, y_test) = spheres(1_000, 0), spheres(10_000, 1)
    shared = {"learning_rate": 0.2, "max_leaf_nodes": 6, **TEXTBOOK}
    model = GradientBoostingClassifier(
        n_estimators=500, early_stopping="cv", n_iter_no_change=60, **shared
    ).fit(X, y)
    n = len(model.validation_loss_)
    whole = GradientBoostingClassifier(n_estimators=n, **shared).fit(X, y)
    test = [
        -np.log(p[np.arange(10_000), y_test]).mean() for p in whole.staged_predict_proba(X_test)
    ]
    print(f"  chosen {model.n_iter_}, best for the test set {np.argmin(test) + 1}")
    fig, ax = plt.subplots()
    ax.plot(range(1, n + 1), model.validation_loss_, color=BLUE, label="five folds")
    ax.plot(range(1, n + 1), test, color=ORANGE, label="test set, fit to all rows")
    ax.plot(range(1, n + 1), whole.train_loss_, color=GREEN, label="training")
    ax.axvline(model.n_iter_, color=GREY, ls="--")
    ax.text(model.n_iter_ + 2, 0.62, f"{model.n_iter_} rounds", color=GREY)
    ax.set(xlabel="rounds", ylabel="log loss")
    ax.legend()
    save(fig, "rounds")


def tree_size() -> None:
    """Draw the test error for four numbers of leaves J on nested spheres."""
    (X, y), (X_test, y_test) = spheres(2_000, 0), spheres(10_000, 1)
    fig, ax = plt.subplots()
    for leaves, colour in ((2, BLUE), (6, GREEN), (20, ORANGE), (100, RED)):
        model = GradientBoostingClassifier(
            max_leaf_nodes=leaves,
            min_samples_leaf=1,
            n_estimators=600,
            learning_rate=0.5,
            **TEXTBOOK,
        ).fit(X, y)
        errors = test_errors(model, X_test, y_test)
        print(f"  J={leaves}: {errors[-1]:.3f} after 600")
        ax.plot(range(1, 601), errors, color=colour, label=f"J = {leaves}")
    ax.set(xlabel="rounds", ylabel="test error", ylim=(0.05, 0.3))
    ax.legend()
    save(fig, "tree_size")


FIGURES: list[Callable[[], None]] = [
    forward_stagewise,
    corrective,
    ada_boost,
    samme,
    real_and_gentle,
    logit_boost,
    gradient_boosting,
    newton_boosting,
    regularised,
    least_squares,
    stochastic,
    sampling,
    dart,
    any_learner,
    rounds,
    tree_size,
    bagging,
    cross_validation_committees,
    committees,
    decision_tree,
    pruning,
    multiway_splits,
    random_forest,
    linear_model,
    stepwise,
    best_subset,
    stagewise_linear,
    describe_table,
    inspection,
    quality,
    shapley,
    losses,
    ordinal,
    formula_losses,
    class_losses,
    label_quality,
    ada_boost_path_figure,
    ada_boost_r2,
    margins_figure,
    bias_variance_figure,
    newton_errors,
    newton_rates,
    gradient_rates,
    simulated,
    landing,
    accuracy,
    distributions,
    families,
    insurance,
    prediction_intervals,
    prediction_sets,
    calibrated_probabilities,
    ranking,
    ranking_losses,
    threshold_costs,
    intervals,
    columns,
    tuning,
    tutorial,
    survival,
    survival_curves,
]


if __name__ == "__main__":
    for figure in FIGURES:
        if len(sys.argv) < 2 or figure.__name__ in sys.argv[1:]:
            print(figure.__name__)
            figure()

"""Figures of docs/ordinal.md, docs/formula-losses.md and docs/multi-label.md."""

from __future__ import annotations

import numpy as np
from style import BLUE, GREEN, GREY, ORANGE, RED, plt, save

from stagewise import GradientBoostingClassifier
from stagewise.inspection import Calibration, Predictions, scores
from stagewise.losses import Brier, Focal, Hinge, Logistic, Loss

__all__ = ["class_losses", "formula_losses", "label_quality", "ordinal"]


def ordinal() -> None:
    """Draw the scores of test rows by their class, and the learned thresholds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    latent = 2.0 * X[:, 0] + 2.0 * np.sin(2 * X[:, 1]) + rng.logistic(size=2000)
    y = np.digitize(latent, [-3.0, -1.0, 1.5])
    model = GradientBoostingClassifier(loss="cumulative_logit").fit(X[:1500], y[:1500])
    score = model.decision_function(X[1500:])
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.0))
    colours = (BLUE, GREEN, ORANGE, RED)
    for k, colour in enumerate(colours):
        own = score[y[1500:] == k]
        left.plot(own, k + rng.uniform(-0.3, 0.3, len(own)), ".", color=colour, ms=4)
    grid = np.linspace(score.min(), score.max(), 300)
    cuts = model.thresholds_[np.newaxis] - grid[:, np.newaxis]
    below = np.hstack([np.zeros((300, 1)), 1 / (1 + np.exp(-cuts)), np.ones((300, 1))])
    for k, (colour, line) in enumerate(zip(colours, ("-", "--", "-.", ":"), strict=True)):
        drawn = np.diff(below)[:, k]
        right.plot(grid, drawn, color=colour, ls=line, lw=1.8, label=f"class {k}")
    for axes in (left, right):
        for threshold in model.thresholds_:
            axes.axvline(threshold, color=GREY, lw=1.2, ls="--")
        axes.set(xlabel="score F(x)", xlim=(grid[0], grid[-1]))
    left.set(ylabel="class of test rows", yticks=range(4))
    right.set(ylabel="probability", ylim=(0, 1.02))
    right.legend(loc="upper center", frameon=True, framealpha=1)
    save(fig, "ordinal")


def formula_losses() -> None:
    """Draw the value, the gradient and the hessian of formulas."""
    ways = {
        "(y - f)**2 / 2": (Loss.from_formula("(y - f)**2 / 2"), RED),
        "log(cosh(y - f))": (Loss.from_formula("log(cosh(y - f))"), BLUE),
        "sqrt(1 + (y - f)**2) - 1": (Loss.from_formula("sqrt(1 + (y - f)**2) - 1"), GREEN),
        "log(1 + (y - f)**2)": (
            Loss.from_formula("log(1 + (y - f)**2)", hessian="2 / (1 + (y - f)**2)"),
            ORANGE,
        ),
    }
    score = np.linspace(-4, 4, 801)
    fig, axes = plt.subplots(1, 3, figsize=(9.6, 3.4))
    for name, (loss, colour) in ways.items():
        y = np.zeros_like(score)
        for axis, values in zip(
            axes, (loss.loss(y, score), *loss.derivatives(y, score)), strict=True
        ):
            axis.plot(score, values, color=colour, lw=1.8, label=name)
    limits = ((-0.1, 4.5), (-3.2, 3.2), (-0.05, 2.1))
    for axis, title, own in zip(axes, ("loss", "gradient", "hessian"), limits, strict=True):
        axis.set(title=title, xlabel="f, with y = 0", ylim=own)
    axes[0].legend(loc="upper center", fontsize=7)
    save(fig, "formula_losses")


def class_losses() -> None:
    """Draw losses of two classes by the margin, and the probabilities of their scores."""
    margin = np.linspace(-4, 4, 801)
    one = np.ones(len(margin), dtype=np.int32)
    ways = {
        "log loss": (Logistic(), GREY, "-"),
        "focal, γ = 2": (Focal(2.0), BLUE, "-"),
        "Brier": (Brier(), ORANGE, "--"),
        "squared hinge": (Hinge(), GREEN, "-."),
    }
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.0))
    for name, (loss, colour, line) in ways.items():
        left.plot(margin, loss.loss(one, margin), color=colour, ls=line, lw=1.8, label=name)
        right.plot(margin, loss.mean(margin)[:, 1], color=colour, ls=line, lw=1.8)
    left.set(xlabel="margin", ylabel="loss", ylim=(-0.05, 4.2), xlim=(-4, 4))
    right.set(xlabel="score F", ylabel="predicted probability", ylim=(-0.02, 1.02), xlim=(-4, 4))
    left.legend(loc="upper right")
    save(fig, "class_losses")


def label_quality() -> None:
    """Draw the AUC of each label, of separate and of shared trees, and reliability."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6_000, 6))
    shared = X[:, 0] + X[:, 1] * X[:, 2]
    own = np.column_stack([X[:, 3], X[:, 4], X[:, 5], X[:, 3], X[:, 4], X[:, 5]])
    noise = np.array([0.5, 0.5, 1.0, 1.0, 1.5, 2.0]) * rng.logistic(size=(6_000, 6))
    latent = shared[:, np.newaxis] + 0.5 * own + noise
    shares = (0.5, 0.05, 0.3, 0.1, 0.5, 0.2)
    Y = latent > [np.quantile(own, 1 - p) for own, p in zip(latent.T, shares, strict=True)]
    train, test = slice(0, 1_000), slice(1_000, None)
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.0))
    ways = {"constant": (BLUE, "o", -0.12), "vector": (ORANGE, "s", 0.12)}
    for leaves, (colour, mark, shift) in ways.items():
        model = GradientBoostingClassifier(leaves=leaves).fit(X[train], Y[train])
        found = scores(model, X[test], Y[test])
        print(f"  {leaves}: mean AUC {found['macro_auc'].value:.4f}")
        for k in range(6):
            auc = found[f"auc_y{k}"]
            left.plot([k + shift] * 2, [auc.low, auc.high], color=colour, lw=2, alpha=0.5)
            name = f'leaves="{leaves}"' if k == 0 else None
            left.plot(k + shift, auc.value, mark, color=colour, ms=6, label=name)
    shares = [f"y{k}\n{100 * share:.0f} %" for k, share in enumerate(Y[test].mean(axis=0))]
    left.set(xlabel="label, and its share of the rows", ylabel="AUC of test rows")
    left.set(xticks=range(6), xticklabels=shares)
    left.legend()
    proba = model.predict_proba(X[test])
    right.plot([0, 1], [0, 1], color=GREY, ls=":", lw=1)
    for k, colour, line in ((0, BLUE, "o-"), (1, ORANGE, "s--"), (5, GREEN, "^-.")):
        found = Calibration.of(Predictions.from_arrays(Y[test, k], proba[k], model.classes_[k]))
        right.vlines(found.predicted, found.low, found.high, color=colour, lw=3, alpha=0.35)
        right.plot(found.predicted, found.observed, line, color=colour, ms=4, label=f"y{k}")
    right.legend()
    right.set(xlabel="predicted probability", ylabel="observed share")
    save(fig, "label_quality")

"""Figures of docs/losses.md: losses as functions of the margin and of the residual."""

from __future__ import annotations

import numpy as np
from style import BLUE, GREEN, GREY, ORANGE, RED, plt, save

from stagewise.losses import (
    AbsoluteError,
    BinarySquaredError,
    Exponential,
    Huber,
    Logistic,
    PseudoHuber,
    Quantile,
    SquaredError,
)

__all__ = ["losses"]


def losses() -> None:
    """Draw the losses of two classes by the margin, and those of numbers by the residual."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.0))
    margin = np.linspace(-2, 2, 801)
    one = np.ones(len(margin), dtype=int)  # with y = +1 the margin is f
    left.plot(margin, margin < 0, color=GREY, lw=1.8, ls="--", label="misclassification")
    left.plot(margin, Exponential().loss(one, margin), color=BLUE, lw=1.8, label="exponential")
    deviance = Logistic().loss(one, 2 * margin) / np.log(2)  # F is the log odds, 2 f
    left.plot(margin, deviance, color=ORANGE, lw=1.8, label="binomial deviance / log 2")
    squared = 2 * BinarySquaredError().loss(one, margin)  # its factor is ½
    left.plot(margin, squared, color=RED, lw=1.8, label="squared error")
    hinge = np.maximum(0, 1 - margin)
    left.plot(margin, hinge, color=GREEN, lw=1.8, ls="-.", label="support vector")
    left.set(xlabel="margin y f(x)", ylabel="loss", xlim=(-2, 2), ylim=(-0.05, 3.2))
    left.legend(loc="upper right")
    residual = np.linspace(-3, 3, 601)
    zero = np.zeros_like(residual)
    ways = {
        "squared error": (SquaredError(), RED, "-"),
        "absolute error": (AbsoluteError(), GREEN, "--"),
        "Huber, δ = 1": (Huber(delta=1.0), BLUE, "-"),
        "pseudo-Huber, δ = 1": (PseudoHuber(delta=1.0), GREY, ":"),
        "quantile, q = 0.8": (Quantile(quantile=0.8), ORANGE, "-."),
    }
    for name, (loss, colour, line) in ways.items():
        drawn = loss.loss(residual, zero)
        right.plot(residual, drawn, color=colour, lw=1.8, ls=line, label=name)
    right.set(xlabel="residual y − f(x)", xlim=(-3, 3), ylim=(-0.05, 4.6))
    right.legend(loc="upper center")
    save(fig, "losses")

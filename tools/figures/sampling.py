"""Figures of row sampling and of dropout."""

from __future__ import annotations

from typing import Any

import numpy as np
from data import TEXTBOOK, additive, spheres
from style import BLUE, GREEN, GREY, ORANGE, plt, save

from stagewise import Dart, Goss, GradientBoostingClassifier, GradientBoostingRegressor
from stagewise._native import Gradients, Workers
from stagewise.boosting.sampling import DrawInput
from stagewise.estimators.parameters.make_specs import make_sampling
from stagewise.options import OPTION_RULES

__all__ = ["dart", "sampling"]


def sampling() -> None:
    """Draw the standard error of sums of gradients, and the test loss, by the sampling."""
    (X, y), (X_test, y_test) = spheres(20_000, 0), spheres(10_000, 1)
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.3))
    shares = (0.05, 0.1, 0.2, 0.3, 0.5)
    ways = {
        "uniform": (BLUE, lambda share: {"subsample": share}),
        "GOSS, a = 2b": (
            ORANGE,
            lambda share: {"sampling": Goss(top=share * 2 / 3, other=share / 3)},
        ),
        "MVS": (GREEN, lambda share: {"sampling": "mvs", "subsample": share}),
    }
    shared = {
        "n_estimators": 800,
        "learning_rate": 0.1,
        "max_features": None,
        "max_leaf_nodes": 8,
    }
    whole = GradientBoostingClassifier(**shared).fit(X, y)
    p = whole.predict_proba(X)[:, 1]
    pairs = np.column_stack([p - y, p * (1 - p)])
    for name, (colour, params) in ways.items():
        left.plot(
            shares, [_spread(params(s), pairs) for s in shares], "o-", color=colour, label=name
        )
        losses = []
        for share in shares:
            model = GradientBoostingClassifier(**shared, **params(share)).fit(X, y)
            losses.append(-np.log(model.predict_proba(X_test)[np.arange(10_000), y_test]).mean())
        print(
            f"  {name}: "
            + ", ".join(f"{s:g}: {v:.4f}" for s, v in zip(shares, losses, strict=True))
        )
        right.plot(shares, losses, "o-", color=colour)
    all_rows = -np.log(whole.predict_proba(X_test)[np.arange(10_000), y_test]).mean()
    print(f"  all rows {all_rows:.4f}")
    right.axhline(all_rows, color=GREY, ls="--")
    right.text(shares[-1], all_rows, "all rows", color=GREY, ha="right", va="bottom")
    left.set(xlabel="fraction of the rows", ylabel="standard error of Σg / Σ|g|", yscale="log")
    right.set(xlabel="fraction of the rows", ylabel="log loss, test set")
    left.legend()
    save(fig, "sampling")


def _spread(params: dict[str, Any], pairs: np.ndarray) -> float:
    """Return the standard deviation over rounds of the estimated Σg, divided by Σ|g|."""
    workers, n = Workers(1), len(pairs)
    derivatives = Gradients(n)
    derivatives.assign(workers, *np.ascontiguousarray(pairs.T), None)
    sampling = OPTION_RULES["sampling"](params.get("sampling", "uniform"))
    rows = make_sampling({**params, "sampling": sampling})
    sums = []
    for m in range(300):
        bag = rows.bag(DrawInput(workers, n, None, 0, m, lambda: [derivatives]))
        times = np.zeros(n)
        times[bag.rows] = (
            1 / params["subsample"] if bag.multiplier is None else bag.multiplier[bag.rows]
        )
        sums.append(times @ pairs[:, 0])
    return float(np.std(sums) / np.abs(pairs[:, 0]).sum())


def dart() -> None:
    """Draw the test error on few noisy rows, by the rate of dropout."""
    (X, y), (X_test, y_test) = additive(300, 0), additive(5_000, 1)
    fig, ax = plt.subplots()
    for rate, colour in ((0.0, ORANGE), (0.1, BLUE), (0.3, GREEN)):
        model = GradientBoostingRegressor(
            n_estimators=300,
            learning_rate=0.3,
            **TEXTBOOK,
            max_leaf_nodes=6,
            min_samples_leaf=5,
            n_iter_no_change=300,
            dropout=Dart(rate=rate, skip=0.0) if rate else None,
        ).fit(X, y, X_val=X_test, y_val=y_test)
        errors = 2 * model.validation_loss_
        print(
            f"  {rate:g}: least {errors.min():.2f} at {errors.argmin() + 1}, last {errors[-1]:.2f}"
        )
        label = f"rate = {rate:g}" if rate else "no dropout"
        ax.plot(range(1, len(errors) + 1), errors, color=colour, label=label)
    ax.set(xlabel="rounds", ylabel="squared test error", ylim=(13, 18))
    ax.legend()
    save(fig, "dart")

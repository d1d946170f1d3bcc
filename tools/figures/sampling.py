"""The figures of what is drawn: rows for a round, and rounds to leave out."""

from __future__ import annotations

from typing import Any

import numpy as np
from data import additive, spheres
from stagewise.training.sampling_options import make_sampling
from style import BLUE, GREEN, GREY, ORANGE, plt, save

from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise._native import Gradients, Workers
from stagewise.boosting.sampling import Round

__all__ = ["dart", "sampling"]


def sampling() -> None:
    """How far sums of gradients are off, by how rows are sampled; and what that comes to."""
    (X, y), (X_test, y_test) = spheres(20_000, 0), spheres(10_000, 1)
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.3))
    shares = (0.05, 0.1, 0.2, 0.3, 0.5)
    ways = {
        "uniform": (BLUE, lambda share: {"subsample": share}),
        "GOSS, a = 2b": (
            ORANGE,
            lambda share: {
                "sampling": "goss",
                "goss_top": share * 2 / 3,
                "goss_other": share / 3,
            },
        ),
        "MVS": (GREEN, lambda share: {"sampling": "mvs", "subsample": share}),
    }
    shared = {
        "n_estimators": 800,
        "learning_rate": 0.1,
        "max_features": 1.0,
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
    left.set(xlabel="share of the rows", ylabel="standard error of Σg / Σ|g|", yscale="log")
    right.set(xlabel="share of the rows", ylabel="log loss, test set")
    left.legend()
    save(fig, "sampling")


def _spread(params: dict[str, Any], pairs: np.ndarray) -> float:
    """Return how much the estimate of the sum of gradients varies from round to round."""
    workers, n = Workers(1), len(pairs)
    derivatives = Gradients(n)
    derivatives.given(workers, *np.ascontiguousarray(pairs.T), None)
    rows = make_sampling({"sampling": "uniform", "mvs_lambda": 1.0, **params})
    sums = []
    for m in range(300):
        bag = rows.bag(Round(workers, n, None, 0, m, lambda: [derivatives]))
        times = np.zeros(n)
        times[bag.rows] = 1 / params["subsample"] if bag.times is None else bag.times[bag.rows]
        sums.append(times @ pairs[:, 0])
    return float(np.std(sums) / np.abs(pairs[:, 0]).sum())


def dart() -> None:
    """Test error on few noisy rows, by how much is dropped."""
    (X, y), (X_test, y_test) = additive(300, 0), additive(5_000, 1)
    fig, ax = plt.subplots()
    for rate, colour in ((0.0, ORANGE), (0.1, BLUE), (0.3, GREEN)):
        drop = {"drop_rate": rate, "skip_drop": 0.0} if rate else {}
        model = GradientBoostingRegressor(
            n_estimators=300,
            learning_rate=0.3,
            max_features=1.0,
            max_leaf_nodes=6,
            min_samples_leaf=5,
            n_iter_no_change=300,
            **drop,
        ).fit(X, y, X_val=X_test, y_val=y_test)
        errors = 2 * model.validation_loss_
        print(
            f"  {rate:g}: least {errors.min():.2f} at {errors.argmin() + 1}, last {errors[-1]:.2f}"
        )
        label = f"drop_rate = {rate:g}" if rate else "no dropout"
        ax.plot(range(1, len(errors) + 1), errors, color=colour, label=label)
    ax.set(xlabel="rounds", ylabel="squared test error", ylim=(13, 18))
    ax.legend()
    save(fig, "dart")

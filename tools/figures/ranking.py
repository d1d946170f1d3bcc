"""The figure of docs/ranking.md."""

from __future__ import annotations

from typing import Any

import numpy as np
from style import BLUE, GREY, ORANGE, plt, save

from stagewise import GradientBoostingRanker, ranking_target

N_QUERIES, LENGTH = 600, 10


def clicks(seed: int) -> tuple[Any, ...]:
    """Return X, clicks, queries, positions and true relevance of a simulated search engine.

    A row at rank r is examined with probability 1 / r.
    """
    rng = np.random.default_rng(seed)
    n = N_QUERIES * LENGTH
    X, qid = rng.normal(size=(n, 3)), np.repeat(np.arange(N_QUERIES), LENGTH)
    relevance = 1 / (1 + np.exp(-2 * X[:, 0]))
    shown = (X[:, 1] + 0.5 * rng.normal(size=n)).reshape(-1, LENGTH)
    position = np.argsort(np.argsort(-shown, axis=1), axis=1).ravel() + 1
    clicked = rng.random(n) < relevance / position
    return X, clicked.astype(float), qid, position, relevance


def ranking() -> None:
    """Draw the biases of positions, and NDCG by rank with and without them."""
    X, y, qid, position, _ = clicks(0)
    X_test, _, qid_test, _, truth = clicks(1)
    target = ranking_target(truth, qid=qid_test)
    plain = GradientBoostingRanker(n_estimators=50).fit(X, y, qid=qid)
    corrected = GradientBoostingRanker(n_estimators=50).fit(X, y, qid=qid, position=position)
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
    bias = corrected.position_bias_
    places = np.array(list(bias))
    true = -np.log(places)
    left.plot(places, true - true.mean(), color=GREY, ls="--", label="log of the probability")
    left.plot(places, list(bias.values()), "o-", color=BLUE, label="estimated bias")
    left.set(xlabel="position", ylabel="bias, mean 0", title="Biases of positions")
    left.legend()
    ranks = range(1, LENGTH + 1)
    for model, colour, name in ((corrected, BLUE, "with positions"), (plain, ORANGE, "without")):
        values = [model.score(X_test, target, k=k) for k in ranks]
        print(f"NDCG@3 {name}: {values[2]:.4f}")
        right.plot(ranks, values, "o-", color=colour, label=name)
    right.set(xlabel="k", ylabel="NDCG@k of true relevance", title="Other queries")
    right.legend()
    save(fig, "ranking")

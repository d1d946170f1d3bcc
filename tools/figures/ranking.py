"""Figures of docs/ranking.md."""

from __future__ import annotations

from typing import Any

import numpy as np
from style import BLUE, GREEN, GREY, ORANGE, RED, plt, save

from stagewise import GradientBoostingRanker, ranking_target
from stagewise.inspection import query_scores

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


LOSSES = {
    "ndcg": (BLUE, "-"),
    "yetirank": (ORANGE, "-"),
    "pairwise": (GREEN, "--"),
    "softmax": (RED, "-."),
    "query_squared_error": (GREY, ":"),
}


def graded(n_queries: int, seed: int) -> tuple[Any, ...]:
    """Return X, grades 0 to 4 and queries; each query has its own level of the first feature."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), 20)
    X = rng.normal(size=(len(qid), 6))
    own = X[:, 0] + np.sin(2 * X[:, 1]) * X[:, 2] + 0.7 * rng.logistic(size=len(qid))
    X[:, 0] += 2 * rng.normal(size=n_queries)[qid]
    return X, np.digitize(own, [0.5, 1.5, 2.5, 3.5]), qid


def ranking_losses() -> None:
    """Draw NDCG@10 of other queries by rounds and at the end, for five losses."""
    train, test = graded(400, 0), graded(400, 1)
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), width_ratios=(3, 2))
    rounds = 150
    for place, (loss, (colour, line)) in enumerate(LOSSES.items()):
        model = GradientBoostingRanker(
            loss=loss, n_estimators=rounds, eval_metric="ndcg@10", early_stopping=False
        )
        model.fit(*train[:2], qid=train[2], eval_set=[test])
        values = model.evals_result_["valid_0"]["ndcg@10"]
        left.plot(range(1, rounds + 1), values, color=colour, ls=line, lw=1.6)
        found = query_scores(model, *test[:2], qid=test[2])["ndcg@10"]
        print(f"  {loss}: {found.value:.4f}, {found.low:.4f} to {found.high:.4f}")
        right.plot([found.low, found.high], [place, place], color=colour, ls=line, lw=2.5)
        right.plot(found.value, place, "o", color=colour, ms=6)
    left.set(xlabel="rounds", ylabel="NDCG@10 of other queries")
    right.set(xlabel=f"NDCG@10 after {rounds} rounds", yticks=range(5), yticklabels=LOSSES)
    right.invert_yaxis()
    save(fig, "ranking_losses")

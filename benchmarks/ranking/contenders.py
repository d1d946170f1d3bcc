"""The libraries of the benchmark of rankings, each with its losses for ranking.

All: the same number of trees, a learning rate of 0.1, and about 31 leaves (CatBoost: depth 5, 32
leaves; Stagewise: its default for rankings, symmetric trees of 16 leaves with fewer than 10,000
rows, else of 64), otherwise the defaults of the library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from tables import Queries

__all__ = ["CONTENDERS", "library_of"]

Predict = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
Fit = Callable[[Queries, int, int, int], Predict]


def library_of(name: str) -> str:
    """Return the library of a contender."""
    return name.split(maxsplit=1)[0]


def ours(**params: Any) -> Fit:
    def fit(rows: Queries, trees: int, seed: int, threads: int) -> Predict:
        from stagewise import GradientBoostingRanker

        own = dict(params)
        shown = rows.position if own.pop("positions", False) else None
        model = GradientBoostingRanker(
            n_estimators=trees, learning_rate=0.1, random_state=seed, n_jobs=threads, **own
        )
        return model.fit(rows.X, rows.label, qid=rows.qid, position=shown).predict

    return fit


def lightgbm(objective: str) -> Fit:
    def fit(rows: Queries, trees: int, seed: int, threads: int) -> Predict:
        from lightgbm import LGBMRanker

        sizes = np.unique(rows.qid, return_counts=True)[1]
        model = LGBMRanker(
            objective=objective,
            n_estimators=trees,
            learning_rate=0.1,
            random_state=seed,
            n_jobs=threads,
            verbose=-1,
        )
        return model.fit(rows.X, rows.label, group=sizes).predict

    return fit


def xgboost(objective: str) -> Fit:
    def fit(rows: Queries, trees: int, seed: int, threads: int) -> Predict:
        from xgboost import XGBRanker

        model = XGBRanker(
            objective=objective,
            n_estimators=trees,
            learning_rate=0.1,
            max_leaves=31,
            max_depth=0,
            grow_policy="lossguide",
            tree_method="hist",
            random_state=seed,
            n_jobs=threads,
        )
        return model.fit(rows.X, rows.label, qid=rows.qid).predict

    return fit


def catboost(loss: str) -> Fit:
    def fit(rows: Queries, trees: int, seed: int, threads: int) -> Predict:
        from catboost import CatBoostRanker

        model = CatBoostRanker(
            loss_function=loss,
            iterations=trees,
            learning_rate=0.1,
            depth=5,
            random_seed=seed,
            thread_count=threads,
            verbose=False,
            allow_writing_files=False,
        )
        return model.fit(rows.X, rows.label, group_id=rows.qid).predict

    return fit


CONTENDERS: Mapping[str, Fit] = {
    "Stagewise ndcg": ours(),
    "Stagewise xendcg": ours(loss="xendcg"),
    "Stagewise softmax": ours(loss="softmax"),
    "Stagewise pairwise": ours(loss="pairwise"),
    "Stagewise yetirank": ours(loss="yetirank"),
    "Stagewise query_squared_error": ours(loss="query_squared_error"),
    "LightGBM lambdarank": lightgbm("lambdarank"),
    "LightGBM rank_xendcg": lightgbm("rank_xendcg"),
    "XGBoost rank:ndcg": xgboost("rank:ndcg"),
    "XGBoost rank:pairwise": xgboost("rank:pairwise"),
    "CatBoost YetiRank": catboost("YetiRank"),
    "CatBoost PairLogit": catboost("PairLogit"),
    "CatBoost QuerySoftMax": catboost("QuerySoftMax"),
    "CatBoost QueryRMSE": catboost("QueryRMSE"),
}
"""The first one is ours; those with positions are measured on the click log only."""
WITH_POSITIONS: Mapping[str, Fit] = {"Stagewise ndcg, positions": ours(positions=True)}

"""Ranking of documents (lightgbm_rank.parquet, LightGBM's example): NDCG@10 of other queries.

Columns: relevance (0 to 4), qid (the query), split ("train" or "test"), and the features.

    python examples/ranking.py lightgbm_rank.parquet
"""

import sys

import numpy as np
import pandas as pd
from sklearn.metrics import ndcg_score

from stagewise import GradientBoostingRanker
from stagewise.inspection import query_scores

if len(sys.argv) < 2:
    sys.exit(__doc__)
table = pd.read_parquet(sys.argv[1])
parts = [table[table["split"] == name] for name in ("train", "test")]
train, test = (
    (t.drop(columns=["relevance", "qid", "split"]), t["relevance"], t["qid"]) for t in parts
)

X, relevance, qid = train
model = GradientBoostingRanker().fit(X, relevance, qid=qid)  # folds of queries choose the rounds

X, relevance, qid = test
gains = [2 ** own.to_numpy() - 1 for _, own in relevance.groupby(qid) if own.any()]
in_order = [ndcg_score([gain], [-np.arange(len(gain))], k=10) for gain in gains]
print(f"{model.n_iter_} rounds; NDCG@10 in the order of the file: {np.mean(in_order):.3f}")

found = query_scores(model, X, relevance, qid=qid)  # queries are resampled for the limits
print(found)
worst = found.table()[0]
print(f"worst query: {worst['query']}, {worst['rows']} rows, NDCG@10 {worst['ndcg@10']:.3f}")
found.plot().figure.savefig("ranking.png")
print("ranking.png: NDCG@10 of each query")

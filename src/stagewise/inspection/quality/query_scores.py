"""Scores of a ranker query by query, and their means with confidence limits.

Queries are independent observations and rows are not, so queries are resampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from stagewise.display import Summary, Tabled
from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.predictions.ranker import RankerPredictions, queries_of
from stagewise.inspection.fitted_model import Vector, check_argument
from stagewise.inspection.quality.plots import plot_query_values
from stagewise.inspection.quality.scores import MOST_WORK, Score, Scores
from stagewise.metrics.queries import RANKING_NAMES, RankedQueries, parse_ranking_name
from stagewise.training.reading.query_reader import QueryReader
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.messages import short_repr
from stagewise.validation.rules import Number

__all__ = ["QueryScores", "is_ranker", "query_scores", "read_ranking"]

DEFAULT_METRICS = ("ndcg@10", "ndcg", "map", "mrr", "err")
RANDOM_ORDERS = 20
"""The number of random orders whose mean score is the baseline."""
FEWEST_BOOTSTRAPPED = 20
"""With fewer queries than this, the limits are those of Student's t."""


@dataclass(frozen=True, repr=False)
class QueryScores(Tabled):
    """The scores of every query, and their means.

    Attributes
    ----------
    queries : array
        The names of the queries, sorted.
    n_rows, n_relevant : int arrays
        The numbers of rows and of relevant rows (gain above 0) of each query.
    weight : float64 array
        The weight of each query.
    names : tuple of str
        The metrics.
    values : float64 array of shape (n_queries, n_metrics)
        The metrics of each query; NaN for queries without a relevant row.
    baseline : float64 array of shape (n_metrics,)
        The means of the metrics over random orders of the rows.
    scores : Scores
        The means over the queries with a relevant row, with confidence limits.
    """

    queries: npt.NDArray[Any]
    n_rows: npt.NDArray[np.intp]
    n_relevant: npt.NDArray[np.intp]
    weight: Vector
    names: tuple[str, ...]
    values: Vector
    baseline: Vector
    scores: Scores

    def __getitem__(self, name: str) -> Score:
        """Return the mean of a metric."""
        return self.scores[name]

    def _summary(self) -> Summary:
        own = self.scores._summary()  # noqa: SLF001
        left_out = int(np.isnan(self.values[:, 0]).sum())
        note = f"{left_out} queries without a relevant row are left out" if left_out else ""
        title = f"Scores of {len(self.queries):,} queries ({int(self.n_rows.sum()):,} rows)"
        level = f"{self.scores.confidence_level:.0%} confidence limits"
        return Summary(f"{title}, {level}", rows=own.rows, note=note)

    def table(self) -> list[dict[str, Any]]:
        """Return one row per query, the worst one by the first metric first."""
        order = np.argsort(np.where(np.isnan(self.values[:, 0]), np.inf, self.values[:, 0]))
        return [
            {
                "query": self.queries[i].item(),
                "rows": int(self.n_rows[i]),
                "relevant": int(self.n_relevant[i]),
                "weight": float(self.weight[i]),
                **dict(zip(self.names, self.values[i].tolist(), strict=True)),
            }
            for i in order
        ]

    def plot(self, metric: str | None = None, ax: Any = None) -> Any:
        """Plot the distribution of a metric over the queries, with its mean and limits.

        Parameters
        ----------
        metric : str or None
            One of `names`; None: the first one.
        ax : matplotlib axes or None
            Where to draw; None: on a new figure.

        Returns
        -------
        matplotlib axes
        """
        name = self.names[0] if metric is None else metric
        score = self[name]
        values = self.values[:, self.names.index(name)]
        kept = ~np.isnan(values)
        ends = score.value, score.low, score.high, score.baseline
        return plot_query_values(values[kept], self.weight[kept], score.label, ends, ax)

    @classmethod
    def of_arrays(
        cls,
        target: npt.NDArray[Any],
        names: npt.NDArray[Any],
        score: Vector,
        weight: Vector | None,
        metrics: Any = None,
        confidence_level: float = 0.95,
        n_resamples: int = 1000,
        random_state: int = 0,
    ) -> QueryScores:
        """Return the scores of rows.

        Parameters
        ----------
        target : structured array
            As `QueryReader` reads it.
        names : array
            The names of the queries by their codes.
        score, weight
            The scores and the weights of the rows.
        metrics, confidence_level, n_resamples, random_state
            As of `query_scores`.
        """
        kinds = _kinds(metrics)
        kept = None if weight is None or weight.min() > 0 else weight > 0
        if kept is not None and weight is not None:
            target, score, weight = target[kept], score[kept], weight[kept]
        ranked = RankedQueries.of(target, score)
        values = _values(ranked, kinds)
        if np.isnan(values).all():
            raise ValueError(
                "No query has a row whose relevance is above 0, so no metric is defined. Pass "
                "rows with relevant ones."
            )
        own = np.ones(len(ranked.starts)) if weight is None else weight[ranked.rows[ranked.starts]]
        rng = np.random.default_rng(random_state)
        measured = ranked.is_measured
        means = [
            np.average(
                _values(RankedQueries.of(target, rng.random(len(target))), kinds)[measured],
                axis=0,
                weights=own[measured],
            )
            for _ in range(RANDOM_ORDERS)
        ]
        baseline = np.mean(means, axis=0)
        limits = _limits(values[measured], own[measured], confidence_level, n_resamples, rng)
        mean = np.average(values[measured], axis=0, weights=own[measured])
        found = Scores(
            "ranking",
            len(target),
            confidence_level,
            tuple(
                Score(name, _label(name), value, low, high, larger_is_better=True, baseline=base)
                for name, (value, low, high), base in zip(
                    kinds, np.column_stack([mean, *limits]).tolist(), baseline.tolist(), strict=True
                )
            ),
        )
        relevant = np.add.reduceat((ranked.gain > 0).astype(np.intp), ranked.starts)
        own_names = names[ranked.queries]
        return cls(own_names, ranked.sizes, relevant, own, tuple(kinds), values, baseline, found)


def is_ranker(estimator: Any) -> bool:
    """Return whether an estimator ranks the rows of queries."""
    return isinstance(estimator, RankerPredictions)


def read_ranking(
    estimator: Any, y: Any, sample_weight: Any, n_rows: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Vector | None]:
    """Return the target of a ranker as its losses read it, the names of queries, and weights."""
    reader = QueryReader(type(estimator).__name__, estimator.gains, "NDCG and the other metrics")
    found = reader.read(y, sample_weight, n_rows)
    return found.y, np.unique(y["qid"]), found.weight


@suggests_arguments
def query_scores(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    qid: Any = None,
    query_sizes: Any = None,
    sample_weight: Any = None,
    offset: Any = None,
    metrics: Any = None,
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    random_state: int = 0,
) -> QueryScores:
    """Return the scores of a ranker on every query, and their means with confidence limits.

    Parameters
    ----------
    estimator : GradientBoostingRanker
        Fitted.
    X, y : array-like or data frame, and array-like
        Rows and their relevance, preferably of queries that were not used for training; or a
        `ranking_target` as y.
    qid, query_sizes
        The queries, as of `fit`.
    sample_weight : array-like or None
        Weights, equal for the rows of a query.
    offset : array-like, number, str or None
        As of `predict`.
    metrics : None, str or list of str, default=None
        "ndcg", "map", "mrr" and "err", also of the first k rows, as "ndcg@10". None: "ndcg@10" and
        these four.
    confidence_level : float, default=0.95
        The confidence level of the limits.
    n_resamples : int, default=1000
        The number of bootstrap resamples of the queries; the limits are quantiles of the resampled
        means. With fewer than 20 queries, or very many, they are mean ± t · standard error. 0: no
        limits.
    random_state : int, default=0
        The seed of the bootstrap, and of the random orders of the baseline.

    Returns
    -------
    QueryScores

    Examples
    --------
    >>> import numpy as np
    >>> from stagewise import GradientBoostingRanker
    >>> from stagewise.inspection import query_scores
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(800, 2)), np.repeat(np.arange(80), 10)
    >>> relevance = (X[:, 0] + rng.normal(size=800) > 1).astype(float)
    >>> model = GradientBoostingRanker(n_estimators=20)
    >>> model = model.fit(X[:400], relevance[:400], qid=qid[:400])
    >>> found = query_scores(model, X[400:], relevance[400:], qid=qid[400:])
    >>> found["ndcg@10"].low < found["ndcg@10"].value < found["ndcg@10"].high
    True
    """
    if not is_ranker(estimator):
        raise TypeError(
            f"query_scores needs a fitted GradientBoostingRanker; got {short_repr(estimator)}. For "
            "other models use stagewise.inspection.scores."
        )
    share = check_argument(
        "confidence_level", Number(0.0, 1.0, open_low=True, open_high=True), confidence_level
    )
    n_draws = check_argument("n_resamples", Number(0, whole=True), n_resamples)
    seed = check_argument("random_state", Number(0, whole=True), random_state)
    score = estimator.predict(X) if offset is None else estimator.predict(X, offset=offset)
    given = queries_of(y, qid, query_sizes)
    target, names, weight = read_ranking(estimator, given, sample_weight, len(score))
    own = metrics, share, n_draws, seed
    return QueryScores.of_arrays(target, names, score, weight, *own)


def _kinds(metrics: Any) -> dict[str, tuple[str, int | None]]:
    """Return the kind and the rank of each metric."""
    given = DEFAULT_METRICS if metrics is None else metrics
    given = (given,) if isinstance(given, str) else given
    kinds: dict[str, tuple[str, int | None]] = {}
    for name in given:
        found = parse_ranking_name(name) if isinstance(name, str) else None
        if found is None:
            known = ", ".join(map(repr, RANKING_NAMES))
            raise InvalidParameterError(
                f"metrics must be among {known}, or of the first k rows such as 'ndcg@10'; got "
                f"{short_repr(name)}."
            )
        kinds[name] = found
    return kinds


def _values(ranked: RankedQueries, kinds: dict[str, tuple[str, int | None]]) -> Vector:
    return np.column_stack([ranked.values(*kind) for kind in kinds.values()])


def _label(name: str) -> str:
    kind, at, k = name.partition("@")
    return f"{kind.upper()}{at}{k}"


def _limits(
    values: Vector, weight: Vector, share: float, n_resamples: int, rng: np.random.Generator
) -> Sequence[Vector]:
    """Return the confidence limits of the weighted means of columns."""
    n, nothing = len(values), np.full(values.shape[1], np.nan)
    if n < 2 or not n_resamples:
        return nothing, nothing
    if n < FEWEST_BOOTSTRAPPED or n * n_resamples > MOST_WORK:
        mean = np.average(values, axis=0, weights=weight)
        part = weight[:, np.newaxis] / weight.sum()
        error = np.sqrt((part**2 * (values - mean) ** 2).sum(axis=0) * n / (n - 1))
        reach = _quantile_of_t(share, n) * error
        return np.clip(mean - reach, 0.0, 1.0), np.clip(mean + reach, 0.0, 1.0)
    drawn = np.array(
        [
            np.average(values, axis=0, weights=weight * counts)
            for counts in rng.multinomial(n, np.full(n, 1.0 / n), n_resamples)
        ]
    )
    low, high = np.quantile(drawn, [(1 - share) / 2, (1 + share) / 2], axis=0)
    return low, high


def _quantile_of_t(share: float, n: int) -> float:
    return float(stdtrit(n - 1, (1 + share) / 2)) if n < 1000 else float(ndtri((1 + share) / 2))

"""How good a model is on rows with known answers, in a few numbers with their limits.

The one idea: every score is a function of how often each row counts. Drawing the rows again
(bootstrap) changes only these counts, so rows are predicted, compared and sorted once. Where even
that is too much, the derivatives of the score by the counts give its standard error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from stagewise.inspection.fitted_model import Vector, checked
from stagewise.inspection.quality.metrics import Metric, metrics_of
from stagewise.inspection.quality.plots import plot_intervals
from stagewise.inspection.quality.predictions import Answers
from stagewise.validation.rules import Number

__all__ = ["Score", "Scores", "scores"]

NAN = float("nan")
MOST_WORK = 20_000_000
"""Rows times draws times areas, beyond which limits are those of the normal distribution."""


@dataclass(frozen=True)
class Score:
    """One figure of a model, and between which limits it would be with other such rows.

    Attributes
    ----------
    name, words : str
        What it is called in tables, and by people.
    value : float
        The score; NaN where these rows do not have one.
    low, high : float
        Its confidence limits; NaN where there are none.
    larger_is_better : bool
        Which way is up.
    why : str
        Why a number is missing; empty where none is.
    """

    name: str
    words: str
    value: float
    low: float
    high: float
    larger_is_better: bool
    why: str = ""


@dataclass(frozen=True)
class Scores:
    """The figures of a model on some rows.

    Attributes
    ----------
    task : {"regression", "classification"}
        What is predicted.
    n_rows : int
        How many rows count.
    confidence : float
        Of the limits.
    scores : tuple of Score
        Of a regression rmse, mae and r2; of a classification log_loss, accuracy, auc and brier.
    """

    task: str
    n_rows: int
    confidence: float
    scores: tuple[Score, ...]

    @classmethod
    def of(
        cls,
        answers: Answers,
        *,
        confidence: float = 0.95,
        repeats: int = 200,
        random_state: int = 0,
    ) -> Scores:
        """Score what has been said already; the parameters are those of `scores`."""
        share = checked("confidence", Number(0.0, 1.0, open_low=True, open_high=True), confidence)
        n_repeats = checked("repeats", Number(0, whole=True), repeats)
        seed = checked("random_state", Number(0, whole=True), random_state)
        counting = answers.counted()
        # Only ratios of weights matter. A power of two leaves every digit in place, and products
        # of the weights finite.
        weight = np.ldexp(counting.weight, -np.frexp(counting.weight.max())[1])
        metrics = metrics_of(counting)
        n = len(counting.y)
        low, high = np.full((2, len(metrics)), NAN)
        if n > 1 and n_repeats:
            work = n * n_repeats * max(m.passes for m in metrics)
            if work <= MOST_WORK:
                low, high = _drawn(metrics, weight, share, n_repeats, seed)
            else:
                low, high = _normal(metrics, weight, share)
        told = tuple(
            Score(m.name, m.words, m.value(weight), a, b, m.larger_is_better, m.why(n))
            for m, a, b in zip(metrics, low.tolist(), high.tolist(), strict=True)
        )
        return cls(counting.task, n, share, told)

    def __getitem__(self, name: str) -> Score:
        """Return the score of this name."""
        for score in self.scores:
            if score.name == name:
                return score
        raise KeyError(f"{name!r}: there are {', '.join(s.name for s in self.scores)}")

    def table(self) -> list[dict[str, Any]]:
        """Return a row for each score."""
        return [
            {"score": s.name, "value": s.value, "low": s.low, "high": s.high, "why": s.why}
            for s in self.scores
        ]

    def plot(self, ax: Any = None) -> Any:
        """Draw every score that is a number with its limits, each on a scale of its own.

        Parameters
        ----------
        ax : sequence of matplotlib axes, one for each score, or None
            Where to draw; None: on a new figure.

        Returns
        -------
        list of matplotlib axes
        """
        names = [s.words for s in self.scores]
        ends = np.array([[s.value, s.low, s.high] for s in self.scores])
        return plot_intervals(names, ends, ax)

    def __str__(self) -> str:
        lines = [f"Scores of {self.n_rows:,} rows, {self.confidence:.0%} limits"]
        lines += [
            f"  {s.words:<9} {s.value:.6g}  [{s.low:.6g}, {s.high:.6g}]  {s.why}"
            for s in self.scores
        ]
        return "\n".join(line.rstrip() for line in lines)


def scores(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    confidence: float = 0.95,
    repeats: int = 200,
    random_state: int = 0,
) -> Scores:
    """Return how good a model is on rows with known answers, with confidence limits.

    ============  =====================================================================
    rmse          √ of the mean of (y - f)²
    mae           the mean of the absolute values of y - f
    r2            1 - Σ w (y - f)² / Σ w (y - ȳ)²
    log_loss      the mean of -log of the probability of the class that it was
    accuracy      the share of rows whose most probable class it was
    auc           how often a row of a class has a larger probability of it than a row of
                  the rest, ties counting half; of more than two classes the plain mean
                  over those that are met
    brier         the mean of (p - y)²; of more than two classes of Σ_k (p_k - 1[y = k])²
    ============  =====================================================================

    Parameters
    ----------
    model : estimator
        Any fitted estimator: boosting, forest, tree, committee, linear model.
    X, y : array-like or data frame, and array-like
        Rows with known answers, best such that the model has not seen.
    sample_weight : array-like or None
        How much each row counts.
    confidence : float, default=0.95
        Of the limits.
    repeats : int, default=200
        How often the rows are drawn again, with replacement, to see how much the scores move; the
        limits are quantiles of what comes out (percentile bootstrap, Efron 1979). 0: no limits.
    random_state : int, default=0
        The seed of these draws.

    Returns
    -------
    Scores

    Notes
    -----
    Rows are drawn and then counted with their weights. If that is more work than 20 million rows
    in all draws (200 draws of 100,000 rows), the limits are value ± z · standard error, the error
    being √ Σ_i U_i² with U_i the derivative of the score by how often row i counts (infinitesimal
    jackknife, Jaeckel 1972; of the AUC this is that of DeLong et al. 1988). With so many rows the
    two hardly differ.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stagewise import GradientBoostingRegressor
    >>> from stagewise.inspection import scores
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(n_estimators=50).fit(X[:300], y[:300])
    >>> found = scores(model, X[300:], y[300:])
    >>> [s.name for s in found.scores]
    ['rmse', 'mae', 'r2']
    >>> found["r2"].low < found["r2"].value < found["r2"].high
    True
    """
    answers = Answers.of(model, X, y, sample_weight)
    return Scores.of(answers, confidence=confidence, repeats=repeats, random_state=random_state)


def _counts(n: int, repeats: int, seed: int) -> Iterator[Vector]:
    """Yield how often each row is drawn, n times with replacement."""
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        yield np.bincount(rng.integers(0, n, n), minlength=n).astype(np.float64)


def _drawn(
    metrics: Sequence[Metric], weight: Vector, share: float, repeats: int, seed: int
) -> tuple[Vector, Vector]:
    found = np.array(
        [[m.value(weight * c) for m in metrics] for c in _counts(len(weight), repeats, seed)]
    )
    limits = np.full((2, len(metrics)), NAN)
    for j, column in enumerate(found.T):
        known = column[np.isfinite(column)]  # a draw may be all of one class
        if 2 * len(known) > repeats:
            limits[:, j] = np.quantile(known, [(1 - share) / 2, (1 + share) / 2])
    return limits[0], limits[1]


def _normal(metrics: Sequence[Metric], weight: Vector, share: float) -> tuple[Vector, Vector]:
    value = np.array([m.value(weight) for m in metrics])
    error = np.array([_length(m.influence(weight)) for m in metrics])
    reach = ndtri((1 + share) / 2) * error
    least, most = np.array([m.ends for m in metrics]).T
    return np.clip(value - reach, least, most), np.clip(value + reach, least, most)


def _length(moved: Vector) -> float:
    """Return the root of the sum of squares, also where squares are no numbers."""
    largest = float(np.max(np.abs(moved)))
    return largest * float(np.sqrt(((moved / largest) ** 2).sum())) if largest > 0 else largest

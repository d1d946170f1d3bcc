"""Scores of a model with confidence limits.

Every score is a function of the row weights. A bootstrap resample changes only the weights, so rows
are predicted, compared and sorted once. For very many rows, the derivatives of the score by the
weights give its standard error instead (infinitesimal jackknife).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from stagewise.display import Displayed, Summary, Tabled
from stagewise.inspection.fitted_model import Vector, check_argument
from stagewise.inspection.quality.metrics import Metric, metrics_of
from stagewise.inspection.quality.plots import plot_intervals
from stagewise.inspection.quality.predictions import Predictions
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.rules import Number

__all__ = ["Score", "Scores", "scores"]

NAN = float("nan")
MOST_WORK = 20_000_000
"""Rows × resamples × passes; beyond this the limits use the normal approximation."""


@dataclass(frozen=True, repr=False)
class Score(Displayed):
    """One score with its confidence limits.

    Attributes
    ----------
    name, label : str
        The name in tables and the name for display.
    value : float
        The score; NaN if it is undefined for these rows.
    low, high : float
        The confidence limits; NaN if there are none.
    larger_is_better : bool
        Whether larger values are better.
    reason : str
        Why a value is NaN; empty if none is.
    baseline : float
        The score of the constant prediction that is best for these rows.
    """

    name: str
    label: str
    value: float
    low: float
    high: float
    larger_is_better: bool
    reason: str = ""
    baseline: float = NAN

    def _summary(self) -> Summary:
        limits = f" [{self.low:.6g}, {self.high:.6g}]" if np.isfinite(self.low) else ""
        known = f", baseline {self.baseline:.6g}" if np.isfinite(self.baseline) else ""
        return Summary(f"{self.label} {self.value:.6g}{limits}{known}", note=self.reason)


@dataclass(frozen=True, repr=False)
class Scores(Tabled):
    """The scores of a model on some rows.

    Attributes
    ----------
    task : {"regression", "classification", "ranking", "survival"}
        The kind of target.
    n_rows : int
        The number of rows with a positive weight.
    confidence_level : float
        The confidence level of the limits.
    scores : tuple of Score
        Regression: rmse, mae and r2, after the deviance and D² if the loss of the model is
        Poisson, gamma or Tweedie, or after nll, crps and coverage_90 of a distribution;
        classification: log_loss, accuracy, auc and brier; rankings:
        means over queries, see `query_scores`; survival: c_index, uno_c_index and
        integrated_brier, of competing risks those of each cause.
    """

    task: str
    n_rows: int
    confidence_level: float
    scores: tuple[Score, ...]

    @classmethod
    def of(
        cls,
        predictions: Predictions,
        *,
        metrics: Any = None,
        confidence_level: float = 0.95,
        n_resamples: int = 200,
        random_state: int = 0,
    ) -> Scores:
        """Score predictions; the parameters are those of `scores`."""
        rows = predictions.with_weight()
        found = metrics_of(rows, metrics)
        return cls.of_metrics(
            *(rows.task, found, rows.weight),
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            random_state=random_state,
        )

    @classmethod
    def of_metrics(
        cls,
        task: str,
        metrics: Sequence[Metric],
        weights: Vector,
        *,
        confidence_level: float = 0.95,
        n_resamples: int = 200,
        random_state: int = 0,
    ) -> Scores:
        """Return the values of metrics of rows with positive weights; see `scores`."""
        share = check_argument(
            "confidence_level", Number(0.0, 1.0, open_low=True, open_high=True), confidence_level
        )
        n_draws = check_argument("n_resamples", Number(0, whole=True), n_resamples)
        seed = check_argument("random_state", Number(0, whole=True), random_state)
        # Only ratios of weights matter. Division by a power of two is exact and keeps products
        # of weights finite.
        weight = np.ldexp(weights, -np.frexp(weights.max())[1])
        n = len(weight)
        low, high = np.full((2, len(metrics)), NAN)
        if n > 1 and n_draws:
            work = n * n_draws * max(m.passes for m in metrics)
            if work <= MOST_WORK:
                low, high = _bootstrap(metrics, weight, share, n_draws, seed)
            else:
                low, high = _normal(metrics, weight, share)
        scored = tuple(
            Score(
                *(m.name, m.label, m.value(weight), a, b, m.larger_is_better, m.reason(n)),
                baseline=m.baseline(weight),
            )
            for m, a, b in zip(metrics, low.tolist(), high.tolist(), strict=True)
        )
        return cls(task, n, share, scored)

    def __getitem__(self, name: str) -> Score:
        """Return the score of this name, or of its label, such as "AUC", in any case."""
        for fold in (str, str.lower):  # names of labels may differ in case only
            for score in self.scores:
                if fold(name) in (fold(score.name), fold(score.label)):
                    return score
        raise KeyError(
            f"{name!r} is not a score; the scores are {', '.join(s.name for s in self.scores)}"
        )

    def _summary(self) -> Summary:
        level = f"{self.confidence_level:.0%} confidence limits"
        rows = [
            {
                "score": s.label,
                "value": s.value,
                "low": s.low,
                "high": s.high,
                "baseline": s.baseline,
            }
            | ({"reason": s.reason} if s.reason else {})
            for s in self.scores
        ]
        return Summary(f"Scores of {self.n_rows:,} rows, {level}", rows=rows)

    def table(self) -> list[dict[str, Any]]:
        """Return one row per score."""
        return [
            {
                "score": s.name,
                "value": s.value,
                "low": s.low,
                "high": s.high,
                "baseline": s.baseline,
                "reason": s.reason,
            }
            for s in self.scores
        ]

    def plot(self, ax: Any = None) -> Any:
        """Plot each score with its limits, on its own axes.

        Parameters
        ----------
        ax : sequence of matplotlib axes, one for each score, or None
            Where to draw; None: on a new figure.

        Returns
        -------
        list of matplotlib axes
        """
        names = [s.label for s in self.scores]
        ends = np.array([[s.value, s.low, s.high] for s in self.scores])
        return plot_intervals(names, ends, ax)


@suggests_arguments
def scores(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    exposure: Any = None,
    metrics: Any = None,
    confidence_level: float = 0.95,
    n_resamples: int = 200,
    random_state: int = 0,
) -> Scores:
    """Return the scores of a model on rows with known targets, with confidence limits.

    ============  =====================================================================
    rmse          √ of the mean of (y - f)²
    mae           mean of |y - f|
    r2            1 - Σ w (y - f)² / Σ w (y - ȳ)²
    log_loss      mean of -log(predicted probability of the true class)
    accuracy      share of rows whose most probable class is the true class
    auc           area under the ROC curve, ties counting half; of more than two classes the
                  unweighted mean of the one-vs-rest areas of the classes in y
    brier         mean of (p - y)²; of more than two classes of Σ_k (p_k - 1[y = k])²
    ============  =====================================================================

    Several targets of classes have hamming_loss (the share of wrong labels), subset_accuracy (that
    of rows without a wrong one), the means of the log loss and the AUC over the targets, and both
    of each target, such as auc_drama. A model of ordered classes also has ranked_probability_score
    and quadratic_kappa. A survival model has c_index, uno_c_index and integrated_brier (its
    baseline is one curve for all rows).

    A model with a Poisson, gamma or Tweedie loss also has the mean deviance of that loss, such as
    poisson_deviance, and D² = 1 - deviance / deviance of the best constant, such as
    d2_poisson_deviance. A model of quantiles has pinball and d2_pinball, the means over its levels.
    A model of a distribution has nll (the mean negative log-likelihood), crps and coverage_90 (the
    share of rows in their central interval of 90 %; 0.9 is right, and more for counts); their
    baseline is the one distribution with the largest likelihood. A formula, or another loss of your
    own, has its mean as loss.
    Every score has a baseline: the score of the constant that is best for these rows (the mean; for
    mae the median; the class shares; the most frequent class; 0.5 for auc). Rows with an exposure
    have the best rate, times their exposure; rows with an offset the best number that is added to
    it. Only R² compares with the mean of y in any case, as in scikit-learn.

    Parameters
    ----------
    estimator : estimator
        Any fitted estimator with `predict`, or `predict_proba` for classes.
    X, y : array-like or data frame, and array-like
        Rows and their targets, preferably not used for training.
    sample_weight : array-like or None
        Sample weights.
    offset, exposure : array-like, number, str or None
        As of `predict` of the estimator.
    metrics : None, str, callable, scorer, Metric, or a list of these, default=None
        The scores to compute, as `eval_metric` of `GradientBoostingRegressor`: also "error_rate",
        "average_precision", "f1", "d2_absolute_error" and the deviances. None: those above. The
        baseline of a score that is not above is that of the mean, or of the class shares.
    confidence_level : float, default=0.95
        The confidence level of the limits.
    n_resamples : int, default=200
        The number of bootstrap resamples; the limits are quantiles of the resampled scores
        (percentile bootstrap, Efron 1979). 0: no limits.
    random_state : int, default=0
        The seed of the bootstrap.

    Returns
    -------
    Scores

    Notes
    -----
    Rows are resampled with equal probability and keep their weights. If all resamples together have
    more than 20 million rows (200 × 100,000 rows), the limits are value ± z · standard error. The
    standard error is √ Σ_i U_i², with U_i = w_i · ∂score/∂w_i (infinitesimal jackknife, Jaeckel
    1972; for the AUC this is the estimate of DeLong et al. 1988). With so many rows the two methods
    hardly differ. Scores that are not in the table above then have no limits.

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
    if getattr(getattr(estimator, "model_", None), "task", "") == "ranking":
        from stagewise.inspection.quality.query_scores import query_scores

        return query_scores(
            *(estimator, X, y),
            sample_weight=sample_weight,
            offset=offset,
            metrics=metrics,
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            random_state=random_state,
        ).scores
    from stagewise.inspection.survival.rows import is_survival
    from stagewise.inspection.survival.scores import survival_scores

    if is_survival(estimator):
        return survival_scores(
            *(estimator, X, y, sample_weight),
            offset=offset,
            metrics=metrics,
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            random_state=random_state,
        )
    if getattr(getattr(estimator, "model_", None), "class_targets", None) is not None:
        from stagewise.inspection.quality.label_scores import label_scores

        return label_scores(
            *(estimator, X, y, sample_weight),
            offset=offset,
            metrics=metrics,
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            random_state=random_state,
        )
    return Scores.of(
        Predictions.of(estimator, X, y, sample_weight, offset=offset, exposure=exposure),
        metrics=metrics,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        random_state=random_state,
    )


def _counts(n: int, n_resamples: int, seed: int) -> Iterator[Vector]:
    """Yield the number of times each row is in a bootstrap resample."""
    rng = np.random.default_rng(seed)
    for _ in range(n_resamples):
        yield np.bincount(rng.integers(0, n, n), minlength=n).astype(np.float64)


def _bootstrap(
    metrics: Sequence[Metric], weight: Vector, share: float, n_resamples: int, seed: int
) -> tuple[Vector, Vector]:
    found = np.array(
        [[m.value(weight * c) for m in metrics] for c in _counts(len(weight), n_resamples, seed)]
    )
    limits = np.full((2, len(metrics)), NAN)
    for j, column in enumerate(found.T):
        known = column[np.isfinite(column)]  # a resample may have only one class
        if 2 * len(known) > n_resamples:
            limits[:, j] = np.quantile(known, [(1 - share) / 2, (1 + share) / 2])
    return limits[0], limits[1]


def _normal(metrics: Sequence[Metric], weight: Vector, share: float) -> tuple[Vector, Vector]:
    value = np.array([m.value(weight) for m in metrics])
    error = np.array([_length(m.influence(weight)) for m in metrics])
    reach = ndtri((1 + share) / 2) * error
    least, most = np.array([m.ends for m in metrics]).T
    return np.clip(value - reach, least, most), np.clip(value + reach, least, most)


def _length(moved: Vector) -> float:
    """Return the Euclidean norm without overflow or underflow."""
    largest = float(np.max(np.abs(moved)))
    return largest * float(np.sqrt(((moved / largest) ** 2).sum())) if largest > 0 else largest

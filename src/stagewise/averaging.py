"""Formulas for the accuracy of votes and averages of ensembles.

Ensembles help as far as their members make different errors. Each function is one formula, for
numbers or arrays that are broadcast against each other (docs/methods/committees.md).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr
from scipy.stats import binom

from stagewise.validation.messages import short_repr

__all__ = ["Decomposition", "ambiguity", "majority_vote_accuracy", "variance_of_average"]

Numbers = npt.NDArray[np.float64]


def majority_vote_accuracy(M: Any, p: Any, *, method: str = "exact") -> Numbers | float:
    """Return the probability that a majority of independent voters is right.

    M voters are right with probability p each; the number S of right votes is binomial (M, p). A
    majority needs at least r = ⌊M / 2⌋ + 1 right votes:

        P(S ≥ r) = Σ_{s ≥ r} (M over s) p^s (1 - p)^(M - s)              exact
                 ≈ 1 - Φ((r - ½ - M p) / √(M p (1 - p)))                 normal

    (Condorcet 1785; the approximation of de Moivre has a continuity correction.) With growing M it
    tends to 1 if p > ½, and to 0 if p < ½. A tie is not a majority.

    Parameters
    ----------
    M : int or array of int
        The number of voters, at least 1.
    p : float or array of float
        The probability that a voter is right, in [0, 1].
    method : {"exact", "normal"}, default="exact"
        The binomial sum, or its normal approximation.

    Returns
    -------
    float, or array of the broadcast shape of M and p

    Examples
    --------
    >>> round(majority_vote_accuracy(15, 0.6), 3)
    0.787
    >>> round(majority_vote_accuracy(15, 0.6, method="normal"), 3)
    0.785
    """
    voters = _whole(M, "M", "voters")
    chance = _numbers(p, "p", "a probability, at least 0 and at most 1", low=0.0, high=1.0)
    if method not in ("exact", "normal"):
        raise ValueError(f"method must be 'exact' or 'normal'; got {short_repr(method)}.")
    if method == "exact":
        return _plain(binom.sf(voters // 2, voters, chance))
    above = voters // 2 + 0.5 - voters * chance
    spread = np.sqrt(voters * chance * (1.0 - chance))
    with np.errstate(divide="ignore"):  # p is 0 or 1: z = ±∞
        z = above / spread
    return _plain(ndtr(-z))


def variance_of_average(rho: Any, sigma2: Any, M: Any) -> Numbers | float:
    """Return the variance of the mean of M equally correlated variables.

        Var(1/M Σ Z_m) = 1/M² Σ_i Σ_j cov(Z_i, Z_j) = ρ σ² + (1 - ρ) σ² / M

    if each has variance σ² and each pair has correlation ρ (*Elements*, equation 15.1). The second
    term tends to 0 as members are added; the first term remains, so members should be weakly
    correlated.

    Parameters
    ----------
    rho : float or array of float
        The correlation ρ, at most 1 and at least -1 / (M - 1), the minimum for M variables.
    sigma2 : float or array of float
        The variance σ², at least 0.
    M : int or array of int
        The number of averaged variables, at least 1.

    Returns
    -------
    float, or array of the broadcast shape of the arguments

    Examples
    --------
    >>> variance_of_average(0.5, 4.0, 10)
    2.2
    """
    members = _whole(M, "M", "members")
    variance = _numbers(sigma2, "sigma2", "a variance, at least 0", low=0.0)
    shared = _numbers(rho, "rho", "a correlation, at least -1 and at most 1", low=-1.0, high=1.0)
    of_all, least = np.broadcast_arrays(shared, -1.0 / np.maximum(members - 1.0, 1.0))
    impossible = of_all < least - 1e-12  # -1/(M - 1) itself has been rounded
    if impossible.any():
        value, bound = of_all[impossible][0], least[impossible][0]
        raise ValueError(
            f"rho is {short_repr(value)}, and M variables cannot all have a pairwise correlation "
            f"below -1/(M - 1) = {bound:.4g}. Pass a larger rho, or a smaller M."
        )
    return _plain(np.maximum(shared * variance + (1.0 - shared) * variance / members, 0.0))


class Decomposition(NamedTuple):
    """The ambiguity decomposition: ensemble = average - ambiguity.

    Attributes
    ----------
    ensemble : float
        The mean squared error of the averaged predictions.
    average : float
        The mean squared error of the members, averaged.
    ambiguity : float
        The mean squared difference between the members and their average.
    """

    ensemble: float
    average: float
    ambiguity: float


def ambiguity(predictions: Any, y: Any, weights: Any = None) -> Decomposition:
    """Return the ambiguity decomposition of the squared error of an ensemble.

    With f̄ = Σ α_m f_m, and means over the rows,

        E[(f̄ - y)²]  =  Σ α_m E[(f_m - y)²]  -  Σ α_m E[(f_m - f̄)²]
        ensemble      =  average              -  ambiguity

    (Krogh & Vedelsby 1995). The ambiguity is not negative, so the ensemble is never worse than the
    average member. It does not depend on y, and is 0 if all members predict the same. With equal
    weights and uncorrelated errors of mean 0, the error of the ensemble is 1/M of the average.

    Parameters
    ----------
    predictions : array-like of shape (n_members, n_rows)
        The prediction of each member for each row.
    y : array-like of shape (n_rows,)
        The true targets.
    weights : array-like of shape (n_members,) or None
        The weights α of the members, normalized to sum 1; None: equal weights.

    Returns
    -------
    Decomposition
        The three terms.

    Examples
    --------
    >>> ambiguity([[1.0, 2.0], [3.0, 2.0]], [2.0, 2.0])
    Decomposition(ensemble=0.0, average=0.5, ambiguity=0.5)
    """
    predicted = _numbers(predictions, "predictions", "finite numbers")
    truth = _numbers(y, "y", "finite numbers")
    if predicted.ndim != 2 or not predicted.size:
        raise ValueError(
            "predictions must have two dimensions, members and rows, and at least one of each; it "
            f"has shape {predicted.shape}. Stack the predictions of the members with "
            "np.stack([...])."
        )
    if truth.shape != predicted.shape[1:]:
        raise ValueError(
            f"y has shape {truth.shape}, and predictions have {predicted.shape[1]} rows. Pass one "
            "number per row; rows are the second dimension of predictions."
        )
    share = _numbers(
        np.ones(len(predicted)) if weights is None else weights, "weights", "at least 0", low=0.0
    )
    if share.shape != predicted.shape[:1] or not share.any():
        raise ValueError(
            f"weights must be one number for each of {len(predicted)} members, and not all 0; got "
            f"{short_repr(weights)}."
        )
    share = share / share.sum()
    mean = share @ predicted
    return Decomposition(
        float(np.mean((mean - truth) ** 2)),
        float(share @ np.mean((predicted - truth) ** 2, axis=1)),
        float(share @ np.mean((predicted - mean) ** 2, axis=1)),
    )


def _numbers(
    value: Any, name: str, allowed: str, *, low: float = -np.inf, high: float = np.inf
) -> Numbers:
    """Return an array of finite numbers between two limits."""
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.array(np.nan)
    wrong = ~(np.isfinite(found) & (found >= low) & (found <= high))
    if wrong.any():
        first = short_repr(found[wrong][0] if np.ndim(value) else value)
        raise ValueError(f"{name} must be {allowed}; got {first}.")
    return found


def _whole(value: Any, name: str, what: str) -> Numbers:
    allowed = f"a whole number of {what}, at least 1"
    found = _numbers(value, name, allowed, low=1.0)
    wrong = found != np.rint(found)
    if wrong.any():
        raise ValueError(f"{name} must be {allowed}; got {short_repr(found[wrong][0])}.")
    return found


def _plain(found: Any) -> Numbers | float:
    return float(found) if np.ndim(found) == 0 else np.asarray(found, dtype=np.float64)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)

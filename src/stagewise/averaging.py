"""What can be expected of a committee: three facts about votes and averages.

The one idea: members help as far as they err in different ways. Each function is one formula, of
numbers or arrays that are broadcast against each other (docs/methods/committees.md tells what they
mean for bagging). Must not know models.
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
    """Return how often a majority of independent voters is right.

    Of M voters that are right with probability p each, S are, and S is binomial (M, p). More than
    half of them must be, r = ⌈(M + 1) / 2⌉ at least:

        P(S ≥ r) = Σ_{s ≥ r} (M over s) p^s (1 - p)^(M - s)              exact
                 ≈ 1 - Φ((r - ½ - M p) / √(M p (1 - p)))                 normal

    (Condorcet 1785; the second is de Moivre's, with the correction for continuity.) Where p > ½ it
    rises to 1 with M, and where p < ½ it falls to 0. An even number of voters can be split half and
    half, which is no majority.

    Parameters
    ----------
    M : int or array of int
        How many voters, at least 1.
    p : float or array of float
        How often each of them is right, in [0, 1].
    method : {"exact", "normal"}, default="exact"
        The sum, or its approximation.

    Returns
    -------
    float, or array of the shape that M and p have together

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
    with np.errstate(divide="ignore"):  # without a spread everybody is right, or nobody: z = ±∞
        z = above / spread
    return _plain(ndtr(-z))


def variance_of_average(rho: Any, sigma2: Any, M: Any) -> Numbers | float:
    """Return the variance of the mean of M numbers that are correlated with each other.

        Var(1/M Σ Z_m) = 1/M² Σ_i Σ_j cov(Z_i, Z_j) = ρ σ² + (1 - ρ) σ² / M

    if each has the variance σ² and each two the correlation ρ (*Elements*, equation 15.1). The
    second part goes to 0 as members are added; the first is why members should have little in
    common.

    Parameters
    ----------
    rho : float or array of float
        ρ, at most 1 and at least -1 / (M - 1): M numbers cannot all contradict each other more.
    sigma2 : float or array of float
        σ², at least 0.
    M : int or array of int
        How many are averaged, at least 1.

    Returns
    -------
    float, or array of the shape that the three have together

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
            f"rho is {short_repr(value)}, and numbers as many as M says cannot all have a "
            f"correlation below -1/(M - 1) = {bound:.4g} with each other. Raise rho, or lower M."
        )
    return _plain(np.maximum(shared * variance + (1.0 - shared) * variance / members, 0.0))


class Decomposition(NamedTuple):
    """Where the error of a committee comes from: committee = average - ambiguity.

    Parameters
    ----------
    committee : float
        The mean squared error of the members' average.
    average : float
        The average of the members' mean squared errors.
    ambiguity : float
        The mean of the members' squared distances from their average.
    """

    committee: float
    average: float
    ambiguity: float


def ambiguity(predictions: Any, y: Any, weights: Any = None) -> Decomposition:
    """Take the squared error of a committee apart.

    With f̄ = Σ α_m f_m, and means over the rows,

        E[(f̄ - y)²]  =  Σ α_m E[(f_m - y)²]  -  Σ α_m E[(f_m - f̄)²]
        committee     =  average              -  ambiguity

    (Krogh & Vedelsby 1995). The ambiguity is not negative, so a committee is never worse than its
    members are in the mean; it does not need y, and is 0 where all members say the same. With equal
    weights and uncorrelated errors of mean 0 the committee's error is the average's M-th part.

    Parameters
    ----------
    predictions : array-like of shape (n_members, n_rows)
        What each member says of each row.
    y : array-like of shape (n_rows,)
        What is true.
    weights : array-like of shape (n_members,) or None
        α: how much each member has to say, in any unit; None: the same.

    Returns
    -------
    Decomposition
        The three numbers.

    Examples
    --------
    >>> ambiguity([[1.0, 2.0], [3.0, 2.0]], [2.0, 2.0])
    Decomposition(committee=0.0, average=0.5, ambiguity=0.5)
    """
    said = _numbers(predictions, "predictions", "finite numbers")
    truth = _numbers(y, "y", "finite numbers")
    if said.ndim != 2 or not said.size:
        raise ValueError(
            "predictions must have two dimensions, members and rows, and at least one of each; it "
            f"has shape {said.shape}. Stack what the members say with np.stack([...])."
        )
    if truth.shape != said.shape[1:]:
        raise ValueError(
            f"y has shape {truth.shape}, and predictions are about {said.shape[1]} rows. Pass one "
            "number for each row; rows are the second dimension of predictions."
        )
    share = _numbers(
        np.ones(len(said)) if weights is None else weights, "weights", "at least 0", low=0.0
    )
    if share.shape != said.shape[:1] or not share.any():
        raise ValueError(
            f"weights must be one number for each of {len(said)} members, and not all 0; got "
            f"{short_repr(weights)}."
        )
    share = share / share.sum()
    mean = share @ said
    return Decomposition(
        float(np.mean((mean - truth) ** 2)),
        float(share @ np.mean((said - truth) ** 2, axis=1)),
        float(share @ np.mean((said - mean) ** 2, axis=1)),
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

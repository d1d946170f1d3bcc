"""What a linear model knows of its coefficients, to and from the arrays of a model file.

The one idea: slopes are in a file twice, with all that can be inferred from them and as the trees
that predict, so a reader makes the trees again and compares. This file must not know formulas.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.features import Features
from stagewise.errors import ModelFormatError
from stagewise.linear.design import Design
from stagewise.linear.least_squares import LeastSquares
from stagewise.linear.terms import linear_trees
from stagewise.model.ensemble import Ensemble
from stagewise.model.file.sections import LEAST_SQUARES

__all__ = ["linear_ensemble", "pack_least_squares", "unpack_least_squares"]

Array = npt.NDArray[Any]


def linear_ensemble(features: Features, fit: LeastSquares) -> Ensemble:
    """Return what a fit says of rows, less its level and in units of its scale."""
    design = Design.of(features)
    slope, levels = fit.slope / fit.scale, features.n_categories_per_column()
    trees = linear_trees(design, fit.columns.tolist(), slope, fit.centre)
    return Ensemble(len(levels), np.zeros(1), trees, levels)


def pack_least_squares(fit: LeastSquares | None) -> dict[str, Array]:
    """Take a fit apart; level and scale are the model's. Nothing if there is none."""
    if fit is None:
        return {}
    return {
        "linear_column": fit.columns,
        "linear_slope": fit.slope,
        "linear_centre": fit.centre,
        "linear_size": fit.size,
        "linear_covariance": fit.covariance.reshape(-1),
        "linear_sums": np.array([fit.weight, fit.rss, fit.tss]),
        "linear_facts": np.array([fit.intercept, fit.centred, fit.rank], dtype=np.uint64),
    }


def unpack_least_squares(
    arrays: Mapping[str, Array], features: Features, ensemble: Ensemble, offset: Any, scale: Any
) -> LeastSquares | None:
    """Put a fit together again, and hold it to the rest of the model.

    Raises
    ------
    ModelFormatError
        If it is not a fit of these features, or not the one that the trees say.
    """
    given = {n.removeprefix("linear_"): arrays[n] for n in LEAST_SQUARES if n in arrays}
    if not given:
        return None
    if len(given) < len(LEAST_SQUARES):
        raise ModelFormatError("what it knows of its coefficients is not whole")
    try:
        n_columns = len(Design.of(features))
    except ValueError:
        raise ModelFormatError("it has coefficients for features that can have none") from None
    _check(given, n_columns)
    intercept, centred, rank = given["facts"].tolist()
    weight, rss, tss = given["sums"].tolist()
    k = len(given["column"])
    fit = LeastSquares(
        columns=given["column"],
        intercept=bool(intercept),
        target_mean=float(np.ravel(offset)[0]),
        slope=given["slope"],
        centre=given["centre"],
        size=given["size"],
        covariance=given["covariance"].reshape(k + intercept, k + intercept),
        weight=weight,
        rank=rank,
        rss=rss,
        tss=tss,
        centred=bool(centred),
        scale=float(np.ravel(scale)[0]),
    )
    if not intercept and (fit.target_mean != 0.0 or fit.centre.any()):
        raise ModelFormatError("it has a level, and no intercept")
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is in no tree
        expected = linear_ensemble(features, fit)
    if ensemble.n_outputs != 1 or not _same(expected, ensemble):
        raise ModelFormatError("its coefficients are not those of its trees")
    return fit


def _check(given: Mapping[str, Array], n_columns: int) -> None:
    facts, sums, column = given["facts"], given["sums"], given["column"]
    if len(facts) != 3 or len(sums) != 3 or (facts[:2] > 1).any():
        raise ModelFormatError("it does not say what its coefficients come from")
    if (column >= n_columns).any() or (column[1:] <= column[:-1]).any():
        raise ModelFormatError("it has a coefficient for a column there is not, or two for one")
    k = len(column)
    m = k + int(facts[0])
    lengths = {"slope": k, "centre": k, "size": k, "covariance": m * m}
    if any(len(given[name]) != length for name, length in lengths.items()) or facts[2] > m:
        raise ModelFormatError("the arrays of its coefficients differ in length")
    if not all(np.isfinite(given[name]).all() for name in (*lengths, "sums")):
        raise ModelFormatError("it has a coefficient, or its variance, that is not finite")
    covariance = given["covariance"].reshape(m, m)
    if not np.array_equal(covariance, covariance.T) or (np.diag(covariance) < 0).any():
        raise ModelFormatError("its coefficients have variances that are none")
    if not sums[0] > 0 or (sums < 0).any() or (given["size"] <= 0).any():
        raise ModelFormatError("it has sums of squares, or a number of rows, that are none")


def _same(one: Ensemble, other: Ensemble) -> bool:
    mine, theirs = one.flat(), other.flat()
    return (
        mine.keys() == theirs.keys()
        and all(np.array_equal(mine[name], theirs[name]) for name in mine)
        and np.array_equal(one.base, other.base)
    )

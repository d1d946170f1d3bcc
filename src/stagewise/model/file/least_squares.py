"""The coefficients of a linear model and their inference, to and from a model file.

A file contains the slopes twice: with their covariance, and as the trees that predict. So a reader
builds the trees from the slopes and compares them.
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
    """Return the predictions of a fit, less the target mean and divided by its scale, as trees."""
    design = Design.of(features)
    slope, n_categories = fit.slope / fit.scale, features.n_categories_per_column()
    trees = linear_trees(design, fit.columns.tolist(), slope, fit.centre)
    return Ensemble(len(n_categories), np.zeros(1), trees, n_categories)


def pack_least_squares(fit: LeastSquares | None) -> dict[str, Array]:
    """Return the arrays of a fit, without target mean and scale, which the model has."""
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
    """Return the checked fit; None for a model that is not linear.

    Raises
    ------
    ModelFormatError
        If it is not a fit of these features, or its slopes are not those of the trees.
    """
    given = {n.removeprefix("linear_"): arrays[n] for n in LEAST_SQUARES if n in arrays}
    if not given:
        return None
    if len(given) < len(LEAST_SQUARES):
        raise ModelFormatError("it has only some of the sections of a linear model")
    try:
        n_columns = len(Design.of(features))
    except ValueError:
        raise ModelFormatError("it has coefficients for features of wide integers") from None
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
        raise ModelFormatError("it has no intercept, but an offset or centres")
    with np.errstate(over="ignore", invalid="ignore"):  # trees contain finite numbers only
        expected = linear_ensemble(features, fit)
    if ensemble.n_outputs != 1 or not _same(expected, ensemble):
        raise ModelFormatError("its coefficients are not those of its trees")
    return fit


def _check(given: Mapping[str, Array], n_columns: int) -> None:
    facts, sums, column = given["facts"], given["sums"], given["column"]
    if len(facts) != 3 or len(sums) != 3 or (facts[:2] > 1).any():
        raise ModelFormatError("the facts or sums of its linear model are wrong")
    if (column >= n_columns).any() or (column[1:] <= column[:-1]).any():
        raise ModelFormatError(
            "it has a coefficient for a column that does not exist, or two for one"
        )
    k = len(column)
    m = k + int(facts[0])
    lengths = {"slope": k, "centre": k, "size": k, "covariance": m * m}
    if any(len(given[name]) != length for name, length in lengths.items()) or facts[2] > m:
        raise ModelFormatError("the arrays of its coefficients differ in length")
    if not all(np.isfinite(given[name]).all() for name in (*lengths, "sums")):
        raise ModelFormatError("it has a coefficient, or its variance, that is not finite")
    covariance = given["covariance"].reshape(m, m)
    if not np.array_equal(covariance, covariance.T) or (np.diag(covariance) < 0).any():
        raise ModelFormatError(
            "the covariance of its coefficients is not symmetric, or has a negative variance"
        )
    if not sums[0] > 0 or (sums < 0).any() or (given["size"] <= 0).any():
        raise ModelFormatError(
            "its number of rows or a size is not positive, or a sum of squares is negative"
        )


def _same(one: Ensemble, other: Ensemble) -> bool:
    mine, theirs = one.flat(), other.flat()
    return (
        mine.keys() == theirs.keys()
        and all(np.array_equal(mine[name], theirs[name]) for name in mine)
        and np.array_equal(one.base, other.base)
    )

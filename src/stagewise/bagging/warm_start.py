"""warm_start of bagging: the base estimators that a fit keeps, and the checks that it can.

A bag depends on the seed and its number only, so that further bags give the ensemble of one fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt

from stagewise.bagging.bag_samples import Bags
from stagewise.bagging.base_estimators import BaggedEstimator
from stagewise.bagging.ensemble import EstimatorEnsemble
from stagewise.training.reading.passthrough import Header
from stagewise.validation.messages import warn_caller

__all__ = ["bags_digest", "check_same_bags", "known_estimators"]


def known_estimators(
    ensemble: EstimatorEnsemble,
    params: Mapping[str, Any],
    header: Header,
    classes: npt.NDArray[Any] | None,
) -> list[BaggedEstimator]:
    """Return the base estimators that warm_start keeps; none, if a new ensemble is fitted.

    Parameters
    ----------
    ensemble : EstimatorEnsemble
        The estimator, fitted before or not.
    params : mapping
        Its parameters, checked.
    header : Header
        The columns of X.
    classes : array or None
        The classes of y.
    """
    if not (params["warm_start"] and hasattr(ensemble, "estimators_")):
        return []
    known, n = list(ensemble._fitted_estimators()), params["n_estimators"]  # noqa: SLF001
    if n < len(known):
        raise ValueError(
            f"n_estimators={n} must be larger or equal to len(estimators_)={len(known)} when "
            "warm_start==True"
        )
    if n == len(known):
        warn_caller(
            "Warm-start fitting without increasing n_estimators does not fit new estimators. "
            "Increase n_estimators."
        )
    seed, columns = params["random_state"], ensemble._header.n  # noqa: SLF001
    if isinstance(seed, int):
        _check_same("random_state", ensemble.seed_, seed)
    _check_same("the number of columns", columns, header.n)
    if classes is not None:
        before = ensemble._kind.classes  # noqa: SLF001
        assert before is not None
        _check_same("the classes", before.tolist(), classes.tolist())
    return known


def bags_digest(bags: Bags, y: npt.NDArray[Any]) -> str:
    """Return a hash of the bags and the targets of their rows."""
    parts = [y, bags.weight, bags.groups, repr(bags.sampling), bags.n_rows]
    return str(joblib.hash(parts))


def check_same_bags(before: str, now: str) -> None:
    """Raise ValueError unless the out-of-bag rows of earlier base estimators are the same now."""
    if before != now:
        raise ValueError(
            "warm_start continues an ensemble whose out-of-bag rows are predicted, but y, the "
            "weights, the groups or the sampling have changed, so that they are other rows now. "
            "Pass the same rows, or fit with warm_start=False."
        )


def _check_same(what: str, before: Any, now: Any) -> None:
    if not np.array_equal(before, now):
        raise ValueError(
            f"warm_start continues an ensemble, and {what} was {before}, but now it is {now}. "
            "Leave it as it was, or fit with warm_start=False."
        )

"""From parameters to what is drawn: the rows of a round, and the rounds that it is fitted without.

The one idea: one line for each kind of sampling. Which parameters go with which is in
`stagewise.validation.parameters`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from stagewise.boosting.dropout import Dropout
from stagewise.boosting.sampling import (
    Bootstrap,
    LargestGradients,
    MinimalVariance,
    RowFraction,
    Sampling,
    WholeGroups,
)

__all__ = ["EVERYTHING", "choose_seed", "make_dropout", "make_sampling"]

Indices = npt.NDArray[np.uint32]

EVERYTHING: Mapping[str, Any] = MappingProxyType(
    {"sampling": "uniform", "drop_rate": 0.0, "out_of_bag": False}
)
"""What estimators do that have no such parameters."""

NO_GROUPS = np.empty(0, dtype=np.uint32)

SAMPLINGS: Mapping[str, Callable[[Mapping[str, Any], float, Indices], Sampling]] = MappingProxyType(
    {
        "uniform": lambda p, unit, groups: RowFraction(p["subsample"]),
        "bootstrap": lambda p, unit, groups: Bootstrap(p["subsample"]),
        "goss": lambda p, unit, groups: LargestGradients(p["goss_top"], p["goss_other"]),
        "mvs": lambda p, unit, groups: MinimalVariance(p["subsample"], p["mvs_lambda"] * unit**2),
        "group": lambda p, unit, groups: WholeGroups(p["subsample"], groups),
    }
)


def choose_seed(random_state: Any) -> int:
    """Return the number that all draws of a fit are keyed by: the caller's own, or one drawn."""
    if isinstance(random_state, int):
        return random_state
    return int(check_random_state(random_state).randint(0, 2**31 - 1))


def make_sampling(
    params: Mapping[str, Any], unit: float = 1.0, groups: Indices | None = None
) -> Sampling:
    """Return how rows are drawn.

    Parameters
    ----------
    params : mapping
        Checked.
    unit : float
        One unit of the score: g is in units of a loss for each of these, h for each of their
        squares, so the λ of g² + λh² is in their squares.
    groups : uint32 array or None
        The number of every row's group, if whole groups are drawn.
    """
    make = SAMPLINGS[params["sampling"]]
    return make(params, unit, NO_GROUPS if groups is None else groups)


def make_dropout(params: Mapping[str, Any]) -> Dropout:
    """Return which rounds are dropped."""
    if params["drop_rate"] == 0:
        return Dropout()
    return Dropout(
        params["drop_rate"],
        params["max_drop"],
        params["skip_drop"],
        params["drop_normalization"],
    )

"""The estimators that have a loss, for errors about losses that an estimator does not have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from stagewise.errors import UnknownLossError
from stagewise.losses import (
    CLASSIFICATION_LOSSES,
    RANKING_LOSSES,
    REGRESSION_LOSSES,
    SURVIVAL_LOSSES,
)
from stagewise.validation.parameters import unknown_loss

__all__ = ["refused_loss"]

OWNERS: Mapping[str, Collection[str]] = MappingProxyType(
    {
        "GradientBoostingRegressor": REGRESSION_LOSSES,
        "GradientBoostingClassifier": CLASSIFICATION_LOSSES,
        "GradientBoostingRanker": RANKING_LOSSES,
        "GradientBoostingSurvival": SURVIVAL_LOSSES,
    }
)


def refused_loss(loss: Any, owner: str, names: Iterable[str], forms: str) -> UnknownLossError:
    """Return the error for a loss that an estimator does not have.

    Parameters
    ----------
    loss : object
        The value that was passed.
    owner : str
        The estimator.
    names : iterable of str
        Its losses.
    forms : str
        What else it accepts, in words.
    """
    others = [name for name, losses in OWNERS.items() if isinstance(loss, str) and loss in losses]
    hint = f" {loss!r} is a loss of {' and '.join(others)}." if others else ""
    return unknown_loss(loss, owner, names, forms, hint)

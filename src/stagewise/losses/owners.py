"""The estimators that have a loss, for errors about losses that an estimator does not have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from stagewise.errors import InvalidParameterError, UnknownLossError
from stagewise.losses import (
    CLASSIFICATION_LOSSES,
    RANKING_LOSSES,
    REGRESSION_LOSSES,
    SURVIVAL_LOSSES,
    Loss,
    is_class_loss,
)
from stagewise.validation.parameters import unknown_loss

__all__ = ["refuse_other_task", "refused_loss"]

OWNERS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
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


def refuse_other_task(loss: Loss, caller: str, *, of_classes: bool) -> None:
    """Raise InvalidParameterError if an object is a loss of this library for another task.

    Parameters
    ----------
    loss : Loss
        The object.
    caller : str
        The estimator.
    of_classes : bool
        Whether it is a classifier; else a regressor.
    """
    own = "GradientBoostingClassifier" if of_classes else "GradientBoostingRegressor"
    owner = "GradientBoostingClassifier" if is_class_loss(loss) else own
    for name in ("GradientBoostingRegressor", "GradientBoostingRanker", "GradientBoostingSurvival"):
        if type(loss) in OWNERS[name].values():
            owner = name
    if owner != own:
        raise InvalidParameterError(
            f"The parameter 'loss' of {caller} must be a loss of "
            f"{'classes' if of_classes else 'numbers'}; {type(loss).__name__} is a loss of {owner}."
        )

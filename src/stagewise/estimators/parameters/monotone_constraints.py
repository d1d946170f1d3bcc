"""Monotone constraints beside losses with several scores, of which trees constrain one at most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stagewise.errors import InvalidParameterError
from stagewise.losses import Loss
from stagewise.losses.distributions import DistributionLoss
from stagewise.losses.levels import LevelsLoss
from stagewise.validation.messages import warn_caller

__all__ = ["check_monotone"]


def check_monotone(constraints: Any, loss: Loss) -> None:
    """Raise for levels, whose shared trees have no constraint; warn if the mean may break it.

    Parameters
    ----------
    constraints : mapping, sequence or None
        The parameter `monotonic_cst`.
    loss : Loss
        The loss.
    """
    own = [*constraints.values()] if isinstance(constraints, Mapping) else constraints
    if not np.iterable(own) or not np.any([*own]):  # other values are refused beside the features
        return
    if isinstance(loss, LevelsLoss):
        raise InvalidParameterError(
            f"monotonic_cst is for one prediction per row; loss={loss.name!r} predicts "
            f"{loss.n_outputs} levels, whose shared trees have no constraint. Fit one model for "
            f"each level, such as quantile={loss.levels[0]:g}, or leave monotonic_cst at None."
        )
    if isinstance(loss, DistributionLoss) and not loss.location_is_mean:
        others = " and ".join(repr(name) for name in loss.output_names[1:])
        warn_caller(
            f"monotonic_cst constrains the score {loss.output_names[0]!r} of loss={loss.name!r}, "
            f"but the mean, which predict returns, also depends on {others} and may break the "
            f"constraint. For a monotone mean use {loss.with_monotone_mean}."
        )

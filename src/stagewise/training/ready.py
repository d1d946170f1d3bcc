"""All that a fit knows before its first round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from stagewise.boosting.loop import Rows
from stagewise.data import TargetScale, TargetScales
from stagewise.model.model import Model
from stagewise.training.row_set import Sample
from stagewise.training.target_encoder import TargetEncoder

__all__ = ["Ready", "Scale"]

Scale = TargetScale | TargetScales


@dataclass(frozen=True)
class Ready:
    """What was made ready before the first round, from the training rows alone.

    Attributes
    ----------
    train : Sample
        The training rows, before binning.
    features : Features, or what else is remembered of the columns
        With what their levels say.
    classes : array or None
        None of a regression.
    previous : Model or None
        The one that is continued.
    scale : TargetScale or TargetScales
        In which units the loss sees the target.
    statistics : Statistics
        How it was found out what levels say.
    rows, held : Rows, and Rows or None
        The training rows, and those that are held out, as a learner has them.
    alike : callable
        Makes other rows ready in the same way.
    """

    train: Sample
    features: Any
    classes: npt.NDArray[Any] | None
    previous: Model | None
    scale: Scale
    statistics: TargetEncoder
    rows: Rows
    held: Rows | None
    alike: Callable[[Any], Any]

"""Reads times until an event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data import as_frequencies, check_weight
from stagewise.data.survival_target import read_survival
from stagewise.training.reading.target_reader import Target

__all__ = ["SurvivalReader"]

Vector = npt.NDArray[np.float64]


@dataclass
class SurvivalReader:
    """Reads times until an event; the strata of the first rows are those of all others.

    Parameters
    ----------
    caller : str
        The estimator's name, for messages.
    strata : list or None
        The labels of the strata, in the order of their codes; None: they are learned.
    """

    caller: str
    strata: list[Any] | None = None

    def read(self, y: Any, sample_weight: Any, n_rows: int) -> Target:
        """Return the times of the rows of X."""
        target, self.strata = read_survival(y, n_rows, caller=self.caller, strata=self.strata)
        weight = check_weight(sample_weight, n_rows)
        return Target(target, None if weight is None else as_frequencies(weight))

    def read_validation(
        self, y: Any, sample_weight: Any, n_rows: int, classes: Any
    ) -> tuple[npt.NDArray[Any], Vector | None]:
        """Return the times and weights of evaluation rows."""
        target = self.read(y, sample_weight, n_rows)
        return target.y, target.weight

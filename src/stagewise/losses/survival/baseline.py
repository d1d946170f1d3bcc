"""The cumulative baseline hazard of a proportional hazards model, by stratum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from stagewise.kaplan_meier import step_values

__all__ = ["Baseline"]

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Baseline:
    """H_0(t) of each stratum: a step function.

    Attributes
    ----------
    times, hazard : float64 array
        The event times, sorted by stratum and time, and H_0 from each of them on.
    stratum : float64 array
        The code of the stratum of each of them.
    """

    times: Vector
    hazard: Vector
    stratum: Vector

    @classmethod
    def read(cls, learned: Mapping[str, Vector], prefix: str = "") -> Self:
        """Return the baseline from the arrays of a model."""
        names = ("times", "hazard", "stratum")
        return cls(*(np.asarray(learned[f"{prefix}{name}"]) for name in names))

    def arrays(self, prefix: str = "") -> dict[str, Vector]:
        """Return the arrays that a model keeps."""
        return {
            f"{prefix}times": self.times,
            f"{prefix}hazard": self.hazard,
            f"{prefix}stratum": self.stratum,
        }

    def at(self, stratum: npt.NDArray[Any], times: Vector) -> npt.NDArray[np.float64]:
        """Return H_0 at times, shape (n_rows, n_times), for the stratum of each row."""
        codes, which = np.unique(stratum, return_inverse=True)
        each = [
            step_values(self.times[self.stratum == code], self.hazard[self.stratum == code], times)
            for code in codes.tolist()
        ]
        return np.asarray(np.stack(each)[which]) if each else np.zeros((0, len(times)))

    def steps(self, stratum: float = 0.0) -> tuple[Vector, Vector]:
        """Return the event times of a stratum, and the increments of H_0 at them."""
        own = self.stratum == stratum
        return self.times[own], np.diff(self.hazard[own], prepend=0.0)

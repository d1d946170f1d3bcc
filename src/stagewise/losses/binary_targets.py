"""The loss of several targets of two classes: multi-label classification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.losses.base import Loss
from stagewise.losses.multi_target import MultiTargetLoss
from stagewise.losses.scores import Matrix

__all__ = ["BinaryTargetsLoss"]


class BinaryTargetsLoss(MultiTargetLoss):
    """The mean over K targets of a loss of two classes; each target has one score.

    Domain: y of shape (n_rows, K), codes of classes. Link: that of the loss of two classes.

        L(y, F) = 1/K Σ_k L_1(y_k, F_k)

    Derivatives and hessian: as of `MultiTargetLoss`.

    Parameters
    ----------
    one : Loss
        L_1, with one score.
    n_classes : sequence of int
        The number of classes of each target: 2, or 1 if all rows have the same.
    """

    def __init__(self, one: Loss, n_classes: Sequence[int]) -> None:
        super().__init__(one, len(n_classes))
        self.n_classes = tuple(n_classes)

    def split(self, values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """Return the columns of the classes of each target."""
        return np.split(values, np.cumsum(self.n_classes)[:-1], axis=1)

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return the probabilities of all classes, one target after the other."""
        score = score.reshape(len(score), -1)
        columns = []
        for k, n in enumerate(self.n_classes):
            p = self.one.mean(np.ascontiguousarray(score[:, k]))
            columns.append(p if n == 2 else np.ones((len(score), 1)))
        return np.hstack(columns)

"""The scores of classes for prediction sets: LAC, APS and RAPS.

A prediction set contains the classes whose score is at most a threshold: a quantile of the scores
of the true classes of rows that were not trained on. One function computes the scores of all
classes; the score of the true class is one of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stagewise.row_hash import uniform_of_rows

__all__ = ["SetScore"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SetScore:
    """A score of every class of a row; small scores are for probable classes.

    "lac": 1 - p_k (Sadinle, Lei & Wasserman 2019). "aps": the sum of the probabilities of the
    classes that are at least as probable, p_k included, or with the factor u of p_k, uniform on
    (0, 1) (Romano, Sesia & Candès 2020). "raps": as "aps", plus penalty · (rank - free ranks), if
    positive (Angelopoulos et al. 2021).

    Attributes
    ----------
    kind : {"lac", "aps", "raps"}
        The score.
    randomized : bool
        Whether "aps" and "raps" have the random factor; otherwise it is 1.
    penalty : float
        The penalty of "raps" for each rank.
    free_ranks : int
        The number of ranks without a penalty.
    seed : int
        The seed of the random factors.
    """

    kind: str
    randomized: bool = False
    penalty: float = 0.0
    free_ranks: int = 0
    seed: int = 0

    def of_classes(self, proba: Matrix, score: Matrix) -> Matrix:
        """Return the score of every class of every row.

        Parameters
        ----------
        proba : float64 array of shape (n_rows, n_classes)
            The probabilities.
        score : float64 array of shape (n_rows, n_outputs)
            F of the rows, which chooses their random factors: the same for a row alone and among
            others.
        """
        if self.kind == "lac":
            return 1.0 - proba
        order = np.argsort(-proba, axis=1, kind="stable")
        sorted_proba = np.take_along_axis(proba, order, axis=1)
        total = np.cumsum(sorted_proba, axis=1)
        if self.randomized:
            u = uniform_of_rows(score, self.seed)[:, np.newaxis]
            total = total - (1.0 - u) * sorted_proba
        if self.kind == "raps":
            ranks = np.arange(1, proba.shape[1] + 1)
            total = total + self.penalty * np.maximum(0, ranks - self.free_ranks)
        scores = np.empty_like(total)
        np.put_along_axis(scores, order, total, axis=1)
        return scores

    def of_true_class(self, proba: Matrix, codes: npt.NDArray[np.intp], score: Matrix) -> Vector:
        """Return the score of the true class of every row."""
        scores = self.of_classes(proba, score)
        return np.asarray(scores[np.arange(len(codes)), codes])

"""The base class of losses that are the negative log-likelihood of a distribution.

A score is a parameter of the distribution after its link. Trees are fitted to the natural gradient
(Duan et al. 2020, NGBoost): with the gradient g and the Fisher information I of a row, -I⁻¹ g is
the direction of steepest ascent in the space of distributions. A tree of one score is fitted to its
entry k with the weights h_k = 1 / (I⁻¹)_kk, the information about this parameter when the others
are unknown. So the value of a leaf, a weighted mean, is a step of Fisher's scoring for its rows.
Where I is diagonal, the gradients of the tree are those of the loss, and h the information.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Workers
from stagewise.distributions import Distribution
from stagewise.exact_sums import mean_rows
from stagewise.losses.base import BoundLoss, LateBoundLoss, Loss, Matrix, Vector
from stagewise.validation.messages import short_repr

__all__ = ["DistributionLoss", "Information", "diagonal"]

Information = npt.NDArray[np.float64]
"""Fisher information matrices of rows, shape (n_rows, n_outputs, n_outputs)."""

LEAST_INFORMATION = 1e-9
"""The smallest h of a row, relative to the mean; far from data, information can vanish."""
LEAST_RATIO, LARGEST_RATIO = 1e-12, 50.0
"""The bounds of |I⁻¹ g| of a row: targets may be very unlikely; smaller numbers are 0."""
LARGEST_COUPLED = LARGEST_RATIO
"""Beyond this |I⁻¹ g|, the scores of a row move as if the others were known."""
MOST_ITERATIONS = 200


def diagonal(*columns: npt.ArrayLike) -> Information:
    """Return information matrices without entries beside the diagonal."""
    own = np.broadcast_arrays(*(np.asarray(c, dtype=np.float64) for c in columns))
    found = np.zeros((len(own[0]), len(own), len(own)))
    for k, column in enumerate(own):
        found[:, k, k] = column
    return found


class DistributionLoss(Loss):
    """The negative log-likelihood of a distribution whose parameters are functions of x.

        L(y, F) = -log p(y | θ(F))

    Derived classes define the link θ(F), the gradient ∂L/∂F and the Fisher information about F.

    Attributes
    ----------
    output_names : tuple of str
        The names of the scores.
    bounds : tuple of (float, float)
        The bounds of each score, beyond which the parameters do not change.
    coupled : bool
        Whether the directions of trees use the information beside the diagonal, as if all scores
        moved together.
    """

    has_distribution = True
    location = 0
    output_names: tuple[str, ...] = ()
    bounds: tuple[tuple[float, float], ...] = ()
    coupled = True

    def __init__(self) -> None:
        self.n_outputs = len(self.output_names)

    # ---- defined by each loss --------------------------------------------------------------------

    def distribution(self, score: Matrix, start: Any = 0.0, scale: Any = 1.0) -> Distribution:
        """Return the distributions of start + scale · z, where z has those of the scores."""
        raise NotImplementedError

    def gradient(self, y: npt.NDArray[Any], score: Matrix) -> Matrix:
        """Return ∂L/∂F at scores within their bounds."""
        raise NotImplementedError

    def information(self, score: Matrix) -> Information:
        """Return the Fisher information about F at scores within their bounds."""
        raise NotImplementedError

    def guess(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        """Return constant scores from which the best ones are found."""
        raise NotImplementedError

    # ---- the loss --------------------------------------------------------------------------------

    def within(self, score: Matrix) -> Matrix:
        """Return scores within their bounds, shape (n_rows, n_outputs)."""
        own = np.asarray(score, dtype=np.float64).reshape(len(score), self.n_outputs)
        low, high = np.array(self.bounds).T
        return np.clip(own, low, high)

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        return self.distribution(score).nll(y)

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return the means of the distributions."""
        return self.distribution(score).mean

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        """Return ∂L/∂F, and the Fisher information of each score when the others are unknown."""
        inside = self.within(score)
        gradient = self.gradient(y, inside)
        shape = np.shape(score)
        _, weight = self._natural(gradient, inside)
        return gradient.reshape(shape), weight.reshape(shape)

    def natural_gradient(self, y: npt.NDArray[Any], score: Matrix) -> Matrix:
        """Return I⁻¹ ∂L/∂F for every row."""
        inside = self.within(score)
        return self._natural(self.gradient(y, inside), inside)[0]

    def _natural(self, gradient: Matrix, score: Matrix) -> tuple[Matrix, Matrix]:
        """Return I⁻¹ g and 1 / diag(I⁻¹)."""
        information, k = self.information(score), self.n_outputs
        if not self.coupled:
            information = information * np.eye(k)
        own = information[:, np.arange(k), np.arange(k)]
        own = np.maximum(own, LEAST_INFORMATION * np.maximum(own.mean(axis=0), 1e-30))
        alone = gradient / own
        if k == 1 or not information[:, ~np.eye(k, dtype=bool)].any():
            return alone, own
        root = np.sqrt(own)
        # With ones on the diagonal, matrices of parameters in different units are well conditioned.
        scaled = information / (root[:, :, np.newaxis] * root[:, np.newaxis, :])
        scaled[:, np.arange(k), np.arange(k)] = 1.0 + 1e-6
        inverse = np.linalg.inv(scaled)
        natural = np.einsum("nij,nj->ni", inverse, gradient / root) / root
        weight = own / np.maximum(inverse[:, np.arange(k), np.arange(k)], 1.0)
        # A step that a bound cuts off would leave the steps of the other scores alone.
        low, high = np.array(self.bounds).T
        cut = ((score <= low) & (gradient > 0)) | ((score >= high) & (gradient < 0))
        cut = (cut | (np.abs(natural) > LARGEST_COUPLED)).any(axis=1)
        natural[cut], weight[cut] = alone[cut], own[cut]
        return natural, weight

    def tree_derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        """Return what trees are fitted to: h n and h, with n the natural gradient."""
        inside = self.within(score)
        gradient = self.gradient(y, inside)
        natural, weight = self._natural(gradient, inside)
        natural = np.clip(natural, -LARGEST_RATIO, LARGEST_RATIO)
        natural[(np.abs(natural) < LEAST_RATIO) | (weight < LEAST_RATIO)] = 0.0
        return (weight * natural).reshape(np.shape(score)), weight.reshape(np.shape(score))

    # ---- constants -------------------------------------------------------------------------------

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return self._scoring(y, weight, np.zeros((len(y), self.n_outputs)), self.guess(y, weight))

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        guess = self.guess(y, weight)
        guess = guess - np.array(
            [mean_rows(np.ascontiguousarray(offset[:, k]), weight) for k in range(self.n_outputs)]
        )
        return self._scoring(y, weight, offset, guess)

    def _scoring(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix, guess: Vector
    ) -> Vector:
        """Return the constants that maximise the likelihood, by Fisher's scoring."""

        def mean_of(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
            columns = values.reshape(len(y), -1).T
            found = [mean_rows(np.ascontiguousarray(c), weight) for c in columns]
            return np.array(found).reshape(values.shape[1:])

        def total(constant: Vector) -> float:
            with np.errstate(all="ignore"):
                found = float(mean_of(self.loss(y, offset + constant)))
            return found if np.isfinite(found) else np.inf

        low, high = np.array(self.bounds).T
        constant, least, damping = guess, total(guess), 1e-6
        for _ in range(MOST_ITERATIONS):
            inside = self.within(offset + constant)
            slope, curve = mean_of(self.gradient(y, inside)), mean_of(self.information(inside))
            diagonal_of = np.diag(np.diag(curve) + 1e-12)
            while damping < 1e8:  # Levenberg's method: shorter steps in worse conditioned regions
                step = np.linalg.solve(curve + damping * diagonal_of, slope)
                moved = np.clip(constant - np.clip(step, -2.0, 2.0), low, high)
                if (found := total(moved)) < least:
                    break
                damping *= 8.0
            else:
                break
            gained, constant, least = least - found, moved, found
            damping = max(damping / 16.0, 1e-6)
            if gained < 1e-14 * max(1.0, abs(least)):
                break
        before = 1e-3
        for _ in range(MOST_ITERATIONS):  # the loss is flat here, but not its gradient
            inside = self.within(offset + constant)
            slope, curve = mean_of(self.gradient(y, inside)), mean_of(self.information(inside))
            step = np.linalg.solve(curve + np.diag(1e-9 * np.diag(curve) + 1e-12), slope)
            size = float(np.abs(step).max())
            if not 1e-14 < size < before:
                break
            constant, before = np.clip(constant - step, low, high), size
        return constant

    # ---- fits ------------------------------------------------------------------------------------

    def link(self, mean: npt.NDArray[np.float64]) -> Matrix:
        """Return scores: the location or the log mean, and 0 for the other parameters."""
        score = np.zeros((len(mean), self.n_outputs), order="F")
        score[:, self.location] = self._location_of(np.asarray(mean, dtype=np.float64))
        return score

    def _location_of(self, mean: Vector) -> Vector:
        return mean

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        return _DistributionBoundLoss(
            self, workers, y, weight, f"{type(self).__name__}.tree_derivatives"
        )

    def refuse(self, wrong: npt.NDArray[np.bool_], y: Vector, must: str, remedy: str) -> None:
        """Raise ValueError with the first row that is outside the domain."""
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"The {self.name} loss needs targets {must}, but y is {short_repr(float(y[row]))} "
                f"at row {row} (the first of {int(wrong.sum())} such rows). {remedy}"
            )


class _DistributionBoundLoss(LateBoundLoss):
    """The natural gradient, to which trees are fitted."""

    _loss: DistributionLoss

    def _derivatives(self, scores: Matrix) -> Any:
        return self._loss.tree_derivatives(self._y, scores)

"""The base class of losses that are the negative log-likelihood of a distribution.

A score is a parameter of the distribution after its link. Trees are fitted to the natural gradient
(Duan et al. 2020, NGBoost): with the gradient g and the Fisher information I of a row, -I⁻¹ g is
the direction of steepest ascent in the space of distributions. A tree of one score is fitted to its
entry k with the weights h_k = 1 / (I⁻¹)_kk, the information about this parameter when the others
are unknown. So the value of a leaf, a weighted mean, is a step of Fisher's scoring for its rows.
Where I is diagonal, the gradients of the tree are those of the loss, and h the information.

Values, gradients and information are computed by native kernels (native/kernels/distributions), a
class for each family; their slow reference is tests/reference/distributions.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import DistributionRule, Workers
from stagewise.distributions import Distribution
from stagewise.exact_sums import ExactSums, mean_rows
from stagewise.losses.base import Loss
from stagewise.losses.bound_loss import BoundLoss
from stagewise.losses.kernel import NativeBoundLoss
from stagewise.losses.scores import Matrix, Vector
from stagewise.validation.messages import short_repr

__all__ = ["DistributionLoss", "Information"]

Information = npt.NDArray[np.float64]
"""Fisher information matrices of rows, shape (n_rows, n_outputs, n_outputs)."""

MOST_ITERATIONS = 200


class DistributionLoss(Loss):
    """The negative log-likelihood of a distribution whose parameters are functions of x.

        L(y, F) = -log p(y | θ(F))

    Derived classes define the link θ(F), and the kernel of the gradient ∂L/∂F and of the Fisher
    information about F.

    Attributes
    ----------
    family : str
        The name of the native kernel.
    family_parameter : float
        The number of its own that the kernel has, if any.
    output_names : tuple of str
        The names of the scores.
    bounds : tuple of (float, float)
        The bounds of each score, beyond which the parameters do not change.
    location_is_mean : bool
        Whether the mean is a function of the first score alone.
    with_monotone_mean : str
        Otherwise, losses of such targets whose mean is one, for messages.
    """

    has_distribution = True
    location = 0
    family: str
    family_parameter: float = 0.0
    output_names: tuple[str, ...] = ()
    bounds: tuple[tuple[float, float], ...] = ()
    location_is_mean = True
    with_monotone_mean = ""

    def __init__(self) -> None:
        self.n_outputs = len(self.output_names)

    # ---- defined by each loss --------------------------------------------------------------------

    def distribution(self, score: Matrix, start: Any = 0.0, scale: Any = 1.0) -> Distribution:
        """Return the distributions of start + scale · z, where z has those of the scores."""
        raise NotImplementedError

    def guess(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        """Return constant scores from which the best ones are found."""
        raise NotImplementedError

    # ---- the loss --------------------------------------------------------------------------------

    def rule(self) -> DistributionRule:
        """Return the native kernel with the bounds of the scores."""
        low, high = np.array(self.bounds).T
        own = np.ascontiguousarray(low), np.ascontiguousarray(high)
        return DistributionRule(self.family, self.family_parameter, *own)

    def within(self, score: Matrix) -> Matrix:
        """Return scores within their bounds, shape (n_rows, n_outputs)."""
        own = np.asarray(score, dtype=np.float64).reshape(len(score), self.n_outputs)
        low, high = np.array(self.bounds).T
        return np.clip(own, low, high)

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        found = np.empty(len(y))
        self.rule().losses(None, _numbers(y), self._columns(score), found)
        return found

    def mean(self, score: Matrix) -> npt.NDArray[np.float64]:
        """Return the means of the distributions."""
        return self.distribution(score).mean

    def gradient(self, y: npt.NDArray[Any], score: Matrix) -> Matrix:
        """Return ∂L/∂F, shape (n_rows, n_outputs)."""
        return self._gradient_and_information(y, score)[0]

    def information(self, score: Matrix) -> Information:
        """Return the Fisher information about F, which does not depend on y."""
        return self._gradient_and_information(np.full(len(score), 0.5), score)[1]

    def _gradient_and_information(
        self, y: npt.NDArray[Any], score: Matrix
    ) -> tuple[Matrix, Information]:
        k = self.n_outputs
        gradient, information = np.empty((k, len(y))), np.empty((k, k, len(y)))
        out = gradient.reshape(-1), information.reshape(-1)
        self.rule().information(None, _numbers(y), self._columns(score), *out)
        return gradient.T, information.transpose(2, 0, 1)

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        """Return ∂L/∂F, and the Fisher information of each score when the others are unknown."""
        _, weight = self.tree_derivatives(y, score)
        return self.gradient(y, score).reshape(np.shape(score)), weight

    def tree_derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        """Return what trees are fitted to: h n and h, with n the natural gradient."""
        loss, (gradient, hessian) = np.empty(len(y)), np.empty((2, self.n_outputs, len(y)))
        out = loss, gradient.reshape(-1), hessian.reshape(-1)
        self.rule().steps(None, _numbers(y), self._columns(score), *out)
        return gradient.T.reshape(np.shape(score)), hessian.T.reshape(np.shape(score))

    def _columns(self, score: Matrix) -> Vector:
        """Return the scores of the first output, then those of the second one, and so on."""
        return np.ravel(np.asarray(score, dtype=np.float64).reshape(len(score), -1), order="F")

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
            found = float(mean_of(self.loss(y, offset + constant)))
            return found if np.isfinite(found) else np.inf

        def slope_and_curve(constant: Vector) -> tuple[Vector, Matrix]:
            found = self._gradient_and_information(y, offset + constant)
            return mean_of(found[0]), mean_of(found[1])

        low, high = np.array(self.bounds).T
        constant, least, damping = guess, total(guess), 1e-6
        for _ in range(MOST_ITERATIONS):
            slope, curve = slope_and_curve(constant)
            diagonal_of = np.diag(np.diag(curve) + 1e-12)
            while damping < 1e8:  # Levenberg's method: shorter steps in worse conditioned regions
                step = _solved(curve + damping * diagonal_of, slope)
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
            slope, curve = slope_and_curve(constant)
            step = _solved(curve + np.diag(1e-9 * np.diag(curve) + 1e-12), slope)
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
        return _DistributionBoundLoss(self, workers, _numbers(y), weight)

    def refuse(self, wrong: npt.NDArray[np.bool_], y: Vector, must: str, remedy: str) -> None:
        """Raise ValueError with the first row that is outside the domain."""
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"The {self.name} loss needs targets {must}, but y is {short_repr(float(y[row]))} "
                f"at row {row} (the first of {int(wrong.sum())} such rows). {remedy}"
            )


class _DistributionBoundLoss(NativeBoundLoss):
    """A bound loss whose rows are the negative log densities."""

    def __init__(
        self, loss: DistributionLoss, workers: Workers, y: Vector, weight: Vector | None
    ) -> None:
        super().__init__(workers, loss.rule().row_loss(workers, y, weight))
        self._loss, self._y, self._weight = loss, y, weight

    def loss_sums(self, score: Matrix) -> ExactSums:
        self._score = score.reshape(-1, order="F")
        return ExactSums.of_rows(self._loss.loss(self._y, score), self._weight)


def _numbers(y: npt.NDArray[Any]) -> Vector:
    return np.ascontiguousarray(y, dtype=np.float64)


def _solved(matrix: Matrix, vector: Vector) -> Vector:
    """Return A⁻¹ b of a small positive definite matrix, by elimination in one order everywhere."""
    a, b = matrix.tolist(), vector.tolist()
    n = len(b)
    for k in range(n):
        for i in range(k + 1, n):
            factor = a[i][k] / a[k][k]
            for j in range(k, n):
                a[i][j] -= factor * a[k][j]
            b[i] -= factor * b[k]
    for k in reversed(range(n)):
        for j in range(k + 1, n):
            b[k] -= a[k][j] * b[j]
        b[k] /= a[k][k]
    return np.array(b)

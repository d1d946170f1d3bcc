"""The confidence set of several coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.axes import DOTS, LINE, new_axes
from stagewise.display import Displayed, Summary
from stagewise.errors import InvalidParameterError
from stagewise.estimators.linear.coefficients import coefficient_values, select_names
from stagewise.linear.joint_estimate import JointEstimate

__all__ = ["ConfidenceSet"]

Vector = npt.NDArray[np.float64]

POINTS = 361
"""The number of points of a drawn ellipse."""


@dataclass(frozen=True, eq=False, repr=False)
class ConfidenceSet(Displayed):
    """A confidence set of coefficients w, an ellipsoid: (w - ŵ)'V⁻¹(w - ŵ) ≤ radius².

    V = σ̂²(X'X)⁻¹ is the covariance of the estimates ŵ. The radius is chosen so that the set
    contains the true coefficients with the probability `confidence_level`.

    Attributes
    ----------
    term_names : list of str
        The names of the coefficients.
    confidence_level : float
        The probability that the set contains all of them.
    radius : float
        √(q F), F the quantile of Fisher's distribution with q and N - rank degrees of freedom, q
        the number of coefficients; of a projection, the radius of the whole set.
    estimate : float64 array of shape (q,)
        The centre ŵ.
    covariance : float64 array of shape (q, q)
        V.
    """

    term_names: list[str]
    confidence_level: float
    radius: float
    _joint: JointEstimate

    def _summary(self) -> Summary:
        rows = [
            {"coefficient": name, "estimate": value, "low": low, "high": high}
            for name, value, (low, high) in zip(
                self.term_names, self.estimate.tolist(), self.bounds().tolist(), strict=True
            )
        ]
        title = f"{100 * self.confidence_level:g} % confidence set, radius {self.radius:.6g}"
        return Summary(title, rows=rows)

    @property
    def estimate(self) -> Vector:
        """The centre ŵ of the set."""
        return self._joint.estimate

    @property
    def covariance(self) -> Vector:
        """V = σ̂²(X'X)⁻¹ of these coefficients."""
        return self._joint.covariance

    def contains(self, values: Any) -> Any:
        """Return whether values of the coefficients are in the set.

        Parameters
        ----------
        values : number, or array-like of shape (q,) or (n, q)
            One vector of coefficients, or n of them; a number stands for all coefficients.

        Returns
        -------
        bool, or bool array of shape (n,)
        """
        given = coefficient_values(values, self.term_names)
        inside = self._joint.distance(np.atleast_2d(given)) <= self.radius**2
        return bool(inside[0]) if given.ndim == 1 else inside

    def bounds(self) -> Vector:
        """Return the smallest and the largest value of each coefficient in the set, shape (q, 2).

        These intervals ŵ ± radius · standard error hold for all coefficients together (Scheffé
        1953), so they are wider than those of `conf_int`.
        """
        half = self.radius * np.sqrt(np.diag(self.covariance))
        return np.column_stack([self.estimate - half, self.estimate + half])

    def axes(self) -> tuple[Vector, Vector]:
        """Return the axes of the ellipsoid, the longest first.

        Returns
        -------
        directions : float64 array of shape (q, q)
            A unit vector per row; its largest entry is positive.
        lengths : float64 array of shape (q,)
            Half the length of each axis: ŵ ± length · direction is on the boundary.
        """
        covariance = self.covariance
        unit = float(np.sqrt(np.diag(covariance).max()))
        variance, columns = np.linalg.eigh(covariance / unit / unit)
        directions = columns.T[::-1]
        largest = np.abs(directions).argmax(axis=1)
        directions = directions * np.sign(directions[np.arange(len(largest)), largest])[:, None]
        lengths = self.radius * unit * np.sqrt(np.maximum(variance[::-1], 0.0))
        return directions, lengths

    def project(self, terms: str | Sequence[str]) -> ConfidenceSet:
        """Return the projection of the set on some of its coefficients.

        It contains their values of all points of the set. It is larger than the confidence set of
        these coefficients alone, whose radius is smaller.

        Parameters
        ----------
        terms : str or sequence of str
            Names of `term_names`.
        """
        chosen = select_names(terms, self.term_names)
        joint = replace(self._joint, places=[self._joint.places[i] for i in chosen])
        return replace(self, term_names=[self.term_names[i] for i in chosen], _joint=joint)

    def boundary(self, n_points: int = POINTS) -> Vector:
        """Return points on the ellipse of two coefficients, shape (n_points, 2).

        The first and the last point are equal.
        """
        if len(self.term_names) != 2:
            raise InvalidParameterError(
                f"The boundary is a curve for two coefficients, and this set has "
                f"{len(self.term_names)}. Choose two: project([{self.term_names[0]!r}, …])."
            )
        directions, lengths = self.axes()
        angle = np.linspace(0.0, 2 * np.pi, n_points)
        circle = np.stack([np.cos(angle), np.sin(angle)])
        return np.asarray(self.estimate + (circle.T * lengths) @ directions)

    def plot(self, terms: Sequence[str] | None = None, *, axes: Any = None) -> Any:
        """Draw the set of two coefficients with its bounds and the values 0.

        Parameters
        ----------
        terms : sequence of two str, or None
            The coefficients on which a set of more than two is projected.
        axes : matplotlib axes, or None
            The axes to draw on; None: a new figure.

        Returns
        -------
        matplotlib axes
        """
        shown = self if terms is None else self.project(terms)
        curve = shown.boundary()
        _, (ax,) = new_axes(1, axes, "plot")
        ax.fill(*curve.T, color=DOTS, alpha=0.18, lw=0)
        ax.plot(*curve.T, color=DOTS, lw=1.5)
        for (low, high), line in zip(shown.bounds(), (ax.axvline, ax.axhline), strict=True):
            line(low, color=DOTS, lw=0.8, ls=":")
            line(high, color=DOTS, lw=0.8, ls=":")
            if 2 * low - high <= 0.0 <= 2 * high - low:  # otherwise 0 is too far to be drawn
                line(0.0, color=LINE, lw=0.8)
        ax.plot(*shown.estimate, "o", color=DOTS, ms=5)
        title = f"{100 * self.confidence_level:g} % confidence set"
        if len(self.term_names) > 2:
            title += f" of {len(self.term_names)} coefficients, projected"
        ax.set(xlabel=shown.term_names[0], ylabel=shown.term_names[1], title=title)
        return ax

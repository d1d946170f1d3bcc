"""Scaling of targets, so that the unit of y does not matter.

z = (y - offset) / scale, with the weighted mean as offset and a power of two as scale. Sums are
exact, so means depend neither on the order of the rows nor on whether a row is repeated or has a
weight. This module must not import losses.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stagewise.cluster.peers import ALONE, Peers
from stagewise.exact_sums import Blocks, mean_of_blocks

__all__ = ["TargetScale", "TargetScales"]

Vector = npt.NDArray[np.float64]

NEAR_ZERO = 8.0
"""Targets whose mean is at most this many standard deviations from 0 need no offset."""


@dataclass(frozen=True)
class TargetScale:
    """An affine map of the targets to a standard deviation of about 1.

    Parameters
    ----------
    offset : float
        The weighted mean of the targets.
    scale : float
        The smallest power of two not below their weighted standard deviation; 1 if they are all
        the same.
    spread : float
        The standard deviation of the scaled targets, in (0.5, 1]; 1 if they are all the same.
    """

    offset: float
    scale: float
    spread: float = 1.0

    @property
    def unit(self) -> float:
        """One unit of the target, scaled; at most the largest float."""
        return min(1.0 / self.scale, sys.float_info.max) if self.scale else 1.0

    def with_deviation(self) -> TargetScale:
        """Return a scale that is the standard deviation itself instead of a power of two.

        With it, a·y has the scaled targets of y for any a, up to rounding.
        """
        return TargetScale(self.offset, self.scale * self.spread or self.scale)

    @classmethod
    def learn(cls, y: Vector, weight: Vector | None = None) -> TargetScale:
        """Return the scale of targets.

        Parameters
        ----------
        y : float64 array
            Finite.
        weight : float64 array, or None
            The weights of the rows; at least one is positive.

        Returns
        -------
        TargetScale
        """
        if weight is not None and weight.min() <= 0:
            y, weight = y[weight > 0], weight[weight > 0]
        return cls.learn_in_blocks(lambda: [(y, weight)])

    @classmethod
    def learn_in_blocks(cls, blocks: Blocks, peers: Peers = ALONE) -> TargetScale:
        """Return the scale of targets that are read in blocks, three times.

        Parameters
        ----------
        blocks : callable
            Returns an iterable of (targets, weights or None), with positive weights. Neither their
            order nor their sizes matter.
        peers : Peers
            The ranks that have further rows; all ranks together have one at least.
        """
        own = [(float(y.min()), float(y.max())) for y, _ in blocks() if len(y)]
        extremes = [pair for pairs in peers.gather(own) for pair in pairs]
        low, high = min(low for low, _ in extremes), max(high for _, high in extremes)
        _check_range(low, high)
        offset = mean_of_blocks(blocks(), peers)
        largest = max(high - offset, offset - low)
        if largest == 0.0:
            return cls(offset, 1.0)
        # Squares of deviations between -1 and 1 cannot overflow; underflow is negligible.
        exponent = math.frexp(largest)[1]

        def squares(y: Vector) -> Vector:
            with np.errstate(under="ignore"):
                scaled: Vector = y - offset
                _scale(scaled, -exponent, out=scaled)
                np.square(scaled, out=scaled)
            return scaled

        squared = ((squares(y), weight) for y, weight in blocks())
        deviation = math.sqrt(mean_of_blocks(squared, peers))
        mantissa, power = math.frexp(deviation)
        if mantissa == 0.5:
            mantissa, power = 1.0, power - 1
        # The scale is at least the smallest power of two; such targets are nearly constant.
        power = max(power, -1074 - exponent)
        scale = math.ldexp(1.0, power + exponent)
        return cls(offset, scale, math.ldexp(deviation, -power))

    @classmethod
    def learn_exact(cls, y: Vector, weight: Vector | None = None) -> TargetScale:
        """Return a scale whose `restore` is the exact inverse of `standardise`, if possible.

        The offset is the mean if y - offset has no rounding error: all targets have one sign and
        are within a factor of two of each other (Sterbenz 1974). Otherwise it is 0, unless the mean
        is more than `NEAR_ZERO` scales away from 0: then the mean is needed for precision, and the
        inverse has a rounding error.

        Parameters
        ----------
        y, weight
            As in `learn`.

        Returns
        -------
        TargetScale
        """
        found = cls.learn(y, weight)
        low, high = sorted((abs(float(y.min())), abs(float(y.max()))))
        close = high <= 2 * low and (y.min() < 0) == (y.max() < 0)
        if close or abs(found.offset) > NEAR_ZERO * found.scale:
            return found
        return cls(0.0, found.scale, found.spread)

    def standardise(self, y: Vector) -> Vector:
        """Return (y - offset) / scale.

        Parameters
        ----------
        y : float64 array
            Targets of any rows.

        Returns
        -------
        float64 array
        """
        with np.errstate(over="ignore", under="ignore"):
            z: Vector = (y - self.offset) / self.scale
        if not np.isfinite(z).all():
            row = int(np.argmin(np.isfinite(z)))
            raise ValueError(
                f"y holds {y[row]} at row {row}, too far from the mean of the training targets "
                f"({self.offset}) for a float64. Rescale y."
            )
        return z

    def restore(self, z: Vector) -> Vector:
        """Return offset + scale · z, in the units of the targets.

        Parameters
        ----------
        z : float64 array
            Scaled targets, or predictions of them.

        Returns
        -------
        float64 array
        """
        restored: Vector = self.offset + self.scale * z
        return restored

    def loss_unit(self, degree: int) -> float:
        """Return scale ** degree: the factor from losses of scaled targets to losses of targets.

        It is limited to 2**±900, within the range of a float64, so that losses stay comparable.

        Parameters
        ----------
        degree : int
            The d with L(a·y, a·F) = a^d · L(y, F).

        Returns
        -------
        float
        """
        exponent = (math.frexp(self.scale)[1] - 1) * degree
        return math.ldexp(1.0, max(-900, min(exponent, 900)))


@dataclass(frozen=True, eq=False)
class TargetScales:
    """An affine map of each of several targets to the standard deviation 1.

    The scales are not powers of two: trees that fit several targets at once add up their losses,
    and the unit of a target must not change its share of the sum.

    Parameters
    ----------
    offset, scale : float64 array of shape (n_targets,)
        The mean of each target, and its standard deviation; 1 if all are the same.
    spread : float
        The standard deviation of the scaled targets.
    unit : float
        The unit of parameters, scaled: a standard deviation of every target.
    shared : bool
        Whether all targets have the same scale, a power of two.
    """

    offset: Vector
    scale: Vector
    spread: float = 1.0
    unit: float = 1.0
    shared: bool = False

    @classmethod
    def learn_exact(cls, y: Vector, weight: Vector | None = None) -> TargetScales:
        """Return one scale for all columns, and offsets as of `TargetScale.learn_exact`.

        The targets keep their ratios, so that a sum of their squared errors is the one of y.
        """
        each = [TargetScale.learn_exact(np.ascontiguousarray(column), weight) for column in y.T]
        varied = [one.scale for one, column in zip(each, y.T, strict=True) if np.ptp(column) > 0]
        scale = np.full(len(each), max(varied, default=1.0))
        return cls(np.array([one.offset for one in each]), scale, shared=True)

    @classmethod
    def learn(cls, y: Vector, weight: Vector | None = None) -> TargetScales:
        """Return the scales of the columns of y; see `TargetScale.learn`."""
        each = []
        for k in range(y.shape[1]):
            try:
                each.append(TargetScale.learn(np.ascontiguousarray(y[:, k]), weight))
            except ValueError as error:
                raise ValueError(f"In target {k} of y: {error}") from None
        scale = [one.scale * one.spread or one.scale for one in each]
        return cls(np.array([one.offset for one in each]), np.array(scale))

    @classmethod
    def none(cls, n_targets: int) -> TargetScales:
        """Return the identity map."""
        return cls(np.zeros(n_targets), np.ones(n_targets))

    def standardise(self, y: Vector) -> Vector:
        """Return (y - offset) / scale, column by column."""
        z = np.empty_like(y)
        for k in range(y.shape[1]):
            one = TargetScale(float(self.offset[k]), float(self.scale[k]))
            try:
                z[:, k] = one.standardise(y[:, k])
            except ValueError as error:
                raise ValueError(f"In target {k} of y: {error}") from None
        return z

    def loss_unit(self, degree: int) -> float:
        """Return 1: a mean over targets of different units has no unit of its own.

        With one scale for all targets, the factor of `TargetScale.loss_unit`.
        """
        return TargetScale(0.0, float(self.scale[0])).loss_unit(degree) if self.shared else 1.0


def _scale(values: Vector, power: int, out: Vector) -> None:
    """Multiply by 2**power with one rounding; much faster than ldexp where possible."""
    if -1022 <= power <= 1023:
        np.multiply(values, 2.0**power, out=out)
    else:
        np.ldexp(values, power, out=out)


def _check_range(low: float, high: float) -> None:
    if math.isinf(high - low):
        raise ValueError(
            f"y ranges from {low} to {high}, a distance too large for a float64. Rescale y."
        )

"""The best constant predictions of rows, as functions of their weights.

They are the baselines of scores. Rows with an offset have the best constant that is added to it
before the link: with a log link this is a rate, which is multiplied by the exposure of the row.
With another link, such as log odds, it is the constant with the smallest loss of the model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.inspection.fitted_model import Vector
from stagewise.inspection.quantiles import weighted_quantiles
from stagewise.losses import Loss

__all__ = ["ConstantPredictions", "OffsetRows"]

PROBES = np.array([-1.0, 0.0, 0.5])
"""Scores that a link other than the identity changes."""


@dataclass(frozen=True, eq=False)
class OffsetRows:
    """The offsets of rows, before the link of a loss.

    Attributes
    ----------
    loss : Loss
        The loss of the model.
    offset : float64 array of shape (n_rows, n_outputs)
        In units of y, or of the link.
    """

    loss: Loss
    offset: npt.NDArray[np.float64]

    def __getitem__(self, rows: Any) -> OffsetRows:
        """Return the offsets of some of the rows."""
        return replace(self, offset=self.offset[rows])

    def of_target(self, k: int) -> OffsetRows:
        """Return the offsets of one of several targets."""
        return replace(self, offset=self.offset[:, k : k + 1])


@dataclass(frozen=True, eq=False)
class ConstantPredictions:
    """The best constant predictions of rows.

    Attributes
    ----------
    y : array of shape (n_rows,)
        The targets: numbers, or codes of classes.
    offsets : OffsetRows or None
        Their offsets; None: they have none.
    unit : float
        What the targets were divided by.
    """

    y: npt.NDArray[Any]
    offsets: OffsetRows | None = None
    unit: float = 1.0

    @property
    def name(self) -> str:
        """What they are, in words."""
        if self.offsets is None:
            return "best constant"
        return "best rate times exposure" if self._multiplies else "best constant plus offset"

    def scaled(self, unit: float) -> ConstantPredictions:
        """Return the same of targets that are divided by a unit."""
        own = self.offsets
        if own is not None and not own.loss.log_link and not self._has_link:
            own = replace(own, offset=own.offset / unit)
        return ConstantPredictions(self.y / unit, own, self.unit * unit)

    def least_squares(self, weight: Vector) -> Vector:
        """Return the constant with the smallest squared errors: without offsets the mean."""
        if self._multiplies:
            factor = self._factor
            own = factor / factor.max()  # so that squares are finite
            return np.asarray((weight * own) @ self.y / ((weight * own) @ own) * own)
        if self._has_link:
            return self._by_link(weight)
        return np.asarray(self._shift + np.average(self.y - self._shift, weights=weight))

    def least_absolute(self, weight: Vector) -> Vector:
        """Return the constant with the smallest absolute errors: without offsets the median."""
        if self._multiplies:
            rates = self.y / self._factor
            median = weighted_quantiles(rates, weight * self._factor, [0.5])[0]
            return np.asarray(median * self._factor)
        if self._has_link:
            return self._by_link(weight)
        median = weighted_quantiles(self.y - self._shift, weight, [0.5])[0]
        return np.asarray(self._shift + median)

    def least_pinball(self, weight: Vector, level: float) -> Vector:
        """Return the constant with the smallest pinball loss: without offsets the quantile."""
        if self._has_link:
            return self._by_link(weight)
        quantile = weighted_quantiles(self.y - self._shift, weight, [level])[0]
        return np.asarray(self._shift + quantile)

    def least_deviance(self, weight: Vector, power: float) -> Vector:
        """Return the constant with the smallest deviance of a power: without offsets the mean.

        Of rates r and exposures e it is r = Σ w y e^(1-p) / Σ w e^(2-p).
        """
        if not self._multiplies:
            return self.least_squares(weight)
        factor = self._factor
        rate = (weight * self.y) @ factor ** (1 - power) / (weight @ factor ** (2 - power))
        return np.asarray(rate * factor)

    def class_shares(self, weight: Vector, n_classes: int) -> Vector:
        """Return probabilities of classes: without offsets their shares; (n_rows, n_classes)."""
        if self.offsets is None:
            shares = np.bincount(self.y, weights=weight, minlength=n_classes) / weight.sum()
            return np.broadcast_to(shares, (len(self.y), n_classes))
        loss, offset = self.offsets.loss, self.offsets.offset
        codes = self.y.astype(np.int32)
        score = offset + loss.best_constant_with_offset(codes, weight, offset)
        return np.asarray(loss.mean(score[:, 0] if loss.n_outputs == 1 else score))

    @property
    def _multiplies(self) -> bool:
        return self.offsets is not None and self.offsets.loss.log_link

    @property
    def _has_link(self) -> bool:
        """Whether offsets are added before a link that is no logarithm, such as log odds."""
        loss = None if self.offsets is None else self.offsets.loss
        if loss is None or loss.log_link or loss.n_outputs > 1:
            return False
        return not np.array_equal(loss.mean(PROBES), PROBES)

    def _by_link(self, weight: Vector) -> Vector:
        """Return the predictions of the constant with the smallest loss of the model."""
        assert self.offsets is not None
        loss, offset, y = self.offsets.loss, self.offsets.offset, self.y * self.unit
        known = y[weight > 0]
        if (known == known[0]).all():  # its score may be infinite
            return np.full(len(y), known[0] / self.unit)
        score = offset[:, 0] + loss.best_constant_with_offset(y, weight, offset)
        return np.asarray(loss.mean(score) / self.unit)

    @property
    def _factor(self) -> Vector:
        """What the rate of each row is multiplied by."""
        assert self.offsets is not None
        return np.asarray(np.exp(self.offsets.offset[:, 0]))

    @property
    def _shift(self) -> Vector:
        """What is added to the constant of each row."""
        return np.zeros(len(self.y)) if self.offsets is None else self.offsets.offset[:, 0]

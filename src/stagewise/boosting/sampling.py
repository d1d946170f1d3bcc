"""Row sampling: the rows of a round, and how often each of them counts.

Whether a row is in the bag of round m depends on a hash of (seed, m, row number), and for some
methods on its gradient. Nothing is drawn in sequence, so a bag does not depend on threads or on the
rounds before. A row that represents others counts more than once in everything that is computed
from the bag (sums, counts of classes, quantiles, line searches); only the least weight of a leaf
counts every row once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from stagewise._native import (
    Gradients,
    Workers,
    draw_bootstrap,
    draw_fixed_size,
    draw_goss,
    draw_groups,
    draw_mvs,
    draw_rows,
)

__all__ = [
    "Bag",
    "Bootstrap",
    "DrawInput",
    "FixedSize",
    "GossSampling",
    "MvsSampling",
    "OnlyRows",
    "RowFraction",
    "Sampling",
    "WholeGroups",
]

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Bag:
    """The rows of one round.

    Parameters
    ----------
    rows : uint32 array or None
        Increasing; None: all.
    multiplier : float32 array or None
        For every row of the table how often it counts, besides its weight; 0 outside the bag.
        None: once.
    """

    rows: Indices | None = None
    multiplier: npt.NDArray[np.float32] | None = None

    def multiply(
        self, derivatives: Gradients, workers: Workers, weight: Vector | None, *, hessians: bool
    ) -> Gradients:
        """Multiply derivatives by how often each row counts, and return them."""
        if self.multiplier is not None:
            derivatives.multiply(workers, weight, self.multiplier, hessians)
        return derivatives

    def weight_of(self, rows: slice | Indices, weight: Vector | None) -> Vector | None:
        """Return the weights of some rows of the bag, times how often each counts; None: 1."""
        own = None if weight is None else weight[rows]
        if self.multiplier is None:
            return own
        times = self.multiplier[rows].astype(np.float64)
        return times if own is None else own * times


@dataclass(frozen=True, eq=False)
class DrawInput:
    """The inputs of a draw.

    Parameters
    ----------
    workers : Workers
        The threads.
    n_rows : int
        The number of rows of the table.
    weight : float64 array or None
        Their weights; rows of weight 0 are never drawn.
    seed, number : int
        The seed and the number of the round: the key of the draw.
    responses : callable
        Returns an iterator over the responses of the terms of this round; each is valid until the
        next one is computed.
    spread : float
        The spread of the target in the units of g and h, or 1.
    groups : uint32 array or None
        The group number of every row.
    """

    workers: Workers
    n_rows: int
    weight: Vector | None
    seed: int
    number: int
    responses: Callable[[], Iterable[Gradients]]
    spread: float = 1.0
    groups: Indices | None = None

    def importance(self, ridge: float = 0.0) -> Vector:
        """Return w² Σ_k (g_k² + λ h_k²) of every row, k over the outputs."""
        squares = np.zeros(self.n_rows)
        for response in self.responses():
            response.add_squares(self.workers, self.weight, ridge, squares)
        return squares


@dataclass(frozen=True, eq=False)
class NativeDraw:
    """A draw as the native rounds make it.

    Parameters
    ----------
    name : str
        The name of the native function, or "all".
    numbers : tuple of two floats
        Its numbers; 0: it has fewer.
    only : uint32 array or None
        The rows to draw from; None: all.
    """

    name: str = "all"
    numbers: tuple[float, float] = (0.0, 0.0)
    only: Indices | None = None


class Sampling(Protocol):
    """A method of sampling rows in every round."""

    @property
    def draws(self) -> bool:
        """Whether rounds have different rows."""

    @property
    def multiplies(self) -> bool:
        """Whether rows of a bag may count more than once."""

    @property
    def description(self) -> str:
        """The sampling as a part of `recipe()`."""

    def bag(self, this: DrawInput) -> Bag:
        """Return the rows of this round."""

    def native(self, spread: float) -> NativeDraw | None:
        """Return the same for native rounds, for this `DrawInput.spread`; None: it has none."""


@dataclass(frozen=True)
class RowFraction:
    """Each row with probability `share`, anew in every round (Friedman 2002).

    Parameters
    ----------
    share : float
        In (0, 1]; 1: all rows, and nothing is drawn.
    """

    share: float = 1.0
    multiplies = False

    @property
    def draws(self) -> bool:
        """Whether rounds have different rows."""
        return self.share < 1.0

    @property
    def description(self) -> str:
        """The sampling as a part of `recipe()`."""
        return f"{self.share:g} of the rows per round" if self.draws else "all rows"

    def native(self, spread: float) -> NativeDraw | None:
        """Return the draw for native rounds."""
        return NativeDraw("fraction", (self.share, 0.0)) if self.draws else NativeDraw()

    def bag(self, this: DrawInput) -> Bag:
        """Return the rows of this round."""
        if not self.draws:
            return Bag()
        return Bag(
            draw_rows(this.workers, this.n_rows, this.weight, self.share, this.seed, this.number)
        )


@dataclass(frozen=True)
class FixedSize:
    """A fraction of the rows of positive weight, without replacement: N' = η N of them, rounded.

    Parameters
    ----------
    share : float
        η, in (0, 1).
    """

    share: float
    draws = True
    multiplies = False

    @property
    def description(self) -> str:
        """The sampling as a part of `recipe()`."""
        return f"exactly {self.share:g} of the rows per round"

    def native(self, spread: float) -> NativeDraw | None:
        """Return the draw for native rounds."""
        return NativeDraw("fixed_size", (self.share, 0.0))

    def bag(self, this: DrawInput) -> Bag:
        """Return the rows of this round."""
        key = this.seed, this.number
        return Bag(draw_fixed_size(this.workers, this.n_rows, this.weight, self.share, *key))


@dataclass(frozen=True)
class Bootstrap:
    """Each row a Poisson number of times, with mean `rate`.

    The number of times that a row occurs in a bootstrap sample of n rows is binomial, (n, 1/n), and
    tends to Poisson(1). The counts are drawn for each row independently (Oza & Russell 2001, online
    bagging).

    Parameters
    ----------
    rate : float
        In (0, 1]; 1: on average as many draws as there are rows.
    """

    rate: float = 1.0
    draws = True
    multiplies = True

    @property
    def description(self) -> str:
        """The sampling as a part of `recipe()`."""
        share = f"{self.rate:g} of " if self.rate < 1 else ""
        return f"bootstrap of {share}the rows per round"

    def native(self, spread: float) -> NativeDraw | None:
        """Return the draw for native rounds."""
        return NativeDraw("bootstrap", (self.rate, 0.0))

    def bag(self, this: DrawInput) -> Bag:
        """Return the rows of this round."""
        return Bag(
            *draw_bootstrap(
                this.workers, this.n_rows, this.weight, self.rate, this.seed, this.number
            )
        )


@dataclass(frozen=True)
class GossSampling:
    """Gradient-based one-side sampling (GOSS): large gradients, and a sample of the others.

    The `top` fraction of the rows with the largest ‖w·g‖ (over the outputs; with one output w·|g|)
    count once; each of the others is drawn with probability b / (1 - a) and then counts
    (1 - a) / b times, so that every sum keeps its mean (Ke et al. 2017, Algorithm 2).

    Parameters
    ----------
    top, other : float
        a and b: the fractions of rows that are kept for their gradients, and that are drawn.
    """

    top: float = 0.2
    other: float = 0.1
    draws = True
    multiplies = True

    @property
    def description(self) -> str:
        """The sampling as a part of `recipe()`."""
        return (
            f"GOSS ({self.top:g} of all rows by the largest gradients and {self.other:g} of all "
            "rows drawn from the others, per round)"
        )

    def native(self, spread: float) -> NativeDraw | None:
        """Return the draw for native rounds."""
        return NativeDraw("goss", (self.top, self.other))

    def bag(self, this: DrawInput) -> Bag:
        """Return the rows of this round."""
        squares, key = this.importance(), (this.seed, this.number)
        return Bag(*draw_goss(this.workers, squares, this.weight, self.top, self.other, *key))


@dataclass(frozen=True)
class MvsSampling:
    """Minimal variance sampling (MVS): a row with probability p counts 1/p times.

        p = min(1, s / μ),    s = w √Σ_k (g_k² + λ h_k²),    Σ p = share · n

    Every sum keeps its mean, and of all such probabilities these minimise the variance of the gains
    of splits, to first order (Ibragimov & Gusev 2019, eqs. 6 to 9).

    Parameters
    ----------
    share : float
        The mean fraction of the rows in a bag, in (0, 1).
    ridge : float
        λ, above 0: the weight of the second derivatives.
    """

    share: float
    ridge: float = 1.0
    draws = True
    multiplies = True

    @property
    def description(self) -> str:
        """The sampling as a part of `recipe()`."""
        return f"MVS ({self.share:g} of the rows per round)"

    def native(self, spread: float) -> NativeDraw | None:
        """Return the draw for native rounds."""
        return NativeDraw("mvs", (self.share, self.ridge * spread**2))

    def bag(self, this: DrawInput) -> Bag:
        """Return the rows of this round."""
        squares = this.importance(self.ridge * this.spread**2)
        key = this.seed, this.number
        return Bag(*draw_mvs(this.workers, squares, this.weight, self.share, *key))


@dataclass(frozen=True)
class WholeGroups:
    """All rows of a group or none of them: each group with probability `share`.

    Parameters
    ----------
    share : float
        In (0, 1).
    """

    share: float
    draws = True
    multiplies = False

    @property
    def description(self) -> str:
        """The sampling as a part of `recipe()`."""
        return f"{self.share:g} of the groups per round"

    def native(self, spread: float) -> NativeDraw | None:
        """Return the draw for native rounds."""
        return None

    def bag(self, this: DrawInput) -> Bag:
        """Return the rows of this round."""
        assert this.groups is not None
        return Bag(
            draw_groups(this.workers, this.groups, this.weight, self.share, this.seed, this.number)
        )


@dataclass(frozen=True, eq=False)
class OnlyRows:
    """Sampling among some rows of the table only: the training rows of a fold.

    Parameters
    ----------
    rows : uint32 array
        Increasing; all others have weight 0, so that they are never drawn.
    inner : Sampling
        The sampling of these rows.
    """

    rows: Indices
    inner: Sampling

    @property
    def draws(self) -> bool:
        """Whether rounds have different rows."""
        return self.inner.draws

    @property
    def multiplies(self) -> bool:
        """Whether rows of a bag may count more than once."""
        return self.inner.multiplies

    @property
    def description(self) -> str:
        """The sampling as a part of `recipe()`."""
        return self.inner.description

    def native(self, spread: float) -> NativeDraw | None:
        """Return the draw for native rounds."""
        own = self.inner.native(spread)
        return None if own is None else replace(own, only=self.rows)

    def bag(self, this: DrawInput) -> Bag:
        """Return the rows of this round."""
        drawn = self.inner.bag(this)
        return Bag(self.rows) if drawn.rows is None else drawn

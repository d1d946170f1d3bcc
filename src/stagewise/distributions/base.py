"""The base class of predicted distributions: one distribution for every row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from stagewise.display import Displayed, Summary
from stagewise.validation.messages import short_repr

__all__ = ["CountDistribution", "Distribution"]

Vector = npt.NDArray[np.float64]
MOST_CELLS = 2**22
"""The number of cells of a table of probabilities that is computed at once."""
MOST_COUNTS, NODES = 2**14, 513
"""The CRPS of more counts is an integral over twice so many nodes."""


class Distribution(Displayed, ABC):
    """The distribution of y in every row: its mean, density, cdf, quantiles and samples.

    Parameters are arrays of shape (n_rows,), by name in `parameters`. A function of y takes one
    number for all rows, one for each, shape (n_rows,), or several for each, shape (n_rows, m).
    """

    name: str
    parameters: dict[str, Vector]

    def __init__(self, **parameters: npt.ArrayLike) -> None:
        values = [np.atleast_1d(np.asarray(v, dtype=np.float64)) for v in parameters.values()]
        own = np.broadcast_arrays(*values)
        self.parameters = dict(zip(parameters, own, strict=True))

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["parameters"][name]
        except KeyError:
            raise AttributeError(
                f"{type(self).__name__} has no attribute or parameter {name!r}."
            ) from None

    def __len__(self) -> int:
        return len(next(iter(self.parameters.values())))

    def __getitem__(self, rows: Any) -> Self:
        """Return the distributions of some rows."""
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__)
        found.parameters = {n: np.atleast_1d(v[rows]) for n, v in self.parameters.items()}
        return found

    def _summary(self) -> Summary:
        facts: dict[str, Any] = {"rows": len(self)}
        for name, values in self.parameters.items():
            facts[name] = f"{values.min():.4g} to {values.max():.4g}" if len(values) else "no rows"
        return Summary(f"{type(self).__name__} distributions", facts)

    # ---- mean and variance -----------------------------------------------------------------------

    @property
    def mean(self) -> Vector:
        """The mean of every row."""
        with np.errstate(all="ignore"):
            return self._mean()

    @property
    def var(self) -> Vector:
        """The variance of every row; inf or NaN where there is none, or it is too large."""
        with np.errstate(all="ignore"):
            return self._var()

    @abstractmethod
    def _mean(self) -> Vector: ...

    @abstractmethod
    def _var(self) -> Vector: ...

    @property
    def std(self) -> Vector:
        """The standard deviation of every row."""
        return np.sqrt(self.var)

    @property
    def median(self) -> Vector:
        """The median of every row."""
        return self.quantile(0.5)

    # ---- functions of y --------------------------------------------------------------------------

    def log_density(self, y: npt.ArrayLike) -> Vector:
        """Return the logarithm of the density, or of the probability of a count, at y."""
        return self._of_numbers(self._log_density, y, -np.inf)

    def density(self, y: npt.ArrayLike) -> Vector:
        """Return the density, or the probability of a count, at y."""
        return np.exp(self.log_density(y))

    def cdf(self, y: npt.ArrayLike) -> Vector:
        """Return the probability of values of at most y."""
        found = self._of_numbers(self._cdf, y, np.where(np.asarray(y) == np.inf, 1.0, 0.0))
        return np.asarray(np.clip(found, 0.0, 1.0))

    def nll(self, y: npt.ArrayLike) -> Vector:
        """Return the negative log-likelihood of y, the logarithmic score."""
        return -self.log_density(y)

    def crps(self, y: npt.ArrayLike) -> Vector:
        """Return the continuous ranked probability score of y: ∫ (P(Y ≤ t) - 1[y ≤ t])² dt."""
        return self._of_numbers(self._crps, y, np.inf)

    # ---- quantiles and samples -------------------------------------------------------------------

    def quantile(self, q: npt.ArrayLike) -> Vector:
        """Return a quantile of every row, or of several q a column for each.

        Of counts it is the smallest number whose cdf is at least q.

        Parameters
        ----------
        q : float or array-like of shape (m,)
            Between 0 and 1.
        """
        levels = np.asarray(q, dtype=np.float64)
        if levels.ndim > 1 or not ((levels >= 0.0) & (levels <= 1.0)).all():
            raise ValueError(
                f"q must be a number from 0 to 1, or several of them; got {short_repr(q)}."
            )
        own = self.parameters
        if levels.ndim == 1:
            own = {name: value[:, np.newaxis] for name, value in own.items()}
        shape = (len(self), *levels.shape)
        with np.errstate(all="ignore"):
            found = self._quantile(np.broadcast_to(levels, shape), **own)
        return np.array(np.broadcast_to(found, shape))

    def interval(self, coverage: float = 0.9) -> Vector:
        """Return the central interval with this probability, shape (n_rows, 2)."""
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage must lie between 0 and 1; got {coverage!r}.")
        tail = (1.0 - coverage) / 2.0
        return self.quantile([tail, 1.0 - tail])

    def sample(self, n: int = 1, random_state: Any = 0) -> Vector:
        """Return random values, shape (n_rows, n).

        Parameters
        ----------
        n : int
            The number of values for each row.
        random_state : int, numpy Generator or None
            The seed; None: a new one for every call.
        """
        if not _is_whole(n) or n < 1:
            raise ValueError(f"n must be a whole number, at least 1; got {n!r}.")
        own = {name: value[:, np.newaxis] for name, value in self.parameters.items()}
        rng = np.random.default_rng(random_state)
        return np.asarray(self._sample(rng, (len(self), int(n)), **own), dtype=np.float64)

    # ---- defined by each distribution ------------------------------------------------------------

    if TYPE_CHECKING:  # functions of y, or of q, and of the parameters by name

        def _log_density(self, y: Any, **own: Any) -> Vector: ...
        def _cdf(self, y: Any, **own: Any) -> Vector: ...
        def _quantile(self, q: Any, **own: Any) -> Vector: ...
        def _crps(self, y: Any, **own: Any) -> Vector: ...

    def _sample(self, rng: np.random.Generator, size: tuple[int, int], **own: Vector) -> Vector:
        # Open at 0 and 1, where quantiles may be infinite.
        u = rng.uniform(np.finfo(np.float64).tiny, 1.0, size=size)
        with np.errstate(all="ignore"):
            return self._quantile(u, **own)

    def _of_numbers(self, function: Any, y: npt.ArrayLike, at_infinity: Any) -> Vector:
        """Return a function of finite y; what it is at inf and -inf is given, and NaN is NaN."""
        values, own = self._at(y)
        finite = np.isfinite(values)
        with np.errstate(all="ignore"):
            found = function(np.where(finite, values, 0.5), **own)
        return np.where(finite, found, np.where(np.isnan(values), np.nan, at_infinity))

    def _at(self, y: npt.ArrayLike) -> tuple[Vector, dict[str, Vector]]:
        """Return y and the parameters with shapes that fit."""
        values = np.asarray(y, dtype=np.float64)
        if values.ndim == 0:
            values = np.full(len(self), values)
        if values.ndim > 2 or len(values) != len(self):
            raise ValueError(
                f"y has the shape {values.shape}; expected one number for each of the {len(self)} "
                "rows, several for each, or one number for all."
            )
        if values.ndim == 1:
            return values, self.parameters
        return values, {name: value[:, np.newaxis] for name, value in self.parameters.items()}


class CountDistribution(Distribution):
    """The base class of distributions on the counts 0, 1, 2 and so on."""

    if TYPE_CHECKING:

        def _above(self, y: Any, **own: Any) -> Vector:
            """Return P(Y > y), which loses no digits where it is small."""

    def pit(self, y: npt.ArrayLike, random_state: Any = 0) -> Vector:
        """Return the randomised probability integral transform, uniform if the model is right."""
        values = np.asarray(y, dtype=np.float64)
        low, high = self.cdf(values - 1.0), self.cdf(values)
        return low + np.random.default_rng(random_state).uniform(size=low.shape) * (high - low)

    def _crps(self, y: Vector, **own: Vector) -> Vector:
        """Return Σ_k (P(Y ≤ k) - 1[y ≤ k])² over the counts up to a far quantile.

        Of many counts, the sums are integrals by the trapezoidal rule.
        """
        if y.ndim > 1:
            columns = [self.crps(y[:, k]) for k in range(y.shape[1])]
            return np.column_stack(columns)
        far = np.maximum(self._quantile(np.full(len(y), 1.0 - 1e-9), **own), y)
        found, short = np.zeros(len(y)), far <= MOST_COUNTS
        found[~short] = self[~short]._integrated_crps(y[~short], far[~short])  # noqa: SLF001
        block = MOST_CELLS // (MOST_COUNTS + 2)
        order = np.argsort(far, kind="stable")  # rows of about the same length together
        order = order[short[order]]
        for first in range(0, len(order), block):
            rows = order[first : first + block]
            counts = np.arange(int(far[rows].max()) + 2, dtype=np.float64)
            part = self[rows]
            cells = np.broadcast_to(counts, (len(rows), len(counts)))
            found[rows] = ((part.cdf(cells) - (y[rows, np.newaxis] <= counts)) ** 2).sum(axis=1)
        return found

    def _integrated_crps(self, y: Vector, far: Vector) -> Vector:
        """Return the CRPS of many counts: from a sum over counts k = a, …, b - 1 to an integral.

        Σ g(k) = ∫ g - (g(b) - g(a)) / 2, with g = P(Y ≤ k)² before y, and P(Y > k)² from y on. The
        nodes are dense on a logarithmic scale, and around the mean.
        """
        found, block = np.zeros(len(y)), MOST_CELLS // (2 * NODES)
        steps, share = np.linspace(-8.0, 8.0, NODES), np.linspace(0.0, 1.0, NODES)
        for first in range(0, len(y), block):
            part = slice(first, first + block)
            own, last = self[part]._spread(), far[part, np.newaxis]  # noqa: SLF001
            count = np.maximum(np.ceil(y[part]), 0.0)[:, np.newaxis]
            nodes = [0.0 * last, own.mean[:, None] + own.std[:, None] * steps, last**share, count]
            at = np.sort(np.floor(np.clip(np.hstack(nodes), 0.0, last)), axis=1)
            below = self[part].cdf(at)
            before = np.where(at <= count, below, 0.0)
            after = np.where(at >= count, 1.0 - below, 0.0)
            ends = np.minimum(at, count), np.maximum(at, count)
            found[part] = _trapezoids(before**2, ends[0]) + _trapezoids(after**2, ends[1])
            at_count = self[part].cdf(count)[:, 0]
            found[part] += 0.5 * (below[:, 0] ** 2 - at_count**2 + (1.0 - at_count) ** 2)
        return found

    def _spread(self) -> Distribution:
        """Return the distribution whose mean and deviation show where the cdf grows."""
        return self


def _trapezoids(values: Vector, at: Vector) -> Vector:
    """Return the integral of values in each row, at the nodes of the row."""
    return np.asarray((np.diff(at) * (values[:, 1:] + values[:, :-1])).sum(axis=1) / 2.0)


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)

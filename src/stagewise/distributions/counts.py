"""Distributions of counts: Poisson, negative binomial, and their variants with other zeros."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from stagewise.distributions.base import CountDistribution, Distribution

__all__ = [
    "HurdleNegativeBinomial",
    "HurdlePoisson",
    "NegativeBinomial",
    "Poisson",
    "ZeroInflatedNegativeBinomial",
    "ZeroInflatedPoisson",
    "nb_log_density",
]

Vector = npt.NDArray[np.float64]
LAST_LEVEL = 1.0 - 2.0**-53
"""The last level of a finite quantile."""
RARE = 1e-3
"""Below this probability of a count above 0, quantiles of hurdle models are found one by one."""
SMALL = 1e-5
"""Below this product of the dispersion and a count, sums of logarithms are series."""


def log_rising(y: Vector, dispersion: Vector) -> Vector:
    """Return log Γ(y + r) - log Γ(r) - y log r for r = 1 / dispersion, without cancellation."""
    y, dispersion = np.broadcast_arrays(y, dispersion)
    found = np.zeros(y.shape)
    above = y > 0  # most counts of rare events are 0, and their sums are empty
    y, dispersion = y[above], dispersion[above]
    r = 1.0 / dispersion
    near = special.gammaln(y + r) - special.gammaln(r) - y * np.log(r)
    pairs = 0.5 * y * (y - 1.0)
    squares = pairs * (2.0 * y - 1.0) / 3.0  # Σ_{j<y} j²
    far = dispersion * pairs - 0.5 * dispersion**2 * squares
    found[above] = np.where(dispersion * np.maximum(y, 1.0) < SMALL, far, near)
    return found


def log_factorial(y: Vector) -> Vector:
    """Return log y!; 0 for y ≤ 1."""
    found = np.zeros(np.shape(y))
    above = np.asarray(y) > 1
    found[above] = special.gammaln(np.asarray(y)[above] + 1.0)
    return found


def nb_log_density(y: Vector, mu: Vector, dispersion: Vector) -> Vector:
    """Return the log probability of a count; dispersion → 0 is the Poisson distribution."""
    return np.asarray(
        log_rising(y, dispersion)
        - poisson_part(y, mu, dispersion)
        + special.xlogy(y, mu)
        - log_factorial(y)
    )


def poisson_part(y: Vector, mu: Vector, dispersion: Vector) -> Vector:
    """Return (1/α + y) log(1 + α mu), which is mu for α → 0."""
    return np.asarray((1.0 / dispersion + y) * np.log1p(dispersion * mu))


def _is_count(y: Vector) -> npt.NDArray[np.bool_]:
    return np.asarray((y >= 0) & (y == np.floor(y)))


LARGE_MEAN = 1e9
"""Above it, quantiles of Poisson counts are those of Cornish and Fisher, to a part of a count."""


class Poisson(CountDistribution):
    """Poisson distributions with mean `mu`."""

    name = "poisson"

    def _mean(self) -> Vector:
        return np.array(self.mu)

    def _var(self) -> Vector:
        return np.array(self.mu)

    def _log_density(  # type: ignore[override]
        self, y: Vector, *, mu: Vector
    ) -> Vector:
        inner = special.xlogy(np.maximum(y, 0.0), mu) - mu - log_factorial(y)
        return np.where(_is_count(y), inner, -np.inf)

    def _cdf(  # type: ignore[override]
        self, y: Vector, *, mu: Vector
    ) -> Vector:
        return np.where(y >= 0, special.pdtr(np.maximum(np.floor(y), 0.0), mu), 0.0)

    def _above(  # type: ignore[override]
        self, y: Vector, *, mu: Vector
    ) -> Vector:
        return np.asarray(special.pdtrc(np.floor(y), mu))

    def _quantile(  # type: ignore[override]
        self, q: Vector, *, mu: Vector
    ) -> Vector:
        z = special.ndtri(q)
        far = np.ceil(mu + np.sqrt(mu) * z + (z * z - 1.0) / 6.0 - 0.5)
        near = stats.poisson.ppf(q, np.minimum(mu, LARGE_MEAN))
        return np.asarray(np.maximum(np.where(mu > LARGE_MEAN, far, near), 0.0))


class NegativeBinomial(CountDistribution):
    """Negative binomial distributions with mean `mu` and variance mu + `dispersion` mu²."""

    name = "negative_binomial"

    def _mean(self) -> Vector:
        return np.array(self.mu)

    def _var(self) -> Vector:
        return np.asarray(self.mu + self.dispersion * np.square(self.mu))

    def _log_density(  # type: ignore[override]
        self, y: Vector, *, mu: Vector, dispersion: Vector
    ) -> Vector:
        inner = nb_log_density(np.maximum(y, 0.0), mu, dispersion)
        return np.where(_is_count(y), inner, -np.inf)

    def _cdf(  # type: ignore[override]
        self, y: Vector, *, mu: Vector, dispersion: Vector
    ) -> Vector:
        r = 1.0 / dispersion
        count = np.maximum(np.floor(y), 0.0)
        near = special.betainc(r, count + 1.0, 1.0 / (1.0 + dispersion * mu))
        found = np.where(dispersion < 1e-9, special.pdtr(count, mu), near)
        return np.where(y >= 0, found, 0.0)

    def _above(  # type: ignore[override]
        self, y: Vector, *, mu: Vector, dispersion: Vector
    ) -> Vector:
        count, ratio = np.floor(y), dispersion * mu
        near = special.betainc(count + 1.0, 1.0 / dispersion, ratio / (1.0 + ratio))
        found = np.where(dispersion < 1e-9, special.pdtrc(count, mu), near)
        return np.asarray(found)

    def _quantile(  # type: ignore[override]
        self, q: Vector, *, mu: Vector, dispersion: Vector
    ) -> Vector:
        r = 1.0 / np.maximum(dispersion, 1e-9)
        found = stats.nbinom.ppf(q, r, r / (r + mu))
        found = np.where(dispersion < 1e-9, stats.poisson.ppf(q, mu), found)
        return np.asarray(np.maximum(found, 0.0))


class _OtherZeros(CountDistribution):
    """The base class of distributions that have the counts of another one, but other zeros."""

    base: type[CountDistribution]

    def counts(self) -> CountDistribution:
        """Return the distributions of the counts without the other zeros."""
        return self.base(**{n: v for n, v in self.parameters.items() if n != self._own})

    _own: str

    def _spread(self) -> Distribution:
        return self.counts()

    def _count_quantile(self, q: Vector, own: dict[str, Vector]) -> Vector:
        rest = {name: value for name, value in own.items() if name != self._own}
        return self.counts()._quantile(q, **rest)  # noqa: SLF001

    def _count_above(self, y: Vector, own: dict[str, Vector]) -> Vector:
        rest = {name: value for name, value in own.items() if name != self._own}
        return self.counts()._above(y, **rest)  # noqa: SLF001


class _ZeroInflated(_OtherZeros):
    """P(Y = 0) = π + (1 - π) f(0), P(Y = y) = (1 - π) f(y), with π = `zero_probability`."""

    _own = "zero_probability"

    def _mean(self) -> Vector:
        return np.asarray((1.0 - self.zero_probability) * self.counts().mean)

    def _var(self) -> Vector:
        counts, p = self.counts(), self.zero_probability
        return np.asarray((1.0 - p) * (counts.var + p * np.square(counts.mean)))

    def _log_density(self, y: Vector, **own: Vector) -> Vector:
        p, counts = own[self._own], self.counts()
        inner = counts.log_density(y)
        zero = np.log(p + (1.0 - p) * np.exp(inner))
        return np.where(y == 0, zero, np.log1p(-p) + inner)

    def _cdf(self, y: Vector, **own: Vector) -> Vector:
        p, counts = own[self._own], self.counts()
        return np.where(y >= 0, p + (1.0 - p) * counts.cdf(y), 0.0)

    def _quantile(self, q: Vector, **own: Vector) -> Vector:
        p = own[self._own]
        level = np.clip((q - p) / (1.0 - p), 0.0, np.where(q < 1.0, LAST_LEVEL, 1.0))
        return np.where(q > p, self._count_quantile(level, own), 0.0)


class _Hurdle(_OtherZeros):
    """P(Y = 0) = π, P(Y = y) = (1 - π) f(y) / (1 - f(0)), with π = `zero_probability`."""

    _own = "zero_probability"

    @property
    def _positive(self) -> Vector:
        """1 - f(0), which may be tiny: all counts above 0 are then 1."""
        return np.asarray(-np.expm1(self.counts().log_density(0.0)))

    def _mean(self) -> Vector:
        return np.asarray((1.0 - self.zero_probability) * self.counts().mean / self._positive)

    def _var(self) -> Vector:
        counts, p = self.counts(), self.zero_probability
        squares = (counts.var + np.square(counts.mean)) / self._positive
        return np.asarray((1.0 - p) * squares - np.square(self.mean))

    def _log_density(self, y: Vector, **own: Vector) -> Vector:
        p, counts = own[self._own], self.counts()
        inner = np.log1p(-p) + counts.log_density(y) - np.log(_like(self._positive, y))
        return np.where(y == 0, np.log(p), inner)

    def _cdf(self, y: Vector, **own: Vector) -> Vector:
        p = own[self._own]
        above = self._count_above(np.maximum(y, 1.0), own) / _like(self._positive, y)
        return np.where(y >= 1, 1.0 - (1.0 - p) * above, np.where(y >= 0, p, 0.0))

    def _quantile(self, q: Vector, **own: Vector) -> Vector:
        p, positive = own[self._own], _like(self._positive, q)
        share = np.clip((1.0 - q) / (1.0 - p), 0.0, 1.0)  # of the counts above 0, beyond q
        level = np.where(q < 1.0, np.minimum(1.0 - positive * share, LAST_LEVEL), 1.0)
        found = np.maximum(self._count_quantile(np.where(q > p, level, 0.5), own), 1.0)
        # The levels of rare counts differ from 1 by too little: they are found one by one.
        rare = (positive < RARE) & (q > p) & (q < 1.0)
        found = np.where(rare, 1.0, found)
        while (left := rare & (self._count_above(found, own) > positive * share)).any():
            found = found + left
        return np.where(q > p, found, 0.0)


def _like(values: Vector, y: Vector) -> Vector:
    """Return numbers of rows in a shape that fits the values of a function of y."""
    return values if y.ndim == 1 else values[:, np.newaxis]


class ZeroInflatedPoisson(_ZeroInflated):
    """Poisson counts of mean `mu`, or 0 with the probability `zero_probability`."""

    name = "zero_inflated_poisson"
    base = Poisson


class ZeroInflatedNegativeBinomial(_ZeroInflated):
    """Negative binomial counts, or 0 with the probability `zero_probability`."""

    name = "zero_inflated_negative_binomial"
    base = NegativeBinomial


class HurdlePoisson(_Hurdle):
    """0 with the probability `zero_probability`, otherwise Poisson counts above 0."""

    name = "hurdle_poisson"
    base = Poisson


class HurdleNegativeBinomial(_Hurdle):
    """0 with the probability `zero_probability`, otherwise negative binomial counts above 0."""

    name = "hurdle_negative_binomial"
    base = NegativeBinomial

"""Distributions of counts: Poisson, negative binomial, and their variants with other zeros."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from stagewise.distributions.base import CountDistribution

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


class Poisson(CountDistribution):
    """Poisson distributions with mean `mu`."""

    name = "poisson"

    @property
    def mean(self) -> Vector:
        return np.array(self.mu)

    @property
    def var(self) -> Vector:
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

    def _quantile(  # type: ignore[override]
        self, q: Vector, *, mu: Vector
    ) -> Vector:
        return np.asarray(np.maximum(stats.poisson.ppf(q, mu), 0.0))


class NegativeBinomial(CountDistribution):
    """Negative binomial distributions with mean `mu` and variance mu + `dispersion` mu²."""

    name = "negative_binomial"

    @property
    def mean(self) -> Vector:
        return np.array(self.mu)

    @property
    def var(self) -> Vector:
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

    def _count_quantile(self, q: Vector, own: dict[str, Vector]) -> Vector:
        rest = {name: value for name, value in own.items() if name != self._own}
        return self.counts()._quantile(q, **rest)  # noqa: SLF001


class _ZeroInflated(_OtherZeros):
    """P(Y = 0) = π + (1 - π) f(0), P(Y = y) = (1 - π) f(y), with π = `zero_probability`."""

    _own = "zero_probability"

    @property
    def mean(self) -> Vector:
        return np.asarray((1.0 - self.zero_probability) * self.counts().mean)

    @property
    def var(self) -> Vector:
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
        level = np.where(q > p, (q - p) / (1.0 - p), 0.0)
        return np.where(q > p, self._count_quantile(np.clip(level, 0.0, 1.0), own), 0.0)


class _Hurdle(_OtherZeros):
    """P(Y = 0) = π, P(Y = y) = (1 - π) f(y) / (1 - f(0)), with π = `zero_probability`."""

    _own = "zero_probability"

    def _at_zero(self) -> Vector:
        return self.counts().density(0.0)

    @property
    def mean(self) -> Vector:
        return np.asarray(
            (1.0 - self.zero_probability) * self.counts().mean / (1.0 - self._at_zero())
        )

    @property
    def var(self) -> Vector:
        counts, p = self.counts(), self.zero_probability
        squares = (counts.var + np.square(counts.mean)) / (1.0 - self._at_zero())
        return np.asarray((1.0 - p) * squares - np.square(self.mean))

    def _log_density(self, y: Vector, **own: Vector) -> Vector:
        p, counts = own[self._own], self.counts()
        zero = counts.log_density(np.zeros_like(y))
        inner = np.log1p(-p) + counts.log_density(y) - np.log(-np.expm1(zero))
        return np.where(y == 0, np.log(p), inner)

    def _cdf(self, y: Vector, **own: Vector) -> Vector:
        p, counts = own[self._own], self.counts()
        zero = np.exp(counts.log_density(np.zeros_like(y)))
        above = (counts.cdf(y) - zero) / (1.0 - zero)
        return np.where(y >= 0, p + (1.0 - p) * np.maximum(above, 0.0), 0.0)

    def _quantile(self, q: Vector, **own: Vector) -> Vector:
        p, counts = own[self._own], self.counts()
        zero = np.exp(counts.log_density(np.zeros_like(q)))
        level = zero + (1.0 - zero) * np.clip((q - p) / (1.0 - p), 0.0, 1.0)
        return np.where(q > p, np.maximum(self._count_quantile(level, own), 1.0), 0.0)


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

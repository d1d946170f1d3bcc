"""Kernel density estimates of columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["bandwidth", "kernel_density"]

Vector = npt.NDArray[np.float64]

POINTS, BINS = 200, 1000


def bandwidth(finite: Vector) -> float:
    """Return 0.9 · min(σ, IQR / 1.34) · n^(-1/5) (Silverman 1986, eq. 3.31); σ if the IQR is 0."""
    deviation = float(finite.std(ddof=1)) if len(finite) > 1 else 0.0
    low, high = np.quantile(finite, [0.25, 0.75]) if len(finite) else (0.0, 0.0)
    spread = min(deviation, float(high - low) / 1.34) if high > low else deviation
    return float(0.9 * spread * len(finite) ** -0.2) if len(finite) else 0.0


def kernel_density(finite: Vector) -> tuple[Vector, Vector]:
    """Return a grid over the range of a column, and the density with a Gaussian kernel.

    f(x) = 1 / (n h) Σ_i φ((x - x_i) / h), with the bandwidth h of `bandwidth`. The values are
    counted in 1,000 bins first, so that the time does not depend on the number of rows. Both arrays
    are empty if the column is constant.
    """
    h = bandwidth(finite)
    if not 0 < h < np.inf or not np.isfinite(np.ptp(finite)):
        return np.zeros(0), np.zeros(0)
    edges = np.linspace(finite.min(), finite.max(), BINS + 1)
    if not (np.diff(edges) > 0).all():  # too few doubles between the ends
        return np.zeros(0), np.zeros(0)
    counts, _ = np.histogram(finite, bins=edges)
    centre, grid = (edges[:-1] + edges[1:]) / 2, np.linspace(edges[0], edges[-1], POINTS)
    distance = (grid[:, np.newaxis] - centre) / h
    kernel = np.exp(-0.5 * distance * distance) / np.sqrt(2 * np.pi)
    return grid, (kernel * counts).sum(axis=1) / (len(finite) * h)

"""What a fit noticed, for people and for programs."""

from __future__ import annotations

import time
from typing import Any

import numpy.typing as npt

from stagewise._native import Bins, Workers
from stagewise.data import Features
from stagewise.data.messages import shown, warn_caller

__all__ = ["fit_report", "warn_if_constant"]


def warn_if_constant(
    bins: Bins, features: Features, y: npt.NDArray[Any], classes: npt.NDArray[Any] | None
) -> dict[str, Any]:
    """Return the features that cannot be split, and warn if there is nothing to learn at all."""
    names = features.names or [f"column {i}" for i in range(features.n)]
    constant: list[str] = []
    missing: list[str] = []
    for position, name in enumerate(names):
        if bins.value_bins(position) > 1:
            continue
        # One bin of values: everything is equal, or missing, or both.
        (constant if not bins.has_missing(position) else missing).append(name)
    same = "so the model predicts the same for all rows."
    if classes is not None and len(classes) == 1:
        warn_caller(f"y has only one class, {shown(classes[0])}, {same}")
    elif classes is None and (y == y[0]).all():
        warn_caller(f"y has only one value, {same}")
    elif len(constant) + len(missing) == features.n and _no_two_bins(bins):
        warn_caller(f"Every feature is constant or missing in every row, {same}")
    return {"constant_features": constant, "features_known_only_as_missing": missing}


def _no_two_bins(bins: Bins) -> bool:
    """Whether every feature has all rows in one bin, that of missing values included."""
    codes = bins.codes()
    return bool((codes == codes[0]).all())


def fit_report(
    details: dict[str, Any], estimator: Any, workers: Workers, begin: float
) -> dict[str, Any]:
    """Return the machine-readable report of a fit."""
    from stagewise import __version__

    return {
        **details,
        "rounds_run": len(estimator.train_loss_),
        "rounds_kept": estimator.n_iter_,
        "seed": estimator.seed_,
        "threads": workers.threads,
        "instruction_set": workers.isa,
        "seconds": time.perf_counter() - begin,
        "version": __version__,
    }

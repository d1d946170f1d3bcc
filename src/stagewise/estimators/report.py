"""What a fit noticed, for people and for programs."""

from __future__ import annotations

import time
import warnings
from typing import Any

from stagewise._native import Bins, Workers
from stagewise.data import Features

__all__ = ["fit_report", "warn_if_constant"]


def warn_if_constant(bins: Bins, features: Features) -> dict[str, Any]:
    """Return the features that cannot be split, and warn if that is all of them."""
    names = features.names or [f"column {i}" for i in range(features.n)]
    constant: list[str] = []
    missing: list[str] = []
    for position, name in enumerate(names):
        if bins.value_bins(position) > 1:
            continue
        # One bin of values: everything is equal, or missing, or both.
        (constant if not bins.has_missing(position) else missing).append(name)
    if len(constant) == features.n:
        warnings.warn(
            "Every feature is constant, so the model predicts the same for all rows.",
            UserWarning,
            stacklevel=4,
        )
    return {"constant_features": constant, "features_known_only_as_missing": missing}


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

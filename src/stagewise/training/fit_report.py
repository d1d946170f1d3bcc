"""The report of a fit (`fit_report_`), its line in the log, and warnings about constant data."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy.typing as npt

from stagewise._native import Workers
from stagewise.data import Features
from stagewise.display import Facts
from stagewise.validation.messages import short_repr, warn_caller

__all__ = [
    "ONE_VALUE",
    "counts_by_name",
    "fit_report",
    "limit_reason",
    "log_fit",
    "warn_if_constant",
    "warn_of_one_class",
]

VERSION = version("stagewise")
LOGGER = logging.getLogger("stagewise")


def warn_if_constant(
    bins: Any,
    features: Features,
    y: npt.NDArray[Any],
    classes: npt.NDArray[Any] | None,
    *,
    warns: bool = True,
) -> tuple[list[str], list[str]]:
    """Return the constant features, and those with missing values and at most one other value.

    Warns if the model can only predict a constant; not without `warns`, if a fit continues a model.
    """
    names = _names(features.names, features.n)
    constant: list[str] = []
    missing: list[str] = []
    for position, name in enumerate(names):
        if bins.value_bins(position) > 1:
            continue
        # One bin of values: they are all equal or missing.
        (constant if not bins.has_missing(position) else missing).append(name)
    if not warns:
        return constant, missing
    same = "so the model predicts the same for all rows."
    if classes is not None and len(classes) == 1:
        warn_of_one_class(classes)
    elif classes is None and (y == y[0]).all():
        warn_caller(ONE_VALUE)
    elif len(constant) + len(missing) == features.n and _no_two_bins(bins):
        warn_caller(f"Every feature is constant or missing in every row, {same}")
    return constant, missing


ONE_VALUE = "y has only one value, so the model predicts the same for all rows."


def warn_of_one_class(classes: npt.NDArray[Any]) -> None:
    """Warn that y has one class."""
    same = "so the model predicts the same for all rows."
    warn_caller(f"y has only one class, {short_repr(classes[0])}, {same}")


def counts_by_name(features: Features, rows: Mapping[int, int]) -> dict[str, int]:
    """Return the counts of columns by name; without names, by "column 0" and so on."""
    names = _names(features.names, features.n)
    return {names[position]: count for position, count in rows.items()}


def _names(names: list[str] | None, n: int) -> list[str]:
    return names or [f"column {i}" for i in range(n)]


def _no_two_bins(bins: Any) -> bool:
    """Return whether every feature has all rows in one bin; the bin of missing values counts."""
    return all(bins.is_constant(position) for position in range(bins.n_features))


def fit_report(
    details: dict[str, Any], estimator: Any, workers: Workers, begin: float
) -> dict[str, Any]:
    """Return `fit_report_`, a dictionary of facts about a fit; docs/fit-report.md has its keys."""
    facts = {
        **details,
        "rounds_kept": estimator.n_iter_,
        "seed": estimator.seed_,
        "threads": workers.threads,
        "instruction_set": workers.isa,
        "seconds": time.perf_counter() - begin,
        "version": VERSION,
    }
    return Facts(facts, f"Fit of {type(estimator).__name__}")


def limit_reason(n_rounds: int) -> str:
    """Return the reason for the end of a fit whose number of rounds is limited by the rows."""
    return (
        f"limit of {n_rounds:,} rounds reached, which n_estimators='auto' sets by the number of "
        "rows"
    )


def log_fit(estimator: Any, seconds: float) -> None:
    """Log the end of a fit: the estimator, its rounds, the seconds, and why it ended."""
    report = estimator.fit_report_
    nouns = {"rounds_kept": "rounds", "estimators_fitted": "base estimators"}
    facts = [f"{report[key]} {noun}" for key, noun in nouns.items() if key in report]
    facts.append(f"{seconds:.3g} s")
    if report.get("stop_reason"):
        facts.append(f"stop reason: {report['stop_reason']}")
    LOGGER.info("%s: %s", type(estimator).__name__, ", ".join(facts))

"""The rules of the parameters of bagging estimators."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from stagewise.validation.rules import Number, OneOf, Rule, flag
from stagewise.validation.uses import Use

__all__ = ["BAGGING_RULES", "BAGGING_USES"]


def _count(of: str) -> Rule:
    """Return the rule of a fraction (float) or a number (int), as scikit-learn takes them."""

    def rule(value: Any) -> float | int:
        try:
            if isinstance(value, (float, np.floating)):
                return float(Number(0.0, 1.0, open_low=True)(value))
            return int(Number(1, whole=True)(value))
        except ValueError:
            raise ValueError(
                f"a whole number of {of}, at least 1, or a fraction above 0.0 and at most 1.0"
            ) from None

    return rule


BAGGING_RULES = MappingProxyType(
    {
        "sampling": OneOf(("bootstrap", "uniform", "group", "folds")),
        "max_samples": _count("rows"),
        "max_features": _count("columns"),
        "bootstrap_features": flag,
        "early_stopping": flag,
    }
)
BAGGING_USES = (
    Use(
        ("n_estimators", "max_samples", "oob_score", "early_stopping", "warm_start"),
        "sampling",
        lambda sampling: sampling != "folds",
        "set the number of estimators with cv",
    ),
    # scikit-learn's checks set cv of any estimator that has it.
    Use(("cv",), "sampling", lambda s: s == "folds", "set sampling='folds'", warns=True),
    Use(("n_iter_no_change", "tol"), "early_stopping", bool, "set early_stopping=True"),
)

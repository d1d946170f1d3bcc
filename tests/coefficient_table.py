"""The coefficients of a linear model and their tests, as the columns of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["coefficient_table"]


def coefficient_table(model: Any, confidence_level: float = 0.95) -> dict[str, np.ndarray]:
    """Return the terms, estimates, standard errors, t and p values and limits of a model."""
    constant = [model.intercept_] if model.fit_intercept else []
    low, high = model.conf_int(confidence_level=confidence_level).T
    return {
        "term": np.array(model.term_names_),
        "estimate": np.concatenate([constant, model.coef_]),
        "standard_error": model.standard_errors_,
        "t": model.tvalues_,
        "p": model.pvalues_,
        "low": low,
        "high": high,
    }

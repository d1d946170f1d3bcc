"""Checks of the arguments X and features."""

from __future__ import annotations

import numbers
from typing import Any

from stagewise.errors import InvalidParameterError

__all__ = ["check_order"]


def check_order(X: Any, features: Any, caller: str) -> None:
    """Raise if X and features were passed in the opposite order."""
    if _names_features(X) and not _names_features(features):
        raise InvalidParameterError(
            f"{caller}: X and features are exchanged. The order is that of scikit-learn: "
            f"{caller}(estimator, X, features)."
        )


def _names_features(value: Any) -> bool:
    """Return whether a value can only be names or indices of features, not rows."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(_names_features(v) for v in value)
    return isinstance(value, (str, numbers.Integral))

"""What all estimators share: parameters that are set by name."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator

from stagewise.estimators.parameters import nearest_name

__all__ = ["NamedParameters"]


class NamedParameters(BaseEstimator):
    """An estimator that answers a misspelt parameter with the nearest one."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; an unknown name is answered with the nearest one."""
        known = self.get_params(deep=False)
        for name in params:
            if name.partition("__")[0] not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {type(self).__name__}."
                    f"{nearest_name(name, known)} Valid parameters are: {sorted(known)}."
                )
        result: Self = super().set_params(**params)
        return result

"""The fitted estimators of an ensemble as a sequence, as in scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["EstimatorSequence"]


class EstimatorSequence:
    """Ensembles with a length, whose fitted estimators are read by number and in turn."""

    estimators_: Any

    def _members(self) -> list[Any]:
        """Return the fitted estimators, or raise NotFittedError."""
        return list(self.estimators_)

    def __len__(self) -> int:
        """Return the number of fitted estimators."""
        return len(self._members())

    def __bool__(self) -> bool:
        return True  # an estimator that is not fitted has no length

    def __iter__(self) -> Iterator[Any]:
        """Yield the fitted estimators."""
        return iter(self._members())

    def __getitem__(self, index: int | slice) -> Any:
        """Return a fitted estimator, or a list of them for a slice."""
        return self._members()[index]

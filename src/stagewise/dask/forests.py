"""Forests on a Dask cluster: the estimators of one machine with another `fit`."""

from __future__ import annotations

from typing import Any

from stagewise import estimators
from stagewise.dask.estimators import ClusterClassifierMixin, ClusterMixin
from stagewise.dask.forest_fit import ForestFit
from stagewise.errors import InvalidParameterError
from stagewise.training.reading.training_data import FitArguments

__all__ = [
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]


class _ForestMixin(ClusterMixin):
    """Forests: every worker has all rows and grows some of the trees."""

    _training_class = ForestFit

    def _refuse_unsupported(self: Any, *, has_validation: bool) -> None:
        """Raise if parameters cannot be combined, or are not supported on a cluster."""
        held, params = True if has_validation else None, self._parameters()
        self._check_arguments(params, FitArguments(None, None, X_val=held))
        if params["warm_start"]:
            raise InvalidParameterError(
                "A cluster cannot train with warm_start=True yet. Change the parameter, or fit "
                f"stagewise.{type(self).__name__} to a table in memory."
            )


class ExtraTreesClassifier(_ForestMixin, ClusterClassifierMixin, estimators.ExtraTreesClassifier):  # type: ignore[misc]
    """`stagewise.ExtraTreesClassifier` on a Dask cluster; the parameters are the same."""

    _local_class = estimators.ExtraTreesClassifier


class ExtraTreesRegressor(_ForestMixin, estimators.ExtraTreesRegressor):  # type: ignore[misc]
    """`stagewise.ExtraTreesRegressor` on a Dask cluster; the parameters are the same."""

    _local_class = estimators.ExtraTreesRegressor


class RandomForestClassifier(  # type: ignore[misc]
    _ForestMixin, ClusterClassifierMixin, estimators.RandomForestClassifier
):
    """`stagewise.RandomForestClassifier` on a Dask cluster; the parameters are the same."""

    _local_class = estimators.RandomForestClassifier


class RandomForestRegressor(_ForestMixin, estimators.RandomForestRegressor):  # type: ignore[misc]
    """`stagewise.RandomForestRegressor` on a Dask cluster; the parameters are the same."""

    _local_class = estimators.RandomForestRegressor

"""Gradient boosting on a Dask cluster: the estimators of one machine with another `fit`."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from distributed import Client, default_client
from sklearn.base import is_classifier

from stagewise import estimators
from stagewise.dask.driver import fit_on_cluster
from stagewise.dask.partition_fit import PartitionFit
from stagewise.dask.partitions import (
    Partitions,
    check_rows,
    is_collection,
    read_partitions,
)
from stagewise.dask.predictions import predict_collection
from stagewise.errors import InvalidParameterError
from stagewise.estimators.parameters.defaults import DataFacts, resolve_auto
from stagewise.estimators.parameters.make_specs import choose_seed
from stagewise.training.fit_report import log_fit
from stagewise.training.reading.folds import MANY_ROWS
from stagewise.training.stored.checkpoint import Checkpoints
from stagewise.training.stored.needs_memory import unsupported_part
from stagewise.validation.arguments import suggests_arguments

__all__ = [
    "ClusterClassifierMixin",
    "ClusterMixin",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
]


class ClusterMixin:
    """Estimators that are fitted by the workers of a cluster."""

    _local_class: Any
    _training_class: type[PartitionFit] = PartitionFit

    @suggests_arguments
    def fit(
        self: Any,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        client: Client | None = None,
    ) -> Any:
        """Fit the model on the workers that have the partitions.

        The model is that of the same rows in memory, to the byte, for any number of workers and any
        partitions, also if a worker is lost.

        Parameters
        ----------
        X : dask.dataframe.DataFrame, dask.array.Array, or list of Delayed
            The features; parts of a list are data frames. The order of the partitions is the order
            of the rows. Partitions may be empty.
        y : str, dask.dataframe.Series, dask.array.Array, or list of Delayed
            The target, with the partitions of X; a str: the name of its column in X.
        sample_weight : as y, or None
            The weights of the rows; see the estimator of one machine.
        X_val, y_val, sample_weight_val
            Validation rows, which decide when the fit stops. The names of
            the target and of the weights are those of X if X_val has these columns.
        client : Client or None
            The client of the cluster, not an asynchronous one; None: the current client.

        Returns
        -------
        self
        """
        begin = time.perf_counter()
        self._refuse_unsupported(has_validation=X_val is not None)
        train, valid = read_partitions(X, y, sample_weight), None
        if X_val is not None:
            target = y if y_val is None and isinstance(y, str) else y_val
            by_name = sample_weight_val is None and isinstance(sample_weight, str)
            weight = sample_weight if by_name else sample_weight_val
            valid = read_partitions(X_val, target, weight, "_val", optional_weight=by_name)
        self._fit_partitions(client or default_client(), train, valid)
        log_fit(self, time.perf_counter() - begin)
        return self

    def _fit_partitions(
        self: Any,
        client: Client,
        train: Partitions,
        valid: Partitions | None,
        checkpoints: Checkpoints | None = None,
    ) -> Any:
        """Fit the model of supported parameters; the client keeps the rounds in `checkpoints`."""
        seed = choose_seed(self._parameters()["random_state"])
        local = self._local_class(**self.get_params(deep=False) | {"random_state": seed})
        training = self._training_class(
            local, train.roles, None if valid is None else valid.roles, len(train.tables)
        )
        tables = train.tables + ([] if valid is None else valid.tables)
        fitted = fit_on_cluster(
            client, partial(client.compute, tables), training, checkpoints=checkpoints
        )
        names = self.get_params(deep=False)
        for name in set(self.__dict__) - set(names):
            del self.__dict__[name]
        self.__dict__ |= {k: v for k, v in fitted.__dict__.items() if k not in names}
        return self

    def _refuse_unsupported(self: Any, *, has_validation: bool) -> None:
        """Raise if a parameter is not supported on a cluster; nothing was computed yet."""
        params = self._parameters()
        hold_out = self._hold_out(params)
        several_folds = hold_out.kind == "folds" and not isinstance(hold_out.cv, str)
        by = next((name for name in ("conformal", "calibration") if params.get(name)), None)
        unsupported = {
            "early_stopping by several folds (True holds rows out)": several_folds and not by,
            f"the folds of {by} (early_stopping=True holds rows out)": several_folds,
            "warm_start=True": params["warm_start"],
            "sampling='group'": params["sampling"] == "group",
        }
        what = next((what for what, is_used in unsupported.items() if is_used), None)
        if what is None:
            classes = np.array([0, 1]) if is_classifier(self) else None
            held = hold_out.kind == "folds" and not has_validation, has_validation
            facts = DataFacts(10 * MANY_ROWS, 1, classes is not None, False, *held)
            spec = self._spec(resolve_auto(params, facts), hold_out)
            loss = self._make_loss(classes)
            what = unsupported_part(spec, loss)
        if what is not None:
            raise InvalidParameterError(
                f"A cluster cannot train with {what}. Change the parameter, or fit "
                f"stagewise.{type(self).__name__} to a table in memory."
            )

    def to_local(self: Any) -> Any:
        """Return the ordinary estimator of one machine, fitted if this one is."""
        local = self._local_class(**self.get_params(deep=False))
        local.__dict__ |= self.__dict__
        return local

    def _predict_any(self: Any, method: str, X: Any, **options: Any) -> Any:
        """Return the predictions of a collection, lazily, or of a table in memory."""
        local = self.to_local()
        if not is_collection(X):
            return getattr(local, method)(X, **options)
        if options:
            raise TypeError(f"{method} of a collection has no argument {next(iter(options))!r}.")
        check_rows(X)
        local.fingerprint()  # raises if the estimator is not fitted
        return predict_collection(local, method, X)

    def predict(self, X: Any, **options: Any) -> Any:
        """Return the predictions of a table, as the estimator of one machine, or of a collection.

        Parameters
        ----------
        X : table, dask.dataframe.DataFrame, dask.array.Array, or list of Delayed
            The rows. The predictions of a collection are a collection, not computed yet.
        **options
            Further arguments of `predict` of the estimator of one machine, for a table.
        """
        return self._predict_any("predict", X, **options)


class ClusterClassifierMixin(ClusterMixin):
    """Classifiers that are fitted by the workers of a cluster."""

    def predict_proba(self, X: Any, **options: Any) -> Any:
        """Return the probability of each class; see `predict`."""
        return self._predict_any("predict_proba", X, **options)

    def decision_function(self, X: Any, **options: Any) -> Any:
        """Return the scores; see `predict`."""
        return self._predict_any("decision_function", X, **options)


class GradientBoostingRegressor(ClusterMixin, estimators.GradientBoostingRegressor):  # type: ignore[misc]
    """`stagewise.GradientBoostingRegressor` on a Dask cluster; the parameters are the same.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> from distributed import Client
    >>> from stagewise.dask import GradientBoostingRegressor
    >>> with Client("tcp://127.0.0.1:8786"):  # doctest: +SKIP
    ...     rows = dd.read_parquet("rows/*.parquet")
    ...     model = GradientBoostingRegressor(n_estimators=200).fit(rows, "price")
    """

    _local_class = estimators.GradientBoostingRegressor


class GradientBoostingClassifier(ClusterClassifierMixin, estimators.GradientBoostingClassifier):  # type: ignore[misc]
    """`stagewise.GradientBoostingClassifier` on a Dask cluster; the parameters are the same."""

    _local_class = estimators.GradientBoostingClassifier

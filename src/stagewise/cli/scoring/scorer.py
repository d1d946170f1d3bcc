"""The output columns of a table: kept columns, predictions and probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stagewise.cli.errors import InputError
from stagewise.cli.files import pick
from stagewise.cli.models import check_text, model_input
from stagewise.datasets import Dataset
from stagewise.estimators.bases.model_access import (
    has_conformity,
    has_distribution,
    prediction_names,
)
from stagewise.losses.survival.competing_risks import CompetingRisksLoss

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Scorer"]


@dataclass(frozen=True)
class Scorer:
    """Predicts tables with one model and one set of options.

    Parameters
    ----------
    estimator : fitted estimator
        The model.
    keep : tuple of str
        The columns that are copied to the output.
    ignore : tuple of str
        Columns that are not features, of a model without names.
    proba : bool
        Whether to output the probability of every class.
    interval : float or None
        The coverage of the interval, or the prediction set, of every row; None: none.
    levels : tuple of float
        The quantiles of predicted distributions.
    times : tuple of float
        The times of the survival curves, or of the incidences of causes.
    """

    estimator: Any
    keep: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    proba: bool = False
    interval: float | None = None
    levels: tuple[float, ...] = ()
    times: tuple[float, ...] = ()

    def check(self, dataset: Dataset) -> None:
        """Raise, before any row is predicted, if columns are missing or have the wrong type."""
        empty, path = dataset.source.schema.empty_table(), dataset.files[0].path
        for option, names in (("--keep", self.keep), ("--ignore", self.ignore)):
            for name in names:
                pick(empty, name, option=option, path=path)
        model_input(self.estimator, empty, path, besides={*self.ignore, *self.keep})
        if self.proba and self.estimator.model_.task != "classification":
            raise InputError(
                "--proba needs a classifier, and this model predicts numbers; leave it out."
            )
        if self.proba and self.estimator.model_.class_targets is not None:
            raise InputError("--proba needs one target, and this model has several; leave it out.")
        self._check_interval()
        check_text(self.estimator, dataset, {*self.ignore, *self.keep})
        if self.levels and not has_distribution(self.estimator):
            raise InputError(
                "--quantile needs a model of distributions; train it with --loss normal, "
                "negative_binomial or another one, or train quantiles with train --quantile."
            )
        self._check_times()
        clash = [name for name in self._prediction_columns() if name in self.keep]
        if clash:
            raise InputError(
                f"--keep: {clash[0]!r} is the name of an output column; rename the column."
            )

    def _check_times(self) -> None:
        """Raise unless the model has curves at the times."""
        if not self.times:
            return
        if self.estimator.model_.task != "survival":
            raise InputError(
                "--times needs a survival model; train it with --task survival, or leave it out."
            )
        if self.estimator.strata_:
            raise InputError(
                "--times needs a model without strata, since each has a curve of its own. Use "
                "predict_survival_function(X, times, stratum=…) in Python."
            )

    def _check_interval(self) -> None:
        """Raise unless the model has intervals, or prediction sets, of the coverage."""
        if self.interval is None:
            return
        if not hasattr(self.estimator, "conformalize"):
            raise InputError(
                f"--interval needs gradient boosting or a forest; this model is a "
                f"{type(self.estimator).__name__}."
            )
        if not 0 < self.interval < 1:
            raise InputError(
                f"--interval must be a number above 0 and below 1, such as 0.9; got "
                f"{self.interval:g}."
            )
        if not has_conformity(self.estimator):
            raise InputError(
                "--interval needs a model with conformity scores; train it with --conformal cv, "
                "or split, or oob for a forest."
            )

    def columns(self, dataset: Dataset) -> list[str]:
        """Return the columns that are read."""
        names = self.estimator.model_.features.names
        if names is None:
            left_out = set(self.ignore) - set(self.keep)
            return [name for name in dataset.source.schema.names if name not in left_out]
        offsets = self.estimator.model_.row_offset.columns
        return list(dict.fromkeys([*names, *offsets, *self.keep]))

    def output_columns(self) -> list[str]:
        """Return the names of the columns of the output."""
        return [*self.keep, *self._prediction_columns()]

    def score(self, table: pa.Table, path: Path) -> pa.Table:
        """Return the output of a table; `path` is its file, for messages."""
        import pyarrow as pa

        features = model_input(self.estimator, table, path, besides={*self.ignore, *self.keep})
        kept = {name: table.column(name) for name in self.keep}
        predicted = zip(self._prediction_columns(), self._predict(features), strict=True)
        return pa.table(kept | dict(predicted))

    def _prediction_columns(self) -> list[str]:
        model = self.estimator.model_
        if self.proba:
            first = ["prediction", *(f"proba_{label}" for label in model.classes.tolist())]
        elif model.classes is not None or not prediction_names(self.estimator):
            first = ["prediction"]
        else:
            first = [f"prediction_{name}" for name in prediction_names(self.estimator)]
        first += [f"quantile_{level:g}" for level in self.levels]
        if self.times:
            first += [f"{curve}_{time:.15g}" for curve in self._curves() for time in self.times]
        if self.interval is None:
            return first
        if model.classes is None:
            return [*first, "lower", "upper"]
        return [*first, *(f"in_set_{label}" for label in model.classes.tolist())]

    def _curves(self) -> list[str]:
        """Return the names of the curves of a row; of competing risks one for each cause."""
        loss = self.estimator._prediction_loss(self.estimator.model_)  # noqa: SLF001
        causes = loss.causes if isinstance(loss, CompetingRisksLoss) else ()
        return [f"incidence_event_{cause}" for cause in causes] or ["survival"]

    def _curve_columns(self, features: Any) -> list[Any]:
        """Return the values of the curves at the times."""
        if self._curves() == ["survival"]:
            return list(self.estimator.predict_survival_function(features, self.times).values.T)
        found = self.estimator.predict_cumulative_incidence(features, self.times).values
        return list(found.reshape(len(found), -1).T)

    def _predict(self, features: Any) -> list[Any]:
        """Return the columns of predictions, and probabilities and intervals if requested."""
        first = self._point_predictions(features)
        if self.levels:
            first += list(self.estimator.predict_dist(features).quantile(self.levels).T)
        if self.times:
            first += self._curve_columns(features)
        if self.interval is None:
            return first
        if self.estimator.model_.classes is None:
            return [*first, *self.estimator.predict_interval(features, coverage=self.interval).T]
        return [*first, *self.estimator.predict_set(features, coverage=self.interval).T]

    def _point_predictions(self, features: Any) -> list[Any]:
        if not self.proba:
            y_pred = self.estimator.predict(features)
            return [y_pred] if y_pred.ndim == 1 else list(y_pred.T)
        proba = self.estimator.predict_proba(features)
        return [self.estimator.classes_[proba.argmax(axis=1)], *proba.T]

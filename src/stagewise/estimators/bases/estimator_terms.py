"""The base class of boosted models whose terms may be estimators of any library.

The rows are then passed on as they are, and the model is a `TermModel`: it can be pickled, but not
be saved to a model file, because its terms contain code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.boosting import BaseBoosting
from stagewise.estimators.bases.trees.tree_attributes import TreeAttributes
from stagewise.learners.estimator import check_learner
from stagewise.model.model import Model
from stagewise.training.reading.passthrough import PassthroughReader
from stagewise.training.reading.training_data import TableReader, TrainingData
from stagewise.training.results import FitResult
from stagewise.validation.messages import short_repr

__all__ = ["ONLY_OF_TREES", "EstimatorTerms"]

Vector = npt.NDArray[np.float64]

ONLY_OF_TREES = MappingProxyType(
    {
        "max_bins": 255,
        "missing_values": (),
        "categorical_features": "from_dtype",
        "handle_unknown": "missing",
    }
)
"""Parameters that estimators of other libraries cannot use, and their defaults."""

if TYPE_CHECKING:

    class _Base(TreeAttributes, BaseBoosting):
        """The other bases of an estimator."""

else:
    _Base = object


class EstimatorTerms(_Base):
    """Boosted models whose terms are trees or estimators of any library."""

    _term_parameter: str
    """The parameter that is the estimator of the terms."""

    def _term_estimator(self) -> Any:
        """Return the estimator of the terms; None: they are trees."""
        raise NotImplementedError

    def _check_term_estimator(self, estimator: Any, *, of_classes: bool) -> None:
        try:
            check_learner(estimator, of_classes=of_classes)
        except ValueError as error:
            of_response = self._term_parameter == "learner"
            more = " for this response, or a HistogramTree" if of_response else ""
            raise InvalidParameterError(
                f"The parameter {self._term_parameter!r} of {type(self).__name__} must be "
                f"{error}{more}; got {short_repr(estimator)}."
            ) from None

    def _check_unused(self, params: Mapping[str, Any], unused: Mapping[str, Any]) -> None:
        """Raise InvalidParameterError if a parameter that has no effect is not its default."""
        for name, default in unused.items():
            if params[name] != default:
                term = params[self._term_parameter]
                kind = "None" if term is None else type(term).__name__
                raise InvalidParameterError(
                    f"The parameter {name!r} of {type(self).__name__} has no effect with this "
                    f"{self._term_parameter}, {kind}; leave it at its default. Got "
                    f"{params[name]!r}."
                )

    def _table_reader(self, params: dict[str, Any], previous: Model | None) -> TableReader:
        if self._term_estimator() is None:
            return super()._table_reader(params, previous)
        return PassthroughReader(type(self).__name__)

    def _set_fitted(
        self, result: FitResult, data: TrainingData, params: dict[str, Any]
    ) -> dict[str, Any]:
        if self._term_estimator() is not None:
            self._header = data.features
            data.features.set_attributes(self)
        return super()._set_fitted(result, data, params)

    def _adopt(self, model: Any) -> None:
        if isinstance(model, Model):
            super()._adopt(model)
            return
        self.model_ = model
        self.n_iter_ = model.ensemble.n_rounds
        self.train_loss_ = model.train_loss
        self.validation_loss_ = model.valid_loss
        if model.classes is not None:
            self.classes_ = model.classes

    def _staged_score(self, X: Any) -> Iterator[Vector]:
        model: Any = self._fitted()
        if isinstance(model, Model):
            yield from super()._staged_score(X)
            return
        rows = self._header.match(X, type(self).__name__)
        stages = model.ensemble.staged_scores(rows.X, rows.n_rows)
        next(stages)  # the constant
        start = self._start_score(model, X)
        yield from (score + start for score in stages)

    def _score(self, X: Any, n_rounds: Any = None) -> Vector:
        model: Any = self._fitted()
        if isinstance(model, Model):
            return super()._score(X, n_rounds)
        rounds = None if n_rounds is None else self._check_rounds(model, n_rounds)
        rows = self._header.match(X, type(self).__name__)
        score = np.asarray(model.ensemble.score(rows.X, rows.n_rows, rounds))
        return np.asarray(score + self._start_score(model, X))

    @property
    def feature_importances_(self) -> Vector:
        """Each feature's share of the gain of all splits, if the terms are trees."""
        self._only_trees("feature_importances_")
        return super().feature_importances_

    @property
    def apply(self) -> Any:
        """The method that returns the leaf of each row in every tree, if the terms are trees."""
        self._only_trees("apply")
        return super().apply

    def _only_trees(self, what: str) -> None:
        estimator = self._term_estimator()
        if estimator is not None:
            raise AttributeError(
                f"{type(self).__name__} has {what} only if the {self._term_parameter} is a tree; "
                f"it is {type(estimator).__name__}."
            )

    def save(self, path: str | PathLike[str], *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the model to a file, if its terms are trees; see `GradientBoostingRegressor`."""
        if not isinstance(self._fitted(), Model):
            name = type(self._term_estimator()).__name__
            raise ValueError(
                f"A model of {name} terms cannot be saved to a file, which holds no code. Pickle "
                f"the estimator instead (joblib.dump), or use a tree as {self._term_parameter}."
            )
        super().save(path, notes=notes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        estimator = self._term_estimator()
        if hasattr(estimator, "__sklearn_tags__") and not isinstance(estimator, type):
            theirs = estimator.__sklearn_tags__().input_tags
            tags.input_tags.allow_nan = theirs.allow_nan
            tags.input_tags.categorical = theirs.categorical
            tags.input_tags.sparse = theirs.sparse
        return tags

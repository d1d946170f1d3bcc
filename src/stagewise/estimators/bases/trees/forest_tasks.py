"""Forests of classes and of numbers."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.estimators.bases.predictions.calibrated import CalibratedModel
from stagewise.estimators.bases.predictions.class_targets import (
    ClassTargetPredictions,
    exact_matches,
)
from stagewise.estimators.bases.predictions.intervals import IntervalPredictions
from stagewise.estimators.bases.predictions.prediction_sets import SetPredictions
from stagewise.estimators.bases.predictions.r_squared import r_squared
from stagewise.estimators.bases.predictions.regressor import RegressorPredictions
from stagewise.estimators.bases.trees.averages import CLASS_CRITERION, NUMBER_CRITERION
from stagewise.estimators.bases.trees.forest import FOREST_RULES
from stagewise.estimators.bases.trees.forest_importance import impurity_by_class
from stagewise.losses import CLASSIFICATION_LOSSES, AbsoluteError, Loss, SquaredError
from stagewise.training.reading.target_reader import ClassTargetsReader, TargetReader

__all__ = ["ForestClassifierMixin", "ForestRegressorMixin"]

Vector = npt.NDArray[np.float64]


class ForestClassifierMixin(CalibratedModel, SetPredictions, ClassTargetPredictions):
    """Classifiers that are averages of trees."""

    oob_prediction_: Vector

    _rules = MappingProxyType({**FOREST_RULES, "criterion": CLASS_CRITERION})

    def _target_reader(self) -> TargetReader:
        own = self.class_weight  # that of every bag is found when the bag is drawn
        in_bags = isinstance(own, str) and own == "balanced_subsample"
        return ClassTargetsReader(type(self).__name__, None if in_bags else own)

    def _make_loss(self, classes: npt.NDArray[Any] | None) -> Loss:
        assert classes is not None
        return CLASSIFICATION_LOSSES["squared_error"](len(classes))

    @property
    def oob_decision_function_(self) -> Any:
        """The out-of-bag probabilities, shape (n_rows, n_classes): scikit-learn's name of them.

        Of several targets: shape (n_rows, n_classes, n_targets), or a list of arrays if targets
        have different numbers of classes. The columns of `oob_prediction_` are the classes of all
        targets.
        """
        try:
            each = self._by_target(self.oob_prediction_)
            same = isinstance(each, list) and len({own.shape for own in each}) == 1
            return np.stack(each, axis=2) if same else each
        except AttributeError:
            raise AttributeError(
                f"This {type(self).__name__} has no out-of-bag predictions: fit it with "
                "oob_score=True and bootstrap=True."
            ) from None

    @property
    def class_importances_(self) -> npt.NDArray[np.float64]:
        """The importance of each feature for each class.

        The decrease of p_k (1 - p_k) by all splits, shape (n_classes, n_features), as shares of the
        whole; with two classes both rows are the same.
        """
        self._check_one_target("class_importances_")
        return impurity_by_class(self._fitted())

    def _quality(self, y: npt.NDArray[Any], predicted: Vector, weight: Vector | None) -> float:
        each = self._by_target(predicted)
        if not isinstance(each, list):
            return float(np.average(predicted.argmax(axis=1) == y, weights=weight))
        codes = np.column_stack([own.argmax(axis=1) for own in each])
        return exact_matches(y, codes, weight)

    def _targets_of(
        self, y: npt.NDArray[Any], predicted: Vector
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        model = self._fitted()
        decided = self._decide(model, predicted) if model.class_targets is not None else None
        if decided is not None:
            one_hot = np.zeros(predicted.shape)
            first = np.cumsum([0, *self.n_classes_[:-1]])
            np.put_along_axis(one_hot, y + first, 1.0, axis=1)
            return self._decide(model, one_hot), decided
        assert model.classes is not None
        return model.classes[y], model.classes[predicted.argmax(axis=1)]


class ForestRegressorMixin(IntervalPredictions, RegressorPredictions):
    """Regressors that are averages of trees."""

    criterion: str
    _several_targets = True
    _rules = MappingProxyType({**FOREST_RULES, "criterion": NUMBER_CRITERION})

    def _make_loss(self, classes: npt.NDArray[Any] | None) -> Loss:
        return AbsoluteError() if self.criterion == "absolute_error" else SquaredError()

    def _quality(self, y: npt.NDArray[Any], predicted: Vector, weight: Vector | None) -> float:
        return r_squared(y, predicted, weight) if len(y) > 1 else float("nan")

    def _targets_of(
        self, y: npt.NDArray[Any], predicted: Vector
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        return y, predicted

"""What forests and single trees share: targets, constraints and fitted attributes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stagewise.errors import InvalidParameterError
from stagewise.estimators.parameters.tree_needs import check_sparse, reads_sparse
from stagewise.losses import Loss
from stagewise.model.model import Model
from stagewise.training.forest_trainer import check_averages
from stagewise.training.preparation import check_counts
from stagewise.training.reading.training_data import TrainingData
from stagewise.validation.parameters import all_parameters
from stagewise.validation.rules import OneOf

__all__ = ["CLASS_CRITERION", "NUMBER_CRITERION", "AverageMixin"]

CLASS_CRITERION = OneOf(("gini", "entropy", "log_loss", "misclassification"))
NUMBER_CRITERION = OneOf(
    ("squared_error", "absolute_error", "poisson"),
    (
        ("friedman_mse", "scikit-learn", "squared_error"),
        ("mse", "scikit-learn", "squared_error"),
        ("mae", "scikit-learn", "absolute_error"),
    ),
)

_NOT_SEVERAL = MappingProxyType(
    {
        "absolute_error": "criterion='absolute_error' sorts the values of one target",
        "monotonic_cst": "monotonic_cst bounds the values of one target",
    }
)


class AverageMixin:
    """Forests and single trees: the values of leaves are averages of the targets of their rows."""

    _is_average = True
    n_iter_: int
    train_loss_: npt.NDArray[np.float64]
    validation_loss_: npt.NDArray[np.float64]

    if TYPE_CHECKING:  # defined by the other bases of an estimator

        def _fitted(self) -> Model: ...

        def _adopt_columns(self, model: Model) -> None: ...

    @property
    def n_outputs_(self) -> int:
        """The number of targets."""
        model = self._fitted()
        if model.class_targets is not None:
            return len(model.class_targets)
        return 1 if model.classes is not None else int(model.ensemble.n_outputs)

    def _adopt(self, model: Model) -> None:
        self._adopt_columns(model)
        self.n_iter_ = model.ensemble.n_rounds
        self.train_loss_ = model.train_loss
        self.validation_loss_ = model.valid_loss

    @classmethod
    def _check_model(cls, model: Model) -> None:
        super()._check_model(model)  # type: ignore[misc]
        check_averages(model, cls.__name__)

    def _check_data(
        self, params: dict[str, Any], data: TrainingData, loss: Loss, previous: Model | None
    ) -> None:
        if data.train.is_sparse:
            check_sparse(params)
            _check_dense(params, data)
        if data.train.n_targets > 1:
            _check_several(params)
            if data.class_targets is not None and params.get("eval_metric") is not None:
                raise InvalidParameterError(
                    "eval_metric is of one target, but y has several. Set eval_metric=None; the "
                    "loss is the mean over the targets."
                )
        if params["monotonic_cst"] is not None and data.classes is not None:
            _check_two_classes(data.classes)
        if params["monotonic_cst"] is not None and params["criterion"] == "absolute_error":
            raise InvalidParameterError(
                "monotonic_cst bounds means, but the leaves of criterion='absolute_error' have "
                "medians. Set criterion='squared_error', or monotonic_cst=None."
            )
        if params["criterion"] == "poisson":
            watched = [(own.name, own.rows.y) for own in data.eval_sets]
            held = [] if data.valid is None else [("y_val", data.valid.y)]
            for name, y in [("y", data.train.y), *held, *watched]:
                check_counts(y, name)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = reads_sparse(all_parameters(self))
        params = all_parameters(self)
        several = params["criterion"] != "absolute_error" and params["monotonic_cst"] is None
        tags.target_tags.multi_output = several
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = several
        return tags


def _check_several(params: Mapping[str, Any]) -> None:
    """Raise InvalidParameterError if a parameter is for one target only."""
    used = {
        "absolute_error": params["criterion"] == "absolute_error",
        "monotonic_cst": params["monotonic_cst"] is not None,
    }
    for name, is_used in used.items():
        if is_used:
            raise InvalidParameterError(
                f"{_NOT_SEVERAL[name]}, but y has several. Change the parameter, or fit an "
                "estimator for each target (scikit-learn's MultiOutputRegressor)."
            )


def _check_dense(params: Mapping[str, Any], data: TrainingData) -> None:
    """Raise InvalidParameterError if trees need dense tables, and X is a sparse matrix."""
    what = "monotonic_cst" if params["monotonic_cst"] is not None else ""
    what = "y with several targets" if data.train.n_targets > 1 else what
    if what:
        raise InvalidParameterError(
            f"Trees with {what} add up the rows of every node, and X is a sparse matrix. Pass "
            "X.toarray() if that fits into memory."
        )


def _check_two_classes(classes: npt.NDArray[Any]) -> None:
    if len(classes) > 2:
        raise InvalidParameterError(
            f"monotonic_cst is for the probability of the second of two classes, but y has "
            f"{len(classes)} classes. Set monotonic_cst=None, or fit one class against the others."
        )

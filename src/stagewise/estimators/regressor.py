"""What the regressors share: numbers in, numbers out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data import (
    as_frequencies,
    check_weight,
    read_target,
    read_targets,
    target_names,
)
from stagewise.errors import InvalidParameterError
from stagewise.estimators.boosting_base import BoostedTrees
from stagewise.estimators.r_squared import ScoredByR2
from stagewise.losses import REGRESSION_LOSSES, Loss, MultiTargetLoss
from stagewise.model.model import Model
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import nearest_name

__all__ = ["BoostedRegressor"]

Vector = npt.NDArray[np.float64]

# What their scores mean does not depend on their parameters.
_DEFAULTS: Mapping[str, Loss] = MappingProxyType(
    {n: kind() for n, kind in REGRESSION_LOSSES.items()}
)


class BoostedRegressor(ScoredByR2, BoostedTrees):
    """Base of the regressors; see `GradientBoostingRegressor` for the parameters."""

    loss: Any

    def predict(self, X: Any) -> Vector:
        """Return the predicted number of every row; of several targets a column for each."""
        model = self._fitted()
        return self._answer(model, self._score(X))

    def staged_predict(self, X: Any) -> Iterator[Vector]:
        """Yield the predictions after every round."""
        model = self._fitted()
        for score in self._staged_score(X):
            yield self._answer(model, score)

    def _answer(self, model: Model, score: Vector) -> Vector:
        loss = self.loss if isinstance(self.loss, Loss) else _DEFAULTS[model.loss]
        if score.shape[1] == 1:
            return np.asarray(model.offset + model.scale * loss.mean(score.T).reshape(len(score)))
        return np.asarray(
            model.offset + model.scale * MultiTargetLoss(loss, score.shape[1]).mean(score.T)
        )

    def _read_target(
        self, y: Any, sample_weight: Any, n_rows: int
    ) -> tuple[npt.NDArray[Any], Vector | None, npt.NDArray[Any] | None]:
        read = read_targets if self._several_targets else read_target
        target = read(y, n_rows, caller=type(self).__name__)
        weight = check_weight(sample_weight, n_rows)
        return target, None if weight is None else as_frequencies(weight), None

    def _target_names(self, y: Any) -> tuple[str, ...] | None:
        return target_names(y) if self._several_targets else None

    def _read_validation_target(
        self, y: Any, sample_weight: Any, n_rows: int, classes: npt.NDArray[Any] | None
    ) -> tuple[npt.NDArray[Any], Vector | None]:
        target, weight, _ = self._read_target(y, sample_weight, n_rows)
        return target, weight

    def _make_loss(self, classes: npt.NDArray[Any] | None) -> Loss:
        loss: Any = self.loss
        who = type(self).__name__
        given = {name: getattr(self, name) for name in ("quantile", "power")}
        given = {name: value for name, value in given.items() if value is not None}
        kind = None if isinstance(loss, Loss) else REGRESSION_LOSSES.get(str(loss))
        for name in given:
            if kind is None or name not in kind.parameter_names:
                users = [k for k, v in REGRESSION_LOSSES.items() if name in v.parameter_names]
                raise InvalidParameterError(
                    f"The parameter {name!r} of {who} is for loss={' or '.join(map(repr, users))}, "
                    f"but loss is {short_repr(loss)}. Leave {name} at None."
                )
        if isinstance(loss, Loss):
            return loss
        if kind is None:
            raise InvalidParameterError(
                f"The parameter 'loss' of {who} must be one of "
                f"{', '.join(map(repr, REGRESSION_LOSSES))}, or a stagewise.losses.Loss; "
                f"got {short_repr(loss)}.{nearest_name(str(loss), REGRESSION_LOSSES)}"
            )
        try:
            return kind(**given)
        except (TypeError, ValueError) as error:
            raise InvalidParameterError(f"For {who}: {error}") from None

    def _plain_params(self) -> dict[str, Any]:
        params = super()._plain_params()
        loss = self.loss
        if isinstance(loss, Loss) and type(loss) is REGRESSION_LOSSES.get(loss.name):
            params["loss"] = loss.name
            params |= {name: getattr(loss, name) for name in loss.parameter_names}
        return params

"""Scores of rows by a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier

from stagewise.data.bins import core_columns
from stagewise.losses import CLASSIFICATION_LOSSES, REGRESSION_LOSSES, TASK_LOSSES, Loss
from stagewise.model.model import Model
from stagewise.training.reading.offset_reader import read_offsets
from stagewise.training.start_model import StartModel
from stagewise.validation.arguments import check_argument
from stagewise.validation.parameters import check_parameter
from stagewise.validation.rules import Number
from stagewise.workers import make_workers

__all__ = ["ModelScores", "refuse_offset"]

Vector = npt.NDArray[np.float64]

FEW = 32
"""Up to this many rows are predicted directly, without threads or column descriptors."""
SMALL = 200_000
"""Up to this many rows times trees, one thread is faster than several."""


class ModelScores:
    """Estimators whose model has scores: sums or averages of terms."""

    model_: Model
    n_jobs: Any
    _start: StartModel | None = None
    """Predicts F before the first round; None: F is a constant."""
    _is_average = False
    """Whether a prediction is the mean of the predictions of trees, not their sum."""
    _is_median = False
    """Whether a prediction is a weighted median of the predictions of trees, not their sum."""
    _takes_offset = False
    """Whether rows may have an offset, which is added to their scores."""
    _passed_loss: Loss | None = None

    if TYPE_CHECKING:  # defined by the other bases of an estimator

        def _fitted(self) -> Model: ...

        def fingerprint(self) -> str:  # noqa: D102
            ...

    @property
    def best_iteration_(self) -> int:
        """The number of rounds that predictions use: the best one, with early stopping."""
        return int(self._fitted().ensemble.n_rounds)

    def _match(self, model: Model, X: Any) -> Any:
        """Return the columns of new rows, in the order and encoding of the model."""
        features = model.features
        if not features.categorical:  # the fast path of single rows
            return features.match(X, type(self).__name__)
        rule = check_parameter(self, "handle_unknown")
        return features.match(X, type(self).__name__, rule)

    def _score(self, X: Any, n_rounds: Any = None) -> Vector:
        """Return F after `n_rounds` rounds, shape (n_rows, n_outputs); None: after all."""
        model = self._fitted()
        rounds = None if n_rounds is None else self._check_rounds(model, n_rounds)
        score = self._score_values(model, self._match(model, X), rounds)
        return score if self._start is None else score + self._start_score(model, X)

    def _with_offset(
        self, model: Model, score: Vector, X: Any, offset: Any, exposure: Any
    ) -> Vector:
        """Return scores of rows plus their offset; see `predict`."""
        if offset is None and exposure is None and not model.row_offset:
            return score
        added = self._offset_score(model, X, len(score), offset, exposure)
        return score if added is None else score + added

    def _staged_with_offset(self, X: Any, offset: Any, exposure: Any) -> Iterator[Vector]:
        """Yield F plus the offset of rows after every round."""
        model, added = self._fitted(), np.empty((0, 0))
        for m, score in enumerate(self._staged_score(X)):
            if m == 0:
                added = self._with_offset(model, np.zeros_like(score), X, offset, exposure)
            yield score + added

    def _offset_score(
        self, model: Model, X: Any, n_rows: int, offset: Any, exposure: Any
    ) -> Vector | None:
        """Return the offset of rows in units of F, shape (n_rows, n_outputs); None: it is 0.

        Raises
        ------
        ValueError
            If the model was fitted with an offset, and there is none.
        """
        given: dict[str, Any] = {"offset": offset, "exposure": exposure}
        for name, value in given.items():
            source = getattr(model.row_offset, name)
            if value is not None and not self._takes_offset:
                refuse_offset(self, name)
            if value is None and isinstance(source, str):
                given[name] = source
            elif value is None and source:
                raise ValueError(_needs_offset(type(self).__name__, name))
        loss = self._prediction_loss(model)
        n_outputs = model.ensemble.n_outputs
        found = read_offsets(loss, given["offset"], given["exposure"], X, n_rows, n_outputs)
        return None if found is None else found / model.scale

    def _prediction_loss(self, model: Any) -> Loss:
        """Return the loss that turns scores of a model into predictions."""
        return prediction_loss(model, self._passed_loss)

    def _start_score(self, model: Any, X: Any) -> Any:
        """Return the scores that the estimator of `init` predicts, or 0."""
        if self._start is None:
            return 0.0
        return self._start.scores(X, type(self).__name__) / model.scale

    def _check_rounds(self, model: Any, n_rounds: Any) -> int:
        """Return a number of rounds, or raise InvalidParameterError."""
        n = int(model.ensemble.n_rounds)
        rule = Number(1, max(n, 1), whole=True, or_none=True)
        rounds: int = check_argument("n_rounds", rule, n_rounds)
        return min(rounds, n)  # without a tree, n is 0

    def _score_values(self, model: Model, values: Any, n_rounds: int | None = None) -> Vector:
        """Return the scores F of rows that `_match` has read, after `n_rounds` rounds."""
        ensemble = model.ensemble
        n_trees = len(ensemble.trees) if n_rounds is None else n_rounds * ensemble.trees_per_round
        few = type(values) is np.ndarray and len(values) <= FEW and values.flags.c_contiguous
        if few and not model.features.derived:
            out = np.empty((len(values), ensemble.n_outputs))
            out[:] = ensemble.base
            rows = values if values.dtype.char == "d" else values.astype(np.float64)
            ensemble.forest.add_rows(rows, 0, n_trees, out.reshape(-1))
            return out
        columns = model.features.append_derived(core_columns(values))
        small = columns.n_rows * n_trees <= SMALL
        return ensemble.score(columns, make_workers(1 if small else self.n_jobs), n_rounds)

    def _staged_score(self, X: Any) -> Iterator[Vector]:
        """Yield F after every round. Each array is new."""
        model = self._fitted()
        ensemble = model.ensemble
        columns = model.features.append_derived(core_columns(self._match(model, X)))
        workers = make_workers(self.n_jobs)
        out = np.empty((columns.n_rows, ensemble.n_outputs))
        out[:] = ensemble.base
        start = self._start_score(model, X)
        for m in range(ensemble.n_rounds):
            first, n = m * ensemble.trees_per_round, ensemble.trees_per_round
            ensemble.forest.add_scores(workers, columns, first, first + n, out.reshape(-1))
            yield out + start


def prediction_loss(model: Any, passed: Loss | None = None) -> Loss:
    """Return the loss that turns scores of a model into predictions.

    It has the numbers that the fit learned. Its other parameters are defaults, since predictions do
    not depend on them.

    Parameters
    ----------
    model : Model or TermModel
        Fitted.
    passed : Loss or None
        A custom loss, which is not found by its name.
    """
    if passed is not None:
        loss = passed
    elif model.task in TASK_LOSSES:
        loss = TASK_LOSSES[model.task][model.loss]()
    elif model.classes is None:
        loss = REGRESSION_LOSSES[model.loss]()
    else:
        loss = CLASSIFICATION_LOSSES[model.loss](len(model.classes))
    return loss.with_learned(model.learned_by("loss")) if loss.learns else loss


def refuse_offset(estimator: Any, name: str) -> NoReturn:
    """Raise for an offset or an exposure of an estimator that has none."""
    other = "Classifier" if is_classifier(estimator) else "Regressor"
    raise ValueError(
        f"{name} was passed, but {type(estimator).__name__} has none. Use GradientBoosting{other}."
    )


def _needs_offset(estimator_name: str, name: str) -> str:
    """Return the message for a prediction without the offset of the fit."""
    remedy = (
        "exposure=1 for a rate per unit of exposure"
        if name == "exposure"
        else "offset=0 for the scores of the model alone"
    )
    return (
        f"This {estimator_name} was fitted with {name}, so predictions need it, too: pass "
        f"{name}=..., a number for each row, or {remedy}. Where scikit-learn calls predict or "
        f"score (cross_val_score, searches), fit with {name}='column of X', which is read from X, "
        "or route it: sklearn.set_config(enable_metadata_routing=True) and "
        f"set_fit_request({name}=True).set_score_request({name}=True)."
    )

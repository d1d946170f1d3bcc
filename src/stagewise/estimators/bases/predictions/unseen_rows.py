"""Rows that a model was not trained on, with its scores of them.

Conformal prediction and calibration learn from them after the fit: rows that folds held out,
out-of-bag rows, held-out rows, or rows that are passed later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data import as_frequencies, check_weight
from stagewise.errors import InvalidParameterError
from stagewise.training.reading.row_set import RowSet
from stagewise.training.reading.training_data import FitArguments, TrainingData
from stagewise.training.results import FitResult, ForestResult
from stagewise.workers import make_workers

__all__ = [
    "FinishedFit",
    "UnseenRows",
    "check_one_target",
    "find_unseen_rows",
    "predict_out_of_fold",
    "predict_unseen",
    "score_rows",
    "unseen_rows",
]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FinishedFit:
    """A fit after its last round: the result, the rows and the arguments of `fit`."""

    result: FitResult
    data: TrainingData
    arguments: FitArguments
    seed: int


@dataclass(frozen=True)
class UnseenRows:
    """Rows that the model which scored them was not trained on.

    Attributes
    ----------
    source : {"split", "cv", "oob", "validation", "rows"}
        Where the rows come from.
    score : float64 array of shape (n_rows, n_outputs)
        F, with offsets.
    y : array
        Targets, or codes of classes.
    weight : float64 array or None
        How often each row counts, without `class_weight`.
    rows : int array or None
        The places of the rows in X; None: they are not rows of X.
    fold : float64 array or None
        The number of the fold that held each row out.
    fold_learned : tuple of dict
        What the loss learned in each fold; empty: what the model has.
    """

    source: str
    score: Matrix
    y: npt.NDArray[Any]
    weight: Vector | None
    rows: npt.NDArray[np.intp] | None = None
    fold: Vector | None = None
    fold_learned: tuple[dict[str, Vector], ...] = ()

    def part(self, places: Any) -> UnseenRows:
        """Return some of the rows."""
        own = (None if a is None else a[places] for a in (self.weight, self.rows, self.fold))
        weight, rows, fold = own
        score, y = self.score[places], self.y[places]
        return replace(self, score=score, y=y, weight=weight, rows=rows, fold=fold)

    def halves(self, seed: int) -> tuple[UnseenRows, UnseenRows]:
        """Return two parts without a common row: those of every other fold, or random halves.

        The second part is at least as large as the first one if the folds are of equal sizes.
        """
        if self.fold is not None and len(np.unique(self.fold)) > 1:
            first = self.fold % 2 == 1
        else:
            n = len(self.y)
            first = np.random.default_rng([seed, n]).permutation(n) < n // 2
        return self.part(first), self.part(~first)


def unseen_rows(estimator: Any, fit: FinishedFit, source: str) -> UnseenRows | None:
    """Return the rows of one source; None: the fit has none.

    Parameters
    ----------
    estimator : estimator
        It has adopted the model of the fit.
    fit : FinishedFit
        The fit.
    source : {"split", "cv", "oob", "validation"}
        The rows that were kept out of the fit, those of folds, the out-of-bag rows, or those that
        decided when the fit stopped.
    """
    data, result = fit.data, fit.result
    if source == "cv":
        return _out_of_fold(fit)
    if source == "oob":
        grown = result.grown if isinstance(result, ForestResult) else None
        average = None if grown is None else grown.oob_average
        if average is None or not (average.trees > 0).any():
            return None
        found = UnseenRows(
            "oob", average.scores(), data.train.y, _weight(fit, data.train), _places(data.train)
        )
        return found.part(average.trees > 0)
    rows = data.calibration if source == "split" else data.valid
    if rows is None:
        return None
    own = rows.columns is data.train.columns  # rows of X
    weight = _weight(fit, rows) if own else rows.weight
    places = _places(rows) if own else None
    return UnseenRows(source, score_rows(estimator, fit, rows), rows.y, weight, places)


def predict_unseen(estimator: Any, rows: UnseenRows) -> Matrix:
    """Return the predictions of rows, each with what the loss learned in the fold of the row."""
    model = estimator.model_
    predict = estimator._predict_scores  # noqa: SLF001
    if rows.fold is None or not rows.fold_learned:
        return np.asarray(predict(model, rows.score))
    found = np.empty(0)
    for k, learned in enumerate(rows.fold_learned):
        own = rows.fold == k
        fold_model = replace(model, learned={**model.learned, **learned})
        predicted = np.asarray(predict(fold_model, rows.score[own]))
        if k == 0:
            found = np.full((len(rows.y), *predicted.shape[1:]), np.nan)
        found[own] = predicted
    return found


def predict_out_of_fold(estimator: Any, result: FitResult, data: TrainingData) -> Matrix:
    """Return the predictions of training rows by the model of the fold that held them out."""
    assert result.oof_scores is not None
    number = _fold_numbers(data) if result.oof_learned else None
    own = result.oof_scores, data.train.y, None, None, number, result.oof_learned
    return predict_unseen(estimator, UnseenRows("cv", *own))


def check_one_target(estimator: Any, method: str) -> None:
    """Raise InvalidParameterError if a classifier was fitted to several targets."""
    targets = estimator._fitted().class_targets  # noqa: SLF001
    if targets is not None:
        raise InvalidParameterError(
            f"{method} is for one target, but y had {len(targets)}. Fit one model per target."
        )


def find_unseen_rows(
    estimator: Any, fit: FinishedFit, sources: Sequence[str], parameter: str
) -> UnseenRows:
    """Return the rows of the first source that the fit has; raise if it has none.

    Parameters
    ----------
    estimator, fit
        As of `unseen_rows`.
    sources : sequence of str
        The sources.
    parameter : str
        The parameter that needs the rows, for the message.
    """
    for source in sources:
        found = unseen_rows(estimator, fit, source)
        if found is not None:
            return found
    n_rows = len(fit.data.train.y)
    ways = {
        "cv": "early_stopping='cv'",
        "oob": "bootstrap=True",
        "validation": "early_stopping=True, or X_val and y_val",
        "split": "conformal='split'",
    }
    raise InvalidParameterError(
        f"{parameter} needs rows that the model was not trained on, and this fit of {n_rows} rows "
        f"has none. Set {', or '.join(ways[source] for source in sources)}."
    )


def _out_of_fold(fit: FinishedFit) -> UnseenRows | None:
    """Return the rows that folds held out, with the scores of their models."""
    scores, train = fit.result.oof_scores, fit.data.train
    if scores is None or fit.data.folds is None:
        return None
    number = _fold_numbers(fit.data)
    weight, places = _weight(fit, train), _places(train)
    own = fit.result.oof_learned
    found = UnseenRows("cv", scores, train.y, weight, places, number, own)
    return found.part(~np.isnan(number))


def _fold_numbers(data: TrainingData) -> Vector:
    """Return the number of the fold that held each training row out; NaN: none did."""
    number = np.full(len(data.train.y), np.nan)
    for k, (_, held) in enumerate(data.folds or ()):
        number[held] = k
    return number


def _places(rows: RowSet) -> npt.NDArray[np.intp]:
    return np.arange(len(rows.y)) if rows.rows is None else rows.rows.astype(np.intp)


def _weight(fit: FinishedFit, rows: RowSet) -> Vector | None:
    """Return the weights of rows of X as they were passed, without the factors of classes."""
    given = fit.arguments.sample_weight
    whole = None if given is None else check_weight(given, fit.data.n_rows)
    if whole is None:
        return None
    own = whole[_places(rows)]
    return as_frequencies(own)


def score_rows(estimator: Any, fit: FinishedFit, rows: RowSet) -> Matrix:
    """Return F of rows that the fit has read, with their offsets."""
    model = estimator.model_
    columns = rows.with_columns(model.features.append_encoded(rows.columns)).table()
    score: Matrix = model.ensemble.score(columns, make_workers(estimator.n_jobs))
    if fit.result.start is not None:
        score = score + fit.data.start.scores(fit.result.start, rows) / model.scale
    return score if rows.offset is None else score + rows.offset / model.scale

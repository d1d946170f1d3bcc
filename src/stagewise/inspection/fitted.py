"""A fitted estimator as inspection reads it: its model, its features by name, its answers.

The one idea: whatever is inspected goes through the same few doors: features are named here, rows
become columns here, scores become what the caller wants to see here. Must not know any of the
things that are made of them.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from stagewise._native import Columns, Workers
from stagewise.data import check_weight
from stagewise.errors import InvalidParameterError
from stagewise.estimators.scores import (
    ModelScores,
    is_average,
    predict_scores,
    read_rows,
    score_columns,
)
from stagewise.inspection.rows import Rows
from stagewise.model.model import Model
from stagewise.validation.messages import short_repr, warn_caller
from stagewise.validation.parameters import nearest_name
from stagewise.validation.rules import Rule
from stagewise.workers import make_workers

__all__ = ["Fitted", "Response", "Vector", "checked"]

Vector = npt.NDArray[np.float64]
Response = Literal["score", "mean"]
NAMES_SHOWN = 10


def checked(name: str, rule: Rule, value: Any) -> Any:
    """Return a parameter as its rule has it, or raise an error that names it."""
    try:
        return rule(value)
    except ValueError as error:
        raise InvalidParameterError(f"{name} must be {error}; got {short_repr(value)}.") from None


@dataclass(frozen=True, eq=False)
class Fitted:
    """An estimator of trees that has been fitted.

    Parameters
    ----------
    estimator : fitted estimator
        The estimator.
    model : Model
        What it has learned.
    """

    estimator: Any
    model: Model

    @classmethod
    def of(cls, estimator: Any, caller: str) -> Fitted:
        """Take an estimator, or raise if it has no trees or has not been fitted."""
        if isinstance(estimator, type):
            raise TypeError(
                f"{caller} reads the trees of a fitted estimator, and {estimator.__name__} is a "
                f"class. Pass what was fitted, such as {estimator.__name__}().fit(X, y)."
            )
        if not isinstance(estimator, ModelScores):
            raise TypeError(
                f"{caller} reads the trees of a fitted stagewise estimator, and "
                f"{type(estimator).__name__} has none. "
                "Pass a boosting estimator, a forest or a tree; of a committee one of its members."
            )
        check_is_fitted(estimator, "model_")
        if not isinstance(estimator.model_, Model):
            raise TypeError(
                f"{caller} reads trees, and the terms of this {type(estimator).__name__} are "
                "estimators of another kind. Pass a model whose learner is a HistogramTree."
            )
        return cls(estimator, estimator.model_)

    # ---- features ------------------------------------------------------------------------------

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the features are called; x0, x1, … where the table had no names."""
        features = self.model.features
        return tuple(features.names or (f"x{j}" for j in range(features.n)))

    def position(self, feature: Any, name: str = "features") -> int:
        """Return the place of a feature that is given by its name or its place."""
        if isinstance(feature, str):
            if feature in self.names:
                return self.names.index(feature)
            known = ", ".join(map(repr, self.names[:NAMES_SHOWN]))
            more = ", …" if len(self.names) > NAMES_SHOWN else ""
            raise InvalidParameterError(
                f"{name}: there is no feature {feature!r}."
                f"{nearest_name(feature, self.names) or f' There are {known}{more}.'}"
            )
        whole = isinstance(feature, numbers.Integral) and not isinstance(feature, bool)
        if not whole or not 0 <= int(feature) < len(self.names):
            raise InvalidParameterError(
                f"{name}: a feature is given by its name, or its place from 0 to "
                f"{len(self.names) - 1}; got {short_repr(feature)}."
            )
        return int(feature)

    def positions(self, features: Any, name: str = "features") -> tuple[int, ...]:
        """Return the places of one feature or several different ones."""
        several = isinstance(features, Iterable) and not isinstance(features, str)
        places = tuple(self.position(f, name) for f in (features if several else [features]))
        if not places or len(set(places)) < len(places):
            raise InvalidParameterError(
                f"{name} must be a feature or different features; got {short_repr(features)}."
            )
        return places

    @cached_property
    def used(self) -> frozenset[int]:
        """The features that some tree asks about, or that a leaf's line or a statistic is of."""
        sources = self.model.features.sources
        asked = set(self.model.ensemble.used_features())
        for tree in self.model.ensemble.trees:
            if tree.linear_leaves is not None:
                asked |= set(tree.linear_leaves.feature.tolist())
        return frozenset(j for column in asked for j in sources[column])

    def warn_unused(self, places: Iterable[int], what: str) -> None:
        """Warn of features that no tree asks about."""
        idle = [self.names[j] for j in places if j not in self.used]
        if idle:
            warn_caller(
                f"The model never uses {', '.join(map(repr, idle))}, so {what}. Other features "
                "may say the same."
            )

    @property
    def has_lines(self) -> bool:
        """Whether some leaf says a line instead of a constant."""
        return any(tree.linear_leaves is not None for tree in self.model.ensemble.trees)

    def check_leaves(self, caller: str) -> None:
        """Raise if terms are lines of all rows, so that there are no leaves to tell of."""
        if self.has_lines and not self.model.ensemble.used_features():
            raise InvalidParameterError(
                f"{caller} is about leaves of trees, and linear terms have none. See the "
                "coefficients, partial_dependence or permutation_importance."
            )

    # ---- rows ----------------------------------------------------------------------------------

    def rows(self, X: Any, name: str = "X", *, least: int = 0) -> Rows:
        """Return rows as the model has them, dense or sparse.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix
            The rows.
        name : str
            The parameter that they were passed as, for errors.
        least : int
            How many there must be.
        """
        try:
            rows = Rows(read_rows(self.estimator, X), self.model.features, name)
        except (TypeError, ValueError) as error:
            if name == "X":
                raise
            # The words are those for X; say that other rows are meant.
            raise type(error)(f"In {name}: {error}") from None
        if rows.n < least:
            raise ValueError(
                f"{name} has {rows.n} row{'' if rows.n == 1 else 's'}, and at least {least} "
                f"{'is' if least == 1 else 'are'} needed. Pass more rows."
            )
        return rows

    def columns(self, X: Any, *, least: int = 1) -> list[Vector]:
        """Return the columns of rows as the model has them, one array for each feature."""
        return self.rows(X, least=least).columns()

    def extended(self, columns: Sequence[Vector]) -> list[Vector]:
        """Put what levels say behind the columns: all that trees ask about."""
        table = Columns(list(columns))
        told = [c for s in self.model.features.target_encodings for c in s.columns(table)]
        return [*columns, *(np.asarray(c, dtype=np.float64) for c in told)]

    @cached_property
    def workers(self) -> Workers:
        """The threads of one call."""
        return make_workers(self.estimator.n_jobs)

    def score(self, columns: Sequence[Vector]) -> Vector:
        """Return F, shape (n_rows, n_outputs)."""
        return score_columns(self.estimator, list(columns))

    @property
    def both_ways(self) -> bool:
        """Whether rows go both ways at a node that asks about a missing cell of theirs."""
        return getattr(self.estimator, "missing_strategy", "learned") == "probability"

    def check_one_way(self, rows: Rows) -> None:
        """Raise if a row would reach more than one leaf of a tree."""
        for j in sorted(self.used) if self.both_ways else ():
            if np.isnan(rows.column(j)).any():
                raise InvalidParameterError(
                    f"This {type(self.estimator).__name__} has missing_strategy='probability': "
                    f"rows with missing cells go both ways, and {rows.name} has some at "
                    f"{self.names[j]!r}, but what is asked for is about rows that go one. Leave "
                    "such rows out, or fit it with missing_strategy='learned' or 'mean'."
                )

    # ---- answers -------------------------------------------------------------------------------

    @cached_property
    def mean_is_affine(self) -> bool:
        """Whether what is predicted is a + b · F, so that the mean of one is that of the other."""
        # Three points on a line that no two outputs share.
        step = np.linspace(0.1, 0.7, self.model.ensemble.n_outputs)
        score = np.outer([-0.5, 0.0, 0.5], step)
        low, middle, high = predict_scores(self.estimator, score)
        # Offsets of targets may be large; what is compared is how far predictions move.
        moved = np.max(np.abs(high - low))
        return bool(np.max(np.abs((high - middle) - (middle - low))) <= 1e-9 * moved)

    @cached_property
    def score_units(self) -> tuple[Vector, Vector]:
        """Offset and scale of each score: explanations are in the units offset + scale · F.

        A regression has those of its target. The one score of two classes whose trees are averaged
        is F = p_1 - p_0, and is reported as p_1, as more classes are.
        """
        model, n = self.model, self.model.ensemble.n_outputs
        if model.classes is not None and is_average(self.estimator) and n == 1:
            return np.full(1, 0.5), np.full(1, 0.5)
        return np.broadcast_to(model.offset, n), np.broadcast_to(model.scale, n)

    @property
    def is_affine_regression(self) -> bool:
        """Whether scores can be told in the units of the target."""
        return self.model.classes is None and self.mean_is_affine

    def respond(self, score: Vector, response: Response) -> Vector:
        """Return scores, or what they predict, with a column for each of `outputs`.

        Scores of a regression whose link is the identity are in the units of the target.
        """
        if response == "score" and not self.is_affine_regression:
            return score
        answer = predict_scores(self.estimator, score)
        return answer.reshape(len(score), -1)

    def outputs(self, response: Response) -> tuple[str, ...]:
        """Return what the columns of `respond` are about: classes or targets."""
        model = self.model
        n = model.ensemble.n_outputs
        if model.classes is not None:
            labels = tuple(str(label) for label in model.classes.tolist())
            return labels[-1:] if response == "score" and n == 1 else labels
        return model.targets or (("prediction",) if n == 1 else tuple(f"y{k}" for k in range(n)))

    def weight(self, sample_weight: Any, n_rows: int) -> Vector:
        """Return how much each row counts; 1 without weights."""
        weight = check_weight(sample_weight, n_rows)
        return np.ones(n_rows) if weight is None else weight

"""Any scikit-learn estimator as a learner of boosting.

A term is a linear combination of basis functions. A regressor has one basis function, its
prediction, and is fitted to the response by weighted least squares. A classifier has one for each
class, the indicator of the predicted class, and is fitted to the classes with row weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import has_fit_parameter

from stagewise._native import Gradients, Workers
from stagewise.learners.tree_learner import NodeSums

__all__ = [
    "BoundEstimator",
    "EstimatorLearner",
    "EstimatorTerm",
    "can_be_fitted",
    "check_learner",
    "finite",
    "name_of",
    "seeded",
    "weight_argument",
]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class EstimatorTerm:
    """A fitted estimator and the coefficients of its basis functions.

    Parameters
    ----------
    estimator : fitted scikit-learn estimator
        A regressor, or a classifier of class codes.
    value : float64 array
        The coefficient of each basis function.
    n_classes : int
        The number of classes of a classifier; 0: a regressor.
    """

    estimator: Any
    value: Vector
    n_classes: int = 0

    @property
    def part(self) -> EstimatorTerm:
        """The part of the term that the model keeps."""
        return self

    def with_values(self, value: Vector) -> EstimatorTerm:
        """Return the same estimator with other values."""
        return replace(self, value=value)

    def basis(self, X: Any) -> Matrix:
        """Return the basis functions at the rows of X, shape (n_rows, n_functions)."""
        if X.shape[0] == 0:  # many estimators raise an error
            return np.empty((0, max(1, self.n_classes)))
        predicted = np.asarray(self.estimator.predict(X))
        if predicted.ndim > 1 and predicted.shape[1:] != (1,):
            raise ValueError(
                f"{name_of(self.estimator)} predicts {predicted.shape[1]} numbers for each row; a "
                "learner must predict one."
            )
        predicted = predicted.reshape(len(predicted))
        if self.n_classes:
            return np.eye(self.n_classes)[predicted.astype(np.intp)]
        return finite(predicted.astype(np.float64)[:, np.newaxis], self.estimator)

    def of(self, X: Any) -> Vector:
        """Return the value that the term adds to the score of every row of X."""
        return np.asarray(self.basis(X) @ self.value)


@dataclass(frozen=True)
class EstimatorLearner:
    """A learner whose terms are clones of a scikit-learn estimator.

    Parameters
    ----------
    estimator : scikit-learn estimator
        Is cloned for every term; a ``random_state`` of None is replaced by a number that depends on
        the seed of the fit and on the term.
    resample : bool
        Whether an estimator whose `fit` has no argument ``sample_weight`` gets rows that are drawn
        with replacement, in proportion to their weights, instead.
    """

    estimator: Any
    resample: bool = False

    def start(
        self,
        workers: Workers,
        table: Any,
        weight: Vector | None,
        classes: npt.NDArray[np.int32] | None,
        *,
        hessian_bound: float,
        hessian_is_weight: bool,
        outputs: int = 0,
        terms_per_round: int = 1,
    ) -> BoundEstimator:
        """Return the learner bound to the rows of a fit."""
        if outputs:
            raise ValueError("an estimator predicts one number for each row: no vector leaves.")
        uneven = classes is not None or not hessian_is_weight
        if weight is not None:
            some = weight[weight > 0.0]
            uneven = uneven or bool(np.ptp(some) > 0.0)
        if uneven and not self.resample and weight_argument(self.estimator) is None:
            equal = (
                "response='gradient' (all rows then have the same weight, unless sample_weight is "
                "passed or sampling weights the rows), "
            )
            raise ValueError(
                f"fit of {name_of(self.estimator)} has no argument sample_weight, and the rows of "
                "this fit have different weights. Use resample=True to draw rows in proportion to "
                f"their weights, {'' if classes is not None else equal}or another estimator."
            )
        return BoundEstimator(self, table, weight, classes)


class BoundEstimator:
    """An `EstimatorLearner` bound to the rows of one fit; it keeps the last term's predictions."""

    def __init__(
        self,
        learner: EstimatorLearner,
        table: Any,
        weight: Vector | None,
        classes: npt.NDArray[np.int32] | None,
    ) -> None:
        self._learner, self._table, self._classes = learner, table, classes
        n = table.shape[0] if hasattr(table, "shape") else len(table)
        self._weight = np.ones(n) if weight is None else weight
        self._n_classes = 0 if classes is None else max(2, int(classes.max()) + 1)
        self._basis = np.empty((0, 0))
        self._bag = np.arange(n)

    def grow(
        self,
        derivatives: Gradients,
        bag: npt.NDArray[np.uint32] | None,
        seed: int,
        number: int,
    ) -> EstimatorTerm:
        """Fit the next term to -g/h with weights h, or to the classes with weights g."""
        pairs = derivatives.pairs().astype(np.float64).reshape(-1, 2)
        gradient, hessian = pairs[:, 0], pairs[:, 1]
        own = gradient if self._n_classes else hessian
        weight = own * self._weight
        rows = np.arange(len(weight)) if bag is None else bag.astype(np.intp)
        self._bag = rows = rows[weight[rows] > 0.0]
        if not len(rows):
            raise ValueError("all rows of the bag have weight 0, so no term can be fitted.")
        if self._classes is None:
            target: npt.NDArray[Any] = -gradient[rows] / hessian[rows]
            values = np.ones(1)
        else:
            target = self._classes[rows]
            values = np.zeros(self._n_classes)
        fitted = self.fit_rows(rows, target, weight[rows], np.random.default_rng([seed, number]))
        term = EstimatorTerm(fitted, values, self._n_classes)
        self._basis = term.basis(self._table)
        return term

    def fit_rows(
        self,
        rows: npt.NDArray[np.intp],
        target: npt.NDArray[Any],
        weight: Vector,
        rng: np.random.Generator,
    ) -> Any:
        """Return a clone of the estimator, fitted to rows with these targets and weights."""
        estimator = seeded(self._learner.estimator, rng)
        passed: Mapping[str, Any] = MappingProxyType({})
        argument = weight_argument(estimator)
        if argument is not None:
            # Unscaled: a row of weight 2 then counts as two rows beside the learner's penalty.
            passed = {argument: weight} if (weight != 1.0).any() else passed
        elif np.ptp(weight) > 1e-6 * weight.max():
            drawn = rng.choice(len(rows), size=len(rows), p=weight / weight.sum())
            rows, target = rows[drawn], target[drawn]
        estimator.fit(_safe_indexing(self._table, rows), target, **passed)
        return estimator  # some `fit` return nothing

    def node_sums(self, term: EstimatorTerm, derivatives: Gradients) -> NodeSums:
        """Return the sums over the rows of the bag for which each class is predicted."""
        pairs = derivatives.pairs().astype(np.float64).reshape(-1, 2)[self._bag]
        if self._classes is None:
            raise ValueError("a regressor has no regions to sum over.")
        predicted = self._basis[self._bag].argmax(axis=1)
        k, weight = self._n_classes, self._weight[self._bag]
        entry = predicted * k + self._classes[self._bag]  # of the confusion matrix
        sums = np.bincount(entry, weight * pairs[:, 0], minlength=k * k)
        counts = np.bincount(predicted, weight, minlength=k)
        each = np.arange(k)
        return NodeSums(sums.astype(float).reshape(k, k), counts.astype(float), each, each)

    def predictions(self, term: EstimatorTerm, source: Any) -> Vector:
        """Return the predictions of the last term, with its values, for the training rows."""
        return np.asarray(self._basis @ term.value)

    def add(self, term: EstimatorTerm, source: Any, score: Vector) -> None:
        """Add the last term to the training scores."""
        score += self._basis @ term.value

    def add_to_other_rows(
        self, term: EstimatorTerm, table: Any, source: Any, score: Vector
    ) -> None:
        """Add a term to the scores of other rows."""
        score += term.of(table)


def seeded(estimator: Any, rng: np.random.Generator, *, anew: bool = False) -> Any:
    """Return a clone whose random states are set by a generator.

    Parameters
    ----------
    estimator : scikit-learn estimator
        Is not changed.
    rng : numpy Generator
        The source of the seeds.
    anew : bool
        Whether every ``random_state``, also of nested estimators, is replaced; otherwise only
        those that are None.
    """
    copy = clone(estimator)
    seeds = [
        name
        for name, value in copy.get_params().items()
        if (name == "random_state" or name.endswith("__random_state")) and (anew or value is None)
    ]
    return copy.set_params(**{name: int(rng.integers(2**31 - 1)) for name in seeds})


def weight_argument(estimator: Any) -> str | None:
    """Return the name of the argument of `fit` for row weights, or None if there is none."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return f"{name}__sample_weight" if has_fit_parameter(last, "sample_weight") else None
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def can_be_fitted(estimator: Any) -> bool:
    """Return whether this is an estimator, not a class or another object."""
    needed = ("fit", "predict", "get_params")
    return not isinstance(estimator, type) and all(hasattr(estimator, name) for name in needed)


def check_learner(estimator: Any, *, of_classes: bool) -> None:
    """Raise ValueError unless this is an unfitted classifier, or a regressor, as is needed."""
    kind = "classifier" if of_classes else "regressor"
    if not can_be_fitted(estimator):
        raise ValueError(f"an unfitted scikit-learn {kind}")
    if get_tags(estimator).estimator_type not in (None, kind):  # some have no type
        raise ValueError(f"a {kind}")


def finite(predicted: Matrix, estimator: Any) -> Matrix:
    """Return the predictions of an estimator, shape (n_rows, n_columns), if all are finite.

    Raises
    ------
    ValueError
        If a prediction is not finite: sums of it would not be finite either.
    """
    wrong = ~np.isfinite(predicted)
    if wrong.any():
        row, place = (int(index[0]) for index in np.nonzero(wrong))
        raise ValueError(
            f"{name_of(estimator)} predicts {predicted[row, place]} for row {row}, and values that "
            f"are not finite for {int(wrong.any(axis=1).sum())} of {len(predicted)} rows. They "
            "cannot be added up. Rescale X and y, or use another estimator."
        )
    return predicted


def name_of(estimator: Any) -> str:
    """Return the class name of an estimator; that of the last step of a pipeline."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return type(last).__name__

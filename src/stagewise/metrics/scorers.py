"""Scorers of scikit-learn as metrics.

A scorer is called on an object that returns the predictions of the rows, so nothing is predicted
again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.errors import InvalidParameterError
from stagewise.metrics.metric import FitFacts, Function, Metric

__all__ = ["is_scorer", "is_scorer_name", "metric_of_scorer"]

Vector = npt.NDArray[np.float64]


def is_scorer(value: Any) -> bool:
    """Return whether a value was made by `make_scorer` or `get_scorer` of scikit-learn."""
    own = type(value).__module__.startswith("sklearn.metrics")
    return own and hasattr(value, "_score_func") and hasattr(value, "_sign")


def is_scorer_name(name: str) -> bool:
    """Return whether scikit-learn has a scorer of this name."""
    from sklearn.metrics import get_scorer_names

    return name in get_scorer_names()


def metric_of_scorer(scorer: Any) -> Metric:
    """Return a scorer as a metric, of which larger values are better."""
    name = _name_of(scorer)

    def for_fit(facts: FitFacts) -> Function:
        return _ScorerFunction(name, scorer, facts.classes)

    return Metric(name, _unbound, larger_is_better=True, for_fit=for_fit)


def _unbound(y: npt.NDArray[Any], predicted: Vector, weight: Vector | None) -> float:
    raise TypeError("A scorer depends on the classes; call bind first.")


def _name_of(scorer: Any) -> str:
    """Return scikit-learn's name of a scorer, or that of its function."""
    from sklearn.metrics import get_scorer, get_scorer_names

    text = repr(scorer)
    known = [name for name in get_scorer_names() if repr(get_scorer(name)) == text]
    function = getattr(scorer._score_func, "__name__", type(scorer).__name__)  # noqa: SLF001
    return known[0] if known else f"{'neg_' if scorer._sign < 0 else ''}{function}"  # noqa: SLF001


@dataclass(frozen=True)
class _ScorerFunction:
    """A scorer as a function (y, prediction, weight); y are labels."""

    name: str
    scorer: Any
    classes: npt.NDArray[Any] | None

    def __call__(self, y: npt.NDArray[Any], predicted: Vector, weight: Vector | None) -> float:
        held = _held_predictions(predicted, self.classes)
        weights = {} if weight is None else {"sample_weight": np.array(weight)}
        try:
            return float(self.scorer(held, np.zeros((len(y), 1)), np.array(y), **weights))
        except AttributeError as error:
            raise InvalidParameterError(
                f"The scorer {self.name!r} of 'eval_metric' needs more than predictions: {error} "
                "Make a scorer with response_method='predict' or 'predict_proba'."
            ) from None
        except TypeError as error:
            if weight is None or "sample_weight" not in str(error):
                raise
            raise InvalidParameterError(
                f"The rows have weights, but the scorer {self.name!r} of 'eval_metric' does not "
                f"use them: {error}. Use another metric, or a function (y, prediction, weight)."
            ) from None


def _held_predictions(predicted: Vector, classes: npt.NDArray[Any] | None) -> Any:
    """Return an estimator, as scikit-learn sees it, that returns these predictions for any X."""
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

    class Regressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
        def predict(self, X: Any) -> Any:
            return predicted

    class Classifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        classes_ = classes

        def predict_proba(self, X: Any) -> Any:
            return predicted

        def predict(self, X: Any) -> Any:
            assert classes is not None
            return classes[predicted.argmax(axis=1)]

    return Regressor() if classes is None else Classifier()

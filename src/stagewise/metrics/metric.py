"""A metric: a function of targets, predictions and weights, with a name and a direction."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.errors import InvalidParameterError
from stagewise.metrics.explained import ExplainedShare
from stagewise.validation.messages import short_repr

__all__ = ["FitFacts", "Function", "Metric"]

Vector = npt.NDArray[np.float64]
Function = Callable[[npt.NDArray[Any], npt.NDArray[np.float64], Vector | None], float]


@dataclass(frozen=True, eq=False)
class FitFacts:
    """The facts of a fit that a metric may depend on.

    Attributes
    ----------
    classes : array or None
        The class labels; None: regression.
    loss : str
        The name of the loss.
    power : float or None
        The power of the variance of a loss with a log link; None: it has none.
    levels : tuple of float or None
        The quantiles or expectiles that a loss predicts, if there are several; None: it has one
        prediction.
    quantile : float or None
        The quantile that a loss predicts, if there is one; None: it predicts something else.
    has_distribution : bool
        Whether the model predicts distributions.
    causes : tuple of int
        The codes of competing events that the loss predicts; empty: there is one kind of event.
    larger_is_earlier : bool
        Of times until an event, whether a larger prediction is an earlier event.
    """

    classes: npt.NDArray[Any] | None
    loss: str
    power: float | None
    levels: tuple[float, ...] | None = None
    has_distribution: bool = False
    causes: tuple[int, ...] = ()
    larger_is_earlier: bool = True
    quantile: float | None = None


@dataclass(frozen=True)
class Metric:
    """A metric of predictions.

    Parameters
    ----------
    name : str
        The name in reports and messages.
    function : callable
        Takes y, the predictions and the weights (None: all ones), and returns a number. The
        predictions are those of `predict`, or of `predict_proba` for classes.
    larger_is_better : bool
        Whether larger values are better.
    task : {"regression", "classification", "ranking", "survival"} or None
        The targets that the metric is defined for; None: any.
    of_codes : bool
        Whether y are the class codes 0, 1, …, in the order of the columns, rather than the labels.
    for_fit : callable or None
        Returns the function for the `FitFacts` of a fit, if it depends on them.
    of_levels : bool
        Whether predictions may be several levels, shape (n_rows, n_levels).
    of_quantile : bool
        Whether predictions may be one quantile.
    of_distribution : bool
        Whether the function takes the predicted distributions instead of the predictions.
    """

    name: str
    function: Function
    larger_is_better: bool = False
    task: str | None = None
    of_codes: bool = False
    for_fit: Callable[[FitFacts], Function] | None = None
    of_levels: bool = True
    of_distribution: bool = False
    of_quantile: bool = False

    def __reduce__(self) -> Any:
        """Return how the metric is pickled: one of the registry by its name."""
        from stagewise.metrics.registry import metric_by_name, registered_metric

        if metric_by_name(self.name) is self:
            return registered_metric, (self.name,)
        return Metric, tuple(getattr(self, own.name) for own in fields(self))

    def bind(self, facts: FitFacts) -> Metric:
        """Return the metric for a fit."""
        if facts.levels is not None and not self.of_levels:
            raise InvalidParameterError(
                f"eval_metric={self.name!r} is for one prediction per row, and loss={facts.loss!r} "
                f"predicts {len(facts.levels)} levels. Use 'pinball' or 'crps', or a function "
                "(y, prediction, weight) of predictions of shape (n_rows, n_levels)."
            )
        known = facts.has_distribution or facts.levels is not None
        known |= self.of_quantile and facts.quantile is not None
        if self.of_distribution and not known:
            raise InvalidParameterError(
                f"eval_metric={self.name!r} needs predicted distributions, and loss="
                f"{facts.loss!r} has none. Use a loss such as 'normal' or 'negative_binomial', or "
                "several quantiles."
            )
        if self.for_fit is None:
            return self
        return replace(self, function=self.for_fit(facts), for_fit=None)

    def beside(self, offset: npt.NDArray[np.float64], loss: Any) -> Metric:
        """Return the metric of rows with offsets: the baseline of D² is beside them.

        Parameters
        ----------
        offset : float64 array of shape (n_rows, n_targets)
            The offsets, before the link.
        loss : Loss
            The loss of the model. Other links than the logarithm and the identity, such as log
            odds, have one constant for all rows.
        """
        own = self.function
        known = loss.log_link or loss.degree is not None
        if not isinstance(own, ExplainedShare) or not known:
            return self
        return replace(self, function=own.beside(offset, multiplies=loss.log_link))

    def value(
        self,
        y: npt.NDArray[Any],
        predicted: npt.NDArray[np.float64],
        weight: Vector | None,
        rows: str = "held-out rows",
    ) -> float:
        """Return the metric; raise ValueError if it is not a finite number.

        `rows` names the rows in that message.
        """
        returned = self.function(y, predicted, weight)
        try:
            found = float(returned)
        except (TypeError, ValueError):
            raise ValueError(
                f"The metric {self.name!r} must return a number; got {short_repr(returned)}."
            ) from None
        if not math.isfinite(found):
            raise ValueError(
                f"The metric {self.name!r} is {found} for these {len(y)} {rows}, not a finite "
                "number. Use more rows, so that they have all classes, or another metric."
            )
        return found

    def cost(self, value: float) -> float:
        """Return a value that is smaller where the metric is better."""
        return -value if self.larger_is_better else value

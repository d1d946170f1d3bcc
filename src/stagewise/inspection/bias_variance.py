"""Bias and variance of a learning method, measured with repeated training sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing

from stagewise.axes import new_axes
from stagewise.display import Summary, Tabled, spread
from stagewise.errors import InvalidParameterError
from stagewise.inspection.fitted_model import Vector, check_argument
from stagewise.inspection.plots import COLOURS
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.messages import short_repr
from stagewise.validation.rules import Number

__all__ = ["BiasVariance", "bias_variance"]

Table = tuple[Any, npt.NDArray[Any]]
MakeData = Callable[[int], tuple[Any, Any]]
LEAST_PREDICTIONS = 2
"""The least number of predictions of a row, as a variance needs two."""


@dataclass(frozen=True, eq=False, repr=False)
class BiasVariance(Tabled):
    """The parts of the expected error; error = bias + variance + noise.

    Attributes
    ----------
    loss : {"squared error", "error rate"}
        What is decomposed.
    rounds : tuple of int, or None
        The numbers of rounds; None: the whole model only.
    bias, variance : float64 arrays of shape (n_stages,)
        Squared error: means over the test rows of (E f̂(x) - f(x))² and Var f̂(x). Error rate: the
        share of rows whose most frequent prediction is not the best class, and the net variance,
        which is negative where changes of the prediction correct it.
    noise : float64 array of shape (n_stages,)
        Squared error: the mean of (y - f(x))². Error rate: what the noise of the labels adds to the
        error. 0 if the truth is unknown: it is then part of the bias.
    n_repeats : int
        The number of training sets.
    """

    loss: Literal["squared error", "error rate"]
    rounds: tuple[int, ...] | None
    bias: Vector
    variance: Vector
    noise: Vector
    n_repeats: int

    @property
    def error(self) -> Vector:
        """The expected error of new targets at the test rows."""
        return np.asarray(self.bias + self.variance + self.noise)

    def _summary(self) -> Summary:
        table = self.table()
        chosen = [table[i] for i in spread(len(table))]
        title = f"Bias and variance of the {self.loss}, {self.n_repeats} training sets"
        return Summary(title, rows=chosen, n_rows=len(table))

    def table(self) -> list[dict[str, Any]]:
        """Return one line per number of rounds."""
        numbers = self.rounds or (None,)
        return [
            ({} if m is None else {"rounds": m})
            | {
                name: float(getattr(self, name)[i])
                for name in ("bias", "variance", "noise", "error")
            }
            for i, m in enumerate(numbers)
        ]

    def plot(self, ax: Any = None) -> Any:
        """Plot the parts by rounds, or as bars if there is only the whole model.

        Parameters
        ----------
        ax : matplotlib axes or None
            Where to draw; None: new axes.
        """
        _, (ax,) = new_axes(1, ax, "plot")
        squared = self.loss == "squared error"
        parts = {
            "bias²" if squared else "bias": self.bias,
            "variance": self.variance,
            "noise": self.noise,
            "error": self.error,
        }
        if self.rounds is None:
            ax.bar(list(parts), [part[0] for part in parts.values()], color=COLOURS[: len(parts)])
            ax.set(ylabel=self.loss)
            return ax
        for (name, part), colour in zip(parts.items(), COLOURS, strict=False):
            ax.plot(self.rounds, part, color=colour, lw=2, label=name)
        ax.set(xlabel="rounds", ylabel=self.loss)
        ax.legend(frameon=False)
        return ax


@suggests_arguments
def bias_variance(
    estimator: Any,
    make_data: MakeData | tuple[Any, Any],
    *,
    truth: Callable[[Any], Any] | None = None,
    rounds: Iterable[int] | None = None,
    n_repeats: int = 50,
    random_state: int = 0,
) -> BiasVariance:
    """Return the bias, the variance and the noise of a learning method.

    The estimator is fitted to `n_repeats` training sets. For numbers, with f̂_r the prediction of
    the model r at a test row,

        E (y - f̂)² = (E f̂ - f)² + E (f̂ - E f̂)² + E (y - f)²

    The expectations over training sets are estimated without bias, so the estimate of a squared
    bias may be slightly negative. For classes this is the decomposition of the 0-1 loss of Domingos
    (2000): with the most frequent prediction ŷ, the bias of a row is 1[ŷ ≠ y*], and its net
    variance is P(prediction ≠ y*) minus the bias; y* is the best class.

    Parameters
    ----------
    estimator : estimator
        A regressor or classifier; it is cloned, not fitted.
    make_data : callable, or pair (X, y)
        A function of a seed that returns (X, y): an independent table for every training set, and
        one for the test rows. Or a table: training sets are then bootstrap samples of its rows, and
        every row is a test row of the models whose sample does not contain it.
    truth : callable or None
        The true function of X: E(y | x), or the most probable class. None: y is used in its place,
        and the noise is part of the bias.
    rounds : iterable of int, or None
        Numbers of rounds of an estimator with `staged_predict`; None: the whole model.
    n_repeats : int, default=50
        The number of training sets.
    random_state : int, default=0
        The seed of the test rows; the training sets have the following seeds.

    Returns
    -------
    BiasVariance

    References
    ----------
    Geman, Bienenstock & Doursat (1992); Domingos (2000), "A unified bias-variance decomposition
    and its applications".

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from stagewise.datasets import make_sine
    >>> from stagewise.inspection import bias_variance
    >>> def wave(seed):
    ...     return make_sine(100, noise=0.5, seed=seed)
    >>> stump, tree = (
    ...     bias_variance(DecisionTreeRegressor(max_depth=depth), wave, n_repeats=10)
    ...     for depth in (1, None)
    ... )
    >>> bool(stump.bias > tree.bias), bool(stump.variance < tree.variance)
    (True, True)
    """
    n_repeats = check_argument("n_repeats", Number(2, whole=True), n_repeats)
    seed = check_argument("random_state", Number(0, 2**31, whole=True), random_state)
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(
            f"bias_variance needs an estimator with fit and predict; got {short_repr(estimator)}."
        )
    numbers = None if rounds is None else _check_rounds(estimator, rounds)
    make_sets = _generated if callable(make_data) else _bootstrapped
    sets = make_sets(make_data, n_repeats, seed)
    X, y = next(sets)[:2]
    best = y if truth is None else np.asarray(truth(X))
    if best.shape != y.shape:
        raise InvalidParameterError(
            f"truth must return one value for each of the {len(y)} test rows; got an array of "
            f"shape {best.shape}."
        )
    predictions = _Predictions(X, numbers)
    for X_train, y_train, is_test in sets:
        predictions.add(clone(estimator).fit(X_train, y_train), is_test)
    if is_classifier(estimator):
        return predictions.error_rate(y, best)
    return predictions.squared_error(y.astype(np.float64), best.astype(np.float64))


def _check_rounds(estimator: Any, rounds: Iterable[int]) -> tuple[int, ...]:
    given = np.unique(np.asarray(list(rounds)))
    if not hasattr(estimator, "staged_predict"):
        raise InvalidParameterError(
            f"rounds needs an estimator with staged_predict, and {type(estimator).__name__} has "
            "none. Omit rounds."
        )
    if given.size == 0 or given.dtype.kind not in "iu" or given[0] < 1:
        raise InvalidParameterError(
            f"rounds must be whole numbers from 1; got {short_repr(given.tolist())}."
        )
    return tuple(int(m) for m in given)


Sets = Iterator[tuple[Any, npt.NDArray[Any], npt.NDArray[np.bool_]]]
"""The test rows, then training sets, each with the test rows that it does not contain."""


def _generated(make_data: Any, n_repeats: int, seed: int) -> Sets:
    """Yield a table of test rows, then independent training sets."""
    n_test = 0
    for number in range(n_repeats + 1):
        X, y = make_data(seed + number)
        n_test = n_test or len(y)
        yield X, np.asarray(y), np.ones(n_test, dtype=bool)


def _bootstrapped(data: Any, n_repeats: int, seed: int) -> Sets:
    """Yield the table, then bootstrap samples of its rows."""
    if not isinstance(data, tuple) or len(data) != 2:
        raise TypeError(
            "make_data must be a function of a seed that returns (X, y), or a pair (X, y); got "
            f"{short_repr(data)}."
        )
    X, y = data[0], np.asarray(data[1])
    rng = np.random.default_rng(seed)
    yield X, y, np.ones(len(y), dtype=bool)
    for _ in range(n_repeats):
        drawn = rng.integers(0, len(y), len(y))
        outside = np.ones(len(y), dtype=bool)
        outside[drawn] = False
        yield _safe_indexing(X, drawn), y[drawn], outside


class _Predictions:
    """The predictions of all models for the test rows, shape (n_repeats, n_stages, n_rows)."""

    def __init__(self, X: Any, rounds: tuple[int, ...] | None) -> None:
        self._X, self._rounds = X, rounds
        self._predicted: list[npt.NDArray[Any]] = []
        self._is_test: list[npt.NDArray[np.bool_]] = []

    def add(self, model: Any, is_test: npt.NDArray[np.bool_]) -> None:
        """Predict the test rows by another model."""
        if self._rounds is None:
            stages = [model.predict(self._X)]
        else:
            staged = enumerate(model.staged_predict(self._X), start=1)
            stages = [np.asarray(stage) for m, stage in staged if m in self._rounds]
            if len(stages) < len(self._rounds):
                raise InvalidParameterError(
                    f"rounds has {self._rounds[-1]}, and a fit ended earlier. Pass smaller numbers."
                )
        self._predicted.append(np.asarray(stages))
        self._is_test.append(is_test)

    def _test_predictions(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
        """Return predictions, which are test predictions, and the rows that have enough of them."""
        is_test = np.stack(self._is_test)[:, np.newaxis]
        enough = is_test.sum(axis=0)[0] >= LEAST_PREDICTIONS
        if not enough.any():
            raise InvalidParameterError(
                f"no row is outside of two bootstrap samples with n_repeats={len(self._is_test)}. "
                "Use more repeats."
            )
        return np.stack(self._predicted)[..., enough], is_test[..., enough], enough

    def squared_error(self, y: Vector, truth: Vector) -> BiasVariance:
        """Return the decomposition of the squared error."""
        predicted, is_test, kept = self._test_predictions()
        n = is_test.sum(axis=0)
        mean = np.where(is_test, predicted, 0.0).sum(axis=0) / n
        deviation = np.where(is_test, predicted - mean, 0.0)
        variance = (deviation**2).sum(axis=0) / (n - 1)
        # The mean of n predictions has the variance variance/n, which is no bias.
        bias = (mean - truth[kept]) ** 2 - variance / n
        noise = float(np.mean((y[kept] - truth[kept]) ** 2))
        return self._result("squared error", bias, variance, noise)

    def error_rate(self, y: npt.NDArray[Any], best: npt.NDArray[Any]) -> BiasVariance:
        """Return the decomposition of the error rate."""
        predicted, is_test, kept = self._test_predictions()
        y, best = y[kept], best[kept]
        classes = np.unique(predicted)
        counts = np.stack([((predicted == c) & is_test).sum(axis=0) for c in classes])
        main = classes[counts.argmax(axis=0)]
        n = is_test.sum(axis=0)
        wrong = ((predicted != best) & is_test).sum(axis=0) / n
        bias = (main != best).astype(np.float64)
        error = ((predicted != y) & is_test).sum(axis=0) / n
        noise = error.mean(axis=1) - wrong.mean(axis=1)
        return self._result("error rate", bias, wrong - bias, noise)

    def _result(
        self,
        loss: Literal["squared error", "error rate"],
        bias: Vector,
        variance: Vector,
        noise: float | Vector,
    ) -> BiasVariance:
        means = bias.mean(axis=1), variance.mean(axis=1)
        whole = np.broadcast_to(noise, means[0].shape).astype(np.float64)
        return BiasVariance(loss, self._rounds, *means, whole, len(self._predicted))

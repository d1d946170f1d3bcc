"""Members of a committee at work: fitted to their shares, asked about rows, side by side.

The one idea: a member is any estimator with the columns it knows; all that a committee hears from
it is a matrix, a row for each row of X, whether it says numbers, probabilities or votes. Must not
know how answers are combined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from threading import Condition
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from stagewise._native import Cancellation, set_cancellation
from stagewise.bagging.bag_samples import Places, Share, draw_columns
from stagewise.data.categories.categories import Categories
from stagewise.estimators.tree_base import HELD_OUT
from stagewise.learners.estimator import finite, name_of, seeded, weight_argument
from stagewise.model.model import Model
from stagewise.validation.messages import CollectedWarning, collect_warnings

__all__ = ["Ballot", "Member", "Training", "columns_of", "side_by_side"]

Matrix = npt.NDArray[np.float64]

SEEDS = 1
"""What the seeds of members are keyed by, besides seed and member."""

PATIENCE = 1.0
"""Seconds that cancelled members may take to end."""


@dataclass(frozen=True, eq=False)
class Ballot:
    """What members are asked for.

    Parameters
    ----------
    classes : array or None
        The labels that the columns of an answer are about; None: numbers, one column.
    votes : bool
        Whether a member says one class, rather than the probability of each.
    """

    classes: npt.NDArray[Any] | None = None
    votes: bool = False

    @property
    def n_columns(self) -> int:
        """How many numbers a row gets."""
        return 1 if self.classes is None else len(self.classes)

    def answers(self, estimator: Any, X: Any) -> Matrix:
        """Return what an estimator says of the rows of X; of classes that it has not seen, 0."""
        if X.shape[0] == 0:  # which many estimators refuse
            return np.empty((0, self.n_columns))
        if self.classes is None or self.votes:
            said = np.asarray(estimator.predict(X))
            if said.ndim > 1 and said.shape[1:] != (1,):
                raise ValueError(
                    f"{name_of(estimator)} predicts {said.shape[1]} numbers a row; a member of a "
                    "committee must predict one."
                )
            said = said.reshape(len(said))
            if self.classes is None:
                return finite(said.astype(np.float64)[:, np.newaxis], estimator)
            return np.eye(self.n_columns)[np.searchsorted(self.classes, said)]
        out = np.zeros((X.shape[0], self.n_columns))
        out[:, np.searchsorted(self.classes, estimator.classes_)] = estimator.predict_proba(X)
        return finite(out, estimator)


@dataclass(frozen=True, eq=False)
class Member:
    """A fitted estimator and the columns that it knows.

    Parameters
    ----------
    estimator : fitted scikit-learn estimator
        Of these columns.
    columns : intp array or None
        Places in X; None: all.
    """

    estimator: Any
    columns: Places | None = None

    def answers(self, ballot: Ballot, X: Any) -> Matrix:
        """Return what the member says of the rows of X."""
        with collect_warnings():  # of levels that its bag had not: the committee has its own words
            return ballot.answers(self.estimator, columns_of(X, self.columns))

    def levels(self) -> dict[int, Categories]:
        """Return the levels of the categorical columns, if it is an estimator of this library."""
        model = getattr(self.estimator, "model_", None)
        if not isinstance(model, Model):
            return {}
        own = range(model.features.n) if self.columns is None else self.columns.tolist()
        both = zip(own, model.features, strict=True)
        return {place: its.categories for place, its in both if its.categories is not None}


@dataclass(frozen=True, eq=False)
class Training:
    """What the members of one committee have in common.

    Parameters
    ----------
    estimator : scikit-learn estimator
        Is cloned for every member; each ``random_state`` is replaced by a number of the member's.
    X, y : table and array
        All rows that a member could see, and their targets or labels.
    ballot : Ballot
        What members will be asked for.
    seed : int
        Keys all that members draw.
    column_share : float
        The share of the columns that a member sees.
    measured : bool
        Whether members are asked about the rows that they do not see.
    stops : bool
        Whether they stop early by these rows, if they can.
    threads : int
        How many members are fitted side by side. If more than one are, each works in one thread.
    """

    estimator: Any
    X: Any
    y: npt.NDArray[Any]
    ballot: Ballot
    seed: int
    column_share: float = 1.0
    measured: bool = False
    stops: bool = False
    threads: int = 1

    def fit(self, share: Share) -> tuple[Member, Matrix | None, list[CollectedWarning]]:
        """Return a member, its answers about the rows that it did not see, and its warnings."""
        columns = draw_columns(self.column_share, self.X.shape[1], self.seed, share.number)
        with self._one_thread():
            with collect_warnings() as told:
                member = Member(self._fitted(share, columns), columns)
            if not self.measured:
                return member, None, told
            if not len(share.held):
                return member, np.empty((0, self.ballot.n_columns)), told
            answers = member.answers(self.ballot, _safe_indexing(self.X, share.held))
            return member, answers, told

    def _fitted(self, share: Share, columns: Places | None) -> Any:
        rows, times = share.rows, share.times
        if self.ballot.classes is not None and (self.y[rows] == self.y[rows[0]]).all():
            # Many classifiers refuse what leaves nothing to tell apart; trees would say the same.
            return DummyClassifier().fit(self._seen(rows, columns), self.y[rows])
        rng = np.random.default_rng([self.seed, share.number, SEEDS])
        estimator = seeded(self.estimator, rng, anew=True)
        if estimator.get_params(deep=False).get("handle_unknown") == "error":
            estimator.set_params(
                handle_unknown="missing"
            )  # bagging itself has checked the categories
        if self.threads > 1:
            estimator.set_params(**dict.fromkeys(_numbers_of_threads(estimator), 1))
        passed: dict[str, Any] = {}
        argument = weight_argument(estimator)
        if argument is None:
            rows = np.repeat(rows, times.astype(np.intp))
        elif (times != 1.0).any():
            passed = {argument: times}
        if self.stops and _uses_held_out(estimator):
            passed |= {
                "X_val": self._seen(share.held, columns),
                "y_val": self.y[share.held],
            }
            if (share.held_weight != 1.0).any():
                passed["sample_weight_val"] = share.held_weight
        return estimator.fit(self._seen(rows, columns), self.y[rows], **passed)

    def _seen(self, rows: Places, columns: Places | None) -> Any:
        return columns_of(_safe_indexing(self.X, rows), columns)

    def _one_thread(self) -> AbstractContextManager[Any]:
        # The limit of OpenMP is each thread's own, so threads do not disturb one another.
        return threadpool_limits(1, user_api="openmp") if self.threads > 1 else nullcontext()


def _numbers_of_threads(estimator: Any) -> Iterator[str]:
    """Yield the parameters that let an estimator, or a part of it, use several threads."""
    params = estimator.get_params()
    for name, value in params.items():
        path, _, last = name.rpartition("__")
        if last == "n_jobs":
            owner = params.get(path, estimator)
            # What None means: to scikit-learn one thread, to this library and others all of them.
            if value is not None or not type(owner).__module__.startswith("sklearn."):
                yield name


def _uses_held_out(estimator: Any) -> bool:
    """Return whether an estimator stops or prunes by rows that are passed to its fit."""
    params = estimator.get_params(deep=False)
    prunes = params.get("pruning", HELD_OUT[0]) in HELD_OUT
    by_folds = not isinstance(params.get("early_stopping", False), (bool, np.bool_))
    return has_fit_parameter(estimator, "X_val") and prunes and not by_folds


def columns_of(X: Any, columns: Places | None) -> Any:
    """Return some columns of a table of any type; None: all."""
    return X if columns is None else _safe_indexing(X, columns, axis=1)


def side_by_side(
    task: Callable[[Any], Any], items: Iterable[Any], threads: int
) -> Iterator[tuple[Any, Any]]:
    """Yield (item, task(item)) in the order of the items, some tasks at a time.

    Threads are what is used unless ``joblib.parallel_config`` names another backend.

    Parameters
    ----------
    task : callable
        What to do with an item.
    items : iterable
        Is read as far as it is needed.
    threads : int
        How many tasks may run at a time.
    """
    if threads == 1:
        yield from ((item, task(item)) for item in items)
        return
    left, tasks = iter(items), _Cancellable(task)
    job = joblib.delayed(tasks)
    try:
        with joblib.Parallel(n_jobs=threads, prefer="threads") as parallel:
            while batch := list(islice(left, 2 * threads)):
                yield from zip(batch, parallel(job(item) for item in batch), strict=True)
    except BaseException:
        tasks.cancel()  # joblib does not wait for threads that are at work
        raise


class _Cancellable:
    """A task for many threads that can be ended in all of them."""

    def __init__(self, task: Callable[[Any], Any]) -> None:
        self._task = task
        self._cancellation = Cancellation()
        self._running = 0
        self._changed = Condition()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._task,)  # in another process, which joblib ends

    def __call__(self, item: Any) -> Any:
        with self._changed:
            if self._cancellation.cancelled():
                return None
            self._running += 1
        outer = set_cancellation(self._cancellation)
        try:
            return self._task(item)
        except BaseException:
            if self._cancellation.cancelled():
                return None  # nobody reads it
            raise
        finally:
            set_cancellation(outer)
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def cancel(self) -> None:
        """End the native work of all threads and wait until none runs the task.

        Code of other libraries cannot be ended, so the wait has an end too.
        """
        self._cancellation.cancel()
        with self._changed:
            self._changed.wait_for(lambda: self._running == 0, timeout=PATIENCE)

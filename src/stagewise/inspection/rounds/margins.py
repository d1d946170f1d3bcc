"""Margins of rows: how clearly a classifier predicts the true class, round by round."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from stagewise.axes import LINE, new_axes
from stagewise.display import Summary, Tabled, spread
from stagewise.errors import InvalidParameterError
from stagewise.estimators.ada_boost import AdaBoostClassifier
from stagewise.inspection.fitted_model import Vector, check_argument
from stagewise.inspection.plots import COLOURS
from stagewise.inspection.quality.predictions import known_codes
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.messages import short_repr
from stagewise.validation.rules import OneOf

__all__ = ["Margins", "margins"]

Kind = Literal["votes", "score", "probability"]
LABELS = {
    "votes": "margin, share of the votes",
    "score": "margin y F(x)",
    "probability": "margin, difference of probabilities",
}


@dataclass(frozen=True, eq=False, repr=False)
class Margins(Tabled):
    """The margins of rows after some rounds; a row is classified correctly if its margin is > 0.

    Attributes
    ----------
    kind : {"votes", "score", "probability"}
        What the margins are differences of.
    rounds : tuple of int
        The numbers of rounds.
    values : float64 array of shape (len(rounds), n_rows)
        The margins.
    """

    kind: Kind
    rounds: tuple[int, ...]
    values: Vector

    def _summary(self) -> Summary:
        table = self.table()
        title = f"Margins of {self.values.shape[1]:,} rows ({LABELS[self.kind]})"
        return Summary(title, rows=[table[i] for i in spread(len(table))], n_rows=len(table))

    def table(self) -> list[dict[str, Any]]:
        """Return one line per number of rounds: the share of margins ≤ 0, and their quantiles."""
        return [
            {
                "rounds": rounds,
                "not_positive": float(np.mean(values <= 0)),
                "minimum": float(values.min()),
                "10%": float(np.quantile(values, 0.1)),
                "median": float(np.median(values)),
            }
            for rounds, values in zip(self.rounds, self.values, strict=True)
        ]

    def plot(self, ax: Any = None) -> Any:
        """Plot the cumulative distribution of the margins after each number of rounds.

        Parameters
        ----------
        ax : matplotlib axes or None
            Where to draw; None: new axes.
        """
        _, (ax,) = new_axes(1, ax, "plot")
        share = np.arange(1, self.values.shape[1] + 1) / self.values.shape[1]
        for k, (rounds, values) in enumerate(zip(self.rounds, self.values, strict=True)):
            name = f"{rounds} round{'' if rounds == 1 else 's'}"
            colour = COLOURS[k % len(COLOURS)]
            ax.plot(np.sort(values), share, color=colour, lw=2, label=name, drawstyle="steps-post")
        ax.axvline(0.0, color=LINE, lw=1, ls="--")
        ax.set(xlabel=LABELS[self.kind], ylabel="share of the rows", ylim=(0.0, 1.02))
        ax.legend(frameon=False)
        return ax


@suggests_arguments
def margins(
    estimator: Any, X: Any, y: Any, *, rounds: Iterable[int] | None = None, kind: str = "auto"
) -> Margins:
    """Return the margins of rows after some rounds.

    With s = ±1 and the score F, the margin of two classes is s F(x). It is positive if the row is
    classified correctly. In general it is the score, the share of votes or the probability of the
    true class minus the largest one of the other classes.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier. If it has no rounds, there is one number of rounds, 1.
    X, y : array-like or data frame, and array-like
        Rows and their labels.
    rounds : iterable of int, or None
        Numbers of rounds; None: 1, 10, 100, … and the last one.
    kind : {"auto", "votes", "score", "probability"}, default="auto"
        "votes": Σ α_m (1[G_m(x) = y] - 1[G_m(x) = k]) / Σ α_m, between -1 and 1, for
        `AdaBoostClassifier(algorithm="discrete")` (Schapire, Freund, Bartlett & Lee 1998).
        "score": s F(x), or F_y(x) - max F_k(x) for more classes. "probability":
        p_y(x) - max p_k(x) (for forests Breiman 2001, Definition 2.1). "auto": votes if there are
        votes, otherwise scores for two classes and probabilities for more.

    Returns
    -------
    Margins

    Examples
    --------
    >>> from stagewise import AdaBoostClassifier
    >>> from stagewise.datasets import make_nested_spheres
    >>> from stagewise.inspection import margins
    >>> X, y = make_nested_spheres(200)
    >>> found = margins(AdaBoostClassifier(n_estimators=30).fit(X, y), X, y)
    >>> found.rounds, found.values.shape
    ((1, 10, 30), (3, 200))
    """
    chosen = _kind(estimator, kind)
    codes: npt.NDArray[np.intp] | None = None
    stages = list(_chosen_stages(estimator, chosen, X, rounds))
    values = np.empty((len(stages), len(stages[0][1])))
    for i, (m, by_class) in enumerate(stages):
        if codes is None:
            name = type(estimator).__name__
            codes = known_codes(y, len(by_class), np.asarray(estimator.classes_), name)
        own = by_class[np.arange(len(codes)), codes]
        others = by_class.copy()
        others[np.arange(len(codes)), codes] = -np.inf
        values[i] = own - others.max(axis=1)
        if chosen == "votes":
            # F_y - F_k = (K-1) Σ ν α (1[G = y] - 1[G = k]), as β = (K-1)²/K · α.
            values[i] /= (by_class.shape[1] - 1) * estimator.estimator_weights_[:m].sum()
        elif chosen == "score" and by_class.shape[1] == 2:
            values[i] /= 2.0  # s F, not F_y - F_k = 2 s F
    return Margins(chosen, tuple(m for m, _ in stages), values)


def _kind(estimator: Any, kind: str) -> Kind:
    """Return the kind of margins that an estimator has, or raise if it does not have the one."""
    name = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
    if isinstance(estimator, type) or not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"margins needs a fitted classifier with predict_proba; got {name}. Pass a classifier, "
            "such as AdaBoostClassifier().fit(X, y)."
        )
    check_is_fitted(estimator)
    given = check_argument("kind", OneOf(("auto", "votes", "score", "probability")), kind)
    if len(estimator.classes_) < 2:
        raise InvalidParameterError("margins needs two classes or more; the model has one.")
    has_votes = isinstance(estimator, AdaBoostClassifier) and hasattr(
        estimator, "estimator_weights_"
    )
    has_scores = hasattr(estimator, "decision_function")
    if (given == "votes" and not has_votes) or (given == "score" and not has_scores):
        need = "AdaBoostClassifier(algorithm='discrete')" if given == "votes" else "a boosted model"
        raise InvalidParameterError(
            f"kind={given!r} needs {need}, and this {name} has none. Use kind='auto'."
        )
    if given != "auto":
        return given  # type: ignore[no-any-return]
    if has_votes:
        return "votes"
    return "score" if has_scores and len(estimator.classes_) == 2 else "probability"


def _chosen_stages(
    estimator: Any, kind: Kind, X: Any, rounds: Iterable[int] | None
) -> Iterator[tuple[int, Vector]]:
    """Yield the chosen numbers of rounds, each with a column of scores for every class."""
    method = "predict_proba" if kind == "probability" else "decision_function"
    staged = getattr(estimator, f"staged_{method}", None)
    last = len(getattr(estimator, "estimators_", ())) or 1
    last = getattr(estimator, "best_iteration_", last) if staged is not None else 1
    wanted = _default_rounds(last) if rounds is None else _check_rounds(rounds, last)
    stages = [getattr(estimator, method)(X)] if staged is None else staged(X)
    for m, stage in enumerate(stages, start=1):
        if m in wanted:
            found = np.asarray(stage, dtype=np.float64)
            flat = found.ravel() if found.ndim == 1 or found.shape[1] == 1 else None
            yield m, found if flat is None else np.column_stack([-flat, flat])


def _default_rounds(last: int) -> Sequence[int]:
    return [10**k for k in range(len(str(last))) if 10**k < last] + [last]


def _check_rounds(rounds: Iterable[int], last: int) -> Sequence[int]:
    given = np.unique(np.asarray(list(rounds)))
    whole = given.size > 0 and given.dtype.kind in "iu"
    if not whole or given[0] < 1 or given[-1] > last:
        raise InvalidParameterError(
            f"rounds must be whole numbers from 1 to {last}, the number of rounds of the model; "
            f"got {short_repr(given.tolist())}."
        )
    return [int(m) for m in given]

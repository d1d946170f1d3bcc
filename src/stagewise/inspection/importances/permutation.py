"""What a model loses when the cells of a column change places among rows that were held out.

The one idea: the loss of every row is known before and after, so a mean difference has a standard
error of its own. Must not know how trees are made: it only asks for scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from sklearn.metrics import roc_auc_score

from stagewise.data import read_target, read_targets
from stagewise.errors import InvalidParameterError
from stagewise.inspection.fitted_model import Fitted, Vector, checked
from stagewise.inspection.importances.split_importance import Importance
from stagewise.inspection.quality.predictions import known_codes
from stagewise.inspection.row_losses import OF_CLASSES, OF_NUMBERS, Loss
from stagewise.validation.messages import shown
from stagewise.validation.parameters import nearest_name
from stagewise.validation.rules import Number

__all__ = ["permutation_importance"]


def _finite(lost: Any) -> float:
    """Return what a loss of the caller's own said, if it is a number."""
    try:
        number = float(lost)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise ValueError(f"loss must return a finite number; your function returned {shown(lost)}.")
    return number


@dataclass(frozen=True, eq=False)
class _Judge:
    """How wrong predictions are: a loss for each row where there is one, and one for all."""

    y: npt.NDArray[Any]
    weight: Vector
    rows: Loss | None
    whole: Callable[[npt.NDArray[Any], Vector, Vector], float] | None

    def __call__(self, said: Vector) -> tuple[Vector | None, float]:
        if self.rows is None:
            assert self.whole is not None
            return None, _finite(self.whole(self.y, said, self.weight))
        each = self.rows(self.y, said)
        return each, float(np.average(each, weights=self.weight))


def permutation_importance(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    loss: Any = "auto",
    groups: Mapping[str, Any] | None = None,
    repeats: int = 5,
    level: float = 0.95,
    random_state: int = 0,
) -> Importance:
    """Return by how much the loss grows if the cells of a column change places.

        I_j = (1/R) Σ_r L(y, f(X with column j in the order r)) - L(y, f(X))

    (Breiman 2001, section 10; Fisher, Rudin & Dominici 2019). Pass rows that the model has not
    seen: on its own training rows what it has learned by heart counts as well. What depends on
    other columns is permuted into rows that do not exist; put such columns into one group.

    Parameters
    ----------
    model : estimator
        A fitted boosting estimator, forest or tree.
    X, y : array-like, data frame or sparse matrix, and array-like
        Rows with known answers. Sparse rows become dense, up to 1 GiB of them.
    sample_weight : array-like or None
        How much each row counts in the loss.
    loss : str or callable, default="auto"
        "squared_error" or "absolute_error" of numbers; "log_loss", "brier", "error" (the share
        of wrong answers) or "auc" (1 - AUC, two classes) of classes; or a function of y,
        predictions (probabilities of classes, y then being their places in `classes_`) and weights
        that returns a number, smaller being better. "auto": squared_error, or log_loss.
    groups : mapping of str to features, or None
        Features that are permuted together, under a name of theirs. None: each by itself.
    repeats : int, default=5
        R, how often each is permuted.
    level : float, default=0.95
        Of the confidence limits.
    random_state : int, default=0
        The seed of the permutations.

    Returns
    -------
    Importance
        `error` is the standard error of the mean over rows; of "auc" and of a function of your
        own, which are not means over rows, that of the mean over the R permutations alone.
    """
    fitted = Fitted.of(model, "permutation_importance")
    n_repeats = checked("repeats", Number(1, whole=True), repeats)
    share = checked("level", Number(0.0, 1.0, open_low=True, open_high=True), level)
    seed = checked("random_state", Number(0, whole=True), random_state)
    columns = fitted.columns(X, least=2)
    judge = _judge(fitted, y, sample_weight, len(columns[0]), loss)
    if judge.rows is None and n_repeats < 2:
        raise InvalidParameterError(
            "repeats must be at least 2 with a loss that is no mean over rows: its standard error "
            "comes from the permutations."
        )
    chosen = _chosen(fitted, groups)
    before = judge(fitted.respond(fitted.score(columns), "mean"))
    value, error = np.zeros(len(chosen)), np.zeros(len(chosen))
    for i, places in enumerate(chosen.values()):
        if fitted.used.intersection(places):
            value[i], error[i] = _worth(fitted, columns, places, judge, before, n_repeats, seed)
    reach = ndtri((1 + share) / 2) * error
    unit = f"growth of {loss if isinstance(loss, str) else 'your loss'}"
    if loss == "auto":
        unit = f"growth of {'squared_error' if fitted.model.classes is None else 'log_loss'}"
    names = tuple(chosen)
    return Importance(
        "permutation", unit, names, value, error=error, low=value - reach, high=value + reach
    )


def _chosen(fitted: Fitted, groups: Any) -> dict[str, tuple[int, ...]]:
    if groups is None:
        return {name: (j,) for j, name in enumerate(fitted.names)}
    if not isinstance(groups, Mapping) or not groups:
        raise InvalidParameterError(
            f"groups must be a dictionary from names to features; got {shown(groups)}."
        )
    return {
        str(name): fitted.positions(features, f"groups[{name!r}]")
        for name, features in groups.items()
    }


def _judge(fitted: Fitted, y: Any, sample_weight: Any, n_rows: int, loss: Any) -> _Judge:
    """Read the answers, and hold the loss to them."""
    classes, who = fitted.model.classes, "permutation_importance"
    known = OF_NUMBERS if classes is None else OF_CLASSES
    weight = fitted.weight(sample_weight, n_rows)
    names = [*known, *([] if classes is None else ["auc"])]
    name = names[0] if isinstance(loss, str) and loss == "auto" else loss
    if not callable(name) and name not in names:
        raise InvalidParameterError(
            f"loss must be one of {', '.join(map(repr, names))} of this model, or a function of y, "
            f"predictions and weights; got {shown(loss)}.{nearest_name(str(loss), names)}"
        )
    if classes is None:
        read = read_target if fitted.model.ensemble.n_outputs == 1 else read_targets
        target: npt.NDArray[Any] = read(y, n_rows, caller=who)
    else:
        target = known_codes(y, n_rows, classes, who)
    if name == "auc":
        _check_auc(target, weight, classes)
        return _Judge(target, weight, None, _one_less_auc)
    return _Judge(target, weight, None if callable(name) else known[name], name)


def _check_auc(codes: npt.NDArray[Any], weight: Vector, classes: Any) -> None:
    if len(classes) != 2:
        raise InvalidParameterError(
            f"loss='auc' is about two classes, and the model has {len(classes)}. Use 'log_loss'."
        )
    if len(np.unique(codes[weight > 0])) < 2:
        raise ValueError(
            f"y holds only the class {shown(classes[codes[0]])}, and loss='auc' compares two. Pass "
            "rows of both, or use loss='log_loss'."
        )


def _one_less_auc(y: npt.NDArray[Any], said: Vector, weight: Vector) -> float:
    return 1.0 - float(roc_auc_score(y, said[:, 1], sample_weight=weight))


def _worth(
    fitted: Fitted,
    columns: Sequence[Vector],
    places: Iterable[int],
    judge: _Judge,
    before: tuple[Vector | None, float],
    repeats: int,
    seed: int,
) -> tuple[float, float]:
    """Return by how much the loss grows, and the standard error of that."""
    places, n = tuple(places), len(columns[0])
    grown, rows = np.zeros(repeats), np.zeros(n)
    for r in range(repeats):
        # Keyed by the features, so that what is asked for besides them does not matter.
        order = np.random.default_rng([seed, r, *places]).permutation(n)
        moved = [c[order] if j in places else c for j, c in enumerate(columns)]
        each, whole = judge(fitted.respond(fitted.score(moved), "mean"))
        grown[r] = whole - before[1]
        if each is not None and before[0] is not None:
            rows += (each - before[0]) / repeats
    if judge.rows is None:
        return float(grown.mean()), float(grown.std(ddof=1) / repeats**0.5)
    mean = np.average(rows, weights=judge.weight)
    spread = np.average((rows - mean) ** 2, weights=judge.weight)
    # Weights are frequencies up to their scale: what counts is how many rows they are worth.
    count = judge.weight.sum() ** 2 / (judge.weight**2).sum()
    return float(mean), float((spread / max(count - 1, 1)) ** 0.5)

"""warm_start: which model a fit continues, and whether it is about the same things.

The one idea: a fit that continues another must end where one fit of all rounds would have ended;
what would make that untrue is refused. Must not know how rounds are added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.losses import Loss
from stagewise.model.model import Model

__all__ = ["check_loss", "model_to_continue"]


def model_to_continue(
    estimator: Any,
    params: Mapping[str, Any],
    classes: npt.NDArray[Any] | None,
    target: npt.NDArray[Any],
    targets: tuple[str, ...] | None,
) -> Model | None:
    """Return the model to continue from, if warm_start says so and there is one.

    Parameters
    ----------
    estimator : BoostedTrees
        Perhaps fitted before.
    params : mapping
        Its parameters, checked.
    classes, target, targets
        The classes or None, the targets of all rows, and what they are called.

    Raises
    ------
    ValueError
        If what is to be learned now is something else.
    """
    model: Model | None = getattr(estimator, "model_", None)
    if not params["warm_start"] or model is None:
        return None
    if hasattr(estimator, "oof_prediction_"):  # its history is that of folds
        model = replace(model, valid_loss=np.empty(0))
    if params["n_estimators"] < model.ensemble.n_rounds:
        raise ValueError(
            f"n_estimators={params['n_estimators']} must be larger or equal to "
            f"n_iter_={model.ensemble.n_rounds} when warm_start==True"
        )
    before = getattr(estimator, "fit_report_", {}).get("permutations", params.get("permutations"))
    if before != params.get("permutations"):
        raise ValueError(
            f"warm_start continues a model whose levels were told in permutations={before} "
            f"orders, but now it is {params['permutations']}. Leave it as it was, or fit with "
            "warm_start=False to begin anew."
        )
    old = model.classes
    if classes is not None and old is not None and not np.array_equal(classes, old):
        raise ValueError(
            f"warm_start continues a model of the classes {old.tolist()}, but y has "
            f"{classes.tolist()}. Fit with warm_start=False to begin anew."
        )
    known, n = model.ensemble.n_outputs, target.shape[1] if target.ndim > 1 else 1
    if classes is None and (n, targets) != (known, model.targets):
        raise ValueError(
            f"warm_start continues a model of {_listed(known, model.targets)}, but y has "
            f"{_listed(n, targets)}. Fit with warm_start=False to begin anew."
        )
    return model


def check_loss(previous: Model, loss: Loss) -> None:
    """Raise if a model was made by another loss."""
    if previous.loss != loss.name:
        raise ValueError(
            f"warm_start continues a model of the loss {previous.loss!r}, but now it is "
            f"{loss.name!r}. Fit with warm_start=False to begin anew."
        )


def _listed(n: int, targets: tuple[str, ...] | None) -> str:
    """Return how many targets there are, and what they are called."""
    names = "" if targets is None else f" ({', '.join(map(repr, targets))})"
    return f"{n} target{'s' if n > 1 else ''}{names}"

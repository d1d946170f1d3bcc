"""warm_start: the model that a fit continues, and the checks that the fit can continue it.

A continued fit must give the same model as one fit of all rounds. Arguments that prevent this are
errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stagewise.estimators.parameters.tree_needs import check_need
from stagewise.losses import Loss
from stagewise.model.model import Model
from stagewise.options import flatten_options
from stagewise.training.reading.training_data import TrainingData

__all__ = ["check_continues", "model_to_continue"]

ANEW = "Fit with warm_start=False to start a new model."


def model_to_continue(estimator: Any, params: Mapping[str, Any]) -> Model | None:
    """Return the model of a fitted estimator if warm_start is set, otherwise None.

    Parameters
    ----------
    estimator : BaseBoosting
        The estimator, fitted before or not.
    params : mapping
        Its parameters, checked.

    Raises
    ------
    ValueError
        If the model cannot be continued with these parameters.
    """
    model: Model | None = getattr(estimator, "model_", None)
    if not params.get("warm_start") or model is None:
        return None
    if hasattr(estimator, "oof_prediction_"):  # its history is that of folds
        model = replace(model, valid_loss=np.empty(0))
    if params["n_estimators"] < model.ensemble.n_rounds:
        raise ValueError(
            f"n_estimators={params['n_estimators']} must be larger or equal to "
            f"n_iter_={model.ensemble.n_rounds} when warm_start==True"
        )
    now = getattr(params.get("category_encoding"), "n_orderings", 1)
    before = getattr(estimator, "fit_report_", {}).get("n_orderings", now)
    if before != now:
        raise ValueError(
            f"warm_start continues a model with n_orderings={before}, but now it is {now}. Leave "
            "it as it was, or fit with warm_start=False to start a new model."
        )
    return model


def check_continues(
    previous: Model, params: Mapping[str, Any], data: TrainingData, loss: Loss
) -> None:
    """Raise ValueError unless the data and the loss are those of a model."""
    classes, old = data.classes, previous.classes
    if classes is not None and old is not None and not np.array_equal(classes, old):
        raise ValueError(
            f"warm_start continues a model of the classes {old.tolist()}, but y has "
            f"{classes.tolist()}. {ANEW}"
        )
    y, targets = data.train.y, data.target_names
    known, n = previous.ensemble.n_outputs, y.shape[1] if y.ndim > 1 else 1
    if classes is None and (n, targets) != (known, previous.targets):
        raise ValueError(
            f"warm_start continues a model of {_listed(known, previous.targets)}, but y has "
            f"{_listed(n, targets)}. {ANEW}"
        )
    if previous.loss != loss.name:
        raise ValueError(
            f"warm_start continues a model of the loss {previous.loss!r}, but now it is "
            f"{loss.name!r}. {ANEW}"
        )
    if previous.features.target_encodings:
        check_need(flatten_options(params), "category_encoding", "target")
        if params.get("category_encoding") == "sets":
            raise ValueError(
                "warm_start continues a model with target-encoded categories, but now "
                f"category_encoding is 'sets'. Leave it as it was. {ANEW}"
            )


def _listed(n: int, targets: tuple[str, ...] | None) -> str:
    """Return the number of targets and their names."""
    names = "" if targets is None else f" ({', '.join(map(repr, targets))})"
    return f"{n} target{'s' if n > 1 else ''}{names}"

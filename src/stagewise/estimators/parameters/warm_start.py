"""warm_start: the model that a fit continues, and the checks that the fit can continue it.

With the same parameters a continued fit gives the same model as one fit of all rounds. Most
parameters may change: the new values, such as a lower learning rate, apply to the new rounds, and
`recipe()` describes these. What would be false of the earlier rounds (the loss, encodings,
constraints) cannot change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stagewise.data.row_offset import RowOffset
from stagewise.estimators.parameters.tree_needs import check_need
from stagewise.losses import Loss
from stagewise.losses.function import needs_value
from stagewise.model.model import Model
from stagewise.options import OrderedTargetEncoding, flatten_options
from stagewise.training.reading.training_data import TrainingData
from stagewise.validation.equality import equal_values
from stagewise.validation.messages import short_repr

__all__ = ["check_continues", "check_same_classes", "fixed_parameters", "model_to_continue"]

ANEW = "Fit with warm_start=False to start a new model."
CONSTRAINTS = ("monotonic_cst", "interaction_cst")
"""Rules that hold for a model only if they hold for all of its trees."""


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
    if estimator._chosen_by_folds:  # noqa: SLF001  its history is that of folds
        model = replace(model, valid_loss=np.empty(0))
    if params["n_estimators"] < model.ensemble.n_rounds:
        raise ValueError(
            f"n_estimators={params['n_estimators']} must be larger or equal to "
            f"n_iter_={model.ensemble.n_rounds} when warm_start==True"
        )
    seed = params["random_state"]
    if isinstance(seed, int):
        _check_same("random_state", estimator.seed_, seed)
    return model


def fixed_parameters(params: Mapping[str, Any], loss: Loss) -> dict[str, Any]:
    """Return the values that a continued fit cannot change, by the names of parameters.

    Parameters
    ----------
    params : mapping
        The parameters of an estimator.
    loss : Loss
        The loss; its parameters cannot change either.
    """
    encoding = params.get("category_encoding", "sets")
    by_target = isinstance(encoding, OrderedTargetEncoding)
    return {
        "loss": type(loss).__name__,
        "init": _plain_start(params.get("init", "mean")),
        **_loss_parameters(loss),
        "category_encoding": "target" if by_target else encoding,
        "n_orderings": encoding.n_orderings if by_target else 1,
        **{name: params.get(name) for name in CONSTRAINTS},
    }


def check_continues(
    previous: Model,
    fixed: Mapping[str, Any],
    params: Mapping[str, Any],
    data: TrainingData,
    loss: Loss,
) -> None:
    """Raise ValueError unless a fit with these parameters and data can continue a model.

    Parameters
    ----------
    previous : Model
        The model.
    fixed : mapping
        The `fixed_parameters` of its fit.
    params : mapping
        The parameters now, checked.
    data : TrainingData
        The data now.
    loss : Loss
        The loss now, of one target.
    """
    classes, old = data.classes, previous.classes
    if classes is not None and old is not None and not np.array_equal(classes, old):
        raise ValueError(
            f"warm_start continues a model of the classes {old.tolist()}, but y has "
            f"{classes.tolist()}. {ANEW}"
        )
    y, targets = data.train.y, data.target_names
    known = previous.ensemble.n_outputs // loss.n_outputs
    n = y.shape[1] if y.ndim > 1 else 1
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
    needs_value(loss, "warm_start, whose rounds continue the losses of earlier ones,")
    if previous.row_offset != data.row_offset:
        raise ValueError(
            f"warm_start continues a model with {_offsets(previous.row_offset)}, but now there is "
            f"{_offsets(data.row_offset)}. Pass the same arguments to fit. {ANEW}"
        )
    now = fixed_parameters(params, loss)
    for name in ("loss", "init", *_loss_parameters(loss)):
        _check_same(name, fixed.get(name), now[name])
    encoded = bool(previous.features.target_encodings)
    if encoded:
        check_need(flatten_options(params), "category_encoding", "target")
    if now["category_encoding"] not in ("auto", fixed.get("category_encoding")):
        before = "target" if encoded else "sets"
        _check_same("category_encoding", before, now["category_encoding"])
    if encoded:
        _check_same("n_orderings", fixed.get("n_orderings"), now["n_orderings"])
    for name in CONSTRAINTS:
        if now[name] is not None and not equal_values(fixed.get(name), now[name]):
            raise ValueError(
                f"warm_start continues a model that was fitted with {name}="
                f"{short_repr(fixed.get(name))}, so {short_repr(now[name])} would not hold for its "
                f"earlier trees. {ANEW}"
            )


def _offsets(row_offset: RowOffset) -> str:
    """Return the offsets of a model as text."""
    given = {"offset": row_offset.offset, "exposure": row_offset.exposure}
    named = [f"{k}={v!r}" if isinstance(v, str) else k for k, v in given.items() if v]
    return " and ".join(named) or "no offset"


def check_same_classes(previous: Model, data: TrainingData) -> None:
    """Raise ValueError unless several targets have the classes of the model that is continued."""
    old, new = (
        None if targets is None else [classes.tolist() for classes in targets]
        for targets in (previous.class_targets, data.class_targets)
    )
    if old != new:
        raise ValueError(
            f"warm_start continues a model of the classes {short_repr(old)} of its targets, but y "
            f"has {short_repr(new)}. {ANEW}"
        )


def _plain_start(init: Any) -> Any:
    """Return `init` in a form that can be compared: a word, numbers, or a description."""
    if isinstance(init, str):
        return init
    return repr(init) if hasattr(init, "fit") else np.atleast_1d(init).tolist()


def _loss_parameters(loss: Loss) -> dict[str, Any]:
    """Return the parameters of a loss; all attributes of a custom loss count as parameters."""
    if not type(loss).__module__.startswith("stagewise.losses."):
        return dict(vars(loss))
    return {name: getattr(loss, name) for name in loss.parameter_names}


def _check_same(name: str, before: Any, now: Any) -> None:
    """Raise ValueError if a value has changed; None: it is not known."""
    if before is not None and not equal_values(before, now):
        raise ValueError(
            f"warm_start continues a model with {name}={before!r}, but now it is {now!r}. Leave it "
            "as it was, or fit with warm_start=False to start a new model."
        )


def _listed(n: int, targets: tuple[str, ...] | None) -> str:
    """Return the number of targets and their names."""
    names = "" if targets is None else f" ({', '.join(map(repr, targets))})"
    return f"{n} target{'s' if n > 1 else ''}{names}"

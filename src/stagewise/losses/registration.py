"""Losses of users by name, so that a model file can hold the name; it never holds code."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any, TypeVar

from stagewise.errors import InvalidParameterError
from stagewise.losses.base import Loss
from stagewise.losses.function import FunctionLoss, function_name

__all__ = [
    "LOSS_FORMS",
    "custom_loss",
    "is_registered",
    "make_registered",
    "not_registered",
    "register_loss",
    "registered_name",
    "saved_loss",
]

LOSS_FORMS = "a registered name, a stagewise.Loss, or a function (y, score) -> (gradient, hessian)"
"""What the parameter `loss` may be besides the names of this library, for messages."""

Registered = type[Loss] | Callable[..., Any]
T = TypeVar("T")

_REGISTERED: dict[str, Registered] = {}


def register_loss(loss: T) -> T:
    """Register a loss by its name, so that models with it can be saved to files and loaded.

    It can be used as a decorator. A file has the name and the parameters of the loss, and no code:
    the process that loads it must have registered a loss of that name, too. A registered name can
    also be passed as the parameter `loss`.

    Parameters
    ----------
    loss : class derived from Loss, or function
        A class is registered by its attribute `name`, a function by its `__name__`. The parameters
        of the constructor of a class must be attributes of the same names, and plain values:
        numbers, text, None, or lists and dictionaries of them.

    Returns
    -------
    class or function
        The same, so that the function is a decorator.

    Raises
    ------
    ValueError
        If the name is that of a loss of this library, or of another registered loss. The same
        class or function may be defined and registered again, as a notebook does.
    """
    name = _own_name(loss)
    _check_name(name)
    known = _REGISTERED.get(name)
    if known is not None and known is not loss and _origin(known) != _origin(loss):
        raise ValueError(
            f"Another loss is registered as {name!r}: {_origin(known)}. Use another name."
        )
    kind: Any = loss
    if not isinstance(loss, type):
        FunctionLoss(kind)  # its signature is checked
    _REGISTERED[name] = kind
    return loss


def _own_name(loss: Any) -> str:
    if isinstance(loss, Loss):
        raise TypeError(
            f"A loss is registered by its class: stagewise.register_loss({type(loss).__name__})."
        )
    if isinstance(loss, type) and issubclass(loss, Loss):
        if loss.name == "custom":
            raise ValueError(
                f"The class {loss.__name__} has no name. Define its attribute `name`, for example "
                f'name = "{loss.__name__.lower()}".'
            )
        return loss.name
    if isinstance(loss, type) or not callable(loss):
        raise TypeError(
            "register_loss takes a class derived from stagewise.Loss, or a function (y, score) -> "
            f"(gradient, hessian); got {loss!r}."
        )
    return function_name(loss)


def _check_name(name: str) -> None:
    # Imported late: the package imports this module.
    from stagewise.losses import CLASSIFICATION_LOSSES, RANKING_LOSSES, REGRESSION_LOSSES

    if name in {*REGRESSION_LOSSES, *CLASSIFICATION_LOSSES, *RANKING_LOSSES, "custom"}:
        raise ValueError(
            f"{name!r} is the name of a loss of this library, which cannot be replaced. Use "
            "another name."
        )
    if not name.isidentifier():
        raise ValueError(
            f"A loss cannot be registered as {name!r}: a name consists of letters, digits and "
            "underscores. Define a function by `def`, or give a class another `name`."
        )


def _origin(loss: Any) -> str:
    kind = loss if hasattr(loss, "__qualname__") else type(loss)
    return f"{kind.__module__}.{kind.__qualname__}"


def registered_name(loss: Any) -> str | None:
    """Return the name of a loss, of its class or of a function; None: it is not registered."""
    if isinstance(loss, FunctionLoss):
        loss = loss.function
    kind = type(loss) if isinstance(loss, Loss) else loss
    return next((name for name, own in _REGISTERED.items() if own is kind), None)


def is_registered(name: str) -> bool:
    """Return whether a name is that of a registered loss."""
    return name in _REGISTERED


def custom_loss(loss: Any, link: Loss | None = None) -> Loss | None:
    """Return the loss of an object, a function or a registered name; None: it is none of these.

    Parameters
    ----------
    loss : object
        The parameter `loss` of an estimator.
    link : Loss or None
        The loss of classes whose link a function has; None: the identity.
    """
    if isinstance(loss, Loss):
        return loss
    kind = _REGISTERED.get(loss) if isinstance(loss, str) else loss
    if isinstance(loss, str) and isinstance(kind, type):
        made: Loss = make_registered({"loss": loss})
        return made
    if callable(kind) and (not isinstance(kind, type) or issubclass(kind, Loss)):
        return FunctionLoss(kind, link, registered_name(kind) or "custom")
    return None


def make_registered(saved: dict[str, Any]) -> Any:
    """Return the loss of a file: an object, or a function.

    Parameters
    ----------
    saved : dict
        As `saved_loss` returns it.

    Raises
    ------
    ValueError
        If the name is not registered, or the parameters do not fit.
    """
    parameters = dict(saved)
    name = parameters.pop("loss")
    kind = _REGISTERED.get(name)
    if kind is None:
        raise ValueError(not_registered(name))
    if not isinstance(kind, type):
        return kind
    try:
        return kind(**parameters)
    except TypeError as error:
        raise ValueError(
            f"the loss {name!r}, the class {kind.__name__}, does not accept the parameters "
            f"{parameters!r}: {error}."
        ) from None


def not_registered(name: object) -> str:
    """Return the message for a name that is not registered, with the remedy."""
    return (
        f"the loss {name!r} is not one of this library. If it is a custom loss, define or import "
        "its class or function and call stagewise.register_loss with it before loading the file; a "
        "file holds no code, so the command line cannot use such models."
    )


def saved_loss(loss: Loss | Callable[..., Any]) -> dict[str, Any] | None:
    """Return a registered loss as a file holds it; None: it is not registered.

    Raises
    ------
    InvalidParameterError
        If the loss cannot be made again from its parameters.
    """
    name = registered_name(loss)
    if name is None:
        return None
    if not isinstance(loss, Loss) or isinstance(loss, FunctionLoss):
        return {"loss": name}
    kind = type(loss)
    names = loss.parameter_names or tuple(inspect.signature(kind).parameters)
    label = f"The loss {kind.__name__} cannot be saved to a file: "
    missing = [own for own in names if not hasattr(loss, own)]
    if missing:
        raise InvalidParameterError(
            f"{label}its parameter {missing[0]!r} is not an attribute. Store it in the constructor "
            f"as self.{missing[0]}."
        )
    parameters = {own: getattr(loss, own) for own in names}
    try:
        again = json.loads(json.dumps(parameters))
    except (TypeError, ValueError) as error:
        raise InvalidParameterError(
            f"{label}a parameter is no plain value ({error}). Use numbers, text, or lists."
        ) from None
    if kind(**again) != loss:
        raise InvalidParameterError(
            f"{label}{kind.__name__} with the parameters {parameters!r} is another loss. Every "
            "number that it uses must be a parameter of the constructor."
        )
    return {"loss": name, **parameters}

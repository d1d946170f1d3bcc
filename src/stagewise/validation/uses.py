"""Parameters that have an effect only with some values of others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stagewise.errors import InvalidParameterError
from stagewise.validation.messages import short_repr, warn_caller

__all__ = ["LEAVE_ROWS_OUT", "Use", "check_rows", "check_uses"]


@dataclass(frozen=True)
class Use:
    """Parameters that have an effect only for some values of another parameter.

    Attributes
    ----------
    names : tuple of str
        The parameters.
    of : str
        The other parameter.
    matters : callable
        Returns whether they have an effect with its value.
    remedy : str
        The remedy in the message.
    warns : bool
        Whether a parameter without an effect is a warning rather than an error.
    """

    names: tuple[str, ...]
    of: str
    matters: Callable[[Any], bool]
    remedy: str
    warns: bool = False


USES = (
    Use(
        ("max_bins",),
        "split",
        lambda s: getattr(s, "method", s) in ("histogram", "auto"),
        "set split='histogram'",
    ),
    Use(
        ("alpha_enter", "alpha_remove"),
        "criterion",
        lambda criterion: criterion == "p_value",
        "set criterion='p_value'",
    ),
    # scikit-learn's checks set cv of any estimator that has it.
    Use(("cv",), "criterion", lambda c: c == "cv", "set criterion='cv'", warns=True),
    Use(("alpha_enter",), "direction", lambda d: d != "backward", "set alpha_remove"),
    Use(("alpha_remove",), "direction", lambda d: d != "forward", "set alpha_enter"),
    Use(
        ("validation_fraction",),
        "early_stopping",
        lambda stopping: stopping is True,
        "set early_stopping=True",
    ),
    Use(("learning_rate",), "step_size", lambda size: size is None, "set step_size instead"),
)


def check_uses(estimator: Any, params: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Raise InvalidParameterError, or warn, if a parameter was set that has no effect."""
    estimator_name = type(estimator).__name__
    for use in (*USES, *getattr(estimator, "_uses", ())):
        if use.of not in params or use.matters(params[use.of]):
            continue
        for name in use.names:
            default = defaults[name] if name in params else None
            if name in params and params[name] != default:
                message = (
                    f"The parameter {name!r} of {estimator_name} has no effect with "
                    f"{use.of}={getattr(estimator, use.of)!r}; {use.remedy}, or leave {name!r} at "
                    f"{default!r}. Got {short_repr(params[name])}."
                )
                if not use.warns:
                    raise InvalidParameterError(message)
                warn_caller(message)


LEAVE_ROWS_OUT = ("mvs", "group", "fixed_size")
"""The samplings that need a fraction below 1."""


def check_rows(params: Mapping[str, Any], estimator_name: str) -> None:
    """Raise InvalidParameterError if sampling and out-of-bag estimates cannot be combined."""
    sampling = params.get("sampling", "uniform")
    kind = sampling if isinstance(sampling, str) else type(sampling).__name__.lower()
    kind = "uniform" if kind == "auto" else kind
    name = "max_samples" if "max_samples" in params else "subsample"
    share = params.get(name, 1.0)
    if name == "max_samples" and type(share) is int:
        share = 0.5  # a number of rows, which the fit compares with theirs
    if share == "auto":  # below 1 where it must be
        share = 0.5 if kind in LEAVE_ROWS_OUT else 1.0
    if kind in LEAVE_ROWS_OUT and share >= 1:
        raise InvalidParameterError(
            f"The parameter {name!r} of {estimator_name} must be below 1 with sampling={kind!r}, "
            f"so that rows are left out; got {share:g}."
        )
    if params.get("oob_score") is not True and not callable(params.get("oob_score")):
        return
    if kind == "uniform" and share >= 1 and not params.get("bootstrap"):
        other = ", or bootstrap=True" if "bootstrap" in params else ""
        raise InvalidParameterError(
            f"oob_score=True needs out-of-bag rows: set {name} below 1{other}."
        )
    if kind in ("goss", "mvs"):
        raise InvalidParameterError(
            f"oob_score=True needs rows that were left out at random, but sampling={kind!r} "
            "leaves out rows with small gradients, whose loss does not represent that of other "
            "rows. Set oob_score=False, or sampling='uniform', 'fixed_size', 'bootstrap' or "
            "'group'."
        )

"""The parameters of the rounds of each fit: warm_start continues a model with other ones.

They are the parameters that leaf values follow from, so `refit` needs those of every round. A file
has them as plain values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from stagewise.estimators.parameters.saved_parameters import plain_parameters, read_parameters
from stagewise.validation.equality import equal_values

__all__ = ["RoundParameters", "append_fit", "plain_fits", "read_fits"]

LEAF_PARAMETERS = (
    "learning_rate",
    "response",
    "dropout",
    "l1_regularization",
    "l2_regularization",
    "max_step",
    "path_smoothing",
)
"""The parameters that leaf values follow from, and that warm_start may change."""


@dataclass(frozen=True)
class RoundParameters:
    """The rounds of one fit.

    Attributes
    ----------
    n_rounds : int
        How many of them the model has.
    params : mapping
        The values of `LEAF_PARAMETERS`; absent ones are those of the estimator.
    """

    n_rounds: int
    params: Mapping[str, Any]

    @classmethod
    def of(cls, n_rounds: int, params: Mapping[str, Any]) -> Self:
        """Return the rounds of a fit with these parameters; "auto" counts as absent."""
        own = {name: params[name] for name in LEAF_PARAMETERS if name in params}
        return cls(n_rounds, {k: v for k, v in own.items() if not equal_values(v, "auto")})


def append_fit(
    before: Sequence[RoundParameters], n_rounds: int, params: Mapping[str, Any]
) -> tuple[RoundParameters, ...]:
    """Return the fits of a model of so many rounds, the last of which had these parameters."""
    fits: list[RoundParameters] = []
    left = n_rounds
    for fit in before:  # early stopping may have removed rounds of earlier fits
        fits.append(replace(fit, n_rounds=min(fit.n_rounds, left)))
        left -= fits[-1].n_rounds
    new = RoundParameters.of(left, params)
    if fits and equal_values(dict(fits[-1].params), dict(new.params)):
        return (*fits[:-1], replace(new, n_rounds=left + fits[-1].n_rounds))
    return (*fits, new)


def plain_fits(fits: Sequence[RoundParameters]) -> list[dict[str, Any]]:
    """Return fits as a file holds them."""
    return [{"n_rounds": fit.n_rounds, "params": plain_parameters(fit.params)} for fit in fits]


def read_fits(saved: Any, name: str, n_rounds: int) -> tuple[RoundParameters, ...]:
    """Return fits from those of a file.

    Parameters
    ----------
    saved : list of dict
        As `plain_fits` returns them.
    name : str
        The estimator's class.
    n_rounds : int
        The rounds of the model.

    Raises
    ------
    ValueError
        If they are not the fits of so many rounds.
    """
    wrong = ValueError("the rounds of the fits in the file are not those of the model.")
    if not isinstance(saved, list) or not saved:
        raise wrong
    fits = []
    for fit in saved:
        if not isinstance(fit, dict) or not isinstance(fit.get("params"), dict):
            raise wrong
        if type(fit.get("n_rounds")) is not int or fit["n_rounds"] < 0:
            raise wrong
        fits.append(RoundParameters.of(fit["n_rounds"], read_parameters(fit["params"], name)))
    if sum(fit.n_rounds for fit in fits) != n_rounds:
        raise wrong
    return tuple(fits)

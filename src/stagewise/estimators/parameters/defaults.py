"""The meaning of "auto": defaults that depend on the other parameters.

The rules were chosen by trials on real tables. They are resolved before anything else, so `recipe`,
`fit` and `fit_report_` have the same values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stagewise.estimators.parameters.tree_needs import allows, is_possible
from stagewise.options import FeatureSampling, flatten_options
from stagewise.validation.parameters import RULES
from stagewise.validation.rules import Rule

__all__ = ["RATE", "RATE_RULE", "resolve_auto"]


@dataclass(frozen=True)
class _OrAuto:
    """The values that another rule allows, or "auto"."""

    rule: Rule

    def __call__(self, value: Any) -> Any:
        """Return the value to use, or raise ValueError with the allowed values."""
        if isinstance(value, str) and value == "auto":
            return value
        try:
            return self.rule(value)
        except ValueError as error:
            raise ValueError(f"'auto' or {error}") from None


RATE_RULE: Rule = _OrAuto(RULES["learning_rate"])
"""The rule of a learning rate that may be "auto"."""

RATE, ROUNDS = 0.1, 100
"""ν, and the number of rounds up to which it is used."""
SHARE = 0.7
"""The share of the features that a node may use."""


def resolve_auto(params: Mapping[str, Any], rate: float | None = None) -> dict[str, Any]:
    """Return the parameters with a value in the place of every "auto".

    Parameters
    ----------
    params : mapping
        All of them, checked.
    rate : float or None
        The learning rate of the model that the fit continues, if there is one.
    """
    values = dict(params)
    if params.get("learning_rate") == "auto":
        values["learning_rate"] = _learning_rate(params) if rate is None else rate
    if isinstance(params.get("max_features"), str) and params["max_features"] == "auto":
        drawn = allows(flatten_options(params), "max_features__per_node", SHARE)
        values["max_features"] = FeatureSampling(per_node=SHARE if drawn else None)
    if params.get("category_encoding") == "auto" and not is_possible(
        flatten_options(params), "category_encoding", "target"
    ):
        values["category_encoding"] = "sets"
    return values


def _learning_rate(params: Mapping[str, Any]) -> float:
    """Return ν = 0.1 · min(1, (100 / rounds)^¼).

    With more rounds, smaller steps reach a lower loss (Friedman 2001, section 5), but the best
    number of rounds grows as 1/ν, and the first halving brings most of the improvement. The number
    of rounds of a fit that will be continued is not known: it has the ν of few rounds.
    """
    if params.get("warm_start"):
        return RATE
    return float(RATE * min(1.0, (ROUNDS / params["n_estimators"]) ** 0.25))

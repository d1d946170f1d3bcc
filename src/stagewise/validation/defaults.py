"""What "auto" means: defaults that depend on the other parameters.

The one idea: a default is a rule that trials on real tables have chosen, said once, and turned into
a number before anything else sees it; `recipe`, `fit` and `fit_report_` have the same numbers. Must
not know data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from stagewise.validation.parameters import RULES
from stagewise.validation.rules import Rule
from stagewise.validation.tree_needs import allows, is_possible

__all__ = ["AUTO_RULES", "RATE", "resolve_auto"]


@dataclass(frozen=True)
class _OrAuto:
    """What another rule allows, or "auto"."""

    rule: Rule

    def __call__(self, value: Any) -> Any:
        """Return the value to use, or raise ValueError(what is allowed)."""
        if isinstance(value, str) and value == "auto":
            return value
        try:
            return self.rule(value)
        except ValueError as error:
            raise ValueError(f"'auto' or {error}") from None


AUTO_RULES: Mapping[str, Rule] = MappingProxyType(
    {name: _OrAuto(RULES[name]) for name in ("learning_rate", "columns_per_node")}
)
"""What parameters may be that have such a default."""

RATE, ROUNDS = 0.1, 100
"""ν, and up to how many rounds it is that."""
SHARE = 0.7
"""Of the features, what a node may use."""


def resolve_auto(params: Mapping[str, Any], rate: float | None = None) -> dict[str, Any]:
    """Return the parameters with a number in the place of every "auto".

    Parameters
    ----------
    params : mapping
        All of them, checked.
    rate : float or None
        The learning rate of the model that the fit continues, if there is one.
    """
    numbers = dict(params)
    if params.get("learning_rate") == "auto":
        numbers["learning_rate"] = _learning_rate(params) if rate is None else rate
    if params.get("columns_per_node") == "auto":
        drawn = allows(params, "columns_per_node", SHARE)
        numbers["columns_per_node"] = SHARE if drawn else 1.0
    if params.get("categorical") == "auto" and not is_possible(params, "categorical", "statistics"):
        numbers["categorical"] = "sets"
    return numbers


def _learning_rate(params: Mapping[str, Any]) -> float:
    """Return ν = 0.1 · min(1, (100 / rounds)^¼).

    Who pays for more rounds can have smaller steps (Friedman 2001, section 5), but the rounds that
    are best grow as 1/ν, and most of what there is to gain comes with the first halving. A fit that
    others shall continue does not know how many rounds there will be: it has the ν of few.
    """
    if params.get("warm_start"):
        return RATE
    return float(RATE * min(1.0, (ROUNDS / params["n_estimators"]) ** 0.25))

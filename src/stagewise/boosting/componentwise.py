"""The steps of forward stagewise linear regression along a column.

A step goes to the least-squares slope of the residual on that column alone, or has a small fixed
length. The fit ends when such a step no longer lowers the error.
"""

from __future__ import annotations

import numpy as np

from stagewise.boosting.steps import Step, StepInput, StepResult
from stagewise.linear.componentwise import ComponentTerm

__all__ = ["epsilon_step", "full_step"]

MIN_SHARE = 1e-12
"""Residuals are float32, with 24 bits: a smaller share of their sum of squares is rounding."""
DONE = "no column is correlated with the residual any more"


def full_step(spread: float) -> Step:
    """Return the step to ⟨x_j, r⟩ / ⟨x_j, x_j⟩; `spread` is the target's standard deviation."""

    def step(given: StepInput) -> StepResult:
        term = _term(given)
        if _is_negligible(term, spread) or term.share <= MIN_SHARE:
            return StepResult([], DONE)
        return StepResult([term.value])

    return step


def epsilon_step(epsilon: float, spread: float) -> Step:
    """Return the step ε · sign⟨x_j, r⟩, in standard deviations of y per one of the column.

    Hastie, Tibshirani & Friedman, *The Elements of Statistical Learning*, Algorithm 3.4. A step of
    ε lowers the squared error only if the least-squares step is longer than ε/2.
    """
    length = epsilon * spread

    def step(given: StepInput) -> StepResult:
        term = _term(given)
        if _is_negligible(term, spread) or abs(float(term.value[0])) <= length / 2:
            return StepResult([], f"no step of {epsilon:g} lowers the error any more")
        return StepResult([np.sign(term.value) * length])

    return step


def _term(given: StepInput) -> ComponentTerm:
    assert isinstance(given.term, ComponentTerm)
    return given.term


def _is_negligible(term: ComponentTerm, spread: float) -> bool:
    return not term.value.any() or term.left <= (MIN_SHARE * spread) ** 2

"""How far forward stagewise linear regression goes along a column.

The one idea: all the way to the least-squares slope of the residual on that column alone, or a
small step of fixed length in its direction; and it ends when such a step lowers the error no more.
"""

from __future__ import annotations

import numpy as np

from stagewise.boosting.steps import Step, StepInput, StepResult
from stagewise.linear.componentwise import ComponentTerm

__all__ = ["epsilon_step", "full_step"]

LEAST = 1e-12
"""Residuals have the 24 bits of a float32: a smaller share of their squares is rounding."""
DONE = "no column is correlated with the residual any more"


def full_step(spread: float) -> Step:
    """Return the step to ⟨x_j, r⟩ / ⟨x_j, x_j⟩, of a target with this standard deviation."""

    def step(given: StepInput) -> StepResult:
        term = _term(given)
        if _is_nothing(term, spread) or term.share <= LEAST:
            return StepResult([], DONE)
        return StepResult([term.value])

    return step


def epsilon_step(epsilon: float, spread: float) -> Step:
    """Return the step ε · sign⟨x_j, r⟩, in standard deviations of y for each of the column's.

    Hastie, Tibshirani & Friedman, *The Elements of Statistical Learning*, Algorithm 3.4. A step of
    ε lowers the squared error only if the least-squares step is longer than ε/2.
    """
    length = epsilon * spread

    def step(given: StepInput) -> StepResult:
        term = _term(given)
        if _is_nothing(term, spread) or abs(float(term.value[0])) <= length / 2:
            return StepResult([], f"no step of {epsilon:g} lowers the error any more")
        return StepResult([np.sign(term.value) * length])

    return step


def _term(given: StepInput) -> ComponentTerm:
    assert isinstance(given.term, ComponentTerm)
    return given.term


def _is_nothing(term: ComponentTerm, spread: float) -> bool:
    return not term.value.any() or term.left <= (LEAST * spread) ** 2

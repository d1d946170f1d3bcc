"""Losses from formulas."""

from stagewise.losses.formula.formula_loss import FormulaLoss

__all__ = ["FormulaLoss"]

"""How the number of rounds of a model was chosen, in a sentence."""

from __future__ import annotations

from typing import Any

from stagewise.boosting.monitor import HELD_OUT, OUT_OF_BAG, TRAIN, WORDS
from stagewise.inspection.quality.learning import LearningCurves, learning_curves
from stagewise.metrics import find_metrics
from stagewise.metrics.choice import LOSS

__all__ = ["deciding_metric", "describe_choice", "describe_chosen_rounds"]


def deciding_metric(estimator: Any) -> str:
    """Return the name of the metric that chooses the number of rounds; "loss": the loss does."""
    task = getattr(getattr(estimator, "model_", None), "task", "regression")
    found = find_metrics(getattr(estimator, "eval_metric", None), task)
    return found[0].name if found else LOSS


def describe_choice(estimator: Any, curves: LearningCurves) -> str:
    """Return how many rounds the model has, and which rows and metric chose them.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator.
    curves : LearningCurves
        Its losses.
    """
    unit, kept = curves.unit, curves.chosen
    facts = getattr(estimator, "fit_report_", {})
    by = deciding_metric(estimator)
    choice = facts.get("round_choice")
    if choice is not None:
        folds, held = choice["folds"], choice["held_out_rows"]
        parts = f" in {folds} folds" if folds > 1 else ""
        chosen = f"The {by} of {held:,} held-out rows{parts} chose {choice['best_round']:,} {unit}"
        if choice["best_round"] == kept:
            return f"{chosen}, which the model of all rows has, too."
        return f"{chosen}; the model of all rows has {kept:,}, because it has more rows."
    longest = max(map(len, curves.curves.values()))
    if kept >= longest:
        return f"The model uses all {kept:,} {unit}."
    rows = _rows(estimator, curves)
    return f"The model uses {kept:,} of {longest:,} {unit}, chosen by the {by} of the {rows}."


def describe_chosen_rounds(estimator: Any) -> str:
    """Return the sentence of `describe_choice`; empty: no rows chose the number of rounds."""
    try:
        curves = learning_curves(estimator)
    except (TypeError, ValueError):  # no losses were recorded
        return ""
    given = "round_choice" not in getattr(estimator, "fit_report_", {})
    every = curves.chosen >= max(map(len, curves.curves.values()))
    return "" if given and every else describe_choice(estimator, curves)


def _rows(estimator: Any, curves: LearningCurves) -> str:
    """Return the rows that decided."""
    for name, values in ((HELD_OUT, curves.validation), (OUT_OF_BAG, curves.out_of_bag)):
        if values is not None:
            return f"{WORDS[name]} rows"
    names = [name for name in getattr(estimator, "evals_result_", {}) if name != TRAIN]
    return f"rows of {names[0]!r}" if names else "held-out rows"

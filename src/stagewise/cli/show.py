"""``stagewise show``: show the contents of a model file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from stagewise.cli.models import (
    learning_rate_of,
    n_categories_of,
    names_of,
    open_model,
    saved_target_name,
)
from stagewise.cli.parameters import parameter_names
from stagewise.cli.screen import Screen, amount, format_value
from stagewise.losses.words import loss_words

__all__ = ["add_arguments", "describe", "run", "top_importances"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", type=Path, help="a model file written by train")
    parser.add_argument(
        "--top",
        type=int,
        default=20,
        metavar="N",
        help="number of features in the chart (default: 20)",
    )


def run(args: argparse.Namespace, screen: Screen) -> None:
    """Print the contents of a model."""
    estimator = open_model(args.model)
    facts = describe(estimator, args.model)
    screen.result(facts)

    head = {
        name: facts[name]
        for name in ("task", "target", "targets", "loss")
        if facts[name] is not None
    }
    if facts["classes"] is not None:
        head["classes"] = ", ".join(str(label) for label in facts["classes"])
    linear = facts["coefficients"] is not None
    if not linear:
        head["rounds"] = facts["rounds"]
        if facts["learning_rate"] is not None:
            head["learning rate"] = facts["learning_rate"]
        head["trees"] = (
            f"{facts['trees']:,} with {facts['leaves']:,} leaves, depth at most {facts['depth']}"
        )
    head["features"] = facts["features"]
    head |= {name: facts[name] for name in ("offset", "exposure") if facts[name]}
    if facts["categories"]:
        head["categories"] = facts["categories"]
    for name in ("train loss", "validation loss"):
        losses = facts[name.replace(" ", "_")]
        if losses:
            words = loss_words(facts["loss"])
            head[name] = f"{_loss_range(losses, facts['rounds'])} ({words})"
    head["fingerprint"] = facts["fingerprint"]
    head["file size"] = f"{facts['bytes']:,} bytes"
    screen.pairs(str(args.model), head)
    screen.line()
    if linear:
        _show_coefficients(estimator, facts["coefficients"], screen)
    else:
        screen.bars("Importance (share of the total gain)", top_importances(estimator, args.top))
        used = int(np.count_nonzero(estimator.feature_importances_))
        screen.line(f"  {amount(used, 'feature')} of {facts['features']:,} used")
    screen.line()
    screen.pairs("Parameters", facts["parameters"])


def _loss_range(losses: list[float], n_rounds: int) -> str:
    """Return the first loss, that of the last round that is kept, and the smallest one."""
    first, kept, best = losses[0], losses[:n_rounds][-1], min(losses)
    shown = f"{format_value(first)} → {format_value(kept)}"
    return shown if best == kept else f"{shown} (smallest {format_value(best)})"


def describe(estimator: Any, path: Path) -> dict[str, Any]:
    """Return the contents of a model as one dictionary."""
    model = estimator.model_
    flat = model.ensemble.flat()
    parameters = estimator.get_params(deep=False)
    return {
        "task": model.task,
        "target": saved_target_name(path),
        "targets": None if model.targets is None else ", ".join(model.targets),
        "loss": model.loss,
        "classes": None if model.classes is None else model.classes.tolist(),
        "rounds": getattr(estimator, "best_iteration_", model.ensemble.n_rounds),
        "learning_rate": learning_rate_of(estimator),
        "trees": len(model.ensemble.trees),
        "leaves": int(np.count_nonzero(flat["feature"] < 0)),
        "depth": max((int(t.depths.max()) for t in model.ensemble.trees), default=0),
        "features": len(names_of(estimator)),
        "offset": model.row_offset.offset or None,
        "exposure": model.row_offset.exposure or None,
        "categories": n_categories_of(estimator),
        "coefficients": coefficients_of(estimator),
        "importance": None if hasattr(estimator, "coef_") else top_importances(estimator, top=None),
        "train_loss": model.train_loss.tolist(),
        "validation_loss": model.valid_loss.tolist(),
        "parameters": {name: parameters[name] for name in parameter_names(type(estimator))},
        "fingerprint": estimator.fingerprint(),
        "bytes": path.stat().st_size,
    }


def coefficients_of(estimator: Any) -> dict[str, float] | None:
    """Return the coefficients of a linear model; None for other models."""
    if not hasattr(estimator, "coef_"):
        return None
    named = dict(zip(estimator.coef_names_, estimator.coef_.tolist(), strict=True))
    return {"intercept": float(estimator.intercept_), **named}


def _show_coefficients(estimator: Any, named: dict[str, float], screen: Screen) -> None:
    """Print the summary of a linear model, or its coefficients if it has no summary."""
    if not hasattr(estimator, "summary"):
        screen.pairs("Coefficients", named)
        return
    for line in estimator.summary().splitlines():
        screen.line(line)


def top_importances(estimator: Any, top: int | None) -> dict[str, float]:
    """Return features and their importance, the most important first."""
    shares = np.asarray(estimator.feature_importances_, dtype=np.float64)
    names = names_of(estimator)
    order = np.argsort(-shares, kind="stable")[:top]
    return {names[k]: float(shares[k]) for k in order if top is None or shares[k] > 0}

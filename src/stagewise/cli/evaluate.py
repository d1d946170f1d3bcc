"""``stagewise evaluate``: score a saved model on rows with known targets."""

from __future__ import annotations

import argparse
from typing import Any

from stagewise.cli.evaluation_data import add_evaluation_arguments, read_evaluation_data
from stagewise.cli.scoring.score_table import ScoreTable
from stagewise.cli.screen import Screen, amount

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_evaluation_arguments(parser)


def run(args: argparse.Namespace, screen: Screen) -> None:
    """Predict, and print the scores."""
    data = read_evaluation_data(args)
    table = ScoreTable.of_rows(data.estimator, data.features, data.y, data.target, data.weight)
    table.show(f"{args.model.name} on {amount(len(data.y), 'row')} of {args.data.name}", screen)
    if table.per_class:
        screen.line()
        screen.table("Each class", table.per_class)
    result: dict[str, Any] = {"task": data.estimator.model_.task, "target": data.target}
    result |= {"rows": len(data.y), "scores": table.values(), "baseline": table.baselines()}
    screen.result(result | ({"classes": table.per_class} if table.per_class else {}))

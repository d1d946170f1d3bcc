"""Warnings of base estimators that are shown once for all of them."""

from __future__ import annotations

import re

from stagewise.validation.messages import CollectedWarning, warn_caller

__all__ = ["warn_of_common"]


def _without_numbers(message: str) -> str:
    """Return a message without its numbers, which differ from bag to bag."""
    return re.sub(r"\d+", "0", message)


def warn_of_common(collected: list[list[CollectedWarning]], shown: list[CollectedWarning]) -> None:
    """Warn once if all base estimators gave a warning; other warnings are about single bags."""
    forms = ({_without_numbers(message) for message, _ in warnings} for warnings in collected)
    common = set.intersection(*forms) - {_without_numbers(message) for message, _ in shown}
    for message, category in collected[0]:
        form = _without_numbers(message)
        if form not in common:
            continue
        common.remove(form)
        same = all((message, category) in warnings for warnings in collected)
        warn_caller(message if same else f"In the first bag: {message}", category)

"""A reader of `export_json` in pure Python: the scores of one row."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import Any

__all__ = ["scores"]

UNKNOWN = object()
"""A category that the model does not have."""


def scores(model: dict[str, Any], row: dict[str, Any]) -> list[float]:
    """Return F(x) of every output; a missing value is None, a date its nanoseconds."""
    cells: list[Any] = [
        _cell(feature, row, model["handle_unknown"]) for feature in model["features"]
    ]
    for derived in model["derived"]:
        cells += _derived(model, derived, [cells[j] for j in derived["sources"]])
    total = list(model["base"])
    for tree in model["trees"]:
        leaf = _leaf(tree["nodes"], cells)
        value = leaf["value"]
        if "linear" in leaf:
            value = _line(leaf["linear"], model, cells, value)
        outputs = range(len(total)) if tree["output"] is None else [tree["output"]]
        for k, v in zip(outputs, value if isinstance(value, list) else [value], strict=True):
            total[k] += v
    return total


def _cell(feature: dict[str, Any], row: dict[str, Any], handle_unknown: str) -> Any:
    value = row[feature["name"]]
    if value is None or value in feature.get("categories", [value]):
        return value
    return UNKNOWN if handle_unknown == "prior" else None


def _leaf(nodes: list[dict[str, Any]], cells: list[Any]) -> Any:
    node = nodes[0]
    while "feature" in node:
        x = cells[node["feature"]]
        if "threshold" in node:
            limit = node["threshold"]  # an integer is compared exactly
            limit = float(limit) if isinstance(limit, str) else limit
            side = None if x is None else "left" if x <= limit else "right"
        else:
            side = "left" if x in node["categories"] else "right"
            side = node["unknown"] if x is UNKNOWN else None if x is None else side
        node = nodes[node[side or node["missing"]]]
    return node


def _line(line: dict[str, Any], model: dict[str, Any], cells: list[Any], constant: float) -> float:
    v = line["intercept"]
    for term in line["terms"]:
        x = cells[term["feature"]]
        if x is not None and "cuts" in model["features"][term["feature"]]:
            x = bisect_left(model["features"][term["feature"]]["cuts"], x)
        v += term["slope"] * ((math.nan if x is None else x) - term["centre"])
    if math.isnan(v) or (math.isinf(v) and not line["infinite_gives_bound"]):
        return constant
    v = min(max(v, float(line["low"])), float(line["high"]))
    return round(v / line["grain"]) * line["grain"] if line["grain"] > 0 else v


def _derived(model: dict[str, Any], derived: dict[str, Any], cells: list[Any]) -> list[Any]:
    if derived["operation"] == "target_encoding":
        key = 0
        for j, x in zip(derived["sources"], cells, strict=True):
            known = model["features"][j]["categories"]
            digit = len(known) + 1 if x is None else len(known)
            digit = known.index(x) if x in known else digit
            key = key * (len(known) + 2) + digit
        if len(cells) > 1:
            key = derived["keys"].index(key) if key in derived["keys"] else len(derived["keys"])
        return [values[key] for values in derived["values"]]
    if None in cells:
        return [None]
    a, b = cells
    if derived["operation"] == "ratio":
        found = a / b if b else math.nan
    else:
        found = a - b if derived["operation"] == "difference" else a * b
    return [found if math.isfinite(found) else None]

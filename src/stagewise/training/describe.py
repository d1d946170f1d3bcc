"""What a fit will run, in one line.

The one idea: parts in the order of the recipe, and of the trees only what is not as usual. Must not
look at data.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from stagewise.training.sampling_options import make_dropout, make_sampling

__all__ = ["STOPPED", "describe", "tree_words"]

STOPPED = MappingProxyType(
    {False: "", True: " at most, by held-out rows", "cv": " at most, as many as folds choose"}
)
"""What a recipe says of the number of rounds."""
UNUSUAL = MappingProxyType(
    {
        "random_thresholds": "random thresholds",
        "monotonic_cst": "monotone",
        "interaction_cst": "limited interactions",
        "forced_splits": "forced splits",
        "path_smoothing": "smoothed paths",
    }
)
"""What a recipe says of its trees where these parameters are set."""


def describe(p: Mapping[str, Any], loss: str, method: str) -> str:
    """Return loss x step x trees x rows x rounds.

    Parameters
    ----------
    p : mapping
        All parameters, checked.
    loss, method : str
        What the loss is called, and what the method says of itself.
    """
    size = [f"at most {p['max_leaf_nodes']} leaves"] if p["max_leaf_nodes"] else []
    size += [f"depth at most {p['max_depth']}"] if p["max_depth"] else []
    penalties = [
        f"{symbol}={p[name]:g}"
        for symbol, name in (
            ("λ", "l2_regularization"),
            ("α", "l1_regularization"),
            ("γ", "min_gain"),
        )
        if p[name] > 0
    ]
    if p.get("leaves", "constant") == "linear":
        penalties.append(f"λ of slopes={p['linear_l2']:g}")
    kind = [
        f"{p[name]:g} of the columns a {name.removeprefix('columns_per_')}"
        for name in ("columns_per_tree", "columns_per_level", "columns_per_node")
        if p.get(name, 1.0) < 1
    ]
    kind += [words for name, words in UNUSUAL.items() if _is_set(p.get(name))]
    kind += ["statistics of levels"] if p.get("categorical") == "statistics" else []
    kind += ["vector leaves"] if p.get("multi_output", "trees") == "vector" else []
    kind += ["linear leaves"] if p.get("leaves", "constant") == "linear" else []
    kind += [f"{p['split']} splits"] if p.get("split", "histogram") != "histogram" else []
    return (
        f"{loss} x {method} x trees "
        f"({', '.join([p['growth'].replace('_', '-'), *kind, *size, *penalties])}) x "
        f"{make_sampling(p).words} x {p['n_estimators']} rounds{STOPPED[p['early_stopping']]}, "
        f"ν={p['learning_rate']:g}{make_dropout(p).words}"
    )


def tree_words(p: Mapping[str, Any]) -> list[str]:
    """Return how trees are grown that are averaged, or are alone.

    Parameters
    ----------
    p : mapping
        All parameters, checked.
    """
    limits = [f"at most {p['max_leaf_nodes']} leaves"] if p["max_leaf_nodes"] else []
    limits += [f"depth at most {p['max_depth']}"] if p["max_depth"] else []
    least = p["min_samples_leaf"]
    limits += [f"at least {least:g} rows a leaf"] if least > 1 else []
    lower = p["min_impurity_decrease"]
    limits += [f"impurity lowered by {lower:g}"] if lower > 0 else []
    return [
        f"{p['split']} splits",
        *(["random thresholds"] if p["random_thresholds"] else []),
        *_features_a_node(p["max_features"]),
        *(limits or ["grown until pure"]),
    ]


def _features_a_node(max_features: Any) -> list[str]:
    if max_features is None:
        return []
    if isinstance(max_features, int):
        return [f"{max_features} feature{'' if max_features == 1 else 's'} a node"]
    if isinstance(max_features, float):
        return [f"{max_features:g} of the features a node"] if max_features < 1 else []
    number = {"sqrt": "√p", "log2": "log₂ p", "third": "p/3"}[max_features]
    return [f"{number} features a node"]


def _is_set(value: Any) -> bool:
    return value is not None and not (isinstance(value, (bool, float)) and not value)

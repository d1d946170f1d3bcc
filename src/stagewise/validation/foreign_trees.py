"""Defaults of other libraries that change the meaning of a call.

XGBoost grows trees level by level and CatBoost grows symmetric ones, so their depth limits other
trees than ours. LightGBM draws rows only with a frequency.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from stagewise.validation.foreign_losses import FOREIGN_LOSSES
from stagewise.validation.foreign_names import FOREIGN_NAMES

__all__ = ["OBJECTIVES", "notes_about_defaults", "tree_shape"]

OBJECTIVES = ("objective", "loss_function")
"""The names that other libraries have for the parameter `loss`."""

LIGHTGBM, XGBOOST, CATBOOST = "LightGBM", "XGBoost", "CatBoost"
LEVELS = {"grow_policy": "'depth_wise'", "max_leaf_nodes": "None"}
"""The trees of XGBoost, besides their depth."""
DEEPEST = 16
"""The largest depth of CatBoost."""
FRACTIONS = ("subsample", "bagging_fraction", "sub_row")
FREQUENCIES = ("subsample_freq", "bagging_freq")
LEAVES = ("max_leaf_nodes", "num_leaves", "max_leaves")


def tree_shape(
    passed: Mapping[str, Any], known: Collection[str], arguments: Mapping[str, str]
) -> dict[str, str]:
    """Return the arguments that give the trees of another library; empty: none are needed.

    Parameters
    ----------
    passed : mapping of str
        The parameters that were passed.
    known : collection of str
        The parameters of the estimator.
    arguments : mapping of str
        The arguments here so far.
    """
    if not {*LEVELS, "max_depth"} <= set(known) or "max_depth" not in arguments:
        return {}
    libraries = _libraries(passed, known)
    depth, policy = passed.get("depth", passed.get("max_depth")), arguments.get("grow_policy")
    shape: dict[str, str] = {}
    if libraries in ({XGBOOST}, {XGBOOST, CATBOOST}) and policy in (None, LEVELS["grow_policy"]):
        shape = LEVELS
    elif libraries == {CATBOOST} and policy in (None, "'symmetric'") and _is_depth(depth):
        shape = {"grow_policy": "'symmetric'", "max_leaf_nodes": str(2**depth)}
    return {name: text for name, text in shape.items() if name not in arguments}


def notes_about_defaults(
    passed: Mapping[str, Any], known: Collection[str], arguments: Mapping[str, str]
) -> list[str]:
    """Return sentences about defaults of other libraries; the arguments are as in `tree_shape`."""
    libraries = _libraries(passed, known)
    notes = []
    either = {LIGHTGBM, XGBOOST} <= libraries and {*LEVELS, "max_depth"} <= set(known)
    if either and "max_depth" in arguments and not {*LEVELS} & set(arguments):
        shape = ", ".join(f"{name}={text}" for name, text in LEVELS.items())
        notes.append(f"  Trees of XGBoost grow level by level: for them, add {shape}.")
    if draws_no_rows(passed, known):
        notes.append(
            "  LightGBM draws no rows without bagging_freq=1, so subsample is left out; here a "
            "fraction below 1 draws rows in every round."
        )
    elif LIGHTGBM in libraries and draws_no_rows(passed, known, {LIGHTGBM}):
        notes.append(
            "  LightGBM draws no rows without bagging_freq=1 (XGBoost draws them always); for its "
            "model, leave subsample out."
        )
    return notes


def draws_no_rows(
    passed: Mapping[str, Any], known: Collection[str], libraries: Collection[str] = ()
) -> bool:
    """Return whether a fraction of rows has no effect in LightGBM, the library of the call.

    `libraries` are those of the call; empty: by its names.
    """
    own = set(libraries) or _libraries(passed, known)
    fraction = any(name in passed for name in FRACTIONS)
    return own == {LIGHTGBM} and fraction and not any(passed.get(name) for name in FREQUENCIES)


def _is_depth(value: Any) -> bool:
    return isinstance(value, int) and 0 < value <= DEEPEST


def _libraries(passed: Mapping[str, Any], known: Collection[str]) -> set[str]:
    """Return the libraries that have all names and objectives of a call that are not ours."""
    named = [
        set(FOREIGN_NAMES[name].libraries)
        for name in passed
        if name not in known and name in FOREIGN_NAMES
    ]
    for name in OBJECTIVES:
        loss = FOREIGN_LOSSES.get(str(passed.get(name)).lower())
        named += [set(loss.libraries.replace(" and ", ", ").split(", "))] if loss else []
    return set.intersection(*named) if named else set()

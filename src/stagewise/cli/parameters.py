"""Estimator parameters from a TOML file and from the command line.

The signature of the estimator is the list of parameters; the estimator checks their values.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stagewise.cli.errors import InputError, did_you_mean

__all__ = ["parameter_names", "parse_setting", "read_parameters"]

# Not available: objects, and parameters that the command line sets.
_NOT_HERE = {"callbacks", "verbose", "warm_start"}


def parameter_names(estimator: type) -> list[str]:
    """Return the parameters of an estimator that can be set, in the order of its signature."""
    return [name for name in inspect.signature(estimator).parameters if name not in _NOT_HERE]


def read_parameters(path: Path | None, settings: Sequence[str], estimator: type) -> dict[str, Any]:
    """Return parameters from a file, overridden by ``name=value`` settings.

    Parameters
    ----------
    path : Path or None
        A TOML file of ``name = value`` lines.
    settings : sequence of str
        Such as ``"learning_rate=0.05"``.
    estimator : type
        The class of the estimator; an unknown name is an error that suggests the nearest.
    """
    known = parameter_names(estimator)
    parameters: dict[str, Any] = {}
    if path is not None:
        for name, value in _read_toml(path).items():
            _check_name(name, known, f"{str(path)!r}")
            parameters[name] = value
    for setting in settings:
        name, value = parse_setting(setting)
        _check_name(name, known, "--set")
        parameters[name] = value
    return parameters


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"There is no parameter file {str(path)!r}; check --params.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{str(path)!r} cannot be read: {error}.") from error
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            f"{str(path)!r} is not valid TOML: {error}; write lines such as learning_rate = 0.05."
        ) from error


def parse_setting(setting: str) -> tuple[str, Any]:
    """Split ``name=value``; the value is parsed as TOML, or else is plain text.

    Examples
    --------
    >>> parse_setting("max_depth=4"), parse_setting("loss=absolute_error")
    (('max_depth', 4), ('loss', 'absolute_error'))
    """
    name, sign, text = setting.partition("=")
    name, text = name.strip(), text.strip()
    if not sign or not name or not text:
        raise InputError(f"--set takes name=value, such as learning_rate=0.05, not {setting!r}.")
    if text in ("none", "None"):
        return name, None
    try:
        return name, tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        # Accept Python's spelling of booleans.
        return name, {"True": True, "False": False}.get(text, text)


def _check_name(name: str, known: Sequence[str], where: str) -> None:
    if name in known:
        return
    hint = did_you_mean(name, known)
    remedy = "" if hint else f"; the parameters are {', '.join(known)}"
    raise InputError(f"{where} has an unknown parameter {name!r}{hint}{remedy}.")

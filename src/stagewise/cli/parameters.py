"""Estimator parameters from a TOML file and from the command line.

The signature of the estimator is the list of parameters; the estimator checks their values.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from stagewise.cli.errors import InputError, did_you_mean
from stagewise.losses import CLASSIFICATION_LOSSES, REGRESSION_LOSSES, Loss
from stagewise.validation.parameters import name_hint, option_classes

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
        Such as ``"learning_rate=0.05"``, or ``"sampling__top=0.3"`` for sampling=Goss(top=0.3).
    estimator : type
        The class of the estimator; an unknown name is an error that suggests the nearest.
    """
    parameters: dict[str, Any] = {}
    if path is not None:
        for name, value in _read_toml(path).items():
            _check_name(name, estimator, f"{str(path)!r}")
            parameters[name] = value
    for setting in settings:
        name, value = parse_setting(setting)
        _check_name(name, estimator, "--set")
        parameters[name] = value
    return _with_options(parameters, estimator)


def _with_options(parameters: Mapping[str, Any], estimator: type) -> dict[str, Any]:
    """Return parameters in which option objects take the place of names such as sampling__top."""
    plain = {name: value for name, value in parameters.items() if "__" not in name}
    nested: dict[str, dict[str, Any]] = {}
    for name, value in parameters.items():
        parameter, sign, own = name.partition("__")
        if sign:
            nested.setdefault(parameter, {})[own] = value
    for parameter, numbers in nested.items():
        if parameter == "loss":
            plain["loss"] = _loss(plain.get("loss"), numbers)
        else:
            plain[parameter] = _option(parameter, numbers, plain, estimator)
    return plain


def _loss(name: Any, own: Mapping[str, Any]) -> Loss:
    """Return a loss with parameters of its own, such as loss=focal with loss__gamma=3."""
    numbers = dict(own)
    if name in (None, "formula") and "formula" in own:
        return Loss.from_formula(str(numbers.pop("formula")), **numbers)
    kind: Any = REGRESSION_LOSSES.get(str(name))
    if str(name) in CLASSIFICATION_LOSSES:
        kind = type(CLASSIFICATION_LOSSES[str(name)](2))
    known = () if kind is None else kind.parameter_names
    unknown = [parameter for parameter in own if parameter not in known]
    if kind is None or unknown:
        raise InputError(
            f"loss__{(unknown or list(own))[0]} is no parameter of loss={name}"
            f"{': it has ' + ', '.join(known) if known else ''}. Leave it out, or give a formula: "
            "--set 'loss__formula=exp(f) - y*f' --set loss__y=count."
        )
    found: Loss = kind(**own)
    return found


def _option(
    parameter: str, own: Mapping[str, Any], plain: Mapping[str, Any], estimator: type
) -> Any:
    """Return the option with some parameters of its own.

    It is that of the word that was set, such as sampling=goss, or of the estimator's default;
    otherwise the one that has these parameters.
    """
    rule = estimator._rules[parameter]  # type: ignore[attr-defined]  # noqa: SLF001
    default = inspect.signature(estimator).parameters[parameter].default
    kinds = option_classes(parameter, own, estimator)
    with suppress(ValueError):
        option = rule(plain.get(parameter, default))
        if type(option) in kinds:
            return option.set_params(**own)
    if parameter in plain or not kinds:
        names = " and ".join(f"{parameter}__{name}" for name in own)
        other = f"with {parameter}={plain[parameter]}" if parameter in plain else "together"
        raise InputError(f"{names} cannot be set {other}; leave one of them out.")
    return kinds[0](**own)


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


def _check_name(name: str, estimator: type, where: str) -> None:
    """Raise InputError unless an estimator, or an option of it, has a parameter."""
    known = parameter_names(estimator)
    parameter, sign, own = name.partition("__")
    if name in known or (parameter == "loss" and sign and "loss" in known):
        return
    if sign and option_classes(parameter, [own], estimator):
        return
    if name in _NOT_HERE:
        raise InputError(f"{where} cannot set the parameter {name!r}; leave it out.")
    kinds = option_classes(parameter, [], estimator) if sign else []
    if kinds:
        others = [f"{parameter}__{n}" for k in kinds for n in inspect.signature(k).parameters]
        hint = did_you_mean(name, others) or f"; it has {', '.join(others)}"
        raise InputError(f"{where} has an unknown parameter {name!r}{hint}.")
    # In Python: sampling=Goss(top=...).
    hint = re.sub(r"(\w+)=[A-Z]\w+\((\w+)=(\S+)\)", r"\1__\2=\3", name_hint(name, estimator, known))
    remedy = "" if hint else f" The parameters are {', '.join(known)}."
    raise InputError(f"{where} has an unknown parameter {name!r}.{hint}{remedy}")

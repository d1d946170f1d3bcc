"""Completes the docstrings of estimators: every parameter is documented in place, in groups.

A docstring may have an entry of several names whose text is "As in `Other`". Here it is replaced by
the entries of the class `Other`, with the defaults of the class itself. Each text is written once.
Parameters are grouped by what they control, under lines such as "**Trees**". A file of docs/ is the
name of its page, since an installed package does not have the file.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

__all__ = ["GROUPS", "complete_docstrings"]

GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Trees": (
            *("max_leaf_nodes", "max_depth", "min_samples_leaf", "min_samples_split"),
            *("min_weight_fraction_leaf", "min_impurity_decrease", "min_hessian", "min_gain"),
            *("l1_regularization", "l2_regularization", "max_step", "leaves", "grow_policy"),
            *("path_smoothing", "split", "max_bins"),
        ),
        "Pruning": ("pruning", "ccp_alpha", "ccp_cv", "one_standard_error"),
        "Sampling of rows and features": (
            *("max_features", "subsample", "sampling", "resample", "bootstrap", "max_samples"),
            *("bootstrap_features", "oob_score", "dropout"),
        ),
        "Constraints": ("monotonic_cst", "interaction_cst", "feature_penalty"),
        "Missing values and categories": (
            *("missing_values", "missing_strategy", "categorical_features"),
            *("category_encoding", "handle_unknown"),
        ),
        "Stopping": (
            *("early_stopping", "validation_fraction", "n_iter_no_change", "tol", "eval_metric"),
            *("cv", "time_limit"),
        ),
        "Intervals and calibration": ("conformal", "calibration"),
        "Computation": ("warm_start", "random_state", "n_jobs", "verbose", "callbacks"),
    }
)
"""The groups of parameters; those before the first group define the model."""
MIN_GROUPED = 12
"""Fewer parameters are not grouped."""

_GROUP_OF = {name: place for place, names in enumerate(GROUPS.values()) for name in names}
_AS_IN = re.compile(r"As in `(\w+)`[;.,]?\s*(.*)", re.DOTALL)
_PAGE = re.compile(r"(?<![/\w])docs/(?:\w+/)*([\w-]+)\.md")
_SECTION = re.compile(r"^(Parameters|Attributes)\n-+\n(.*?)(?=\n\n\w[\w ]*\n---|\Z)", re.M | re.S)


@dataclass(frozen=True)
class _Entry:
    """Names, the type with its default, and the text of an entry."""

    names: tuple[str, ...]
    kind: str
    body: str

    def text(self) -> str:
        head = ", ".join(self.names) + (f" : {self.kind}" if self.kind else "")
        return f"{head}\n{self.body}"


def complete_docstrings(classes: Mapping[str, type]) -> None:
    """Replace the entries "As in `Other`" of these classes, which may refer to each other."""
    for cls in classes.values():
        if cls.__doc__:  # none with python -OO
            cls.__doc__ = _completed(cls, classes)


def _completed(cls: type, classes: Mapping[str, type]) -> str:
    def section(match: re.Match[str]) -> str:
        title = match[1]
        entries = _section_entries(cls, title, classes)
        texts = [entry.text() for entry in entries]
        if title == "Parameters" and len(entries) >= MIN_GROUPED:
            texts = _grouped(entries)
        return f"{title}\n{'-' * len(title)}\n" + "\n".join(texts)

    completed = _SECTION.sub(section, inspect.cleandoc(cls.__doc__ or ""))
    return _PAGE.sub(r'the page "\1"', completed)


def _grouped(entries: list[_Entry]) -> list[str]:
    """Return the texts of entries, group by group, with the name of each group before it."""
    places = [_GROUP_OF.get(entry.names[0], -1) for entry in entries]
    texts = [entry.text() for entry, place in zip(entries, places, strict=True) if place < 0]
    for number, title in enumerate(GROUPS):
        own = [
            entry.text() for entry, place in zip(entries, places, strict=True) if place == number
        ]
        texts += [f"\n**{title}**\n", *own] if own else []
    return texts


def _section_entries(cls: type, title: str, classes: Mapping[str, type]) -> list[_Entry]:
    """Return the entries of a section; parameters are in the order of the signature."""
    found = {m[1]: m[2] for m in _SECTION.finditer(inspect.cleandoc(cls.__doc__ or ""))}
    signature = inspect.signature(cls).parameters
    entries: list[_Entry] = []
    for entry in _split(found.get(title, "")):
        refers = _AS_IN.match(inspect.cleandoc(entry.body))
        if refers is None or refers[1] not in classes:
            entries.append(entry)
            continue
        for other in _section_entries(classes[refers[1]], title, classes):
            names = tuple(name for name in other.names if name in entry.names)
            if names:
                defaults = signature if title == "Parameters" else {}
                own = _adapted(other, names, defaults, refers[2])
                entries.append(replace(own, kind=entry.kind) if entry.kind else own)
    if title == "Parameters":
        order = list(signature)
        entries.sort(key=lambda e: order.index(e.names[0]) if e.names[0] in order else len(order))
    return entries


def _split(section: str) -> list[_Entry]:
    """Return the entries of a section."""
    entries: list[_Entry] = []
    for part in re.split(r"\n(?=\S)", section):
        head, _, body = part.partition("\n")
        names, _, kind = head.partition(" : ")
        entries.append(
            _Entry(tuple(name.strip() for name in names.split(",")), kind, body.rstrip())
        )
    return [entry for entry in entries if entry.names != ("",)]


def _adapted(
    entry: _Entry, names: tuple[str, ...], signature: Mapping[str, Any], addition: str
) -> _Entry:
    """Return the entry of another class with the defaults of this one, and an addition."""
    kind, body = entry.kind, entry.body
    if "default=" in kind and all(name in signature for name in names):
        defaults = [repr(signature[name].default).replace("'", '"') for name in names]
        kind = kind[: kind.index("default=")] + "default=" + " and ".join(defaults)
    mentioned = [name for name in names if f"`{name}`" in addition]
    if addition and (mentioned or "`" not in addition):
        line = " ".join(addition.split())
        body += f"\n    {line[0].upper()}{line[1:]}"
    return _Entry(names, kind, body)

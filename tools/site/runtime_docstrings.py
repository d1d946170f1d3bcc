"""Docstrings as Python has them: some of the package are completed when it is imported."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import griffe

GROUP = re.compile(r"\n\*\*[^*]+\*\*\n\n")
"""The line before a group of parameters."""


class RuntimeDocstrings(griffe.Extension):
    """Give every class the docstring that `help` shows."""

    def on_class(self, *, cls: griffe.Class, **kwargs: Any) -> None:
        """Replace the docstring of a class of the package, if it has another one at run time."""
        if not cls.path.startswith("stagewise.") or "._" in cls.path:
            return
        module = importlib.import_module(cls.module.path)
        found = module
        for name in cls.path.removeprefix(cls.module.path + ".").split("."):
            found = getattr(found, name, None)
        text = inspect.getdoc(found) if inspect.isclass(found) else None
        text = text and GROUP.sub("", text)  # a table of parameters has no groups
        if text and cls.docstring and text != cls.docstring.value:
            cls.docstring.value = text

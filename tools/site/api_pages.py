"""The pages of the API reference: one for each module, and one for each estimator.

The names come from `__all__`, so a new public name has its place by existing.
"""

from __future__ import annotations

import importlib
import inspect

# A module -> its title and its sentence on the index.
MODULES = {
    "stagewise": ("stagewise", "Estimators, their options, datasets, `load`."),
    "stagewise.inspection": ("inspection", "Explanations and the quality of models."),
    "stagewise.export": ("export", "Trees as text, pictures and rules."),
    "stagewise.losses": ("losses", "Losses, and the base class of your own."),
    "stagewise.metrics": ("metrics", "Metrics of `eval_metric`."),
    "stagewise.datasets": ("datasets", "Simulated tables, and tables in files and streams."),
    "stagewise.averaging": ("averaging", "Averages and votes of models."),
    "stagewise.dask": ("dask", "Estimators on a Dask cluster."),
}
INDEX = """# API reference

Generated from the docstrings. Every estimator has scikit-learn's methods, and a page of its own.

"""


def public_names(module: str) -> list[str]:
    """Return the names of a module that its page documents."""
    found = importlib.import_module(module)
    values = {name: getattr(found, name) for name in found.__all__ if not name.startswith("_")}
    return [name for name, value in values.items() if not inspect.ismodule(value)]


def is_estimator(module: str, name: str) -> bool:
    """Return whether a name is an estimator, which has a page of its own."""
    return hasattr(getattr(importlib.import_module(module), name), "fit")


def page_of_name(module: str, name: str) -> str:
    """Return the page that documents a name."""
    folder = "api" if module == "stagewise" else f"api/{module.removeprefix('stagewise.')}"
    if is_estimator(module, name):
        return f"{folder}/{name}.md"
    return f"api/{MODULES[module][0]}.md"


def summary(module: str, name: str) -> str:
    """Return the first sentence of a docstring; data have none."""
    value = getattr(importlib.import_module(module), name)
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return ""
    text = (inspect.getdoc(value) or "").split("\n\n")[0]
    return " ".join(text.split()).replace("|", "\\|")


def table(module: str, folder: str) -> str:
    """Return the names of a module with their summaries, with links relative to a folder."""
    lines = ["| name | |", "|---|---|"]
    for name in public_names(module):
        link = page_of_name(module, name).removeprefix(folder) + f"#{module}.{name}"
        lines.append(f"| [`{name}`]({link}) | {summary(module, name)} |")
    return "\n".join(lines) + "\n"


def api_pages() -> dict[str, str]:
    """Return the text of every page of the reference by its path."""
    pages = {"api/index.md": INDEX}
    for module, (title, sentence) in MODULES.items():
        pages["api/index.md"] += f"## `{module}`\n\n{sentence}\n\n{table(module, 'api/')}\n"
        here = [name for name in public_names(module) if not is_estimator(module, name)]
        blocks = "\n".join(f"::: {module}.{name}\n" for name in here)
        text = f"# `{module}`\n\n{sentence}\n\n{table(module, 'api/')}\n{blocks}"
        pages[f"api/{title}.md"] = text
        for name in public_names(module):
            if is_estimator(module, name):
                title_line = f"# {name}\n\n" if module == "stagewise" else f"# {module}.{name}\n\n"
                pages[page_of_name(module, name)] = f"{title_line}::: {module}.{name}\n"
    return pages


def api_navigation() -> list[object]:
    """Return the navigation of the reference."""
    entries: list[object] = ["api/index.md"]
    for module, (title, _) in MODULES.items():
        own = [
            {name: page_of_name(module, name)}
            for name in public_names(module)
            if is_estimator(module, name)
        ]
        page = f"api/{title}.md"
        entries.append({module: [{"Overview": page}, *own] if own else page})
    return entries

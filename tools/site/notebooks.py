"""Notebooks as pages: they are executed while the site is built, and shown with their outputs.

The notebooks in the repository have no outputs, so that a page never shows those of an older
version.
"""

from __future__ import annotations

import base64
import html
import re
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from repository import ROOT

FOLDER = ROOT / "docs" / "notebooks"
OUTPUT = '<div class="output">\n{}\n</div>'
# Colours of a terminal.
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def notebooks() -> list[Path]:
    """Return the notebooks in the order of their names."""
    return sorted(FOLDER.glob("*.ipynb"))


def execute(path: Path, folder: Path) -> Any:
    """Return a notebook with its outputs; it is executed in a folder."""
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    client = NotebookClient(notebook, timeout=120, resources=resources)
    client.extra_arguments = ["--log-level=ERROR"]
    return client.execute()


def fenced(code: str) -> str:
    """Return a code block."""
    return f"```python\n{code.rstrip()}\n```"


def shown(text: str) -> str:
    """Return text that was printed; long lines are wrapped."""
    return OUTPUT.format(f"<pre>{html.escape(ESCAPES.sub('', text).rstrip())}</pre>")


def show_output(output: Any, image: str) -> tuple[str, bytes | None]:
    """Return an output as Markdown, and its picture if it is one."""
    if output.output_type == "stream":
        return shown(output.text), None
    data = output.get("data", {})
    if "image/png" in data:
        return f"![output]({image})", base64.b64decode(data["image/png"])
    if "text/html" in data:
        lines = [line for line in data["text/html"].splitlines() if line.strip()]
        return OUTPUT.format("\n".join(lines)), None
    return shown(data.get("text/plain", "")), None


def notebook_page(path: Path, folder: Path) -> tuple[str, dict[str, bytes]]:
    """Return the page of a notebook, and its pictures by their names."""
    parts, pictures = [], {}
    for number, cell in enumerate(execute(path, folder).cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(fenced(cell.source))
        for place, output in enumerate(cell.outputs):
            if output.get("name") == "stderr":  # warnings about the machine: no widgets
                continue
            name = f"{path.stem}-{number}-{place}.png"
            text, picture = show_output(output, name)
            parts.append(text)
            if picture is not None:
                pictures[name] = picture
    link = f'<a href="{path.name}" download>The notebook</a>'
    parts.insert(1, f"{link} was executed when this page was built.")
    return "\n\n".join(parts) + "\n", pictures

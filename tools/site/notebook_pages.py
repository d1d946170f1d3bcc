"""Notebooks as pages: run, with their outputs as text, tables and pictures."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import nbclient
import nbformat


def run_notebook(path: Path) -> Any:
    """Return a notebook with the outputs of its cells; an error in a cell is raised."""
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3")
    return client.execute()


def notebook_page(path: Path) -> tuple[str, dict[str, bytes]]:
    """Return the Markdown of a notebook that was run, and its pictures by file name."""
    parts, pictures = [], {}
    for cell in run_notebook(path).cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            data = output.get("data", {})
            if "image/png" in data:
                name = f"{path.stem}_{len(pictures)}.png"
                pictures[name] = base64.b64decode(data["image/png"])
                parts.append(f"![output of the cell above]({name})")
            elif "text/html" in data:
                html = data["text/html"].strip()
                parts.append(f'<div class="output">\n{html}\n</div>')
            elif text := output.get("text", data.get("text/plain")):
                parts.append(f'```text title="output"\n{text.rstrip()}\n```')
    return "\n\n".join(parts) + "\n", pictures

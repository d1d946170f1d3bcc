"""The hooks of MkDocs: pages that do not lie in docs/, and links between all of them."""

from __future__ import annotations

import ast
from typing import Any

from api_pages import api_navigation, api_pages
from mkdocs.structure.files import File, Files
from repository import COPIED, ROOT, site_text


def on_config(config: Any) -> Any:
    """Add the pages of the reference to the navigation."""
    for entry in config.nav:
        if "API" in entry:
            entry["API"] = api_navigation()
    return config


def example_page() -> str:
    """Return a page with the programs of examples/."""
    parts = ["# Examples\n\nShort programs, run by the tests.\n"]
    for path in sorted((ROOT / "examples").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        sentence = (ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0]
        anchor = path.name.replace(".", "")
        parts.append(f"## {path.name} {{#{anchor}}}\n\n{sentence}\n\n```python\n{text}```\n")
    return "\n".join(parts)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are copied or generated."""
    texts: dict[str, str | bytes] = {**api_pages(), "examples.md": example_page()}
    for source, page in COPIED.items():
        texts[page] = (ROOT / source).read_bytes()
    for page, content in texts.items():
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **kwargs: Any) -> str:
    """Turn links to files of the repository into links to pages."""
    return site_text(page.file.src_uri, markdown)

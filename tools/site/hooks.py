"""The hooks of MkDocs: pages that do not lie in docs/, and links between all of them."""

from __future__ import annotations

import ast
import re
import struct
import tempfile
from pathlib import Path
from typing import Any

from api_pages import api_navigation, api_pages
from mkdocs.structure.files import File, Files
from notebooks import notebook_page, notebooks
from repository import COPIED, ROOT, site_text

STYLE = "style.css"
IMAGE = re.compile(r'<img [^>]*?src="([^"]+\.png)"[^>]*>')


def on_config(config: Any) -> Any:
    """Add the pages of the reference to the navigation, and the style."""
    config.extra_css.append(STYLE)
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


def notebook_pages() -> dict[str, str | bytes]:
    """Return the pages of the notebooks and their pictures by their paths."""
    texts: dict[str, str | bytes] = {}
    for path in notebooks():
        with tempfile.TemporaryDirectory() as folder:
            page, pictures = notebook_page(path, Path(folder))
        texts[f"notebooks/{path.stem}.md"] = page
        texts |= {f"notebooks/{name}": picture for name, picture in pictures.items()}
    return texts


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are copied or generated."""
    texts: dict[str, str | bytes] = {**api_pages(), "examples.md": example_page()}
    texts |= notebook_pages()
    texts[STYLE] = Path(__file__).with_name(STYLE).read_bytes()
    for source, page in COPIED.items():
        texts[page] = (ROOT / source).read_bytes()
    for page, content in texts.items():
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **kwargs: Any) -> str:
    """Turn links to files of the repository into links to pages; the landing page has no sides."""
    if page.file.src_uri == "README.md":
        page.meta["hide"] = ["navigation", "toc"]
    return site_text(page.file.src_uri, markdown)


def is_wide(picture: Path) -> bool:
    """Return whether a PNG file is more than three times as wide as it is high."""
    if not picture.is_file():  # pictures of notebooks are not, and none of them is wide
        return False
    width, height = struct.unpack(">II", picture.read_bytes()[16:24])
    return width > 3 * height


def on_page_content(html: str, page: Any, config: Any, **kwargs: Any) -> str:
    """Let figures be opened by themselves, and wide ones be scrolled on a phone."""
    folder = Path(config.docs_dir, page.file.src_uri).parent

    def link(found: re.Match[str]) -> str:
        kind = "wide" if is_wide(folder / found[1]) else "figure"
        return f'<a class="{kind}" href="{found[1]}">{found[0]}</a>'

    return IMAGE.sub(link, html)

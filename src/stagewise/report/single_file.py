"""One HTML file with its style, script and data.

The file is self-contained: its content security policy forbids all network access and all other
scripts. Everything that comes from data is JSON, never markup.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Mapping

__all__ = ["single_file", "strict_script"]

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
script-src '{script_hash}'; style-src '{style_hash}'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>{without_script}</noscript>
{data}
<script>{script}</script>
</body>
</html>
"""


def strict_script(parts: Iterable[str]) -> str:
    """Return scripts as one function in strict mode, which leaves no global names."""
    return "\n".join(["(() => {", '"use strict";', *parts, "})();"])


def single_file(
    title: str, style: str, script: str, data: Mapping[str, str], without_script: str
) -> str:
    """Return the HTML text of a page.

    Parameters
    ----------
    title : str
        The title, as text.
    style, script : str
        The style sheet and the script.
    data : mapping of str to str
        The JSON text of each id, in which "<" is escaped.
    without_script : str
        What is shown without JavaScript, as HTML.
    """
    blocks = (
        f'<script type="application/json" id="{name}">{text}</script>'
        for name, text in data.items()
    )
    return PAGE.format(
        title=html.escape(title),
        style=style,
        style_hash=_digest(style),
        script=script,
        script_hash=_digest(script),
        data="\n".join(blocks),
        without_script=without_script,
    )


def _digest(text: str) -> str:
    """Return the hash of a script or style for the content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")

"""A report as one file: facts and model as data, and the scripts that show them.

The one idea: the file is complete. It asks no network for anything (its own policy forbids it), and
whatever comes from data stands in it as JSON, never as markup. Must not compute facts.
"""

from __future__ import annotations

import base64
import hashlib
import html
import os
from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from stagewise.boosting.progress import ProgressLines
from stagewise.errors import InvalidParameterError
from stagewise.inspection.fitted import checked
from stagewise.model.file.atomic import replace_file
from stagewise.report.carried import engine
from stagewise.report.page_facts import ReportFacts, report_facts
from stagewise.report.payload import as_json
from stagewise.validation.messages import short_repr
from stagewise.validation.rules import Number

__all__ = ["report_html", "write_report"]

SCRIPTS = (
    "base.js",
    "charts.js",
    "overview.js",
    "quality.js",
    "importance.js",
    "explain.js",
    "tree_browser.js",
    "whatif.js",
    "main.js",
)
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
<noscript><h1>{title}</h1>{scores}<p>The rest of this report needs JavaScript.</p></noscript>
<script type="application/json" id="facts">{facts}</script>
<script type="application/json" id="model">{model}</script>
<script>{script}</script>
</body>
</html>
"""


def write_report(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    sample_weight: Any = None,
    title: str | None = None,
    target: str | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> Path:
    """Write a page about a model, to be opened in a browser.

    The page is one file that needs no server and no network: how good the model is, with confidence
    limits and thresholds to move; what it learned from; which features matter, and how; every
    sampled row explained; its trees; and the model itself, which can be asked what it would say if
    a row were different.

    Parameters
    ----------
    model : estimator
        A fitted boosting estimator, forest or tree.
    X, y : array-like or data frame, and array-like
        Rows with known answers; best such that the model has not seen.
    path : str or path
        Where to write; by custom the name ends in .html. The file is replaced whole, or not at all.
    sample_weight : array-like or None
        How much each row counts.
    title : str or None
        The page's title. None: what is predicted.
    target : str or None
        What the target is called. None: the name of y, if it has one.
    random_state : int, default=0
        The seed of what is drawn: rows that are shown, and rows to average over.
    verbose : int, default=0
        1: say on standard error what is done.

    Returns
    -------
    Path
        Where the page is.

    Notes
    -----
    The same model and rows give the same bytes. Rows and cells of the sample (up to 251 rows) are
    in the file: share it with whom you would share the table.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_diabetes
    >>> from stagewise import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingRegressor(n_estimators=20).fit(X[:300], y[:300])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = model.report(X[300:], y[300:], f"{folder}/report.html")
    ...     page.stat().st_size < 3_000_000
    True
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidParameterError(
            f"path must say where to write the page; got {short_repr(path)}."
        )
    if title is not None and not isinstance(title, str):
        raise InvalidParameterError(f"title must be text; got {short_repr(title)}.")
    target_path = Path(path)
    say = ProgressLines(checked("verbose", Number(0, whole=True), verbose), "report: ").show
    facts = report_facts(
        model,
        X,
        y,
        sample_weight,
        title=title,
        target=target,
        random_state=random_state,
        say=say,
    )
    # Names of columns need not be valid text; in a title, what is none is shown as a mark.
    replace_file(target_path, report_html(facts).encode("utf-8", "replace"))
    say(f"wrote {target_path}")
    return target_path


def report_html(facts: ReportFacts) -> str:
    """Return facts as the text of a page."""
    folder = files("stagewise.report") / "page"
    parts = [engine(), *((folder / name).read_text(encoding="utf-8") for name in SCRIPTS)]
    script = "\n".join(["(() => {", '"use strict";', *parts, "})();"])
    style = (folder / "style.css").read_text(encoding="utf-8")
    shown_facts = {
        field.name: getattr(facts, field.name) for field in fields(facts) if field.name != "carried"
    }
    return PAGE.format(
        title=html.escape(facts.overview.title),
        style=style,
        style_hash=_digest(style),
        script=script,
        script_hash=_digest(script),
        scores=_scores(facts),
        facts=as_json(shown_facts),
        model=as_json(facts.carried.payload()),
    )


def _digest(text: str) -> str:
    """Return by what a page's policy knows a script or style of ours from anything else."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _scores(facts: ReportFacts) -> str:
    lines = [
        f"<li>{html.escape(f'{name} {score.words}'.strip())}: {score.value:.4g}</li>"
        for name, scores in facts.overview.scores
        for score in scores
    ]
    return f"<ul>{''.join(lines)}</ul>"

"""Writes the report as one HTML file: data, model and scripts (`single_file`)."""

from __future__ import annotations

import html
import os
from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from stagewise.boosting.progress import ProgressLines
from stagewise.errors import InvalidParameterError
from stagewise.inspection.fitted_model import check_argument
from stagewise.report.exported_model import model_script
from stagewise.report.page_facts import ReportFacts, report_facts
from stagewise.report.payload import as_json
from stagewise.report.report_page import ReportPage, check_path
from stagewise.report.single_file import single_file, strict_script
from stagewise.validation.messages import short_repr
from stagewise.validation.rules import Number

__all__ = ["report_html", "write_report"]

SCRIPTS = (
    "base.js",
    "charts.js",
    "overview.js",
    "deviance.js",
    "quality.js",
    "queries.js",
    "survival.js",
    "labels.js",
    "spread.js",
    "subgroups.js",
    "importance.js",
    "explain.js",
    "tree_browser.js",
    "what_if.js",
    "main.js",
)


def write_report(
    estimator: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    sample_weight: Any = None,
    title: str | None = None,
    target: str | None = None,
    random_state: int = 0,
    verbose: int = 0,
    offset: Any = None,
    exposure: Any = None,
) -> Path | ReportPage:
    """Write an HTML report about a model.

    The page is one file that needs no server and no network. It has scores with confidence limits,
    an adjustable threshold, a description of the table, feature importance, partial dependence,
    Shapley values of sampled rows, the trees, and the model itself, which predicts edited rows
    ("What if").

    Parameters
    ----------
    estimator : estimator
        A fitted boosting estimator, forest or tree.
    X, y : array-like or data frame, and array-like
        Rows and their targets, preferably not used for training.
    path : str, path or None, default=None
        The file to write, usually with the suffix .html. An existing file is replaced atomically.
        None: the page is returned, and a notebook shows it.
    sample_weight : array-like or None
        Sample weights.
    title : str or None
        The title of the page. None: "Predicting" and the target.
    target : str or None
        The name of the target. None: the name of y, if it has one.
    random_state : int, default=0
        The seed of the sampled rows.
    verbose : int, default=0
        1: print the progress on standard error.
    offset, exposure : array-like, number, str or None
        As of `predict` of the estimator.

    Returns
    -------
    Path or ReportPage
        The path of the page; without a path the page, whose method `save` writes it.

    Notes
    -----
    The same model and rows give the same bytes. The file contains the sampled rows (at most 251):
    share it only with people who may see the table.

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
    if isinstance(X, (str, os.PathLike)):
        raise InvalidParameterError(
            f"X is the text {short_repr(X)}: the order is report(X, y, path), and that of "
            "write_report is (estimator, X, y, path)."
        )
    if path is not None:
        check_path(path)
    if title is not None and not isinstance(title, str):
        raise InvalidParameterError(f"title must be text; got {short_repr(title)}.")
    progress = ProgressLines(
        check_argument("verbose", Number(0, whole=True), verbose), "report: "
    ).show
    facts = report_facts(
        estimator,
        X,
        y,
        sample_weight,
        title=title,
        target=target,
        random_state=random_state,
        progress=progress,
        offset=offset,
        exposure=exposure,
    )
    page = ReportPage(report_html(facts))
    if path is None:
        return page
    written = page.save(path)
    progress(f"wrote {written}")
    return written


def report_html(facts: ReportFacts) -> str:
    """Return the HTML text of a report."""
    folder = files("stagewise.report") / "page"
    parts = [model_script(), *((folder / name).read_text(encoding="utf-8") for name in SCRIPTS)]
    script = strict_script(parts)
    style = (folder / "style.css").read_text(encoding="utf-8")
    shown_facts = {
        field.name: getattr(facts, field.name)
        for field in fields(facts)
        if field.name != "exported_model"
    }
    data = {"facts": as_json(shown_facts), "model": as_json(facts.exported_model.payload())}
    without_script = (
        f"<h1>{html.escape(facts.overview.title)}</h1>{_scores(facts)}"
        "<p>The rest of this report needs JavaScript.</p>"
    )
    return single_file(facts.overview.title, style, script, data, without_script)


def _scores(facts: ReportFacts) -> str:
    baseline = facts.overview.baseline
    lines = [
        f"<li>{html.escape(f'{name} {score.label}'.strip())}: {score.value:.4g} "
        f"({baseline} {score.baseline:.4g})</li>"
        for name, scores in facts.overview.scores
        for score in scores
    ]
    return f"<ul>{''.join(lines)}</ul>"

"""The method `report` of the estimators."""

from __future__ import annotations

from os import PathLike
from typing import Any

__all__ = ["ReportMixin"]


class ReportMixin:
    """Estimators with a method that writes a report page."""

    def report(
        self,
        X: Any,
        y: Any,
        path: str | PathLike[str] | None = None,
        *,
        sample_weight: Any = None,
        title: str | None = None,
        target: str | None = None,
        random_state: int = 0,
        verbose: int = 0,
        offset: Any = None,
        exposure: Any = None,
    ) -> Any:
        """Write a page about this model, to be opened in a browser.

        The page is one file and needs no server and no network. It shows the quality of the model
        on these rows, the data, the importance and the effect of features, explanations of single
        rows, the trees, and the model itself, so that values can be changed and predicted again.

        Parameters
        ----------
        X, y : array-like or data frame, and array-like
            Rows with known targets; preferably rows that the model was not trained on.
        path : str, path or None, default=None
            The file to write; by convention its name ends in .html. None: a notebook shows the
            page.
        sample_weight, title, target, random_state, verbose, offset, exposure
            See `stagewise.report.html.write_report`.

        Returns
        -------
        Path or ReportPage
            The path of the page. Without a path, the page: it has the attribute `html` and the
            method `save(path)`.
        """
        # The report is a higher layer than the estimators, so it is imported late.
        from stagewise.report.html import write_report

        return write_report(
            self,
            X,
            y,
            path,
            sample_weight=sample_weight,
            title=title,
            target=target,
            random_state=random_state,
            verbose=verbose,
            offset=offset,
            exposure=exposure,
        )

"""A report of a fitted estimator, as a method of its own."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

__all__ = ["Reported"]


class Reported:
    """Estimators that can write a page about themselves."""

    def report(
        self,
        X: Any,
        y: Any,
        path: str | PathLike[str],
        *,
        sample_weight: Any = None,
        title: str | None = None,
        target: str | None = None,
        random_state: int = 0,
        verbose: int = 0,
    ) -> Path:
        """Write a page about this model, to be opened in a browser.

        One file without a server or a network: how good the model is on these rows, what it learned
        from, which features matter and how, rows explained one by one, its trees, and the model
        itself, which can be asked what it would say if a row were different.

        Parameters
        ----------
        X, y : array-like or data frame, and array-like
            Rows with known answers; best such that the model has not seen.
        path : str or path
            Where to write; by custom the name ends in .html.
        sample_weight, title, target, random_state, verbose
            See `stagewise.report.html.write_report`.

        Returns
        -------
        Path
            Where the page is.
        """
        # A page is made of everything that lies above estimators, so they know it only late.
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
        )

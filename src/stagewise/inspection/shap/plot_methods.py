"""Plot methods of `ShapValues`: beeswarm, waterfall and dependence plot.

This module selects the data of a plot (`attributions`); the drawing functions are in `plots`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.inspection.plots import format_datetime_axes
from stagewise.inspection.shap.attributions import Attributions
from stagewise.inspection.shap.plots import plot_beeswarm, plot_dependence, plot_waterfall
from stagewise.validation.arguments import suggests_arguments

__all__ = ["ShapPlots"]


class ShapPlots:
    """The plot methods of `ShapValues`, which has these attributes."""

    values: npt.NDArray[np.float64]
    base_values: npt.NDArray[np.float64]
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...] | None
    data: Any
    offset: npt.NDArray[np.float64] | None

    @suggests_arguments
    def beeswarm(self, ax: Any = None, *, top: int = 12, output: str | None = None) -> Any:
        """Plot the Shapley values of all rows, one line per feature, the most important on top.

        A dot is a row; dots with similar Shapley values are stacked. The colour is the rank of the
        feature's value among the rows (of a category by its name), grey if it is missing. At most
        3000 rows are drawn, chosen at random.

        Parameters
        ----------
        ax : matplotlib axes, or None
            Where to draw; None: on a new figure.
        top : int, default=12
            The maximum number of features, by mean absolute Shapley value.
        output : str or None
            One of `output_names`; None: the last one.

        Returns
        -------
        matplotlib axes
        """
        one = self._one(output)
        chosen = one.top(top)
        colour = np.stack([one.axis_values(j).rank for j in chosen], axis=1)
        names = [one.names[j] for j in chosen]
        return plot_beeswarm(names, one.values[:, chosen], colour, one.label, ax)

    @suggests_arguments
    def waterfall(
        self, row: int, ax: Any = None, *, top: int = 10, output: str | None = None
    ) -> Any:
        """Plot how the Shapley values of one row lead from the base value to its prediction.

        Parameters
        ----------
        row : int
            The index of the row in X.
        ax : matplotlib axes, or None
            Where to draw; None: on a new figure.
        top : int, default=10
            The maximum number of features, by absolute Shapley value; the others are summed.
        output : str or None
            One of `output_names`; None: the last one.

        Returns
        -------
        matplotlib axes
        """
        one = self._one(output)
        i = one.row(row)
        names, parts = one.steps(i, top)
        label = one.label.replace("Shapley value", "model output")
        return plot_waterfall(names, parts, (one.base, one.model_output(i)), label, ax)

    @suggests_arguments
    def dependence(
        self,
        feature: str | int,
        ax: Any = None,
        *,
        colour: str | int | None = "auto",
        output: str | None = None,
    ) -> Any:
        """Plot the Shapley values of a feature against its values.

        The vertical spread at one value is due to interactions with other features; dots are
        coloured by the rank of one of them.

        Parameters
        ----------
        feature : str or int
            The feature, by name or index.
        ax : matplotlib axes, or None
            Where to draw; None: on a new figure.
        colour : "auto", str, int or None
            The feature to colour by; None: no colours. "auto": with ``interactions=True`` the one
            with the largest mean absolute interaction. Otherwise the rows are divided into ten
            groups by the feature's value, the Shapley values of each group are regressed on the
            ranks of another feature, and the feature with the largest explained sum of squares is
            used.
        output : str or None
            One of `output_names`; None: the last one.

        Returns
        -------
        matplotlib axes
        """
        one = self._one(output)
        j = one.feature(feature)
        automatic = isinstance(colour, str) and colour == "auto"
        if automatic:
            other = one.interacting_feature(j)
        else:
            other = None if colour is None else one.feature(colour, "colour")
        own = one.axis_values(j)
        labels = (one.names[j], one.label)
        if other is None:
            drawn = plot_dependence(own.x, one.values[:, j], labels, ax, categories=own.labels)
            return format_datetime_axes(drawn, own.temporal_type)
        beside = one.axis_values(other)
        drawn = plot_dependence(
            own.x,
            one.values[:, j],
            labels,
            ax,
            categories=own.labels,
            colour=beside.rank,
            colour_label=one.names[other],
            ends=beside.ends,
        )
        return format_datetime_axes(drawn, own.temporal_type)

    def _one(self, output: Any) -> Attributions:
        names, outputs = self.feature_names, self.output_names
        one = Attributions.of(self.values, self.base_values, names, outputs, self.data, output)
        if self.offset is None:
            return one
        added = self.offset
        if outputs is not None:
            chosen = len(outputs) - 1 if one.output is None else outputs.index(one.output)
            added = self.offset[:, chosen]
        return replace(one, offset=added)

"""The pictures that Shapley values have of themselves.

The one idea: a picture is chosen here, what goes into it is found in `shap_credits`, and how it is
drawn is in `shap_plots`. Must not know where the values come from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.inspection.plots import name_moments
from stagewise.inspection.shap.attributions import Credits
from stagewise.inspection.shap.plots import plot_beeswarm, plot_dependence, plot_waterfall

__all__ = ["ShapPictures"]


class ShapPictures:
    """What can be drawn of `ShapValues`, whose attributes these are."""

    values: npt.NDArray[np.float64]
    base_values: npt.NDArray[np.float64]
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...] | None
    data: Any

    def beeswarm(self, ax: Any = None, *, top: int = 12, output: str | None = None) -> Any:
        """Draw the credits of every row, feature by feature, those of most worth on top.

        A dot is a row; where many have the same credit they stand above each other. The colour is
        the rank of the feature's value among the rows (of categories that of the level, by name),
        grey where it is missing. Of very many rows some are drawn.

        Parameters
        ----------
        ax : matplotlib axes, or None
            Where to draw; None: on a new figure.
        top : int, default=12
            At most this many features, by their mean absolute credit.
        output : str or None
            One of `output_names`; None: the last one.

        Returns
        -------
        matplotlib axes
        """
        one = self._one(output)
        chosen = one.top(top)
        colour = np.stack([one.places(j).rank for j in chosen], axis=1)
        names = [one.names[j] for j in chosen]
        return plot_beeswarm(names, one.values[:, chosen], colour, one.label, ax)

    def waterfall(
        self, row: int, ax: Any = None, *, top: int = 10, output: str | None = None
    ) -> Any:
        """Draw how the credits of one row lead from the base value to what the model says of it.

        Parameters
        ----------
        row : int
            The place of the row in X.
        ax : matplotlib axes, or None
            Where to draw; None: on a new figure.
        top : int, default=10
            At most this many features, by their absolute credit; the others are summed up.
        output : str or None
            One of `output_names`; None: the last one.

        Returns
        -------
        matplotlib axes
        """
        one = self._one(output)
        i = one.row(row)
        own = one.values[i]
        names, parts = one.steps(i, top)
        label = one.label.replace("Shapley value", "what the model says")
        return plot_waterfall(names, parts, (one.base, one.base + own.sum()), label, ax)

    def dependence(
        self,
        feature: str | int,
        ax: Any = None,
        *,
        colour: str | int | None = "auto",
        output: str | None = None,
    ) -> Any:
        """Draw the credits of a feature against its value, row by row.

        What is above each other at one value is what other features do to it; dots are coloured by
        the rank of one of these.

        Parameters
        ----------
        feature : str or int
            The feature, by name or place.
        ax : matplotlib axes, or None
            Where to draw; None: on a new figure.
        colour : "auto", str, int or None
            The feature to colour by; None: no colours. "auto": with ``interactions=True`` the one
            with the largest mean absolute interaction. Else rows are taken in ten groups in the
            order of the feature's value, the credits of each group are regressed on the ranks of
            another feature, and the one is taken that explains most in sum.
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
            other = one.companion(j)
        else:
            other = None if colour is None else one.feature(colour, "colour")
        own = one.places(j)
        labels = (one.names[j], one.label)
        if other is None:
            drawn = plot_dependence(own.x, one.values[:, j], labels, ax, levels=own.labels)
            return name_moments(drawn, own.moment)
        beside = one.places(other)
        drawn = plot_dependence(
            own.x,
            one.values[:, j],
            labels,
            ax,
            levels=own.labels,
            colour=beside.rank,
            companion=one.names[other],
            ends=beside.ends,
        )
        return name_moments(drawn, own.moment)

    def _one(self, output: Any) -> Credits:
        names, outputs = self.feature_names, self.output_names
        return Credits.of(self.values, self.base_values, names, outputs, self.data, output)

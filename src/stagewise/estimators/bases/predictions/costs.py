"""The check of misclassification costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.validation.messages import short_repr

__all__ = ["check_costs"]


def check_costs(cost: Any, classes: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return a matrix of costs, checked: rows are true classes, columns are predicted classes.

    Raises
    ------
    ValueError
        If it has another shape, or if an entry is not a finite number.
    """
    k = len(classes)
    try:
        prices = np.asarray(cost, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"cost must be a matrix of numbers; got {short_repr(cost)}.") from None
    if prices.shape != (k, k):
        raise ValueError(
            f"cost must have a row and a column for each of the {k} classes "
            f"{classes.tolist()[:20]}; its shape is {prices.shape}."
        )
    if not np.isfinite(prices).all():
        row, column = np.argwhere(~np.isfinite(prices))[0]
        raise ValueError(
            f"cost[{row}, {column}], of predicting {short_repr(classes[column])} for a row of "
            f"class {short_repr(classes[row])}, is {prices[row, column]}. Costs must be finite "
            "numbers."
        )
    return prices

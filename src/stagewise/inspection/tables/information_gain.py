"""The information gain of a feature with a branch for each of its values.

Trees of this library make binary splits. This is the measure of ID3 and C4.5, whose splits have a
branch for every value: for comparison, and to find features with many values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data import CategoricalFeatures, Table, check_weight, read_labels, read_table
from stagewise.data.reading.sparse import SparseCells
from stagewise.display import Summary, Tabled
from stagewise.inspection.fitted_model import check_argument
from stagewise.trees.impurity import class_impurity
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.rules import Number

__all__ = ["InformationGain", "information_gain"]

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class InformationGain(Tabled):
    """The information gain of every feature of a table.

    Attributes
    ----------
    names : tuple of str
        The features.
    entropy : float
        The entropy of the classes of all rows.
    n_values : integer array
        The number of values of each feature; a missing value is one of them.
    gain : float64 array
        Entropy(S) - Σ_v |S_v| / |S| Entropy(S_v) of each feature.
    split_information : float64 array
        -Σ_v |S_v| / |S| log (|S_v| / |S|), the entropy of the feature itself.
    gain_ratio : float64 array
        The gain divided by the split information; 0 for a feature with one value.
    """

    names: tuple[str, ...]
    entropy: float
    n_values: npt.NDArray[np.intp]
    gain: Vector
    split_information: Vector
    gain_ratio: Vector

    def _summary(self) -> Summary:
        title = f"Information gain; entropy of the classes {self.entropy:.6g}"
        return Summary(title, rows=self.table(), bars="gain")

    def table(self) -> list[dict[str, Any]]:
        """Return one row per feature, the largest gain first.

        Returns
        -------
        list of dict
            ``feature``, ``n_values``, ``gain``, ``split_information`` and ``gain_ratio``.
        """
        return [
            {
                "feature": self.names[j],
                "n_values": int(self.n_values[j]),
                "gain": float(self.gain[j]),
                "split_information": float(self.split_information[j]),
                "gain_ratio": float(self.gain_ratio[j]),
            }
            for j in np.argsort(-self.gain, kind="stable").tolist()
        ]


@suggests_arguments
def information_gain(
    X: Any, y: Any, sample_weight: Any = None, *, base: float = 2.0
) -> InformationGain:
    """Return the information gain and the gain ratio of every feature, over all of its values.

    Parameters
    ----------
    X : array-like or data frame of shape (n_rows, n_features)
        The features. Every distinct value is a branch, of numbers as of categories; missing values
        are one more branch.
    y : array-like of shape (n_rows,)
        The classes.
    sample_weight : array-like or None, default=None
        The weights of the rows.
    base : float, default=2.0
        The base of the logarithms: 2 for bits, as in ID3; ``math.e`` for nats, as in trees with
        ``criterion="entropy"``.

    Returns
    -------
    InformationGain
        Gain(S, A) = Entropy(S) - Σ_v |S_v| / |S| Entropy(S_v) (Quinlan 1986, section 4), and the
        gain ratio of Quinlan (1993, section 2.2).

    Examples
    --------
    >>> import pandas as pd
    >>> from stagewise.inspection import information_gain
    >>> X = pd.DataFrame({"wind": ["weak", "weak", "strong", "strong"], "day": [1, 2, 3, 4]})
    >>> found = information_gain(X, ["yes", "yes", "no", "yes"])
    >>> [(row["feature"], round(row["gain"], 3)) for row in found.table()]
    [('day', 0.811), ('wind', 0.311)]
    >>> found.gain_ratio.round(3).tolist()
    [0.311, 0.406]
    """
    base = check_argument("base", Number(1.0, open_low=True), base)
    table = read_table(X, caller="information_gain", categorical=CategoricalFeatures("text"))
    if isinstance(table.columns, SparseCells):
        raise TypeError(
            "information_gain does not support sparse matrices. Pass X.toarray(), perhaps of some "
            "of its columns."
        )
    labels = read_labels(y, table.n_rows, caller="information_gain")
    read = check_weight(sample_weight, table.n_rows)
    weight = np.ones(table.n_rows) if read is None else read
    unit, n_classes = np.log(base), len(labels.classes)
    names = tuple(table.names or (f"x{j}" for j in range(table.n_features)))
    counts = [
        _class_weights(_value_codes(table, j), labels.codes, weight, n_classes)
        for j in range(table.n_features)
    ]
    entropy = float(_entropy(counts[0].sum(axis=0))) / unit
    size = [own.sum(axis=1) for own in counts]
    within = [float((n * _entropy(c)).sum() / n.sum()) for n, c in zip(size, counts, strict=True)]
    gain = np.maximum(entropy - np.array(within) / unit, 0.0)
    information = np.array([float(_entropy(n)) for n in size]) / unit
    ratio = np.divide(gain, information, out=np.zeros_like(gain), where=information > 0)
    n_values = np.array([int((n > 0).sum()) for n in size], dtype=np.intp)
    return InformationGain(names, entropy, n_values, gain, information, ratio)


def _value_codes(table: Table, place: int) -> npt.NDArray[np.intp]:
    """Return the number of the value of each row; equal values, and missing ones, have one."""
    if place in table.factors:
        return table.factors[place].codes.astype(np.intp) + 1
    column = table.column(place)
    _, codes = np.unique(column.values, return_inverse=True, equal_nan=True)
    codes = codes.astype(np.intp) + 1
    return codes if column.missing is None else np.where(column.missing, 0, codes)


def _class_weights(
    codes: npt.NDArray[np.intp], classes: npt.NDArray[np.int32], weight: Vector, n_classes: int
) -> Vector:
    """Return the weight of each class among the rows of each value."""
    found = np.zeros((int(codes.max()) + 1, n_classes))
    np.add.at(found, (codes, classes), weight)
    return found


def _entropy(weights: Vector) -> Vector:
    """Return the entropy of weights along the last axis, in nats; 0 if all are 0."""
    total = weights.sum(axis=-1, keepdims=True)
    share = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return class_impurity(share, "entropy")

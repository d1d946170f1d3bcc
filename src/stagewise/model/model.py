"""A model: everything that was learned, and nothing about how it was asked for.

The one idea: a model is a value. It is complete, it is not changed once it is made, and it has one
form as bytes, which is what files, pickles and copies all are. This file must not know parameters,
training data, or how to predict.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from stagewise.data.features import Features
from stagewise.linear.least_squares import LeastSquares
from stagewise.model.ensemble import Ensemble
from stagewise.model.file.categories import category_arrays
from stagewise.model.file.least_squares import pack_least_squares
from stagewise.model.file.sections import CATEGORY_SETS, LINEAR_LEAVES
from stagewise.model.file.target_encodings import pack_target_encodings

__all__ = ["Model"]

# The arrays of the trees that decide what is predicted; gain and cover only tell of the training.
_DECIDING = ("tree_start", "feature", "threshold", "missing_left", "left", "right", "value")


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """What boosting learned.

    Parameters
    ----------
    task : {"regression", "classification"}
        What the scores are for.
    loss : str
        The registered name of the loss, or "custom".
    features : Features
        What is remembered of the columns.
    ensemble : Ensemble
        The base score and the trees.
    offset, scale : float, or float64 array of shape (n_outputs,)
        A regression predicts ``offset + scale * score``, each target with its own. For
        classification, 0 and 1.
    classes : array or None
        The class labels in the order of their codes; None for regression.
    train_loss, valid_loss : float64 array
        The loss after each round; empty where it was not measured.
    targets : tuple of str, or None
        What the targets are called, where there are several with names.
    least_squares : LeastSquares or None
        What a linear model knows of its coefficients; the trees are then its linear terms.
    """

    task: Literal["regression", "classification"]
    loss: str
    features: Features
    ensemble: Ensemble
    offset: float | npt.NDArray[np.float64]
    scale: float | npt.NDArray[np.float64]
    classes: npt.NDArray[Any] | None
    train_loss: npt.NDArray[np.float64]
    valid_loss: npt.NDArray[np.float64]
    targets: tuple[str, ...] | None = None
    least_squares: LeastSquares | None = None

    def __repr__(self) -> str:
        return (
            f"Model({self.task}, {self.loss}, {self.ensemble.n_features} features, "
            f"{self.ensemble.n_outputs} outputs, {self.ensemble.n_rounds} rounds)"
        )

    def to_bytes(self, estimator: Mapping[str, Any] | None = None) -> bytes:
        """Return the model as the bytes of a model file."""
        # The file format knows models, so a model can know the format only late.
        from stagewise.model.file.format import encode

        return encode(self, estimator)

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """Read a model from the bytes of a model file; see `stagewise.model.file.format.decode`."""
        from stagewise.model.file.format import decode

        model, _ = decode(data)
        return model

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickles and copies hold the bytes of a file, which are checked when they are read and
        # which later versions can read.
        return Model.from_bytes, (self.to_bytes(),)

    def fingerprint(self) -> str:
        """Return a digest of all that decides what the model predicts.

        Two models with the same fingerprint give the same scores for the same rows, and the same
        predictions under the same loss. Names, history, gains, covers and parameters are not part
        of it, nor is the width of the type that holds the class labels, nor which values count as
        missing besides NaN: a row that holds one is the same row as one that holds NaN.

        Returns
        -------
        str
            The SHA-256 digest in hexadecimal digits, the same on every machine.
        """
        digest = hashlib.sha256()

        def add(name: str, array: npt.NDArray[Any]) -> None:
            little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
            # Name and length in front: no two different models give the same stream of bytes.
            digest.update(f"{name} {array.dtype.name} {array.size}\n".encode())
            digest.update(little.data.cast("B") if array.size else b"")

        add("base", self.ensemble.base)
        add("response", np.hstack([self.offset, self.scale]).astype(np.float64))
        flat = self.ensemble.flat()
        for name in (
            *_DECIDING,
            *(name for name in (*CATEGORY_SETS, *LINEAR_LEAVES) if name in flat),
        ):
            add(name, flat[name])
        for feature in self.features:
            if feature.categories is None:
                add(feature.kind, np.empty(0) if feature.cuts is None else feature.cuts)
                continue
            for name, array in category_arrays(feature.categories.values).items():
                add(name, array)
        for name, array in pack_target_encodings(self.features.target_encodings).items():
            add(name, array)
        for name, array in pack_least_squares(self.least_squares).items():
            add(name, array)
        labels = None if self.classes is None else self.classes.tolist()
        digest.update(json.dumps(labels, default=_plain).encode("ascii"))
        return digest.hexdigest()


def _plain(label: object) -> Any:
    """Turn a label that JSON does not know into one that it does."""
    return label.item() if isinstance(label, np.generic) else repr(label)

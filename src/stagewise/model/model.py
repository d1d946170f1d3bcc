"""A fitted model, without the parameters of its estimator.

A model is an immutable value. It has one representation as bytes, which files, pickles and copies
share. This module must not import parameters or training data.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from stagewise.data.features import Features
from stagewise.data.row_offset import NO_OFFSET, RowOffset
from stagewise.display import Displayed, Summary
from stagewise.linear.least_squares import LeastSquares
from stagewise.losses import REGRESSION_LOSSES
from stagewise.model.ensemble import Ensemble
from stagewise.model.file.categories import category_arrays
from stagewise.model.file.crosses import pack_crosses
from stagewise.model.file.fold_ensembles import pack_fold_ensembles
from stagewise.model.file.learned_numbers import learned_by, pack_learned
from stagewise.model.file.least_squares import pack_least_squares
from stagewise.model.file.row_offsets import pack_row_offset
from stagewise.model.file.sections import CATEGORY_SETS, LINEAR_LEAVES
from stagewise.model.file.target_encodings import pack_target_encodings

__all__ = ["Model"]

# The arrays of the trees that determine predictions; gain and cover only describe the training.
_DECIDING = ("tree_start", "feature", "threshold", "missing_left", "left", "right", "value")


@dataclass(frozen=True, eq=False, repr=False)
class Model(Displayed):
    """A fitted model.

    Parameters
    ----------
    task : {"regression", "classification", "ranking", "survival"}
        The task.
    loss : str
        The registered name of the loss, or "custom".
    features : Features
        The features.
    ensemble : Ensemble
        The base scores and the trees.
    offset, scale : float, or float64 array of shape (n_outputs,)
        A regression predicts ``offset + scale * score``, with one offset and scale per target. For
        classification, 0 and 1.
    classes : array or None
        The class labels in the order of their codes; None for regression.
    train_loss, valid_loss : float64 array
        The loss after each round; empty if it was not computed.
    targets : tuple of str, or None
        The names of several targets; None for one target, or if they have no names.
    class_targets : tuple of arrays, or None
        The class labels of each of several targets; then `classes` is None. The scores of a forest
        are the probabilities of all classes of all targets, one target after the other; a boosted
        model has one score for each target.
    least_squares : LeastSquares or None
        The coefficients of a linear model, and their inference; the trees are its linear terms.
    row_offset : RowOffset
        The offsets that are added to the scores of rows: passed with them, or columns of X.
    learned : mapping of str to float64 array
        Numbers that predictions need and that the fit learned besides the terms, in one dimension.
        A name has the part that uses it first, such as "loss.thresholds".
    fold_ensembles : tuple of Ensemble
        The models of the folds of the fit, for intervals of CV+; they have the same features.
    """

    task: Literal["regression", "classification", "ranking", "survival"]
    loss: str
    features: Features
    ensemble: Ensemble
    offset: float | npt.NDArray[np.float64]
    scale: float | npt.NDArray[np.float64]
    classes: npt.NDArray[Any] | None
    train_loss: npt.NDArray[np.float64]
    valid_loss: npt.NDArray[np.float64]
    targets: tuple[str, ...] | None = None
    class_targets: tuple[npt.NDArray[Any], ...] | None = None
    least_squares: LeastSquares | None = None
    row_offset: RowOffset = NO_OFFSET
    learned: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict)
    fold_ensembles: tuple[Ensemble, ...] = ()

    def _summary(self) -> Summary:
        ensemble = self.ensemble
        facts = {
            "features": ensemble.n_features,
            "outputs": ensemble.n_outputs,
            "rounds": ensemble.n_rounds,
            "fingerprint": self.fingerprint()[:12],
        }
        return Summary(f"Model: {self.task}, {self.loss}", facts)

    def to_bytes(self, estimator: Mapping[str, Any] | None = None) -> bytes:
        """Return the model as the bytes of a model file."""
        # Imported late: the module of the file format imports this one.
        from stagewise.model.file.format import encode

        return encode(self, estimator)

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """Read a model from the bytes of a model file; see `stagewise.model.file.format.decode`."""
        from stagewise.model.file.format import decode

        model, _ = decode(data)
        return model

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickles and copies contain the bytes of a file, which are checked when they are read, and
        # which later versions can read.
        return Model.from_bytes, (self.to_bytes(),)

    def learned_by(self, part: str) -> dict[str, npt.NDArray[np.float64]]:
        """Return the learned numbers of a part, such as "loss", without its name."""
        return learned_by(self.learned, part)

    @property
    def class_outputs(self) -> tuple[str, ...]:
        """The names of the probabilities of several targets of classes, such as "y0=no"."""
        each = self.class_targets or ()
        return tuple(
            f"{name}={label}"
            for name, classes in zip(self.target_names, each, strict=True)
            for label in classes.tolist()
        )

    @property
    def target_names(self) -> tuple[str, ...]:
        """The names of several targets of classes; y0, y1, … if they have none."""
        return self.targets or tuple(f"y{k}" for k in range(len(self.class_targets or ())))

    @property
    def gain_unit(self) -> float:
        """The factor from the gains of the trees to the units of the loss.

        It is 1 for several targets, and for losses that are not in `stagewise.losses`.
        """
        loss = REGRESSION_LOSSES.get(self.loss)
        degree = 1 if loss is None or self.task == "classification" else loss.degree or 1
        scale = self.scale if isinstance(self.scale, float) else 1.0
        with np.errstate(over="ignore", under="ignore"):
            return float(np.float64(scale) ** (2 * (degree - 1)))

    def gain_by_feature(self) -> npt.NDArray[np.float64]:
        """Return the sum of the gains of all splits for each feature.

        The gain of a column that is computed from several features is divided equally among them.
        """
        flat, sources = self.ensemble.flat(), self.features.sources
        inner = flat["feature"] >= 0
        by_column = np.bincount(
            flat["feature"][inner], weights=flat["gain"][inner], minlength=len(sources)
        )
        gains = np.zeros(self.features.n)
        for gain, own in zip(by_column, sources, strict=True):
            gains[list(own)] += gain / len(own)
        return gains

    def fingerprint(self) -> str:
        """Return a hash of everything that determines the predictions.

        Two models with the same fingerprint give the same scores for the same rows, and the same
        predictions with the same loss. Names, temporal types, losses of the rounds, gains, covers
        and parameters are not part of it; nor are the width of the type of the class labels, and
        the values that count as missing besides NaN, since they are replaced by NaN.

        Returns
        -------
        str
            The SHA-256 digest in hexadecimal digits, the same on every machine.
        """
        digest = hashlib.sha256()

        def add(name: str, array: npt.NDArray[Any]) -> None:
            little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
            # With name and length first, different models cannot give the same bytes.
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
        for name, array in pack_crosses(self.features.crosses).items():
            add(name, array)
        for name, array in pack_target_encodings(self.features.target_encodings).items():
            add(name, array)
        for name, array in pack_least_squares(self.least_squares).items():
            add(name, array)
        for name, array in pack_learned(self.learned).items():
            add(name, array)
        for name, array in pack_fold_ensembles(self.fold_ensembles).items():
            if not name.endswith(("gain", "cover")):
                add(name, array)
        if self.row_offset.columns:  # an offset that is passed is no part of the model
            add("row_offset_source", pack_row_offset(self.row_offset)["row_offset_source"])
        labels = None if self.classes is None else self.classes.tolist()
        if self.class_targets is not None:
            labels = [classes.tolist() for classes in self.class_targets]
        digest.update(json.dumps(labels, default=_plain).encode("ascii"))
        return digest.hexdigest()


def _plain(label: object) -> Any:
    """Return a label in a type that JSON supports."""
    return label.item() if isinstance(label, np.generic) else repr(label)

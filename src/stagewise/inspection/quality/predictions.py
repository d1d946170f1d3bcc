"""What an estimator says of rows, beside what is known of them.

The one idea: whoever judges a model needs the same few arrays, so they are made once, here, with
all that can be wrong about them refused; scores, curves and pictures are then functions of these
and never ask the model again. Must not judge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from stagewise.data import check_weight, read_labels, read_target
from stagewise.errors import InvalidParameterError
from stagewise.validation.messages import shown
from stagewise.validation.parameters import nearest_name

__all__ = ["Answers", "known_codes"]

Vector = npt.NDArray[np.float64]
MOST_SHOWN = 8


@dataclass(frozen=True, eq=False)
class Answers:
    """What an estimator says of rows, beside what is known of them.

    Attributes
    ----------
    task : {"regression", "classification"}
        What is predicted.
    y : float64 array of shape (n_rows,), or intp array of shape (n_rows,)
        What is known: numbers, or places in `classes`.
    said : float64 array of shape (n_rows,), or (n_rows, n_classes)
        What is said: means, or probabilities of the classes.
    classes : tuple, or None
        The labels, as the model has them; None of numbers.
    weight : float64 array of shape (n_rows,)
        How much each row counts; 1 without weights.
    """

    task: Literal["regression", "classification"]
    y: npt.NDArray[Any]
    said: Vector
    classes: tuple[Any, ...] | None
    weight: Vector

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, sample_weight: Any = None) -> Answers:
        """Ask a model about rows with known answers.

        Parameters
        ----------
        model : estimator
            Any fitted estimator with `predict`, and of classes `predict_proba` and `classes_`.
        X, y : array-like or data frame, and array-like
            Rows, and what is known of them: one number or one label for each.
        sample_weight : array-like or None
            How much each row counts.

        Raises
        ------
        ValueError, TypeError
            If y has missing values, the wrong length, several targets or labels that the model
            never saw; if there are no rows, or none that counts.
        """
        who = type(model).__name__
        if isinstance(model, type) or not hasattr(model, "predict"):
            raise TypeError(
                f"model must be a fitted estimator with predict; got {shown(model)}. Fit one "
                "first, such as GradientBoostingRegressor().fit(X, y)."
            )
        if hasattr(model, "predict_proba"):
            said = model.predict_proba(X)  # raises where nothing was fitted
            return cls.given(said, y, model.classes_, sample_weight, caller=who)
        return cls.given(model.predict(X), y, None, sample_weight, caller=who)

    @classmethod
    def given(
        cls,
        said: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        caller: str = "model",
    ) -> Answers:
        """Put what was said of rows, by whoever it was, beside what is known of them.

        Parameters
        ----------
        said : array of shape (n_rows,), or (n_rows, n_classes)
            Predicted numbers, or probabilities of the classes; `oob_prediction_` will do as well.
        y : array-like of shape (n_rows,)
            What is known of the rows.
        classes : sequence of labels, or None
            What the columns of `said` are about; None: numbers were said.
        sample_weight : array-like or None
            How much each row counts.
        caller : str
            Who said it, for messages.
        """
        told = np.asarray(said, dtype=np.float64)
        n_rows = len(told)
        if n_rows == 0:
            raise ValueError("X has no rows. Pass at least one row with a known answer.")
        if not np.isfinite(told).all():
            row = int(np.argmin(np.isfinite(told).reshape(n_rows, -1).all(axis=1)))
            raise ValueError(
                f"Nothing was said of row {row} ({shown(told[row])}). Leave such rows out."
            )
        weight = check_weight(sample_weight, n_rows)
        weight = np.ones(n_rows) if weight is None else weight
        if classes is not None:
            labels = np.asarray(classes)
            codes = known_codes(y, n_rows, labels, caller)
            return cls("classification", codes, told, tuple(labels.tolist()), weight)
        if told.ndim > 1 and told.shape[1] > 1:
            raise ValueError(
                f"This {caller} predicts {told.shape[1]} targets, and one is judged at a time. Fit "
                "a model of one target, or pass one column to Answers.given."
            )
        told = told.reshape(n_rows)
        return cls("regression", read_target(y, n_rows, caller=caller), told, None, weight)

    @property
    def names(self) -> tuple[str, ...]:
        """The classes as text; empty of numbers."""
        return tuple(str(label) for label in self.classes or ())

    def counted(self) -> Answers:
        """Return the rows that count: a row of weight 0 is as good as absent."""
        kept = self.weight > 0
        if kept.all():
            return self
        return Answers(self.task, self.y[kept], self.said[kept], self.classes, self.weight[kept])

    def require(self, task: str, caller: str) -> None:
        """Raise if these are answers of the other kind."""
        if self.task != task:
            fit = "a regressor" if task == "regression" else "a classifier"
            kind = "numbers" if self.task == "regression" else "classes"
            raise InvalidParameterError(
                f"{caller} is about a {task}, and this model predicts {kind}. Pass {fit}."
            )

    def place(self, positive: Any, caller: str) -> int:
        """Return the place of the class that is told from the rest.

        Parameters
        ----------
        positive : label, str or None
            A label, or what it is called; None: the second of two.
        caller : str
            Who asks, for messages.
        """
        self.require("classification", caller)
        assert self.classes is not None
        if positive is None:
            if len(self.classes) == 2:
                return 1
            raise InvalidParameterError(
                f"positive must name one of the {len(self.classes)} classes, which is then told "
                f"from the rest: {_listing(self.names)}."
            )
        for known in (self.classes, self.names):
            if positive in known:
                return known.index(positive)
        raise InvalidParameterError(
            f"positive must be one of the classes {_listing(self.names)}; got {shown(positive)}."
            f"{nearest_name(str(positive), self.names)}"
        )


def known_codes(
    y: Any, n_rows: int, classes: npt.NDArray[Any], caller: str
) -> npt.NDArray[np.intp]:
    """Return the places of labels among a model's classes.

    Labels are compared as text where either they or the classes are text: a file whose labels all
    look like numbers is read as numbers, and one with quotes as text.

    Raises
    ------
    ValueError
        If a label is none of the classes; with the labels, how many rows have them, and the remedy.
    """
    found, codes = read_labels(y, n_rows, caller=caller)
    known = classes.tolist()
    labels = found.tolist()
    texts = [all(isinstance(label, str) for label in those) for those in (known, labels)]
    if texts == [True, False]:
        labels = [str(label) for label in labels]
    elif texts == [False, True] and len({str(label) for label in known}) == len(known):
        known = [str(label) for label in known]
    place = {label: k for k, label in enumerate(known)}
    places = np.array([place.get(label, -1) for label in labels], dtype=np.intp)[codes]
    unseen = places < 0
    if unseen.any():
        strange = [label for label in labels if label not in place]
        count = int(unseen.sum())
        raise ValueError(
            f"y holds labels the model never saw in training: {_listing(strange)} (in {count:,} "
            f"row{'s' if count > 1 else ''}); its classes are {_listing(known)}. "
            "Leave these rows out."
        )
    return places


def _listing(names: Any) -> str:
    listed = ", ".join(repr(name) for name in names[:MOST_SHOWN])
    return listed + (f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else "")

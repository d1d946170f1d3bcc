"""The additive model whose terms are arbitrary estimators.

Like `Ensemble`, but a term is any object that predicts. Such terms contain code, so they cannot be
saved in a model file; they can be pickled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.row_offset import NO_OFFSET, RowOffset
from stagewise.model.file.learned_numbers import learned_by

__all__ = ["TermModel", "Terms"]


@dataclass(eq=False)
class Terms:
    """A sum of terms for each output; term ``t`` belongs to round ``t // n_outputs``.

    Parameters
    ----------
    base : float64 array of shape (n_outputs,)
        The constant score of each output.
    parts : list
        The terms, as `stagewise.learners.estimator.EstimatorTerm`: each has an estimator, a method
        ``basis(X)`` and the coefficients of these basis functions.
    """

    base: npt.NDArray[np.float64]
    parts: list[Any] = field(default_factory=list)

    @property
    def n_outputs(self) -> int:
        """The number of scores per row."""
        return len(self.base)

    @property
    def n_rounds(self) -> int:
        """The number of boosting rounds."""
        return len(self.parts) // self.n_outputs

    @property
    def terms(self) -> Sequence[Any]:
        """The terms, round by round."""
        return self.parts

    def set_terms(self, terms: Iterable[Any]) -> None:
        """Replace all terms."""
        self.parts[:] = terms

    def append(self, part: Any) -> None:
        """Append the next term."""
        self.parts.append(part)

    def truncate(self, rounds: int) -> None:
        """Remove all rounds after the first `rounds`."""
        del self.parts[rounds * self.n_outputs :]

    def score(self, X: Any, n_rows: int, rounds: int | None = None) -> npt.NDArray[np.float64]:
        """Return F(x) after some rounds, shape (n_rows, n_outputs); None: after all."""
        n = self.n_rounds if rounds is None else rounds
        *_, last = islice(self.staged_scores(X, n_rows), n + 1)
        return last

    def staged_scores(self, X: Any, n_rows: int) -> Iterator[npt.NDArray[np.float64]]:
        """Yield F(x), shape (n_rows, n_outputs), before the first round and after each."""
        out = np.tile(self.base, (n_rows, 1))
        yield out.copy()
        for m in range(self.n_rounds):
            bases: dict[int, Any] = {}  # a classifier is the estimator of all terms of a round
            for k, part in enumerate(self.parts[m * self.n_outputs : (m + 1) * self.n_outputs]):
                key = id(part.estimator)
                if key not in bases:
                    bases[key] = part.basis(X)
                out[:, k] += bases[key] @ part.value
            yield out.copy()


@dataclass(frozen=True, eq=False)
class TermModel:
    """A model whose base learners are estimators; the other fields are those of `Model`.

    Parameters
    ----------
    n_features : int
        The number of columns of X.
    names : tuple of str or None
        Their names.
    digest : str or None
        A hash of the pickled terms directly after the fit; None if they cannot be pickled.
    """

    task: str
    loss: str
    ensemble: Terms
    offset: Any
    scale: Any
    classes: npt.NDArray[Any] | None
    train_loss: npt.NDArray[np.float64]
    valid_loss: npt.NDArray[np.float64]
    n_features: int
    names: tuple[str, ...] | None
    digest: str | None
    row_offset: RowOffset = NO_OFFSET
    learned: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict)

    def learned_by(self, part: str) -> dict[str, npt.NDArray[np.float64]]:
        """Return the learned numbers of a part, such as "loss", without its name."""
        return learned_by(self.learned, part)

    def fingerprint(self) -> str:
        """Return a hash of the fitted terms, valid on this machine and with these versions."""
        if self.digest is None:
            raise TypeError(
                "This model has no fingerprint: it would be a hash of the pickled learners, but "
                "they cannot be pickled. Use functions and classes that are defined in a module, "
                "not lambdas or local ones."
            )
        return self.digest

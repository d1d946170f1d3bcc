"""The additive model whose terms are any estimators.

The one idea: as `Ensemble`, but a part is whatever says what it adds to the score of rows. Such
parts are code as well as numbers, so they have no file of their own; pickles hold them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["TermModel", "Terms"]


@dataclass(eq=False)
class Terms:
    """A sum of parts for each output; part ``t`` is of round ``t // n_outputs``.

    Parameters
    ----------
    base : float64 array of shape (n_outputs,)
        The constant score of each output.
    parts : list
        Each has a method ``of(X)``, what it adds to the score of every row.
    """

    base: npt.NDArray[np.float64]
    parts: list[Any] = field(default_factory=list)

    @property
    def n_outputs(self) -> int:
        """How many scores a row gets."""
        return len(self.base)

    @property
    def n_rounds(self) -> int:
        """How many rounds of boosting there are."""
        return len(self.parts) // self.n_outputs

    def append(self, part: Any) -> None:
        """Add the next part."""
        self.parts.append(part)

    def truncate(self, rounds: int) -> None:
        """Forget all rounds after the first `rounds`."""
        del self.parts[rounds * self.n_outputs :]

    def score(self, X: Any, n_rows: int) -> npt.NDArray[np.float64]:
        """Return F(x), shape (n_rows, n_outputs)."""
        *_, last = self.staged_scores(X, n_rows)
        return last

    def staged_scores(self, X: Any, n_rows: int) -> Iterator[npt.NDArray[np.float64]]:
        """Yield F(x), shape (n_rows, n_outputs), before the first round and after each."""
        out = np.tile(self.base, (n_rows, 1))
        yield out.copy()
        for m in range(self.n_rounds):
            for k in range(self.n_outputs):
                out[:, k] += self.parts[m * self.n_outputs + k].of(X)
            yield out.copy()


@dataclass(frozen=True, eq=False)
class TermModel:
    """What boosting learned with estimators as learners; the fields are those of `Model`.

    Parameters
    ----------
    n_features : int
        How many columns X has.
    names : tuple of str or None
        What they are called.
    digest : str or None
        Of all that the terms held when they had been fitted; None: they cannot be pickled.
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

    def fingerprint(self) -> str:
        """Return a digest of what was learned, good for this machine and these versions."""
        if self.digest is None:
            raise TypeError(
                "This model has no fingerprint: it is a hash of the pickled learners, and they "
                "cannot be pickled. Build the learner of functions and classes that a module "
                "defines, not of lambdas and local ones."
            )
        return self.digest

"""The interface of training rows: a table in memory, or a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from stagewise.cli.columns import Roles
from stagewise.cli.task import Guess

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TrainingRows", "ValidationScores"]


@dataclass(frozen=True)
class ValidationScores:
    """The scores of a model on validation rows.

    Parameters
    ----------
    scores : dict of str to float
        By name; see `SCORE_LABELS`.
    n_rows, n_scored : int
        The number of validation rows, and of those that were predicted for the scores.
    """

    scores: dict[str, float]
    n_rows: int
    n_scored: int


class TrainingRows(Protocol):
    """The rows that ``stagewise train`` fits a model to, and the validation rows.

    The methods are called in this order.
    """

    roles: Roles

    @property
    def columns(self) -> pa.Table:
        """A table with the names and types of all columns; it may have no rows."""

    @property
    def n_rows(self) -> int:
        """The number of training rows."""

    def guess_task(self) -> Guess:
        """Return the task that the target suggests."""

    def check(self, estimator: Any) -> None:
        """Raise if the estimator cannot be fitted to such rows."""

    def choose(self, names: list[str], task: str) -> pa.Table:
        """Choose the features; return a table with their names and types."""

    def open_validation(self, categorical: list[str]) -> None:
        """Open the validation rows, if there are any."""

    def fit(self, estimator: Any) -> Any:
        """Return the fitted estimator."""

    def scores(self, estimator: Any) -> ValidationScores | None:
        """Return the scores on the validation rows; None: there are none."""

    def finish(self) -> dict[str, Any]:
        """Remove temporary files after the model was saved; return facts for the summary."""

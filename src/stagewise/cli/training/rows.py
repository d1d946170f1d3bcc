"""The interface of training rows: a table in memory, or a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from stagewise.cli.columns import Roles
from stagewise.cli.scoring.score_table import ScoreTable
from stagewise.cli.task import Guess

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["HeldOutScores", "TrainingRows"]


@dataclass(frozen=True)
class HeldOutScores:
    """The scores of a model on rows that it was not fitted to.

    Parameters
    ----------
    kind : {"file", "hold_out", "folds", "fraction", "out_of_bag"}
        Which rows: those of --valid or --hold-out; those that folds or early stopping held out;
        the out-of-bag rows of a forest.
    where : str
        The rows in words.
    table : ScoreTable
        The scores and their baselines.
    n_rows, n_scored : int
        The number of such rows, and of those that were predicted for the scores.
    """

    kind: str
    where: str
    table: ScoreTable
    n_rows: int
    n_scored: int

    def facts(self) -> dict[str, Any]:
        """Return the scores for the result of the command."""
        return {
            "validation": self.table.values(),
            "validation_baseline": self.table.baselines(),
            "validation_kind": self.kind,
            "validation_rows": self.n_rows,
            "validation_rows_scored": self.n_scored,
        }


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

    def scores(self, estimator: Any) -> HeldOutScores | None:
        """Return the scores on rows that were not trained on; None: there are none."""

    def finish(self) -> dict[str, Any]:
        """Remove temporary files after the model was saved; return facts for the summary."""

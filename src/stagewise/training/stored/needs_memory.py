"""Which fits of datasets need all rows in memory; the rows are then read, if they fit."""

from __future__ import annotations

from dataclasses import replace

from stagewise.boosting import responses
from stagewise.boosting.steps import step_for
from stagewise.boosting.stored_sampling import can_draw_stored_rows
from stagewise.cluster.peers import Peers
from stagewise.datasets.dataset import Dataset
from stagewise.datasets.memory import format_bytes
from stagewise.errors import InvalidParameterError
from stagewise.losses import Loss
from stagewise.training.adapters.tree_adapter import TreeAdapter
from stagewise.training.reading.training_data import FitArguments
from stagewise.training.specs import BoostingSpec
from stagewise.training.stored.gather_rows import gather_rows, split_table

__all__ = ["NeedsRowsInMemoryError", "rows_in_memory", "unsupported_part"]

ROW_BYTES = 64
"""The bytes of a row besides its values and their codes: scores, gradients, lists of rows."""
CODE_BYTES = 2
"""The bytes of a code, at most."""
SYMMETRIC = (
    "grow_policy='symmetric' (which n_estimators='auto' has with validation rows or "
    "early_stopping=True; set grow_policy='best_first')"
)


class NeedsRowsInMemoryError(Exception):
    """A fit needs the rows of a dataset in memory.

    Parameters
    ----------
    what : str
        The parameter, or the estimator, that needs them.
    remedy : str
        How to fit rows that are not in memory.
    """

    def __init__(self, what: str, remedy: str = "change the parameter") -> None:
        super().__init__(what, remedy)
        self.what, self.remedy = what, remedy

    def anew(self) -> NeedsRowsInMemoryError:
        """Return a new exception with the same reason, which was not raised."""
        return NeedsRowsInMemoryError(self.what, self.remedy)


def unsupported_part(spec: BoostingSpec, loss: Loss) -> str | None:
    """Return the first part of a specification that needs rows in memory; None: there is none."""
    recipe, learner = spec.recipe, spec.learner
    if not isinstance(learner, TreeAdapter):
        return "a learner other than trees"
    unsupported = {
        f"the method ({recipe.step_name})": recipe.response is not responses.newton
        or recipe.step is not step_for,
        f"loss={loss.name!r} ({_reason(loss)})": bool(_reason(loss)),
        "split other than 'histogram'": learner.split != "histogram",
        "leaves='linear'": learner.linear_l2 is not None,
        "leaves='vector'": learner.vector_leaves,
        SYMMETRIC: any(tree.grow_policy == "symmetric" for tree in learner.trees),
        f"sampling, {recipe.sampling.description}": not can_draw_stored_rows(recipe.sampling),
        "dropout": recipe.dropout.rate > 0,
        f"corrective={recipe.correction!r}": recipe.correction is not None,
        "oob_score=True": recipe.out_of_bag,
    }
    return next((what for what, is_used in unsupported.items() if is_used), None)


def _reason(loss: Loss) -> str:
    """Return why a loss needs all rows; empty: its rows do not depend on each other."""
    if loss.needs_all_rows:
        return loss.needs_all_rows
    if loss.leaf_quantile is not None:
        return "the value of a leaf is a quantile of its residuals"
    if loss.learns and loss.learns_from_rows:
        return "it learns numbers from the scores of all rows"
    return ""


def rows_in_memory(
    arguments: FitArguments, needs: NeedsRowsInMemoryError, peers: Peers
) -> FitArguments | None:
    """Return the arguments of a fit with the rows of the datasets in memory.

    Parameters
    ----------
    arguments : FitArguments
        X is a dataset, and X_val a dataset or None.
    needs : NeedsRowsInMemoryError
        Why the rows are read.
    peers : Peers
        The ranks of the fit. Only rank 0 gets the rows of all; the others get None.

    Raises
    ------
    InvalidParameterError
        If the rows do not fit into the memory limit.
    """
    datasets = [X for X in (arguments.X, arguments.X_val) if X is not None]
    n_rows = [sum(peers.gather(dataset.n_rows)) for dataset in datasets]
    needed = sum(n * _row_bytes(X) for n, X in zip(n_rows, datasets, strict=True))
    limit = min(peers.gather(arguments.X.limit()))
    if needed > limit:
        limit_name, more = "memory_limit", "raise memory_limit"
        if peers.size > 1:
            limit_name, more = "the limit of a worker", "use workers with more memory"
        raise InvalidParameterError(
            f"{needs.what} needs all rows in memory: about {format_bytes(needed)} for "
            f"{sum(n_rows):,} rows, and {limit_name} is {format_bytes(limit)}. To fit them, "
            f"{needs.remedy}, or {more}."
        )
    tables = [gather_rows(dataset, peers, everywhere=False) for dataset in datasets]
    if tables[0] is None:
        return None
    X, y, weight = split_table(arguments.X, tables[0])
    read = replace(arguments, X=X, y=y, sample_weight=weight)
    if arguments.X_val is None:
        return read
    X, y, weight = split_table(arguments.X_val, tables[1])
    return replace(read, X_val=X, y_val=y, sample_weight_val=weight)


def _row_bytes(dataset: Dataset) -> int:
    """Return the bytes of a row in a fit in memory, about."""
    return dataset.row_bytes() + CODE_BYTES * len(dataset.features) + ROW_BYTES

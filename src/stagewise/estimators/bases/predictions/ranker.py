"""The predictions of rankers, and their target, loss and score."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stagewise.data.ranking import is_ranking_target, ranking_target
from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.predictions.dataset_predictions import predicts_datasets
from stagewise.losses import Loss
from stagewise.losses.owners import refused_loss
from stagewise.losses.ranking import RANKING_LOSSES, RankingLoss
from stagewise.losses.scores import squeeze_outputs
from stagewise.metrics.queries import QueryMetric, uses_gains
from stagewise.model.model import Model
from stagewise.training.reading.query_reader import QueryReader
from stagewise.training.reading.target_reader import TargetReader
from stagewise.validation.arguments import check_argument
from stagewise.validation.messages import short_repr
from stagewise.validation.rules import Number

__all__ = ["RankerPredictions", "RankingLossParameters", "queries_of"]

Vector = npt.NDArray[np.float64]

RANKING_FORMS = "or an object of stagewise.losses such as LambdaNdcg(truncation=10)"
"""What `loss` accepts besides names."""
FIRST_ROWS = Number(1, 2**31 - 1, whole=True, or_none=True)


def queries_of(
    y: Any, qid: Any = None, query_sizes: Any = None, position: Any = None, where: str = ""
) -> Any:
    """Return y with its queries; y itself if it is a ranking target, or None.

    Parameters
    ----------
    y, qid, query_sizes, position
        As of `ranking_target`.
    where : str
        The rows in messages; empty: those of `fit`.
    """
    given = {"qid": qid, "query_sizes": query_sizes, "position": position}
    named = [name for name, value in given.items() if value is not None]
    if y is None:
        return None
    if is_ranking_target(y):
        if named:
            raise ValueError(
                f"y{where} has its queries (ranking_target), so {named[0]}{where} must not be "
                "passed, too. Leave it out."
            )
        return y
    if not {"qid", "query_sizes"} & set(named):
        if where:
            raise ValueError(
                f"In y{where}: a ranking needs the query of every row. Pass qid{where}=..., one "
                f"value for each row, or query_sizes{where}=..., the numbers of consecutive rows."
            )
        return y  # the reader of the target names the remedy
    try:
        return ranking_target(y, **given)
    except (TypeError, ValueError) as error:
        if not where:
            raise
        raise type(error)(f"In y{where}, qid{where} or query_sizes{where}: {error}") from None


class RankerPredictions:
    """Rankers whose model has scores."""

    gains: Any
    loss: Any
    eval_metric: Any

    if TYPE_CHECKING:  # defined by the other bases of an estimator

        def _fitted(self) -> Model: ...

        def _score(self, X: Any, n_rounds: Any = None) -> Vector: ...

        def _staged_with_offset(self, X: Any, offset: Any, exposure: Any) -> Iterator[Vector]: ...

        def _with_offset(
            self, model: Model, score: Vector, X: Any, offset: Any, exposure: Any
        ) -> Vector: ...

    def _target_reader(self) -> TargetReader:
        return QueryReader(type(self).__name__, self.gains, self._needs_relevance())

    def _needs_relevance(self) -> str:
        """Return what of a fit needs relevance of at least 0; empty: nothing."""
        kind = RANKING_LOSSES.get(self.loss) if isinstance(self.loss, str) else type(self.loss)
        if not getattr(kind, "uses_differences", False):
            signed = " and ".join(repr(n) for n, k in RANKING_LOSSES.items() if k.uses_differences)
            name = self.loss if isinstance(self.loss, str) else getattr(kind, "name", self.loss)
            return f"loss={name!r} (the losses {signed} permit it)"
        several = isinstance(self.eval_metric, (list, tuple))
        listed = self.eval_metric if several else [self.eval_metric]
        names = [getattr(metric, "name", metric) for metric in listed]
        by_gain = [name for name in names if isinstance(name, str) and uses_gains(name)]
        return f"eval_metric={by_gain[0]!r}" if by_gain else ""

    @predicts_datasets
    def predict(self, X: Any, *, n_rounds: int | None = None, offset: Any = None) -> Vector:
        """Return the score of every row: in a query, rows with larger scores come first.

        Scores of different queries cannot be compared.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix of shape (n_rows, n_features), or Dataset
            The rows, of any queries.
        n_rounds : int or None
            The number of rounds to use, from 1 to `n_iter_`. None: all.
        offset : array-like of shape (n_rows,), number, str or None
            As of `fit`.
        """
        model = self._fitted()
        score = self._with_offset(model, self._score(X, n_rounds), X, offset, None)
        return self._predict_scores(model, score)

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[Vector]:
        """Yield the scores after every round; offset as of `predict`."""
        model = self._fitted()
        for score in self._staged_with_offset(X, offset, None):
            yield self._predict_scores(model, score)

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        qid: Any = None,
        query_sizes: Any = None,
        k: int | None = None,
        offset: Any = None,
    ) -> float:
        """Return the mean NDCG of the queries.

        Queries without a relevant row are left out.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,)
            Their relevance, which must not be negative; or a `ranking_target`, which has the
            queries.
        sample_weight : array-like of shape (n_rows,) or None
            The weight of each row, equal for the rows of a query.
        qid, query_sizes
            As of `fit`.
        k : int or None
            NDCG@k counts the first k rows of each query. None: all.
        offset : array-like of shape (n_rows,), number, str or None
            As of `predict`.
        """
        first: int | None = check_argument("k", FIRST_ROWS, k)
        predicted = self.predict(X, offset=offset) if offset is not None else self.predict(X)
        target = queries_of(y, qid, query_sizes)
        reader = QueryReader(type(self).__name__, self.gains, "NDCG")
        found = reader.read(target, sample_weight, len(predicted))
        value = QueryMetric("ndcg", first)(found.y, predicted, found.weight)
        if not np.isfinite(value):
            raise ValueError(
                "NDCG is not defined: no query has a row whose relevance is above 0. Pass rows "
                "with relevant ones."
            )
        return value

    def _predict_scores(self, model: Model, score: Vector) -> Vector:
        return np.asarray(squeeze_outputs(score))


class RankingLossParameters:
    """Rankers whose parameters `loss` and `truncation` choose the loss."""

    loss: Any
    truncation: Any

    def _make_loss(self, classes: npt.NDArray[Any] | None) -> Loss:
        loss, name = self.loss, type(self).__name__
        given = {} if self.truncation is None else {"truncation": self.truncation}
        if isinstance(loss, RankingLoss):
            if given:
                raise InvalidParameterError(
                    f"The parameter 'truncation' of {name} is for the name of a loss, and loss is "
                    f"{short_repr(loss)}. Pass it to the loss, and leave truncation at None."
                )
            return loss
        kind = RANKING_LOSSES.get(loss) if isinstance(loss, str) else None
        if kind is None:
            raise refused_loss(loss, name, RANKING_LOSSES, RANKING_FORMS)
        if given and "truncation" not in kind.parameter_names:
            users = [n for n, k in RANKING_LOSSES.items() if "truncation" in k.parameter_names]
            raise InvalidParameterError(
                f"The parameter 'truncation' of {name} is for "
                f"loss={' or '.join(map(repr, users))}, but loss is {loss!r}. Leave truncation at "
                "None."
            )
        return kind(**given)

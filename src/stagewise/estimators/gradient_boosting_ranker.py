"""Gradient boosting for ranking."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Self

from stagewise.boosting.recipe import BY_RESPONSE, Recipe
from stagewise.datasets.dataset import Dataset
from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.boosting import BaseBoosting, OutOfBagMixin
from stagewise.estimators.bases.predictions.ranker import (
    RankerPredictions,
    RankingLossParameters,
    queries_of,
)
from stagewise.estimators.bases.trees.tree_attributes import TreeAttributes
from stagewise.estimators.parameters.make_specs import BOOSTING_RULES, BOOSTING_USES, tree_adapter
from stagewise.losses import Loss
from stagewise.training.fit_report import log_fit
from stagewise.training.reading.query_sets import ranked_eval_sets
from stagewise.training.reading.training_data import FitArguments, TrainingData
from stagewise.training.specs import LearnerAdapter
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.parameters import suggests_names
from stagewise.validation.rules import Number, gains

__all__ = ["GradientBoostingRanker"]


class GradientBoostingRanker(
    RankingLossParameters, RankerPredictions, TreeAttributes, OutOfBagMixin, BaseBoosting
):
    """Boosted trees that rank the rows of a query (LambdaMART).

    Rows of a query are compared with each other only: `predict` returns scores, and the row with
    the largest score of a query comes first. See docs/ranking.md.

    Parameters
    ----------
    loss : {"ndcg", "map", "pairwise", "softmax", "xendcg", "yetirank", "query_squared_error"} \
or RankingLoss, default="ndcg"
        The loss to minimise. "ndcg", "map": LambdaMART, logistic losses of pairs of rows times the
        change of the metric by their swap. "pairwise": the logistic loss of all pairs (RankNet).
        "softmax": the cross entropy of shares of gains and softmax of the scores (ListNet).
        "xendcg": the same with random numbers added to the gains (XE-NDCG). "yetirank": the
        logistic losses of neighbours in random orders. "query_squared_error": squared error, of
        which a constant of each query is subtracted. Or an object of `stagewise.losses`, such as
        `LambdaNdcg(truncation=10)`.
    truncation : int or None, default=None
        For "ndcg", "map" and "pairwise": a pair has a row of at most this rank. None: 30, and for
        "pairwise" any rank. About 1.5 to 3 times the k of an NDCG@k that matters is usual.
    gains : {"exponential", "linear"} or sequence of floats, default="exponential"
        The gain of a row of relevance r: 2^r - 1; r; or the gains of r = 0, 1, 2, … in turn. They
        are those of the loss and of the metrics.
    response, learning_rate, n_estimators, max_leaf_nodes, max_depth, min_samples_leaf, \
min_hessian, l1_regularization, l2_regularization, min_gain, max_step, \
path_smoothing, max_features, subsample, dropout, monotonic_cst, interaction_cst, \
feature_penalty, split, max_bins, missing_values, categorical_features, category_encoding, \
handle_unknown, n_iter_no_change, tol, time_limit, warm_start, random_state, n_jobs, verbose, \
callbacks
        As in `GradientBoostingRegressor`.
    grow_policy : {"auto", "best_first", "depth_wise", "symmetric"}, default="auto"
        As in `GradientBoostingRegressor`. With a number of rounds "auto" is "symmetric", of depth 6
        with 64 leaves (of fewer than 10,000 rows, by their weights, 31, and λ = 3), unless
        `max_depth`, `max_leaf_nodes` or another parameter is set that symmetric trees do not have;
        rounds draw 80 % of the rows (MVS). See docs/ranking.md.
    leaves : {"auto", "constant", "linear"} or LinearLeaves, default="auto"
        "constant": a leaf is a number. "linear": a leaf is a linear model in the numeric features
        of its path; see `LinearLeaves`. "auto": "constant".
    sampling : {"auto", "uniform", "fixed_size", "bootstrap", "goss", "mvs", "group"}, Goss or \
Mvs, default="auto"
        As in `GradientBoostingRegressor`. "group": all rows of a query, or none.
    oob_score : bool, default=False
        As in `GradientBoostingRegressor`; only with sampling="group".
    early_stopping : "auto", bool, "cv", int, splitter or list of folds, default="auto"
        As in `GradientBoostingRegressor`. Whole queries are held out, also by folds.
    validation_fraction : float, default=0.1
        The fraction of the queries that early_stopping=True holds out.
    eval_metric : None, str, callable, Metric, or a list of these, default=None
        The metrics that are measured after every round, besides the loss. The first one chooses the
        best round and stops the fit, instead of the loss. "ndcg", "map", "mrr" and "err", also of
        the first k rows of each query: "ndcg@10". Queries without a relevant row are left out.

    Attributes
    ----------
    position_bias_ : dict
        With `position`: the bias of each position, which is added to the scores of its rows.
    model_, n_iter_, best_iteration_, learning_rate_, train_loss_, validation_loss_, \
evals_result_, best_score_, held_out_rows_, feature_importances_, n_features_in_, \
feature_names_in_, fit_report_, oob_best_iteration_, seed_
        As in `GradientBoostingRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from stagewise import GradientBoostingRanker
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(600, 3)), np.repeat(np.arange(60), 10)
    >>> relevance = np.clip(np.round(X[:, 0] + 1), 0, 3)
    >>> model = GradientBoostingRanker(n_estimators=20).fit(X, relevance, qid=qid)
    >>> model.predict(X[:2]).shape
    (2,)
    >>> round(model.score(X, relevance, qid=qid, k=5), 1)
    1.0
    """

    _rules: Mapping[str, Any] = {
        **BOOSTING_RULES,
        "truncation": Number(1, 2**31 - 1, whole=True, or_none=True),
        "gains": gains,
    }
    _uses = BOOSTING_USES
    _takes_offset = True
    _ranks = True

    @suggests_names
    def __init__(
        self,
        *,
        loss: Any = "ndcg",
        truncation: int | None = None,
        gains: Any = "exponential",
        response: str = "newton",
        learning_rate: float | str = "auto",
        n_estimators: int | str = "auto",
        max_leaf_nodes: int | str | None = "auto",
        max_depth: int | str | None = "auto",
        min_samples_leaf: float | str = "auto",
        min_hessian: float = 1e-3,
        l1_regularization: float = 0.0,
        l2_regularization: float | str = "auto",
        min_gain: float = 0.0,
        max_step: float | None = None,
        leaves: Any = "auto",
        grow_policy: str = "auto",
        path_smoothing: float = 0.0,
        max_features: Any = "auto",
        subsample: float | str = "auto",
        sampling: Any = "auto",
        oob_score: bool = False,
        dropout: Any = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        feature_penalty: Any = None,
        split: Any = "auto",
        max_bins: int = 255,
        missing_values: Any = None,
        categorical_features: Any = "from_dtype",
        category_encoding: Any = "auto",
        handle_unknown: str = "missing",
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int | str = "auto",
        tol: float = 0.0,
        eval_metric: Any = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Any = None,
    ) -> None:
        self.loss = loss
        self.truncation = truncation
        self.gains = gains
        self.response = response
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_hessian = min_hessian
        self.l1_regularization = l1_regularization
        self.l2_regularization = l2_regularization
        self.min_gain = min_gain
        self.max_step = max_step
        self.leaves = leaves
        self.grow_policy = grow_policy
        self.path_smoothing = path_smoothing
        self.max_features = max_features
        self.subsample = subsample
        self.sampling = sampling
        self.oob_score = oob_score
        self.dropout = dropout
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.feature_penalty = feature_penalty
        self.split = split
        self.max_bins = max_bins
        self.missing_values = missing_values
        self.categorical_features = categorical_features
        self.category_encoding = category_encoding
        self.handle_unknown = handle_unknown
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.eval_metric = eval_metric
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks

    def _recipe(self) -> Recipe:
        return BY_RESPONSE[self.response]

    def _learner_adapter(self, params: dict[str, Any]) -> LearnerAdapter:
        return tree_adapter(params)

    @suggests_arguments
    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        qid: Any = None,
        query_sizes: Any = None,
        position: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        qid_val: Any = None,
        query_sizes_val: Any = None,
        eval_set: Any = None,
        offset: Any = None,
        offset_val: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
            The rows: what may be ranked, such as documents, together with its query.
        y : array-like of shape (n_rows,)
            The relevance of each row for its query: grades such as 0 to 4, or 0 and 1, or other
            numbers that are not negative; with loss="pairwise" and "query_squared_error" any
            numbers. Or a `ranking_target`, which has the queries, too.
        sample_weight : array-like of shape (n_rows,) or None
            Weights of queries, equal for all rows of a query: weight 2 is the query twice. A row of
            weight 0 is left out.
        qid : array-like of shape (n_rows,), or a number
            The query of each row, in any order: numbers or text.
        query_sizes : array-like of int or None
            Instead of `qid`: the numbers of rows of the queries, which follow each other.
        position : array-like of shape (n_rows,) or None
            Where each row was shown when its relevance was recorded. The bias of each position is
            estimated and does not enter predictions; see docs/ranking.md.
        X_val, y_val, sample_weight_val, qid_val, query_sizes_val
            Validation rows, of other queries. They decide when the fit stops, unless
            early_stopping=False.
        eval_set : list of (X, y, qid) or (X, y, qid, weight), mapping of names to these, or None
            As in `GradientBoostingRegressor`; a set may also be a mapping with the keys X, y, qid
            or query_sizes, and sample_weight.
        offset : array-like of shape (n_rows,), number, str or None
            Scores that are added to those of the model, in its fit and in predictions. Text is the
            name of a column of X, which then is no feature.
        offset_val
            That of the validation rows; a column is read from `X_val` without it.

        Returns
        -------
        self
        """
        if isinstance(X, Dataset):
            raise TypeError(
                f"{type(self).__name__} ranks rows in memory, and X is a Dataset. Read it into a "
                "table first, or fit GradientBoostingRegressor to the relevance."
            )
        target = queries_of(y, qid, query_sizes, position)
        sets = ranked_eval_sets(eval_set, X, y, target, sample_weight, qid, query_sizes)
        arguments = FitArguments(
            X,
            target,
            sample_weight,
            X_val,
            queries_of(y_val, qid_val, query_sizes_val, where="_val"),
            sample_weight_val,
            None,
            sets,
            offset,
            None,
            offset_val,
            None,
        )
        self._fit(arguments)
        log_fit(self, self.fit_report_["seconds"])
        return self

    def report(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        path: str | PathLike[str],
        *,
        qid: Any = None,
        query_sizes: Any = None,
        sample_weight: Any = None,
        title: str | None = None,
        target: str | None = None,
        random_state: int = 0,
        verbose: int = 0,
        offset: Any = None,
    ) -> Path:
        """Write a page about this model, to be opened in a browser.

        The page is one file and needs no server and no network. It shows NDCG and the other metrics
        with confidence limits, their distribution over the queries and by rank, the queries with
        the lowest scores, the data, the importance and the effect of features, explanations of
        single rows, the trees, and the model itself, so that values can be changed and predicted
        again.

        Parameters
        ----------
        X, y : array-like or data frame, and array-like
            Rows and their relevance, preferably of queries that the model was not trained on.
        path : str or path
            The file to write; by convention its name ends in .html.
        qid, query_sizes
            The queries, as of `fit`.
        sample_weight, title, target, random_state, verbose, offset
            See `stagewise.report.html.write_report`.

        Returns
        -------
        Path
            The path of the page.
        """
        written: Path = super().report(
            *(X, queries_of(y, qid, query_sizes), path),
            sample_weight=sample_weight,
            title=title,
            target=target or getattr(y, "name", None),
            random_state=random_state,
            verbose=verbose,
            offset=offset,
        )
        return written

    def refit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        qid: Any = None,
        query_sizes: Any = None,
        decay: float = 0.9,
        offset: Any = None,
    ) -> Self:
        """Return a fitted estimator with the same splits and leaf values of other rows.

        Parameters
        ----------
        X, y, sample_weight, qid, query_sizes, offset
            The rows, as of `fit`.
        decay : float, default=0.9
            The share of the old values; see `GradientBoostingRegressor.refit`.
        """
        target = queries_of(y, qid, query_sizes)
        return super().refit(X, target, sample_weight, decay=decay, offset=offset)

    def _check_arguments(self, params: dict[str, Any], arguments: FitArguments) -> None:
        by_queries = params["sampling"] == "group"
        if params["oob_score"] and not by_queries:
            raise InvalidParameterError(
                "oob_score=True of a ranker needs out-of-bag queries: set sampling='group', so "
                "that rounds draw whole queries."
            )
        if params["leaves"] == "vector":
            raise InvalidParameterError(
                "leaves='vector' is for several scores per row, and a ranker has one. Set "
                "leaves='constant'."
            )
        names = getattr(getattr(arguments.y, "dtype", None), "names", None) or ()
        if "position" in names and params["warm_start"]:
            raise InvalidParameterError(
                "position cannot be combined with warm_start=True: the biases of positions start "
                "at 0 with every fit. Set warm_start=False."
            )
        super()._check_arguments(params, arguments)

    def _loss_of(self, data: TrainingData) -> Loss:
        loss: Any = self._make_loss(None)
        own: Loss = loss.with_positions(data.train.y)
        return own

    @property
    def position_bias_(self) -> dict[float, float]:
        """The bias of each position, which is added to the scores of rows that were shown there."""
        learned = self._fitted().learned
        if "loss.position" not in learned:
            raise AttributeError(
                f"this {type(self).__name__} has no position_bias_: it was fitted without position."
            )
        pairs = zip(learned["loss.position"], learned["loss.position_bias"], strict=True)
        return {float(place): float(bias) for place, bias in pairs}

"""AdaBoost.R2: AdaBoost for numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from stagewise.boosting.recipe import NEWTON, Recipe
from stagewise.errors import ModelFormatError
from stagewise.estimators.bases.boosting import BaseBoosting
from stagewise.estimators.bases.estimator_sequence import EstimatorSequence
from stagewise.estimators.bases.estimator_terms import ONLY_OF_TREES, EstimatorTerms
from stagewise.estimators.bases.predictions.dataset_predictions import predicts_datasets
from stagewise.estimators.bases.predictions.regressor import RegressorPredictions
from stagewise.estimators.bases.predictions.staged_score import StagedScore
from stagewise.estimators.bases.trees.tree_attributes import TreeAttributes
from stagewise.estimators.decision_tree import DecisionTreeRegressor
from stagewise.losses import REGRESSION_LOSSES, Loss
from stagewise.model.model import Model
from stagewise.model.terms import TermModel
from stagewise.model.tree_list import TreeList
from stagewise.model.weighted_median import weighted_median
from stagewise.training.adapters.estimator_adapter import EstimatorAdapter
from stagewise.training.describe import describe_boosting, other_parameters
from stagewise.training.median_trainer import ROW_LOSSES, MedianResult, train_median
from stagewise.training.reading.training_data import TrainingData
from stagewise.training.results import FitResult
from stagewise.training.specs import BoostingSpec, FitContext, HoldOutSpec, LearnerAdapter
from stagewise.training.stored.hold_out import DividedRows
from stagewise.training.stored.needs_memory import NeedsRowsInMemoryError
from stagewise.validation.arguments import check_argument, suggests_arguments
from stagewise.validation.parameters import all_parameters, default_parameters, suggests_names
from stagewise.validation.rules import Number, OneOf

__all__ = ["AdaBoostRegressor"]

Vector = npt.NDArray[np.float64]

OF_TREES = MappingProxyType(
    {"max_leaf_nodes": None, "max_depth": 3, "min_samples_leaf": 1, **ONLY_OF_TREES}
)
"""Parameters that an estimator of another library cannot use, and their defaults."""


class AdaBoostRegressor(
    EstimatorSequence,
    StagedScore,
    EstimatorTerms,
    RegressorPredictions,
    TreeAttributes,
    BaseBoosting,
):
    """AdaBoost.R2: regressors with row weights that grow with the errors; their weighted median.

    Drucker (1997). Weights w start equal. Round m fits a regression tree h_m, or any other
    regressor, with these weights. With D = max |y - h_m(x)|, L_i = |y_i - h_m(x_i)| / D (or
    another `loss`) and its weighted mean L̄ < ½,

        β = L̄ / (1 - L̄)        w_i ← w_i β^(ν (1 - L_i))        α_m = ν log(1 / β)

    The prediction is the weighted median of h_1(x), …, h_M(x) with the weights α. It is not a sum,
    so Shapley values and other explanations of sums do not exist.

    Rows have weights, where Drucker and scikit-learn draw rows by these weights. The result does
    not depend on random numbers, unless the estimator does.

    Parameters
    ----------
    estimator : scikit-learn regressor or None, default=None
        The regressor that is fitted in every round, of this library or any other; None: a tree by
        the parameters below, which must have their defaults otherwise. It is cloned for every
        round; a ``random_state`` of None is replaced by a number that depends on `random_state` and
        on the round.
    resample : bool, default=False
        Whether an estimator whose `fit` has no argument ``sample_weight`` gets rows that are drawn
        in proportion to their weights instead (boosting by resampling). If False, such an estimator
        is an error.
    loss : {"linear", "square", "exponential"}, default="linear"
        L of an error e = |y - h(x)| / D: e, e² or 1 - exp(-e).
    learning_rate : float, default=1.0
        ν.
    n_estimators : int, default=50
        The largest number of rounds. The fit ends earlier if L̄ ≥ ½, or if D = 0.
    max_leaf_nodes, max_depth : int or None, default=None and 3
        The largest number of leaves, and the largest number of splits between the root and a leaf.
    min_samples_leaf : float, default=1
        The smallest number of rows in a leaf; with weights, the smallest sum of weights, exactly.
    max_bins, missing_values, categorical_features, handle_unknown, random_state, n_jobs
        As in `GradientBoostingRegressor`.

    Attributes
    ----------
    estimators_ : list of fitted regressors
        The regressor of every round. A tree is a `DecisionTreeRegressor`.
    estimator_weights_, estimator_errors_ : float64 array of shape (n_iter_,)
        α_m and L̄_m. An estimator without errors has the weight of one with half a row wrong.
    n_iter_ : int
        The number of estimators.
    model_, feature_importances_, n_features_in_, feature_names_in_, fit_report_
        As in `GradientBoostingRegressor`. `model_` has an output for each tree.
    best_iteration_, best_score_, evals_result_, learning_rate_, train_loss_, validation_loss_, \
seed_
        As in `GradientBoostingRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stagewise import AdaBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> AdaBoostRegressor(n_estimators=20).fit(X, y).predict(X[:2]).shape
    (2,)
    """

    _rules = MappingProxyType({"loss": OneOf(tuple(ROW_LOSSES))})
    _term_parameter = "estimator"
    _is_median = True

    @suggests_names
    def __init__(
        self,
        estimator: Any = None,
        *,
        resample: bool = False,
        loss: str = "linear",
        learning_rate: float = 1.0,
        n_estimators: int = 50,
        max_leaf_nodes: int | None = None,
        max_depth: int | None = 3,
        min_samples_leaf: float = 1,
        max_bins: int = 255,
        missing_values: Any = None,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.resample = resample
        self.loss = loss
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.missing_values = missing_values
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ---- fitting -------------------------------------------------------------------------------

    def _term_estimator(self) -> Any:
        return self.estimator

    def _parameters(self) -> dict[str, Any]:
        params = super()._parameters()
        if self.estimator is None:
            self._check_unused(params, {"resample": False})
        else:
            self._check_term_estimator(self.estimator, of_classes=False)
            self._check_unused(params, OF_TREES)
        return params

    @suggests_arguments
    def fit(  # type: ignore[override]
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix of shape (n_rows, n_features), or Dataset
            As in `GradientBoostingRegressor`; with an `estimator`, any table that it accepts.
        y : array-like of shape (n_rows,)
            The target.
        sample_weight : array-like of shape (n_rows,) or None
            Whole numbers are counts: a row of weight 2 is the row twice, a row of weight 0 is left
            out. Otherwise only the ratios of the weights matter.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight)

    def _dataset_check(
        self, params: dict[str, Any], hold_out: HoldOutSpec, *, has_validation: bool
    ) -> Callable[[DividedRows], None]:
        raise NeedsRowsInMemoryError(type(self).__name__, "use gradient boosting")

    def _learner_adapter(self, params: dict[str, Any]) -> LearnerAdapter:
        if self.estimator is None:
            return super()._learner_adapter(params)
        return EstimatorAdapter(self.estimator, params["resample"])

    def _recipe(self) -> Recipe:
        return NEWTON  # a tree is the solution of weighted least squares

    def _make_loss(self, classes: npt.NDArray[Any] | None) -> Loss:
        return REGRESSION_LOSSES["squared_error"]()

    def _train(
        self,
        spec: BoostingSpec,
        loss: Loss,
        data: TrainingData,
        context: FitContext,
        previous: Model | None,
    ) -> FitResult:
        return train_median(spec, self.loss, loss, data, context)

    def _set_fitted(
        self, result: FitResult, data: TrainingData, params: dict[str, Any]
    ) -> dict[str, Any]:
        assert isinstance(result, MedianResult)
        self.estimator_weights_, self.estimator_errors_ = result.weights, result.errors
        return super()._set_fitted(result, data, params)

    def _adopt(self, model: Any) -> None:
        super()._adopt(model)
        self.n_iter_ = model.ensemble.n_outputs  # each term has its own

    @property
    def best_iteration_(self) -> int:
        """The number of estimators."""
        self._fitted()
        return self.n_iter_

    # ---- predictions ---------------------------------------------------------------------------

    @predicts_datasets
    def predict(  # type: ignore[override]
        self, X: Any, *, n_rounds: int | None = None
    ) -> Vector:
        """Return the weighted median of the predictions of the estimators.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            The rows.
        n_rounds : int or None
            The number of estimators to use, from 1 to `n_iter_`. None: all.
        """
        model = self._fitted()
        rule = Number(1, self.n_iter_, whole=True, or_none=True)
        rounds = check_argument("n_rounds", rule, n_rounds)
        return self._predict_scores(model, self._score(X)[:, : rounds or self.n_iter_])

    def staged_predict(self, X: Any) -> Iterator[Vector]:  # type: ignore[override]
        """Yield the predictions of the first estimator, of the first two, and so on."""
        model, score = self._fitted(), self._score(X)
        for n in range(1, self.n_iter_ + 1):
            yield self._predict_scores(model, score[:, :n])

    def _predict_scores(self, model: Model, score: Vector) -> Vector:
        """Return the median of the predictions of the first estimators, a column for each."""
        n = score.shape[1]
        offset, scale = (np.broadcast_to(v, self.n_iter_)[:n] for v in (model.offset, model.scale))
        return weighted_median(offset + scale * score, self.estimator_weights_[:n])

    @property
    def estimators_(self) -> list[Any]:
        """The regressor of every round; trees are made anew each time.

        A tree is a fitted `DecisionTreeRegressor` for predictions and for inspection: its `fit`
        would fit a tree to rows without the weights of this round.
        """
        model: Any = self._fitted()
        if isinstance(model, TermModel):
            return [part.estimator for part in model.ensemble.parts]
        return [self._tree_estimator(model, m) for m in range(self.n_iter_)]

    def _tree_estimator(self, model: Model, m: int) -> DecisionTreeRegressor:
        shared = default_parameters(DecisionTreeRegressor)
        params = {name: v for name, v in all_parameters(self).items() if name in shared}
        alone = replace(
            model,
            ensemble=replace(
                model.ensemble,
                base=model.ensemble.base[m : m + 1],
                trees=TreeList([model.ensemble.trees[m]]),
            ),
            offset=float(np.broadcast_to(model.offset, self.n_iter_)[m]),
            scale=float(np.broadcast_to(model.scale, self.n_iter_)[m]),
        )
        made = DecisionTreeRegressor._from_model(  # noqa: SLF001
            alone, {**params, "split": "histogram"}, {"seed": self.seed_}
        )
        assert isinstance(made, DecisionTreeRegressor)
        return made

    @property
    def feature_importances_(self) -> Vector:
        """Each feature's share of the importances of the estimators, weighted by α."""
        members = self.estimators_
        if not all(hasattr(member, "feature_importances_") for member in members):
            raise AttributeError(
                f"{type(self).__name__} has feature_importances_ only if its estimator has them; "
                f"{type(members[0]).__name__} has none."
            )
        weights = self.estimator_weights_ / self.estimator_weights_.sum()
        return np.asarray(weights @ [member.feature_importances_ for member in members])

    # ---- files and descriptions ----------------------------------------------------------------

    def fingerprint(self) -> str:
        """Return a hash of the model and of the weights of its estimators."""
        own = self._fitted().fingerprint().encode()
        return hashlib.sha256(own + self.estimator_weights_.astype("<f8").tobytes()).hexdigest()

    def recipe(self) -> str:
        """Return the fit in one line: loss x combination x learner x rows x rounds."""
        checked = self._parameters()
        spec = self._spec(self._resolve(checked), self._hold_out(checked))
        text = describe_boosting(spec, f"{self.loss} loss", "weighted median")
        return text + other_parameters(self, "boosting")

    def _notes(self) -> dict[str, Any]:
        weights, errors = self.estimator_weights_.tolist(), self.estimator_errors_.tolist()
        return {**super()._notes(), "estimator_weights": weights, "estimator_errors": errors}

    @classmethod
    def _check_model(cls, model: Model) -> None:
        if model.loss != "squared_error" or model.targets is not None:
            raise ModelFormatError("the trees of an AdaBoostRegressor have one target.")

    @classmethod
    def _from_model(cls, model: Model, params: Mapping[str, Any], notes: Mapping[str, Any]) -> Self:
        """Return a fitted estimator with these parameters and this model."""
        estimator = super()._from_model(model, params, notes)
        found = [notes.get(name) for name in ("estimator_weights", "estimator_errors")]
        for values in found:
            if not isinstance(values, list) or len(values) != estimator.n_iter_:
                raise ModelFormatError("the weights of the estimators are missing.")
            if not all(isinstance(v, float) and 0.0 <= v < np.inf for v in values):
                raise ModelFormatError("the weights of the estimators are not finite numbers.")
        estimator.estimator_weights_, estimator.estimator_errors_ = map(np.array, found)
        return estimator

"""The base class of forests: trees that are averaged, f = (1/M) Σ b_m, and out-of-bag predictions.

No tree depends on another, so the out-of-bag rows of the trees estimate the error of the forest.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, hstack

from stagewise.boosting.forest_loop import GrownTrees
from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.boosting import check_fit_arguments, check_metric
from stagewise.estimators.bases.fit_mixin import ANY_CLASSES, FitMixin
from stagewise.estimators.bases.model_estimator import ModelEstimator
from stagewise.estimators.bases.predictions.scores import ModelScores
from stagewise.estimators.bases.report_mixin import ReportMixin
from stagewise.estimators.bases.trees.averages import AverageMixin
from stagewise.estimators.bases.trees.decision_paths import decision_paths
from stagewise.estimators.bases.trees.forest_importance import (
    Bags,
    Importances,
    out_of_bag_importances,
)
from stagewise.estimators.bases.trees.tree_attributes import TreeAttributes
from stagewise.estimators.parameters.make_specs import forest_spec
from stagewise.estimators.parameters.warm_start import (
    check_continues,
    check_same_classes,
    fixed_parameters,
    model_to_continue,
)
from stagewise.learners.histogram_tree import feature_share
from stagewise.losses import Loss
from stagewise.model.ensemble import Ensemble
from stagewise.model.model import Model
from stagewise.model.tree_list import TreeList
from stagewise.options import SplitSearch, conformal_rule
from stagewise.training.describe import describe_forest, other_parameters
from stagewise.training.forest_trainer import train_forest
from stagewise.training.reading.training_data import FitArguments, TrainingData
from stagewise.training.results import ForestResult
from stagewise.training.specs import FitContext, ForestSpec, HoldOutSpec
from stagewise.trees.tree import Tree
from stagewise.validation.messages import short_repr, warn_caller
from stagewise.validation.parameters import all_parameters, default_parameters
from stagewise.validation.rules import Number, OneOf, OrAuto, feature_count, flag, row_count
from stagewise.workers import make_workers

__all__ = ["FOREST_RULES", "BaseForest"]

Vector = npt.NDArray[np.float64]


def _oob_rule(value: Any) -> Any:
    """Return True, False, "auto" or a function."""
    if isinstance(value, str) and value == "auto":
        return value
    if callable(value) and not isinstance(value, type):
        return value
    try:
        return flag(value)
    except ValueError as error:
        raise ValueError(f"'auto', {error}, or a function (y, prediction)") from None


FOREST_RULES = MappingProxyType(
    {
        "max_features": feature_count,
        "min_impurity_decrease": Number(0.0),
        "bootstrap": flag,
        "split": OneOf(("histogram", "exact")),
        "early_stopping": OrAuto(flag),
        "max_samples": row_count,
        "oob_score": _oob_rule,
        "conformal": conformal_rule("split", "oob"),
        "calibration": OneOf((None, "auto", "temperature", "beta", "isotonic")),
    }
)


class BaseForest(ReportMixin, AverageMixin, FitMixin, TreeAttributes, ModelScores, ModelEstimator):
    """Base class of forests; see `RandomForestRegressor` for the parameters."""

    _chosen_by_folds = False
    _tree_class: Any
    """The estimator of a single tree."""
    _random_thresholds = False

    def _hold_out(self, params: dict[str, Any]) -> HoldOutSpec:
        # No rows are held out: the out-of-bag rows are.
        option = params.get("conformal")
        kept = option.fraction if option is not None and option.method == "split" else 0.0
        uses_passed_rows = params["early_stopping"] is not False
        return HoldOutSpec(uses_passed_rows=uses_passed_rows, calibration=kept)

    def _spec(self, params: dict[str, Any], hold_out: HoldOutSpec) -> ForestSpec:
        return forest_spec(
            params,
            random_thresholds=self._random_thresholds,
            out_of_bag=_keeps_out_of_bag(params),
        )

    def _check_arguments(self, params: dict[str, Any], arguments: FitArguments) -> None:
        beside = {
            "early_stopping=True": params["early_stopping"] is True,
            "X_val": arguments.X_val is not None,
            "eval_set": arguments.eval_set is not None,
            "eval_metric": params["eval_metric"] is not None,
        }
        for name, is_used in beside.items():
            if is_used and params["warm_start"]:
                raise InvalidParameterError(
                    f"{name} cannot be combined with warm_start=True: a forest that is continued "
                    "has all its trees, and only their out-of-bag losses. Leave one of them out."
                )
        own = {name: value for name, value in params.items() if name != "early_stopping"}
        check_fit_arguments(own, arguments, type(self).__name__)
        if _needs_validation(params) and arguments.deciding_set is None:
            raise InvalidParameterError(
                f"early_stopping=True of {type(self).__name__} needs out-of-bag rows or validation "
                "rows: set oob_score=True, or pass X_val and y_val, or eval_set, to fit."
            )
        has_rows = arguments.has_eval_rows or _keeps_out_of_bag(params)
        remedy = "leave rows out of the bags and set oob_score=True, or pass X_val or eval_set"
        check_metric(self, params, has_rows, remedy)

    def _check_data(
        self, params: dict[str, Any], data: TrainingData, loss: Loss, previous: Model | None
    ) -> None:
        super()._check_data(params, data, loss, previous)
        if previous is None:
            return
        if data.class_targets is not None or previous.class_targets is not None:
            check_same_classes(previous, data)
        else:
            one = self._make_loss(data.classes)
            check_continues(previous, self._fixed, params, data, one)

    def _previous_model(self, params: dict[str, Any]) -> Model | None:
        return model_to_continue(self, params)

    def _train(
        self,
        spec: ForestSpec,
        loss: Loss,
        data: TrainingData,
        context: FitContext,
        previous: Model | None,
    ) -> ForestResult:
        if previous is None:
            return train_forest(spec, loss, data, context)
        n_trees = len(previous.ensemble.trees)
        if spec.stopping.n_estimators == n_trees:
            warn_caller(
                f"n_estimators={n_trees} is the number of trees of the forest, so warm_start adds "
                "none. Raise n_estimators."
            )
        earlier, target = self.__dict__.get("_grown", (_undivided(previous), ""))
        if target != _digest(data):  # the averages are those of other rows
            earlier = replace(earlier, oob_average=None)
            previous = replace(previous, valid_loss=np.empty(0))
        return train_forest(spec, loss, data, context, previous, earlier)

    def _set_fitted(
        self, result: ForestResult, data: TrainingData, params: dict[str, Any]
    ) -> dict[str, Any]:
        if params["warm_start"] and result.grown is not None:
            self._grown = result.grown, _digest(data)
        n = self.n_features_in_
        used = {"max_features": round(feature_share(params["max_features"], n) * n)}
        self._set_evals(result)
        return used | self._set_out_of_bag(result, data, params)

    def _set_out_of_bag(
        self, result: ForestResult, data: TrainingData, params: dict[str, Any]
    ) -> dict[str, Any]:
        """Set the out-of-bag predictions; NaN for rows that are in every bag."""
        for name in ("oob_prediction_", "oob_score_", "oob_loss_"):
            self.__dict__.pop(name, None)
        average = None if result.grown is None else result.grown.oob_average
        train = data.train
        if average is None or not _keeps_out_of_bag(params):
            return {}
        predicted = self._predict_scores(self.model_, average.scores())
        known = average.trees > 0
        predicted[~known] = np.nan
        in_every_bag = int((~known).sum())
        scored_by = params["oob_score"] if callable(params["oob_score"]) else None
        if (params["oob_score"] is True or scored_by) and in_every_bag:
            warn_caller(
                f"{in_every_bag} of {len(known)} rows are in the bag of every tree, so their "
                "oob_prediction_ is NaN, and oob_score_ leaves them out. Raise n_estimators; it is "
                f"{params['n_estimators']}."
            )
        weight = None if train.weight is None else train.weight[known]
        self.oob_prediction_ = train.spread(predicted, data.n_rows)
        if known.any():
            pair = train.y[known], predicted[known]
            self.oob_score_ = (
                self._quality(*pair, weight)
                if scored_by is None
                else float(scored_by(*self._targets_of(*pair)))
            )
        if not result.used_validation_rows:
            self.oob_loss_ = self.model_.valid_loss
        return {"rows_in_every_bag": in_every_bag}

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        self._fixed = fixed_parameters(all_parameters(self), self._make_loss(_classes_of(model)))
        self.__dict__.pop("_grown", None)

    def oob_importances(self, X: Any, y: Any, sample_weight: Any = None) -> Importances:
        """Return the permutation importance of every feature on the out-of-bag rows.

        Every tree predicts its out-of-bag rows as they are, and again for each feature with the
        values of that feature permuted among them (Breiman 2001, section 10).

        Parameters
        ----------
        X, y, sample_weight
            The training data: the bags are drawn again, so these must be the same rows.

        Returns
        -------
        Importances
            `mean` and `error` of each feature, and for classifiers `by_class`: the decrease of the
            accuracy, or the increase of the squared error.
        """
        model = self._fitted()
        bag = self._spec(params := self._parameters(), self._hold_out(params)).bag
        if not bag.bootstrap and bag.max_samples == 1.0 and isinstance(bag.max_samples, float):
            raise InvalidParameterError(
                f"This {type(self).__name__} has no out-of-bag rows: every tree was grown on all "
                "rows. Fit it with bootstrap=True or max_samples below 1, or permute columns of "
                "held-out rows (stagewise.inspection.permutation_importance)."
            )
        values = self._match(model, X)
        n_rows = values.shape[0] if hasattr(values, "shape") else len(values[0])
        target = self._target_reader().read(y, sample_weight, n_rows)
        if target.y.ndim > 1:
            raise InvalidParameterError(
                "oob_importances is of one target, but the forest has several. Fit a forest for "
                "each, or use feature_importances_."
            )
        workers, bags = make_workers(self.n_jobs), Bags(bag, self.seed_)
        return out_of_bag_importances(model, workers, values, target.y, target.weight, bags)

    def select_features(
        self, X: Any, y: Any, sample_weight: Any = None, *, errors: float = 2.0
    ) -> list[Any]:
        """Return the features with a significant `oob_importances`, the most important one first.

        Parameters
        ----------
        X, y, sample_weight
            The training data, as for `oob_importances`.
        errors : float, default=2.0
            A feature is selected if its importance is more than this many standard errors above 0.

        Returns
        -------
        list of str, or of int if columns have no names
            At least one feature: if none is selected, the most important one.

        Examples
        --------
        >>> import numpy as np
        >>> from stagewise import RandomForestRegressor
        >>> X = np.random.default_rng(0).normal(size=(300, 5))
        >>> y = X[:, 3] + X[:, 1] / 2
        >>> RandomForestRegressor(n_estimators=50).fit(X, y).select_features(X, y)
        [3, 1]
        """
        try:
            threshold = Number(0.0)(errors)
        except ValueError as error:
            raise InvalidParameterError(
                f"errors must be {error}; got {short_repr(errors)}."
            ) from None
        found = self.oob_importances(X, y, sample_weight)
        order = np.argsort(-found.mean, kind="stable").tolist()
        kept = [f for f in order if found.mean[f] > threshold * found.error[f]] or order[:1]
        names = self._fitted().features.names
        return kept if names is None else [names[f] for f in kept]

    @property
    def estimators_(self) -> list[Any]:
        """The trees as fitted decision trees, whose mean is the prediction; made anew each time.

        A tree has the parameters of the forest that it shares. It is for predictions and for
        inspection: its `fit` would fit a tree to all rows, not to the bag of this tree.
        """
        return list(self)

    def __len__(self) -> int:
        """Return the number of trees."""
        return len(self._fitted().ensemble.trees)

    def __bool__(self) -> bool:
        return True  # an estimator that is not fitted has no length

    def __iter__(self) -> Iterator[Any]:
        """Yield the trees as fitted decision trees."""
        return map(self._tree_estimator, self._fitted().ensemble.trees)

    def __getitem__(self, index: int | slice) -> Any:
        """Return one of `estimators_`, or a list of them for a slice."""
        chosen = self._fitted().ensemble.trees[index]
        if isinstance(chosen, list):
            return [self._tree_estimator(tree) for tree in chosen]
        return self._tree_estimator(chosen)

    def _tree_estimator(self, tree: Tree) -> Any:
        """Return a tree as a fitted decision tree."""
        model = self._fitted()
        ensemble, n = model.ensemble, len(model.ensemble.trees)
        shared = set(default_parameters(self._tree_class)) - {"n_iter_no_change", "tol"}
        params = {name: v for name, v in all_parameters(self).items() if name in shared}
        if params.get("class_weight") == "balanced_subsample":
            params["class_weight"] = "balanced"  # the bag of a tree is its sample
        params["split"] = SplitSearch(
            method=params["split"], random_thresholds=self._random_thresholds
        )
        if params["split"].method == "exact":
            del params["max_bins"]
        alone = replace(
            model,
            ensemble=replace(ensemble, trees=TreeList([tree.with_values(tree.value * n)])),
            train_loss=np.empty(0),
            valid_loss=np.empty(0),
            learned={},
        )
        return self._tree_class._from_model(alone, params, {"seed": self.seed_})  # noqa: SLF001

    def decision_path(self, X: Any) -> tuple[csr_matrix, npt.NDArray[np.int64]]:
        """Return the nodes on the paths of rows through all trees, as scikit-learn does.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        indicator : csr_matrix of shape (n_rows, n_nodes)
            1 for each node that a row passes.
        n_nodes_ptr : int64 array of shape (n_trees + 1,)
            The columns of tree i are those from n_nodes_ptr[i] to n_nodes_ptr[i + 1].
        """
        leaves, trees = self.apply(X), self._fitted().ensemble.trees
        first = np.cumsum([0, *(len(tree.feature) for tree in trees)], dtype=np.int64)
        paths = [decision_paths(tree, leaves[:, i]) for i, tree in enumerate(trees)]
        nothing = csr_matrix((len(leaves), 0), dtype=np.int64)
        return csr_matrix(hstack(paths, format="csr")) if paths else nothing, first

    def recipe(self) -> str:
        """Return the fit in one line: criterion x trees x rows x average."""
        params = self._parameters()
        spec = self._spec(params, self._hold_out(params))
        needs = _needs_validation(params)
        sentence = describe_forest(spec, params["criterion"], by_validation_rows=needs)
        return sentence + other_parameters(self, "forest")

    @abstractmethod
    def _targets_of(
        self, y: npt.NDArray[Any], predicted: Vector
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return targets and predictions as a function of `oob_score` gets them."""

    @abstractmethod
    def _quality(self, y: npt.NDArray[Any], predicted: Vector, weight: Vector | None) -> float:
        """Return the score of predictions: accuracy, or R²."""

    def _staged_score(self, X: Any) -> Iterator[Vector]:
        """Yield the averages of the first one, two, … trees."""
        ensemble = self._fitted().ensemble
        low, high = _range_of_values(ensemble)
        for m, score in enumerate(super()._staged_score(X), start=1):
            yield np.clip(score * (ensemble.n_rounds / m), low, high)

    def _score_values(self, model: Model, values: Any, n_rounds: int | None = None) -> Vector:
        score = super()._score_values(model, values, n_rounds)
        if not n_rounds:
            return score
        return np.clip(score * (len(self) / n_rounds), *_range_of_values(model.ensemble))


def _range_of_values(ensemble: Ensemble) -> tuple[float, float]:
    """Return the least and the largest value of a leaf; an average is not beyond them."""
    if not ensemble.trees:
        return 0.0, 0.0
    low = min(float(tree.value.min()) for tree in ensemble.trees)
    high = max(float(tree.value.max()) for tree in ensemble.trees)
    return low * ensemble.n_rounds, high * ensemble.n_rounds


def _classes_of(model: Model) -> Any:
    """Return the classes from which a loss is made; two of them for a regression."""
    return ANY_CLASSES if model.classes is None else model.classes


def _undivided(model: Model) -> GrownTrees:
    """Return the trees of a forest, whose values are those before the division up to rounding."""
    trees = model.ensemble.trees
    return GrownTrees([tree.with_values(tree.value * len(trees)) for tree in trees])


def _digest(data: TrainingData) -> str:
    """Return a hash of the targets of the training rows."""
    return hashlib.sha256(data.train.y.tobytes()).hexdigest()


def _keeps_out_of_bag(params: dict[str, Any]) -> bool:
    if params["oob_score"] == "auto":
        share = params["max_samples"]
        return bool(params["bootstrap"] or isinstance(share, int) or share < 1)
    return bool(params["oob_score"])


def _needs_validation(params: dict[str, Any]) -> bool:
    """Return whether only X_val can stop the fit."""
    return params["early_stopping"] is True and not _keeps_out_of_bag(params)

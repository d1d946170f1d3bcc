"""Access to a fitted estimator for all inspection functions.

One class resolves feature names, encodes rows, computes scores and converts scores to predictions,
so that all inspection functions do it in the same way.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from stagewise._native import Columns, Workers
from stagewise.data import check_weight
from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.model_access import (
    is_average,
    named_scores,
    predict_scores,
    read_row_offset,
    read_rows,
    read_training_target,
    score_columns,
    several_scores,
)
from stagewise.estimators.bases.predictions.scores import ModelScores
from stagewise.inspection.encoded_rows import EncodedRows
from stagewise.model.model import Model
from stagewise.training.reading.target_reader import Target
from stagewise.validation.arguments import check_argument
from stagewise.validation.messages import short_repr, warn_caller
from stagewise.validation.parameters import nearest_name
from stagewise.workers import make_workers

__all__ = ["FittedModel", "Response", "Vector", "check_argument"]

Vector = npt.NDArray[np.float64]
Response = Literal["score", "mean"]
NAMES_SHOWN = 10


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted estimator of trees.

    Parameters
    ----------
    estimator : BoostedTrees
        The estimator.
    model : Model
        Its fitted model.
    """

    estimator: Any
    model: Model

    @classmethod
    def of(
        cls,
        estimator: Any,
        caller: str,
        *,
        of_trees: bool = False,
        offsets: bool = False,
        of_targets: bool = False,
    ) -> FittedModel:
        """Wrap an estimator; raise if it has no trees or is not fitted.

        With `of_trees`, only the trees are read, and not F before the first round. With `offsets`,
        the caller adds the offsets of rows, or they cancel. With `of_targets`, there may be several
        targets of classes.
        """
        if isinstance(estimator, type):
            raise TypeError(
                f"{caller} needs a fitted estimator, and {estimator.__name__} is a class. Pass a "
                f"fitted instance, such as {estimator.__name__}().fit(X, y)."
            )
        if not isinstance(estimator, ModelScores):
            raise TypeError(
                f"{caller} needs a fitted stagewise estimator with trees, and "
                f"{type(estimator).__name__} has none. Pass a boosting estimator, a forest or a "
                "tree; of a bagging ensemble one of its members."
            )
        check_is_fitted(estimator, "model_")
        if estimator._is_median:  # noqa: SLF001
            raise TypeError(
                f"{caller} explains sums and averages of trees, and predictions of "
                f"{type(estimator).__name__} are weighted medians. Use a function of predictions, "
                "such as permutation_importance of scikit-learn, or pass one of its estimators_."
            )
        start = estimator._start  # noqa: SLF001
        if start is not None and not of_trees:
            raise ValueError(
                f"{caller} explains the scores of trees, but this model starts from an estimator "
                f"(init={type(start.estimator).__name__}), whose part is not explained. Fit with "
                "init='mean', or use a function of predictions, such as permutation_importance of "
                "scikit-learn."
            )
        if not isinstance(estimator.model_, Model):
            raise TypeError(
                f"{caller} needs trees, and the base learners of this {type(estimator).__name__} "
                "are other estimators. Pass a model whose learner is a HistogramTree."
            )
        if estimator.model_.row_offset and not (of_trees or offsets):
            raise ValueError(
                f"{caller} explains the scores of trees, but this model was fitted with an offset "
                "or an exposure, which it would leave out. Use shap_values, where the offset is a "
                "term of its own."
            )
        if estimator.model_.class_targets is not None and not of_targets:
            raise InvalidParameterError(
                f"{caller} is for one target, but this {type(estimator).__name__} has several "
                "targets of classes. Fit an estimator for each target, as scikit-learn's "
                "MultiOutputClassifier does."
            )
        return cls(estimator, estimator.model_)

    # ---- features ------------------------------------------------------------------------------

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the features; x0, x1, … if the training table had no names."""
        features = self.model.features
        return tuple(features.names or (f"x{j}" for j in range(features.n)))

    def position(self, feature: Any, name: str = "features") -> int:
        """Return the index of a feature that is given by its name or its index."""
        if isinstance(feature, str):
            if feature in self.names:
                return self.names.index(feature)
            known = ", ".join(map(repr, self.names[:NAMES_SHOWN]))
            more = ", …" if len(self.names) > NAMES_SHOWN else ""
            raise InvalidParameterError(
                f"{name}: there is no feature {feature!r}."
                f"{nearest_name(feature, self.names) or f' There are {known}{more}.'}"
            )
        whole = isinstance(feature, numbers.Integral) and not isinstance(feature, bool)
        if not whole or not 0 <= int(feature) < len(self.names):
            raise InvalidParameterError(
                f"{name}: a feature must be a name, or an index from 0 to "
                f"{len(self.names) - 1}; got {short_repr(feature)}."
            )
        return int(feature)

    def positions(self, features: Any, name: str = "features") -> tuple[int, ...]:
        """Return the indices of one feature or of several different features.

        A list of one pair is the pair, as in scikit-learn.
        """
        if isinstance(features, list) and len(features) == 1 and _is_pair(features[0]):
            (features,) = features
        if isinstance(features, list) and any(map(_is_pair, features)):
            raise InvalidParameterError(
                f"{name} must be one feature or a list of different features; got "
                f"{short_repr(features)}. Call the function once for each pair."
            )
        several = isinstance(features, Iterable) and not isinstance(features, str)
        places = tuple(self.position(f, name) for f in (features if several else [features]))
        if not places or len(set(places)) < len(places):
            raise InvalidParameterError(
                f"{name} must be one feature or a list of different features; got "
                f"{short_repr(features)}."
            )
        return places

    @cached_property
    def used(self) -> frozenset[int]:
        """The features used in splits or linear leaves, directly or through a derived column."""
        sources = self.model.features.sources
        columns = set(self.model.ensemble.used_features())
        for tree in self.model.ensemble.trees:
            if tree.linear_leaves is not None:
                columns |= set(tree.linear_leaves.feature.tolist())
        return frozenset(j for column in columns for j in sources[column])

    def warn_unused(self, places: Iterable[int], what: str) -> None:
        """Warn about features that the model does not use."""
        idle = [self.names[j] for j in places if j not in self.used]
        if idle:
            warn_caller(
                f"The model does not use {', '.join(map(repr, idle))}, so {what}. Correlated "
                "features may carry the same information."
            )

    @property
    def has_linear_leaves(self) -> bool:
        """Whether some leaf has a linear model instead of a constant."""
        return any(tree.linear_leaves is not None for tree in self.model.ensemble.trees)

    def check_leaves(self, caller: str) -> None:
        """Raise if all terms are linear models of all rows, so that there are no splits."""
        if self.has_linear_leaves and not self.model.ensemble.used_features():
            raise InvalidParameterError(
                f"{caller} needs trees with splits, and this model has only linear terms. Use its "
                "coefficients, partial_dependence or permutation_importance."
            )

    @property
    def gain_unit(self) -> float:
        """The factor from the stored gains of trees to the gains of `show_split`.

        Boosted trees: to the units of the loss. Single trees and forests: to the decrease
        W i - W_L i_L - W_R i_R of the impurity, in the units of y.
        """
        model = self.model
        if not is_average(self.estimator):
            return model.gain_unit
        if model.task == "classification":
            return 1.0
        scale = float(np.max(model.scale))
        if model.loss == "absolute_error":
            return scale
        if getattr(self.estimator, "criterion", "") == "poisson":
            return 1.0
        with np.errstate(over="ignore", under="ignore"):
            return float(2.0 * np.float64(scale) ** 2)  # the loss is half of the squared error

    # ---- rows ----------------------------------------------------------------------------------

    def rows(self, X: Any, name: str = "X", *, least: int = 0) -> EncodedRows:
        """Return rows encoded as in training, dense or sparse.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix
            The rows.
        name : str
            The name of the argument, for messages.
        least : int
            The minimum number of rows.
        """
        try:
            rows = EncodedRows(read_rows(self.estimator, X), self.model.features, name)
        except (TypeError, ValueError) as error:
            if name == "X":
                raise
            # The message is about X; add the name of the argument.
            raise type(error)(f"In {name}: {error}") from None
        if rows.n < least:
            raise ValueError(
                f"{name} has {rows.n} row{'' if rows.n == 1 else 's'}, and at least {least} "
                f"{'is' if least == 1 else 'are'} needed. Pass more rows."
            )
        return rows

    def training_target(self, y: Any, sample_weight: Any, n_rows: int) -> Target:
        """Return the targets and weights of training rows; raise if the classes are others."""
        target = read_training_target(self.estimator, y, sample_weight, n_rows)
        found = [] if target.classes is None else target.classes.tolist()
        classes = self.model.classes
        if classes is not None and found != classes.tolist():
            raise ValueError(
                f"y has the classes {found[:20]}, and the model has {classes.tolist()[:20]}. Pass "
                "the training rows."
            )
        return target

    def columns(self, X: Any, *, least: int = 1) -> list[Vector]:
        """Return the encoded columns of rows, one array for each feature."""
        return self.rows(X, least=least).columns()

    def append_derived(self, columns: Sequence[Vector]) -> list[Vector]:
        """Append crosses and target encodings: the result has all columns used in splits."""
        table = Columns(list(columns))
        found = [c for d in self.model.features.derived for c in d.columns(table)]
        return [*columns, *(np.asarray(c, dtype=np.float64) for c in found)]

    @cached_property
    def workers(self) -> Workers:
        """The thread pool of one call."""
        return make_workers(self.estimator.n_jobs)

    def score(self, columns: Sequence[Vector]) -> Vector:
        """Return the scores F, shape (n_rows, n_outputs)."""
        return score_columns(self.estimator, list(columns))

    def offset(self, X: Any, n_rows: int, offset: Any, exposure: Any) -> Vector:
        """Return the offset of rows in units of F, shape (n_rows, n_outputs); see `predict`."""
        found = read_row_offset(self.estimator, X, n_rows, offset, exposure)
        return np.zeros((n_rows, self.model.ensemble.n_outputs)) if found is None else found

    @property
    def has_fractional_rows(self) -> bool:
        """Whether rows with missing values go to both children (missing_strategy='probability')."""
        return getattr(self.estimator, "missing_strategy", "learned") == "probability"

    def check_one_leaf(self, rows: EncodedRows) -> None:
        """Raise if a row reaches more than one leaf of a tree."""
        for j in sorted(self.used) if self.has_fractional_rows else ():
            if np.isnan(rows.column(j)).any():
                raise InvalidParameterError(
                    f"This {type(self.estimator).__name__} has missing_strategy='probability': "
                    "rows with missing values reach several leaves, and "
                    f"{rows.name} has missing values in {self.names[j]!r}. This function "
                    "needs one leaf per row and tree. Leave such "
                    "rows out, or fit with missing_strategy='learned' or 'mean'."
                )

    # ---- predictions ---------------------------------------------------------------------------

    @cached_property
    def mean_is_affine(self) -> bool:
        """Whether predictions are a + b · F, so that averaging commutes with the link."""
        if several_scores(self.estimator) is not None:
            return False
        # Three points on a line, with another slope for each output. They are not symmetric about
        # 0, where 1 / (1 + e^-F) would pass for a line.
        step = np.linspace(0.1, 0.7, self.model.ensemble.n_outputs)
        score = np.outer([-0.4, 0.1, 0.6], step)
        low, middle, high = predict_scores(self.estimator, score)
        # Offsets of targets may be large, so differences of predictions are compared.
        moved = np.max(np.abs(high - low))
        return bool(np.max(np.abs((high - middle) - (middle - low))) <= 1e-9 * moved)

    @cached_property
    def score_units(self) -> tuple[Vector, Vector]:
        """Offset and scale of each score: explanations are in units of offset + scale · F.

        A regression uses those of its target. A forest of two classes has one score, F = p_1 - p_0,
        which is reported as p_1, as for more classes.
        """
        model, n = self.model, self.model.ensemble.n_outputs
        if model.classes is not None and is_average(self.estimator) and n == 1:
            return np.full(1, 0.5), np.full(1, 0.5)
        loss = several_scores(self.estimator)
        if loss is not None:  # locations have the units of the target, and logs of scales a shift
            location = [] if loss.location is None else [loss.location]
            is_location = np.isin(np.arange(n), list(loss.offset_outputs) or location)
            is_log_scale = np.isin(np.arange(n), loss.log_scale_outputs)
            rest = np.where(is_log_scale, np.log(model.scale), 0.0)
            offset = np.where(is_location, model.offset, rest)
            return offset, np.where(is_location, model.scale, 1.0)
        return np.broadcast_to(model.offset, n), np.broadcast_to(model.scale, n)

    @property
    def is_affine_regression(self) -> bool:
        """Whether scores can be expressed in the units of the target."""
        of_classes = self.model.classes is not None or self.model.class_targets is not None
        return not of_classes and self.mean_is_affine

    def respond(self, score: Vector, response: Response) -> Vector:
        """Return scores or predictions, with a column for each of `outputs`.

        Scores of a regression with the identity link are in the units of the target.
        """
        if response == "score" and not self.is_affine_regression:
            zero, scale = self.score_units
            return score if several_scores(self.estimator) is None else zero + scale * score
        predicted = predict_scores(self.estimator, score)
        return predicted.reshape(len(score), -1)

    def quantity(self, response: Response) -> str:
        """Return what `respond` returns, for labels: the score, or the prediction if it is that."""
        of_classes = self.model.classes is not None or self.model.class_targets is not None
        if of_classes:
            return "score" if response == "score" else "probability"
        return "prediction" if response == "mean" or self.is_affine_regression else "score"

    def outputs(self, response: Response) -> tuple[str, ...]:
        """Return the names of the columns of `respond`: classes or targets."""
        model = self.model
        n = model.ensemble.n_outputs
        if model.classes is not None:
            labels = tuple(str(label) for label in model.classes.tolist())
            return labels[-1:] if response == "score" and n == 1 else labels
        if model.class_targets is not None:
            one_score_each = response == "score" and n == len(model.class_targets)
            return model.target_names if one_score_each else model.class_outputs
        loss = named_scores(self.estimator)
        if loss is not None:
            names = loss.output_names if response == "score" else loss.prediction_names
            return names or ("prediction",)
        return model.targets or (("prediction",) if n == 1 else tuple(f"y{k}" for k in range(n)))

    def weight(self, sample_weight: Any, n_rows: int) -> Vector:
        """Return checked sample weights; 1 if None."""
        weight = check_weight(sample_weight, n_rows)
        return np.ones(n_rows) if weight is None else weight


def _is_pair(features: Any) -> bool:
    return isinstance(features, (list, tuple)) and len(features) == 2

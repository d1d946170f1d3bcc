"""Bagging and cross-validation committees of any estimators.

The one idea: averaging lowers the variance of models that follow their rows closely, the more so
the less they have in common (docs/methods/bagging.md, docs/methods/committees.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, is_classifier, is_regressor

from stagewise.bagging.base import BAGGING_RULES, BaseBagging
from stagewise.data import as_frequencies, check_weight, read_labels, read_target, read_weight
from stagewise.errors import InvalidParameterError
from stagewise.estimators.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from stagewise.estimators.r_squared import ScoredByR2
from stagewise.learners.estimator import name_of
from stagewise.training.class_weights import without_absent
from stagewise.training.report import warn_of_one_class
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import suggests_names
from stagewise.validation.rules import OneOf

__all__ = ["BaggingClassifier", "BaggingRegressor"]

Vector = npt.NDArray[np.float64]


class BaggingRegressor(ScoredByR2, BaseBagging):
    """A committee of regressors, each fitted to rows of its own: f(x) = Σ α_j h_j(x).

    Breiman (1996), *Bagging predictors*; with sampling="folds" a cross-validation committee
    (Krogh & Vedelsby 1995; Parmanto, Munro & Doyle 1996).

    Parameters
    ----------
    estimator : scikit-learn regressor or None, default=None
        The member, of this library or any other; None: a decision tree, fully grown
        (`DecisionTreeRegressor` with split="histogram"). It is cloned for every member, and each
        ``random_state`` in it replaced by a number that depends on the committee's own and on the
        member.
    n_estimators : int, default=100
        The number of members, at most. Folds have as many as there are folds.
    combine : {"average", "weighted"}, default="average"
        α_j: the same for all, or in proportion to 1/ε_j, where ε_j is the mean squared error of a
        member on the rows that it did not see.
    sampling : {"bootstrap", "uniform", "group", "folds"}, default="bootstrap"
        What a member sees: each row a Poisson number of times, `max_samples` in the mean; each row
        with that probability; each group; or all folds of `cv` but one. A member whose `fit` takes
        X_val and y_val, as the boosted models of this library do, stops early by the fold that is
        left out; for all others it only measures.
    max_samples : float, default=1.0
        The share of the rows, or of the groups, that a member sees; see `sampling`.
    max_features : float, default=1.0
        The share of the columns that a member sees, drawn without replacement. Parameters of the
        member that speak of columns by their place speak of these.
    cv : int, splitter or list of pairs of indices, default=5
        The folds: their number, or what says them itself.
    oob_score : bool, default=False
        Whether members are asked about the rows that they did not see.
    early_stopping : bool, default=False
        Whether no more members are added when the error of rows out of bag no longer falls. All
        members up to then are kept.
    n_iter_no_change : int, default=10
        After how many members without a lower error that is.
    tol : float, default=0.0
        How much lower counts, as a share of the variance of y.
    random_state : int, RandomState or None, default=0
        Keys everything that is drawn; None draws a new seed.
    n_jobs : int or None, default=None
        How many members are fitted or asked side by side; None: as many as there are threads. If
        more than one are, members that have ``n_jobs`` themselves are given 1. Threads are used,
        unless ``joblib.parallel_config`` says otherwise. The result does not depend on it.

    Attributes
    ----------
    estimators_, estimators_columns_ : list
        The members, and the places of the columns that each knows (None: all).
    weights_ : array of shape (n_members,)
        α, which sum to 1.
    member_errors_ : array of shape (n_members,)
        ε of each member, if it was measured.
    oob_prediction_, oob_score_ : array of shape (n_rows,) and float
        What members say of the rows that they did not see (NaN: all saw it), and its R²; with
        `oob_score` or `early_stopping`.
    oob_path_ : array of shape (n_members,)
        The mean squared error of rows out of bag for 1, 2, ... members.
    oof_prediction_, oof_score_ : array of shape (n_rows,) and float
        The same of folds.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stagewise import BaggingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggingRegressor(n_estimators=20, oob_score=True).fit(X, y)
    >>> model.oob_prediction_.shape
    (442,)
    """

    _rules = MappingProxyType({**BAGGING_RULES, "combine": OneOf(("average", "weighted"))})

    @suggests_names
    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 100,
        combine: str = "average",
        sampling: str = "bootstrap",
        max_samples: float = 1.0,
        max_features: float = 1.0,
        cv: Any = 5,
        oob_score: bool = False,
        early_stopping: bool = False,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.combine = combine
        self.sampling = sampling
        self.max_samples = max_samples
        self.max_features = max_features
        self.cv = cv
        self.oob_score = oob_score
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def predict(self, X: Any) -> Vector:
        """Return the predicted number of every row."""
        return self._said(X)[:, 0]

    def staged_predict(self, X: Any) -> Iterator[Vector]:
        """Yield the predictions of the first member, of the first two, and so on."""
        for said in self._staged(X):
            yield said[:, 0]

    def _usual_member(self) -> Any:
        return DecisionTreeRegressor(split="histogram")  # also of sparse matrices

    def _check_member(self, member: Any, combine: str) -> None:
        if not is_regressor(member):
            raise InvalidParameterError(
                f"The parameter 'estimator' of {type(self).__name__} must be a regressor; got "
                f"{short_repr(member)}."
            )

    def _read_target(
        self, y: Any, sample_weight: Any, n_rows: int
    ) -> tuple[npt.NDArray[Any], Vector | None, npt.NDArray[Any] | None]:
        target = read_target(y, n_rows, caller=type(self).__name__)
        return target, read_weight(sample_weight, n_rows), None


class BaggingClassifier(ClassifierMixin, BaseBagging):
    """A committee of classifiers, each fitted to rows of its own.

    A row gets Σ α_j h_j(x), where h_j is what member j says: the probability of every class, or 1
    for one class; the answer is the class that gets most. Breiman (1996).

    Parameters
    ----------
    estimator : scikit-learn classifier or None, default=None
        The member; see `BaggingRegressor`. Of a bag with one class the member always says that.
    combine : {"average", "vote", "weighted"}, default="average"
        The mean of the members' probabilities; the share of their votes; or votes that count
        α_j = log((1 - ε_j) / ε_j) + log(K - 1), where ε_j is the share of the rows that a member
        did not see and has wrong, and K the number of classes.
    tol : float, default=0.0
        How much lower the share of wrong rows must be to count.
    n_estimators, sampling, max_samples, max_features, cv, oob_score, early_stopping, \
n_iter_no_change, random_state, n_jobs
        As in `BaggingRegressor`. Early stopping goes by the share of rows that are wrong. Folds
        have each class alike.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    oob_prediction_, oof_prediction_ : array of shape (n_rows, n_classes)
        What members say of the rows that they did not see: what `predict_proba` says of others.
        `oob_score_` and `oof_score_` are accuracies, `oob_path_` shares of wrong rows; the other
        attributes are those of `BaggingRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from stagewise import BaggingClassifier, GradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> member = GradientBoostingClassifier(n_estimators=50)
    >>> BaggingClassifier(member, sampling="folds", cv=3).fit(X, y).predict_proba(X[:2]).shape
    (2, 2)
    """

    _rules = MappingProxyType({**BAGGING_RULES, "combine": OneOf(("average", "vote", "weighted"))})

    @suggests_names
    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 100,
        combine: str = "average",
        sampling: str = "bootstrap",
        max_samples: float = 1.0,
        max_features: float = 1.0,
        cv: Any = 5,
        oob_score: bool = False,
        early_stopping: bool = False,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.combine = combine
        self.sampling = sampling
        self.max_samples = max_samples
        self.max_features = max_features
        self.cv = cv
        self.oob_score = oob_score
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def predict_proba(self, X: Any) -> Vector:
        """Return the mean probability, or the share of the votes, of every class."""
        return self._said(X)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class that gets most; of equals the first."""
        return self._decided(self._said(X))

    def staged_predict_proba(self, X: Any) -> Iterator[Vector]:
        """Yield what the first member says, the first two, and so on."""
        yield from self._staged(X)

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Yield the class that the first member says, the first two, and so on."""
        for said in self._staged(X):
            yield self._decided(said)

    def _decided(self, said: Vector) -> npt.NDArray[Any]:
        return np.asarray(self.classes_[said.argmax(axis=1)])

    def _usual_member(self) -> Any:
        return DecisionTreeClassifier(split="histogram")

    def _check_member(self, member: Any, combine: str) -> None:
        who = type(self).__name__
        if not is_classifier(member):
            raise InvalidParameterError(
                f"The parameter 'estimator' of {who} must be a classifier; got "
                f"{short_repr(member)}."
            )
        if combine == "average" and not hasattr(member, "predict_proba"):
            raise InvalidParameterError(
                f"combine='average' of {who} is about probabilities, and {name_of(member)} has no "
                "predict_proba. Set combine='vote' or 'weighted', or take another estimator."
            )

    def _read_target(
        self, y: Any, sample_weight: Any, n_rows: int
    ) -> tuple[npt.NDArray[Any], Vector | None, npt.NDArray[Any] | None]:
        classes, codes = read_labels(y, n_rows, caller=type(self).__name__)
        weight = check_weight(sample_weight, n_rows)
        classes, codes = without_absent(classes, codes, weight)
        if len(classes) == 1:
            warn_of_one_class(classes)
        return codes, None if weight is None else as_frequencies(weight), classes

"""What committees share: members that see different rows, and speak together.

The one idea: a committee is its members and how much each has to say, Σ α_j h_j(x) / Σ α_j; rows
that a member did not see measure it and the whole. Must not know what a member is, beyond an
estimator with `fit` and `predict`.
"""

from __future__ import annotations

import hashlib
import re
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import partial
from os import PathLike
from types import MappingProxyType
from typing import Any, Self

import joblib
import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError

from stagewise.bagging.bag_samples import Share, copies, deal_bags, deal_folds
from stagewise.bagging.combining import LeftOut, Sum, settled
from stagewise.bagging.members import Ballot, Member, Training, columns_of, side_by_side
from stagewise.boosting.stopping import EarlyStopping
from stagewise.data import Feature, Features, UnknownCategories
from stagewise.data.categories.categories import Categories
from stagewise.errors import InvalidParameterError
from stagewise.estimators.base import StagewiseEstimator
from stagewise.estimators.model_estimator import ModelEstimator
from stagewise.estimators.specs import choose_seed, make_sampling
from stagewise.learners.estimator import can_be_fitted, name_of, weight_argument
from stagewise.training.columns import FeatureReader
from stagewise.training.folds import group_numbers, make_folds
from stagewise.training.passthrough import Header, PassthroughReader, UntouchedRows
from stagewise.training.report import ONE_VALUE
from stagewise.training.row_set import RowSet, rows_with_weight
from stagewise.training.specs import InputSpec
from stagewise.validation.messages import (
    CollectedWarning,
    collect_warnings,
    short_repr,
    warn_caller,
)
from stagewise.validation.parameters import RULES, Use, check_parameters
from stagewise.validation.rules import OneOf
from stagewise.workers import thread_count

__all__ = ["BAGGING_RULES", "BaseBagging"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

SMALL = 10_000
"""Answers, rows times members, that are not worth a thread."""

BAGGING_RULES = MappingProxyType(
    {
        "sampling": OneOf(("bootstrap", "uniform", "group", "folds")),
        "max_features": RULES["subsample"],
        "early_stopping": RULES["warm_start"],
    }
)
FITTED = (
    "oob_prediction_",
    "oob_score_",
    "oob_path_",
    "oof_prediction_",
    "oof_score_",
    "member_errors_",
)
"""Attributes that not every fit has."""


class BaseBagging(StagewiseEstimator):
    """Base of the two; see `BaggingRegressor` for the parameters."""

    estimator: Any
    n_jobs: Any
    _uses = (
        Use(
            ("n_estimators", "max_samples", "oob_score", "early_stopping"),
            "sampling",
            lambda sampling: sampling != "folds",
            "say with cv how many members there are",
        ),
        Use(("n_iter_no_change", "tol"), "early_stopping", bool, "set early_stopping=True"),
    )

    @abstractmethod
    def _read_target(
        self, y: Any, sample_weight: Any, n_rows: int
    ) -> tuple[npt.NDArray[Any], Vector | None, npt.NDArray[Any] | None]:
        """Return numbers or class codes, weights as frequencies, and classes or None."""

    @abstractmethod
    def _usual_member(self) -> Any:
        """Return the estimator that is meant by None."""

    @abstractmethod
    def _check_member(self, member: Any, combine: str) -> None:
        """Raise InvalidParameterError unless members can be asked for what is combined."""

    # ---- fitting -------------------------------------------------------------------------------

    def _checked(self) -> dict[str, Any]:
        params, who = check_parameters(self), type(self).__name__
        if params["estimator"] is None:
            params["estimator"] = self._usual_member()
        if not can_be_fitted(params["estimator"]):
            raise InvalidParameterError(
                f"The parameter 'estimator' of {who} must be an estimator, not fitted, or None; "
                f"got {short_repr(params['estimator'])}."
            )
        self._check_member(params["estimator"], params["combine"])
        everything = params["sampling"] == "uniform" and params["max_samples"] == 1.0
        for name, needs in (
            ("combine='weighted'", params["combine"] == "weighted"),
            ("early_stopping=True", params["early_stopping"]),
        ):
            if needs and everything:
                raise InvalidParameterError(
                    f"{name} of {who} goes by rows that a member did not see, and with "
                    "sampling='uniform' and max_samples=1.0 members see all of them. Set "
                    "max_samples below 1, or sampling='bootstrap'."
                )
        return params

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit the members.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
            Whatever the members take; it is passed on as it is.
        y : array-like of shape (n_rows,)
            The target.
        sample_weight : array-like of shape (n_rows,) or None
            Whole numbers are counts: 2 is the row twice, 0 its absence. Otherwise only the ratios
            of the weights matter. Members that take no weights see rows repeated instead.
        groups : array-like of shape (n_rows,) or None
            For sampling="folds": rows of one group are never in different folds. For
            sampling="group": a member sees all of them, or none.

        Returns
        -------
        self
        """
        begin = time.perf_counter()
        params = self._checked()
        self._check_groups(params["sampling"], groups)
        threads = thread_count(self.n_jobs)
        passed = PassthroughReader(type(self).__name__).read(X)
        header = passed.header
        assert header is not None
        target, weight, classes = self._read_target(y, sample_weight, passed.n_rows)
        self._check_weight(params["estimator"], weight)
        told = self._check_cells(params, passed.X)
        seed = choose_seed(params["random_state"])
        train = RowSet.choose(passed, rows_with_weight(weight), target, weight)
        shares = self._shares(params, train, target, groups, seed, by_class=classes is not None)
        votes = params["combine"] != "average"
        folds = params["sampling"] == "folds"
        training = Training(
            estimator=params["estimator"],
            X=train.table().X,
            y=train.y if classes is None else classes[train.y],
            ballot=Ballot(classes, votes=classes is not None and votes),
            seed=seed,
            column_share=params["max_features"],
            measured=folds or params["combine"] == "weighted" or self._by_left_out(params),
            stops=folds,
            threads=threads,
        )
        if classes is None and (train.y == train.y[0]).all():
            told.append((ONE_VALUE, UserWarning))
        for words, category in told:
            warn_caller(words, category)
        left_out = LeftOut(train.y, train.weight, 0 if classes is None else len(classes))
        details = self._gather(params, training, shares, left_out, told)
        self._ballot, self.seed_, self._header = training.ballot, seed, header
        self._known_levels = _features(self._members(), header)
        header.set_attributes(self)
        if classes is not None:
            self.classes_ = classes
        self._keep_left_out(params, left_out, train, passed.n_rows)
        details |= {"seed": seed, "threads": threads, "seconds": time.perf_counter() - begin}
        self.fit_report_ = details
        return self

    def _by_left_out(self, params: Mapping[str, Any]) -> bool:
        return bool(params["oob_score"] or params["early_stopping"])

    def _check_groups(self, sampling: str, groups: Any) -> None:
        if sampling == "group" and groups is None:
            raise ValueError("sampling='group' needs groups: pass them to fit, one for each row.")
        if sampling not in ("group", "folds") and groups is not None:
            raise ValueError(
                "groups was passed, but only sampling='folds' and sampling='group' keep groups "
                f"together, and sampling is {sampling!r}."
            )

    def _check_weight(self, estimator: Any, weight: Vector | None) -> None:
        if weight is None or weight_argument(estimator) is not None:
            return
        if not (weight == np.rint(weight)).all():
            raise ValueError(
                f"{name_of(estimator)} takes no sample_weight, and these weights are no counts, so "
                "rows cannot be repeated instead. Pass whole weights, none, or another estimator."
            )

    def _check_cells(self, params: Mapping[str, Any], X: Any) -> list[CollectedWarning]:
        """Read X as members of this library would, so that errors are about its own rows.

        Other members read it themselves; so do those that get some of the columns, whose places
        their parameters are about.
        """
        member = params["estimator"]
        if not isinstance(member, ModelEstimator) or params["max_features"] < 1.0:
            return []
        with collect_warnings() as told:
            FeatureReader(InputSpec.of(check_parameters(member)), type(self).__name__).read(X)
        return told

    def _shares(
        self,
        params: Mapping[str, Any],
        train: RowSet,
        target: npt.NDArray[Any],
        groups: Any,
        seed: int,
        *,
        by_class: bool,
    ) -> Iterator[Share]:
        """Return what each member learns from."""
        if params["sampling"] == "folds":
            folds = make_folds(params["cv"], train, target, groups, seed, by_class=by_class)
            return deal_folds(folds, train)
        numbers = None
        if params["sampling"] == "group":
            numbers, row_of = group_numbers(groups, train, len(target)), copies(train.weight)
            numbers = numbers if row_of is None else numbers[row_of]
        sampling = make_sampling(params)
        return deal_bags(sampling, numbers, train, seed, params["n_estimators"])

    def _gather(
        self,
        params: Mapping[str, Any],
        training: Training,
        shares: Iterator[Share],
        left_out: LeftOut,
        known: list[CollectedWarning],
    ) -> dict[str, Any]:
        """Fit members until there are enough; set them and how much each has to say.

        `known` are the warnings that need not be given again.
        """
        members: list[Member] = []
        errors, say, path = [], [], []
        told: list[list[CollectedWarning]] = []
        patience = EarlyStopping(params["n_iter_no_change"], params["tol"])
        unit = left_out.spread or 1.0  # so that tol has no unit
        for share, (member, answers, its) in side_by_side(training.fit, shares, training.threads):
            members.append(member)
            told.append(its)
            if answers is None:
                continue
            errors.append(left_out.error_of(answers, share.held))
            weighted = params["combine"] == "weighted"
            say.append(left_out.say_of(errors[-1], share) if weighted else 1.0)
            path.append(left_out.add(share, answers, say[-1]))
            if not params["early_stopping"] or np.isnan(path[-1]):
                continue
            if patience.should_stop(len(path), path[-1] / unit):
                break
        if params["combine"] == "weighted" and np.isnan(say).all():
            warn_caller("No member left a row out, so all members have the same to say.")
        _warn_of_common(told, known)
        self.estimators_ = [member.estimator for member in members]
        self.estimators_columns_ = [member.columns for member in members]
        self.weights_ = settled(np.array(say if say else np.ones(len(members))))
        for name in FITTED:
            self.__dict__.pop(name, None)
        if errors:
            self.member_errors_ = left_out.unit * np.array(errors)
            self.oob_path_ = left_out.unit * np.array(path)
        constant = sum(type(m.estimator) is DummyClassifier for m in members)
        return {"members": len(members), "members_of_one_class": constant}

    def _keep_left_out(
        self, params: Mapping[str, Any], left_out: LeftOut, train: RowSet, n_rows: int
    ) -> None:
        """Set what members said of the rows they had not seen; NaN elsewhere."""
        folds = params["sampling"] == "folds"
        if folds:
            del self.oob_path_  # folds have no order that would mean anything
        elif not self._by_left_out(params):
            self.__dict__.pop("oob_path_", None)
            return
        known = left_out.prediction
        known = known[:, 0] if self._ballot.classes is None else known
        kept = train.spread(known, n_rows)
        if folds:
            self.oof_prediction_, self.oof_score_ = kept, left_out.score()
        else:
            self.oob_prediction_, self.oob_score_ = kept, left_out.score()

    # ---- asking the members --------------------------------------------------------------------

    def _members(self) -> list[Member]:
        if not hasattr(self, "estimators_"):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            )
        both = zip(self.estimators_, self.estimators_columns_, strict=True)
        return [Member(estimator, columns) for estimator, columns in both]

    def _staged(self, X: Any) -> Iterator[Matrix]:
        """Yield Σ α_j h_j(x) / Σ α_j after every member. Each array is new."""
        members = self._members()
        passed = self._header.match(X, type(self).__name__)
        self._check_levels(passed.X)
        sums, total = Sum(passed.n_rows, self._ballot.n_columns), 0.0
        relative = self.weights_ / self.weights_.max()  # equal weights are 1, without rounding
        for answers, say in zip(self._answers(members, passed), relative, strict=True):
            sums.add(answers, say)
            total += say
            yield sums.over(total)

    def _check_levels(self, X: Any) -> None:
        """Apply `handle_unknown` of the members to values that are a category of none of them."""
        places, features = self._known_levels
        if not places:
            return
        member = self._usual_member() if self.estimator is None else self.estimator
        unseen = UnknownCategories(getattr(member, "handle_unknown", "error"))
        asked = columns_of(X, np.array(places))
        features.columns(features.read(asked, type(self).__name__), unseen)
        unseen.refuse(features.names)
        unseen.warn(features.names)

    def _answers(self, members: list[Member], passed: UntouchedRows) -> Iterator[Matrix]:
        small = passed.n_rows * len(members) <= SMALL
        threads = 1 if small else thread_count(self.n_jobs)
        ask = partial(_answers_of, ballot=self._ballot, X=passed.X)
        yield from (answers for _, answers in side_by_side(ask, members, threads))

    def _said(self, X: Any) -> Matrix:
        """Return what all members say together, shape (n_rows, n_columns)."""
        *_, last = self._staged(X)
        return last

    def fingerprint(self) -> str:
        """Return a digest of what was learned: equal for equal committees.

        Where members are estimators of this library, on every machine; else it is good for this
        machine and these versions.
        """
        parts = hashlib.sha256()
        for member, say in zip(self._members(), self.weights_, strict=True):
            own = getattr(member.estimator, "fingerprint", None)
            parts.update((own() if own else joblib.hash(member.estimator)).encode())
            parts.update(np.float64(say).astype("<f8").tobytes())
            parts.update(b"" if member.columns is None else member.columns.astype("<i8").tobytes())
        return parts.hexdigest()

    def save(self, path: str | PathLike[str], *, notes: Mapping[str, Any] | None = None) -> None:
        """Refuse: a model file holds one additive model, and no code."""
        self._members()
        raise ValueError(
            f"A {type(self).__name__} cannot be saved to a model file, which holds one additive "
            "model and no code. Pickle it instead (joblib.dump), or save its estimators_ one by "
            "one if they have a file."
        )

    def recipe(self) -> str:
        """Say in one line what a fit runs: rows x columns x member x number x combination."""
        p = self._checked()
        rows, number = "all folds but one", "one member a fold"
        if p["sampling"] != "folds":
            rows = make_sampling(p).words.replace("a round", "a member")
            number = f"{p['n_estimators']} members"
            number += ", stopped by rows out of bag" if p["early_stopping"] else ""
        share = p["max_features"]
        columns = "all columns" if share == 1.0 else f"{share:.0%} of the columns"
        return f"{rows} x {columns} x {name_of(p['estimator'])} x {number} x {p['combine']}"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        member = self._usual_member() if self.estimator is None else self.estimator
        if hasattr(member, "__sklearn_tags__") and not isinstance(member, type):
            theirs = member.__sklearn_tags__().input_tags
            tags.input_tags.allow_nan = theirs.allow_nan
            tags.input_tags.categorical = theirs.categorical
            tags.input_tags.sparse = theirs.sparse
        return tags


def _form(words: str) -> str:
    """Return a message without its numbers, which are those of a bag."""
    return re.sub(r"\d+", "0", words)


def _warn_of_common(told: list[list[CollectedWarning]], known: list[CollectedWarning]) -> None:
    """Warn once of what all members were warned of; what only some were is about their bags."""
    common = set.intersection(*({_form(words) for words, _ in its} for its in told))
    common -= {_form(words) for words, _ in known}
    for words, category in told[0]:
        form = _form(words)
        if form not in common:
            continue
        common.remove(form)
        same = all((words, category) in its for its in told)
        warn_caller(words if same else f"Of the rows of the first member: {words}", category)


def _features(members: list[Member], heading: Header) -> tuple[list[int], Features]:
    """Return the places of the categorical columns, and these with the levels of all members."""
    levels: dict[int, set[Any]] = {}
    for member in members:
        for place, its in member.levels().items():
            levels.setdefault(place, set()).update(its.values)
    names, places = heading.names or [None] * heading.n, sorted(levels)
    return places, Features(
        Feature(names[place], "categorical", None, Categories.from_distinct(levels[place]))
        for place in places
    )


def _answers_of(member: Member, *, ballot: Ballot, X: Any) -> Matrix:
    return member.answers(ballot, X)

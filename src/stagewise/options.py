"""Options with numbers of their own: sampling, dropout, leaves, features, encoding, intervals.

Many parameters are one word: `sampling="goss"`. Where the word has numbers of its own, an object of
this module takes its place: `sampling=Goss(top=0.3)`. The objects have scikit-learn's `get_params`,
so a search may set `sampling__top`.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

from sklearn.base import BaseEstimator, clone

from stagewise.errors import InvalidParameterError
from stagewise.validation.equality import equal_values
from stagewise.validation.parameters import check_parameters, suggests_names
from stagewise.validation.rules import Number, OneOf, Rule, column_name, feature_count, flag
from stagewise.validation.uses import Use

__all__ = [
    "OPTION_RULES",
    "Conformal",
    "Dart",
    "FeatureSampling",
    "Goss",
    "LinearLeaves",
    "Mvs",
    "Option",
    "OrderedTargetEncoding",
    "SplitSearch",
    "conformal_rule",
    "flatten_options",
]

_share = Number(0.0, 1.0, open_low=True, open_high=True)
_size = 2**31 - 1


class Option(BaseEstimator):
    """Base class of the options. Options of one class with equal parameters are equal."""

    _rules: ClassVar[Mapping[str, Rule]] = MappingProxyType({})
    _uses: ClassVar[tuple[Use, ...]] = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and equal_values(vars(self), vars(other))

    __hash__ = None  # type: ignore[assignment]

    def _checked(self) -> Any:
        """Return a copy with checked parameters, or raise InvalidParameterError."""
        return type(self)(**check_parameters(self))


class Goss(Option):
    """Gradient-based one-side sampling (Ke et al. 2017, Algorithm 2).

    A round uses the rows with the largest gradients and a random part of the others. A row of the
    latter counts (1 - top) / other times, so that sums keep their expectation.

    Parameters
    ----------
    top : float, default=0.2
        The fraction of the rows with the largest gradients; all of them are used.
    other : float, default=0.1
        The fraction of all rows that is drawn from the others. top + other must be below 1.

    Examples
    --------
    >>> from stagewise import GradientBoostingRegressor, Goss
    >>> GradientBoostingRegressor(sampling=Goss(top=0.3)).get_params()["sampling__top"]
    0.3
    """

    _rules = MappingProxyType({"top": _share, "other": _share})

    @suggests_names
    def __init__(self, *, top: float = 0.2, other: float = 0.1) -> None:
        self.top = top
        self.other = other

    def _checked(self) -> Any:
        checked = super()._checked()
        if not checked.top + checked.other < 1:
            raise InvalidParameterError(
                "The parameters 'top' and 'other' of Goss must be below 1 in sum, so that rows are "
                f"left out; got {checked.top:g} and {checked.other:g}."
            )
        return checked


class Mvs(Option):
    """Minimal variance sampling (Ibragimov & Gusev 2019).

    A row is drawn with a probability proportional to √(g² + λ h²), at most 1, and counts by the
    inverse of that probability. The expected fraction of rows is the estimator's `subsample`.

    Parameters
    ----------
    regularization : float, default=1.0
        λ, above 0: the importance of the hessian beside the gradient, in units of the target's
        variance where the loss has its unit.
    """

    _rules = MappingProxyType({"regularization": Number(0.0, open_low=True)})

    @suggests_names
    def __init__(self, *, regularization: float = 1.0) -> None:
        self.regularization = regularization


class Dart(Option):
    """Dropout of earlier rounds (DART; Rashmi & Gilad-Bachrach 2015).

    Some earlier rounds are removed from the scores while a round is fitted. Then the new round and
    the removed ones are scaled so that they fit together. Staged predictions are sums of the trees
    as they are in the end.

    Parameters
    ----------
    rate : float, default=0.1
        The probability that an earlier round is dropped.
    max_drop : int or None, default=50
        The largest number of rounds that are dropped at once. None: no limit.
    skip : float, default=0.5
        The probability that a round drops nothing.
    normalization : {"tree", "forest"}, default="tree"
        Whether the new round has the weight of one dropped round, or of all of them together.
    """

    _rules = MappingProxyType(
        {
            "rate": Number(0.0, 1.0, open_low=True),
            "max_drop": Number(1, _size, whole=True, or_none=True),
            "skip": Number(0.0, 1.0, open_high=True),
            "normalization": OneOf(("tree", "forest")),
        }
    )

    @suggests_names
    def __init__(
        self,
        *,
        rate: float = 0.1,
        max_drop: int | None = 50,
        skip: float = 0.5,
        normalization: str = "tree",
    ) -> None:
        self.rate = rate
        self.max_drop = max_drop
        self.skip = skip
        self.normalization = normalization


class LinearLeaves(Option):
    """Leaves with linear models in the numeric features of their paths (Shi, Li & Li 2019).

    The trees are grown as with constant leaves. Rows with a missing value of such a feature get the
    constant. A linear model needs eight rows for each of its coefficients (with log loss, as much
    hessian as eight rows can have), and its value is limited to four standard deviations around its
    mean, so it extrapolates a little beyond the training rows. See docs/trees.md.

    Parameters
    ----------
    l2 : float, default=0.1
        λ of the slopes, of standardised features, beside the leaf's sum of hessians. The penalties
        of the estimator apply to the constants.
    """

    _rules = MappingProxyType({"l2": Number(0.0)})

    @suggests_names
    def __init__(self, *, l2: float = 0.1) -> None:
        self.l2 = l2


class FeatureSampling(Option):
    """Random subsets of the features: of a tree, of a level of the tree, and of a node.

    Each is a fraction (float), a number (int), "sqrt", "log2", "third", or None for all features. A
    level draws from the features of its tree, a node from those of its level.

    Parameters
    ----------
    per_tree, per_level, per_node : float, int, str or None, default=None
        The features that a tree, a level of it and a node may use.
    weights : dict or list of floats, or None, default=None
        The features are drawn with probabilities in proportion to these, by name or for each
        feature. 0: never.
    """

    _rules = MappingProxyType(
        {"per_tree": feature_count, "per_level": feature_count, "per_node": feature_count}
    )

    @suggests_names
    def __init__(
        self,
        *,
        per_tree: Any = None,
        per_level: Any = None,
        per_node: Any = None,
        weights: Any = None,
    ) -> None:
        self.per_tree = per_tree
        self.per_level = per_level
        self.per_node = per_node
        self.weights = weights


class SplitSearch(Option):
    """How the split of a node is searched.

    Parameters
    ----------
    method : {"histogram", "exact", "approx"}, default="histogram"
        Between the bins of the entire table; between any two values of the node, at the middle
        (exact greedy); or where the hessians of its sorted rows pass multiples of `sketch_eps` of
        their sum (Chen & Guestrin 2016, section 3.2).
    random_thresholds : bool, default=False
        Try one threshold per feature, drawn between the smallest and the largest value in the node,
        instead of all (extremely randomised trees).
    forced_splits : dict or None, default=None
        The splits that every tree begins with: {"feature": name or position, "threshold": t}, and
        for its children the same under "left" and "right". The nearest cut between bins is used.
    proposal : {None, "global", "local"}, default=None
        For "approx": whether the sum is that of the entire tree ("global", which None means), or of
        each node.
    sketch_eps : float or None, default=None
        For "approx". None: 0.02.
    """

    _rules = MappingProxyType(
        {
            "method": OneOf(("histogram", "exact", "approx")),
            "random_thresholds": flag,
            "proposal": OneOf((None, "global", "local")),
            "sketch_eps": Number(0.0, 1.0, open_low=True, open_high=True, or_none=True),
        }
    )
    _uses = (
        Use(("proposal", "sketch_eps"), "method", lambda m: m == "approx", "set method='approx'"),
    )

    @suggests_names
    def __init__(
        self,
        *,
        method: str = "histogram",
        random_thresholds: bool = False,
        forced_splits: Any = None,
        proposal: str | None = None,
        sketch_eps: float | None = None,
    ) -> None:
        self.method = method
        self.random_thresholds = random_thresholds
        self.forced_splits = forced_splits
        self.proposal = proposal
        self.sketch_eps = sketch_eps


class OrderedTargetEncoding(Option):
    """Ordered target encoding of categories (Prokhorenkova et al. 2018).

    Trees get columns with the smoothed mean step of the rows of a category, and of combinations of
    categories of up to four features. A row is encoded by the rows before it in a random order, so
    its own target does not contribute. More than 50,000 rows are encoded by cross fitting: each by
    the rows of seven of eight random folds, which do not contain it.

    Parameters
    ----------
    n_orderings : int, default=1
        The number of random orders, or of random divisions into folds. Trees use them in turn.
        Memory grows with it.
    """

    _rules = MappingProxyType({"n_orderings": Number(1, 64, whole=True)})

    @suggests_names
    def __init__(self, *, n_orderings: int = 1) -> None:
        self.n_orderings = n_orderings


def _group_feature(value: Any) -> Any:
    """Return a feature by name or number, or None; otherwise raise ValueError with a remedy."""
    try:
        return column_name(value)
    except ValueError as error:
        if isinstance(value, (list, tuple)):
            remedy = "for combinations of features, add a column with them to X"
        elif hasattr(value, "shape"):
            remedy = "add the groups of rows to X as a column; fit(groups=…) keeps rows in one fold"
        else:
            raise
        raise ValueError(f"{error} ({remedy})") from None


class Conformal(Option):
    """How a fit keeps conformity scores, for `predict_interval` and `predict_set`.

    Parameters
    ----------
    method : {"split", "cv", "cv+", "oob"}, default="cv"
        The rows whose scores are kept; none of them was used to fit the model that predicts them.
        "split": a random fraction of the rows, which the fit does not use at all. "cv": the rows
        that folds hold out, with the predictions of the models of the folds; new rows are predicted
        by the model of all rows. "cv+": the same rows, and new rows are predicted by the models of
        all folds, which the estimator keeps (Barber et al. 2021). "oob": the out-of-bag rows of a
        forest. See docs/intervals.md for their guarantees.
    score : {"auto", "absolute", "pearson", "quantile", "lac", "aps", "raps"}, default="auto"
        The conformity score. Of numbers: "absolute", |y - prediction|; "pearson", the same over the
        standard deviation that the loss assumes; "quantile", how far y is outside of two predicted
        quantiles, for loss="quantile" with several levels. "auto" is "quantile" for them, "pearson"
        for losses with a log link, and "absolute" for others. Of classes: "lac", which is "auto",
        "aps" or "raps".
    fraction : float, default=0.2
        The fraction of the rows that "split" keeps.
    groups : str, int or None, default=None
        A feature, by name or number: each of its values has a threshold of its own, so that the
        coverage holds in each of these groups. A row of an unknown group, or of one with too few
        rows for the coverage, gets the threshold of all rows.
    per_class : bool, default=False
        Whether each class has a threshold of its own, so that the coverage holds for the rows of
        every class. A class with too few rows for the coverage is in every set.
    randomized : bool, default=False
        Whether the scores "aps" and "raps" have a random factor, with which coverage is exact and
        sets are smaller. It depends on the seed of the fit and on the scores of a row.
    penalty : float, default=0.01
        The penalty of "raps" for each class beyond the `free_ranks` most probable ones.
    free_ranks : int, default=1
        The number of classes without a penalty.

    Examples
    --------
    >>> from stagewise import Conformal, GradientBoostingRegressor
    >>> GradientBoostingRegressor(conformal=Conformal(method="split", fraction=0.3)).conformal
    Conformal(fraction=0.3, method='split')
    """

    _rules = MappingProxyType(
        {
            "method": OneOf(("split", "cv", "cv+", "oob")),
            "score": OneOf(("auto", "absolute", "pearson", "quantile", "lac", "aps", "raps")),
            "fraction": _share,
            "groups": _group_feature,
            "per_class": flag,
            "randomized": flag,
            "penalty": Number(0.0),
            "free_ranks": Number(0, _size, whole=True),
        }
    )
    _uses = (
        Use(("fraction",), "method", lambda method: method == "split", "set method='split'"),
        Use(("randomized",), "score", lambda s: s in ("aps", "raps"), "set score='aps'"),
        Use(("penalty", "free_ranks"), "score", lambda s: s == "raps", "set score='raps'"),
    )

    @suggests_names
    def __init__(
        self,
        *,
        method: str = "cv",
        score: str = "auto",
        fraction: float = 0.2,
        groups: Any = None,
        per_class: bool = False,
        randomized: bool = False,
        penalty: float = 0.01,
        free_ranks: int = 1,
    ) -> None:
        self.method = method
        self.score = score
        self.fraction = fraction
        self.groups = groups
        self.per_class = per_class
        self.randomized = randomized
        self.penalty = penalty
        self.free_ranks = free_ranks


@dataclass(frozen=True)
class OptionRule:
    """A parameter that is one of some words, an option, or what another rule allows.

    Parameters
    ----------
    words : tuple
        Words (and None) that are returned as they are.
    options : mapping
        The options with default parameters, by their word.
    kinds : tuple of type
        The classes of options.
    other : Rule or None
        The rule of all other values.
    hint : callable or None
        Returns a remedy for a value that is not allowed, or an empty string.
    """

    words: tuple[Any, ...]
    options: Mapping[str, Option]
    kinds: tuple[type[Option], ...]
    other: Rule | None = None
    hint: Callable[[Any], str] | None = None

    def __call__(self, value: Any) -> Any:
        """Return a word or a checked option, or raise ValueError(what is allowed)."""
        if (value is None or isinstance(value, str)) and value in self.words:
            return value
        if isinstance(value, str) and value in self.options:
            return clone(self.options[value])
        if isinstance(value, self.kinds):
            return clone(value)._checked()  # noqa: SLF001
        allowed = ", ".join(map(repr, (*self.words, *self.options)))
        kinds = " or ".join(f"a stagewise.{kind.__name__}" for kind in self.kinds)
        if self.other is None:
            remedy = "" if self.hint is None else self.hint(value)
            raise ValueError(f"one of {allowed}, or {kinds}{f' ({remedy})' if remedy else ''}")
        try:
            return self.other(value)
        except ValueError as error:
            raise ValueError(f"{allowed}, {kinds}, {error}") from None

    def or_auto(self) -> OptionRule:
        """Return the same rule with the word "auto"."""
        return replace(self, words=("auto", *self.words))


def conformal_rule(*methods: str) -> OptionRule:
    """Return the rule of `conformal` for an estimator that has some of the methods."""
    words = {method: Conformal(method=method) for method in methods}
    return OptionRule((None,), words, (Conformal,), hint=_conformal_hint)


def _conformal_hint(value: Any) -> str:
    """Return a remedy for a value of `conformal` that is not allowed."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return (
            "intervals of numbers have one width; for widths that differ between rows, also set "
            "loss='quantile', quantile=[0.05, 0.5, 0.95] of GradientBoostingRegressor"
        )
    if 0 < float(value) < 1:
        return f"coverage={value:g} is an argument of predict_interval and predict_set"
    return f"early_stopping={value:g} sets the number of folds, besides conformal='cv'"


def _features_of_node(value: Any) -> FeatureSampling:
    return FeatureSampling(per_node=feature_count(value))


SPLIT_METHODS = {method: SplitSearch(method=method) for method in ("histogram", "exact", "approx")}

OPTION_RULES: Mapping[str, OptionRule] = MappingProxyType(
    {
        "sampling": OptionRule(
            ("uniform", "fixed_size", "bootstrap", "group"),
            {"goss": Goss(), "mvs": Mvs()},
            (Goss, Mvs),
        ),
        "dropout": OptionRule((None,), {"dart": Dart()}, (Dart,)),
        "leaves": OptionRule(("constant", "vector"), {"linear": LinearLeaves()}, (LinearLeaves,)),
        "split": OptionRule((), SPLIT_METHODS, (SplitSearch,)),
        "max_features": OptionRule(("auto",), {}, (FeatureSampling,), _features_of_node),
        "category_encoding": OptionRule(
            ("auto", "sets"), {"target": OrderedTargetEncoding()}, (OrderedTargetEncoding,)
        ),
    }
)
"""The rules of parameters that take options."""


def flatten_options(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with those of their options beside them, as "sampling__top"."""
    flat = dict(params)
    for name, value in params.items():
        if isinstance(value, Option):
            flat |= {f"{name}__{own}": v for own, v in vars(value).items()}
    return flat


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)

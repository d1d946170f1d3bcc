"""One adapter for each library, all with the same settings.

An adapter defines how its library receives data, trains and predicts, and which of its own options
for the same work (``variants``, ``policies``) to try; measure.py tries them and keeps the fastest,
so a peer is always measured at its best. Every library gets the same float32 table in memory, 100
trees of 31 leaves, learning rate 0.1, 255 bins and 20 rows per leaf; the regularisation is each
library's own default. ``losses`` maps the losses that it offers to its own names.

A library is imported when its adapter is created, so a worker contains one library only.
"""

# ruff: noqa: D102  (each method is documented once, in Peer)

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar, cast

import numpy as np
from forest_peers import FORESTS
from library import OPENMP, USUAL, OneRow, Peer, Work, estimator_predict

LEAVES = 31
LEARNING_RATE = 0.1
BINS = 255
MIN_ROWS = 20
QUANTILE = 0.8
TWEEDIE_POWER = 1.5
# For XGBoost, where a row's hessian is about 1.
ROWS = {"min_child_weight": float(MIN_ROWS)}
# The δ of the Huber loss: about the 0.9 quantile of the noise of the table.
HUBER_WIDTH = 3.3

ANY_LEAVES = {"max_leaf_nodes": None}
DEPTH = 6  # of trees that grow depth-wise


class Stagewise(Peer):
    """Stagewise, through its public estimators."""

    name = "stagewise"
    package = "stagewise"
    reads_sparse = True
    losses: ClassVar[Mapping[str, Any]] = {
        "log_loss": {},
        "exponential": {},
        "adaboost": {},
        "squared_error": {},
        "absolute_error": {},
        "huber": {},
        "quantile": {"quantile": QUANTILE},
        "poisson": {},
        "gamma": {},
        "tweedie": {},
    }
    ways: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        **USUAL,
        "exact": {"split": "exact", "grow_policy": "depth_wise", "max_depth": DEPTH, **ANY_LEAVES},
        "symmetric": {"grow_policy": "symmetric", "max_depth": DEPTH, **ANY_LEAVES},
        "goss": {"sampling": "goss"},
        "categories": {},
        "linear": {"leaves": "linear"},
        "joint": {},  # one tree per output, for comparison
        "forest": {},
    }

    def __init__(self) -> None:
        self.lib: Any = import_module("stagewise")

    def fit(self, X: np.ndarray, y: np.ndarray, work: Work) -> Any:
        if work.loss == "adaboost":
            stumps = self.lib.AdaBoostClassifier(
                n_estimators=work.trees, random_state=work.seed, n_jobs=work.threads
            )
            return stumps.fit(X, y)
        kind = "Classifier" if work.n_classes else "Regressor"
        if work.way == "forest":
            forest = getattr(self.lib, "RandomForest" + kind)(
                n_estimators=work.trees, random_state=work.seed, n_jobs=work.threads
            )
            return forest.fit(X, y)
        tweedie = work.loss == "tweedie"
        loss = self.lib.losses.Tweedie(power=TWEEDIE_POWER) if tweedie else work.loss
        model = getattr(self.lib, "GradientBoosting" + kind)(
            loss=loss,
            **self.losses[work.loss],
            n_estimators=work.trees,
            learning_rate=LEARNING_RATE,
            max_features=1.0,  # as the peers do
            min_samples_leaf=MIN_ROWS,
            max_bins=BINS,
            categorical_features=list(work.categories) or None,
            random_state=work.seed,
            n_jobs=work.threads,
            **{"max_leaf_nodes": LEAVES, **self.ways[work.way]},
        )
        return model.fit(X, y)

    def predict(self, model: Any, X: np.ndarray, work: Work) -> np.ndarray:
        return estimator_predict(model, X, work)

    def one_row(self, model: Any, work: Work) -> OneRow:
        method = model.predict if work.task == "regression" else model.predict_proba
        return cast(OneRow, method)


class VectorStagewise(Stagewise):
    """Stagewise with one tree per round for all classes or targets."""

    name = "stagewise-vector"
    kinds = frozenset({"fit"})
    ways: ClassVar[Mapping[str, Mapping[str, Any]]] = {"joint": {"leaves": "vector"}}


class LightGBM(Peer):
    """LightGBM through Dataset and train; its three bin layouts are tried."""

    name = "lightgbm"
    package = "lightgbm"
    reads_sparse = True
    policies = OPENMP
    variants = ("auto", "row-wise", "col-wise")
    extra: ClassVar[dict[str, Any]] = {}
    losses: ClassVar[Mapping[str, Any]] = {
        "log_loss": {},
        "squared_error": {"objective": "regression"},
        "absolute_error": {"objective": "regression_l1"},
        "huber": {"objective": "huber", "alpha": HUBER_WIDTH},
        "quantile": {"objective": "quantile", "alpha": QUANTILE},
        "poisson": {"objective": "poisson"},
        "gamma": {"objective": "gamma"},
        "tweedie": {"objective": "tweedie", "tweedie_variance_power": TWEEDIE_POWER},
    }
    ways: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        **USUAL,
        "goss": {"data_sample_strategy": "goss"},
        "categories": {},
        "linear": {"linear_tree": True},
    }

    def __init__(self) -> None:
        self.lib: Any = import_module("lightgbm")

    def fit(self, X: np.ndarray, y: np.ndarray, work: Work) -> Any:
        params: dict[str, Any] = {
            "objective": "binary" if work.task == "binary" else "multiclass",
            **self.losses[work.loss],
            "learning_rate": LEARNING_RATE,
            "num_leaves": LEAVES,
            "max_bin": BINS,
            "min_data_in_leaf": MIN_ROWS,
            "num_threads": work.threads,
            "seed": work.seed,
            "verbosity": -1,
            **self.extra,
            **self.ways[work.way],
        }
        if work.variant != "auto":
            params["force_" + work.variant.replace("-", "_")] = True
        if work.task == "classes":
            params["num_class"] = work.n_classes
        categories = list(work.categories) or "auto"
        data = self.lib.Dataset(X, label=y, params=params, categorical_feature=categories)
        return self.lib.train(params, data, num_boost_round=work.trees)

    def predict(self, model: Any, X: np.ndarray, work: Work) -> np.ndarray:
        return np.asarray(model.predict(X))

    def one_row(self, model: Any, work: Work) -> OneRow:
        return cast(OneRow, model.predict)


class QuantisedLightGBM(LightGBM):
    """LightGBM with its quantised gradients, its fastest mode on large tables."""

    name = "lightgbm-quantised"
    kinds = frozenset({"fit", "memory", "scaling"})
    extra: ClassVar[dict[str, Any]] = {"use_quantized_grad": True}
    ways = USUAL


class XGBoost(Peer):
    """XGBoost's hist, from either of its containers, growing by gain as all the others do.

    It has no minimum number of rows per leaf, only a minimum hessian. For squared error and the
    losses with a constant hessian both are equivalent; for classes its default of 1 is nearest (a
    row has at most ¼, most have far less), and the positive losses keep it too.
    """

    name = "xgboost"
    package = "xgboost"
    reads_sparse = True
    policies = OPENMP
    variants = ("QuantileDMatrix", "DMatrix")
    growth: ClassVar[str] = "lossguide"
    losses: ClassVar[Mapping[str, Any]] = {
        "log_loss": {},
        "squared_error": {"objective": "reg:squarederror", **ROWS},
        "absolute_error": {"objective": "reg:absoluteerror", **ROWS},
        "huber": {"objective": "reg:pseudohubererror", "huber_slope": HUBER_WIDTH},
        "quantile": {"objective": "reg:quantileerror", "quantile_alpha": QUANTILE, **ROWS},
        "poisson": {"objective": "count:poisson"},
        "gamma": {"objective": "reg:gamma"},
        "tweedie": {"objective": "reg:tweedie", "tweedie_variance_power": TWEEDIE_POWER},
    }
    ways: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        **USUAL,
        "exact": {"tree_method": "exact", "grow_policy": "depthwise", "max_depth": DEPTH,
                  "max_leaves": 0, "min_child_weight": 1.0},
    }  # fmt: skip

    def __init__(self) -> None:
        self.lib: Any = import_module("xgboost")

    def fit(self, X: np.ndarray, y: np.ndarray, work: Work) -> Any:
        params: dict[str, Any] = {
            "objective": "binary:logistic" if work.task == "binary" else "multi:softprob",
            "tree_method": "hist",
            "grow_policy": self.growth,
            "max_leaves": LEAVES,
            "max_depth": 0,
            "max_bin": BINS,
            "eta": LEARNING_RATE,
            "nthread": work.threads,
            "seed": work.seed,
            **self.losses[work.loss],
            **self.ways[work.way],
        }
        if work.task == "classes":
            params["num_class"] = work.n_classes
        if work.variant == "QuantileDMatrix":
            data = self.lib.QuantileDMatrix(X, label=y, max_bin=BINS, nthread=work.threads)
        else:
            data = self.lib.DMatrix(X, label=y, nthread=work.threads)
        return self.lib.train(params, data, num_boost_round=work.trees)

    def predict(self, model: Any, X: np.ndarray, work: Work) -> np.ndarray:
        return np.asarray(model.inplace_predict(X))

    def one_row(self, model: Any, work: Work) -> OneRow:
        model.set_param({"nthread": 1})
        return lambda x: model.inplace_predict(x, validate_features=False)


class DepthwiseXGBoost(XGBoost):
    """XGBoost growing depth-wise up to 31 leaves: less work, and different trees."""

    name = "xgboost-depthwise"
    kinds = frozenset({"fit"})
    ways = USUAL
    growth = "depthwise"


class VectorXGBoost(XGBoost):
    """XGBoost with one tree per round for all classes or targets."""

    name = "xgboost-vector"
    kinds = frozenset({"fit"})
    ways: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "joint": {"multi_strategy": "multi_output_tree"}
    }


class CatBoost(Peer):
    """CatBoost with its own symmetric trees (depth 5, 32 leaves) or with 31 leaves by gain.

    No bootstrap, one Newton step per leaf and no metric while training, as with all the others:
    each of these makes it faster than its defaults.
    """

    name = "catboost"
    package = "catboost"
    reads_sparse = True
    variants = ("symmetric", "lossguide")
    losses: ClassVar[Mapping[str, Any]] = {
        "log_loss": "",
        "squared_error": "RMSE",
        "absolute_error": "MAE",
        "huber": f"Huber:delta={HUBER_WIDTH}",
        "quantile": f"Quantile:alpha={QUANTILE}",
        "poisson": "Poisson",
        "tweedie": f"Tweedie:variance_power={TWEEDIE_POWER}",
    }
    ways: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        **USUAL,
        "symmetric": {"depth": DEPTH},
        "categories": {},
        "joint": {},
    }

    def __init__(self) -> None:
        self.lib: Any = import_module("catboost")

    def fit(self, X: np.ndarray, y: np.ndarray, work: Work) -> Any:
        params: dict[str, Any] = {
            "iterations": work.trees,
            "learning_rate": LEARNING_RATE,
            "border_count": BINS - 1,
            "bootstrap_type": "No",
            "boosting_type": "Plain",
            "leaf_estimation_iterations": 1,
            "metric_period": work.trees,
            "thread_count": work.threads,
            "random_seed": work.seed,
            "allow_writing_files": False,
            "logging_level": "Silent",
        }
        if work.variant == "lossguide":
            if work.way == "symmetric":
                raise ValueError("these trees are not symmetric")
            params |= {"grow_policy": "Lossguide", "max_leaves": LEAVES, "depth": 16}
            params |= {"min_data_in_leaf": MIN_ROWS}
        else:
            params |= {"depth": 5, **self.ways[work.way]}
        if not work.n_classes:
            loss = "MultiRMSE" if work.task == "targets" else self.losses[work.loss]
            model = self.lib.CatBoostRegressor(loss_function=loss, **params)
        else:
            loss = "Logloss" if work.task == "binary" else "MultiClass"
            model = self.lib.CatBoostClassifier(loss_function=loss, **params)
        categories = list(work.categories) or None
        return model.fit(self.lib.Pool(X, y, cat_features=categories, thread_count=work.threads))

    def feed(self, X: np.ndarray, work: Work) -> Any:
        if not work.categories:
            return X
        frame = import_module("pandas").DataFrame(X)
        return frame.astype(dict.fromkeys(work.categories, "int32"))

    def predict(self, model: Any, X: np.ndarray, work: Work) -> np.ndarray:
        return estimator_predict(model, X, work)

    def one_row(self, model: Any, work: Work) -> OneRow:
        method = model.predict if work.task == "regression" else model.predict_proba
        return lambda x: method(x, thread_count=1)


class ScikitLearn(Peer):
    """scikit-learn's HistGradientBoosting."""

    name = "scikit-learn"
    package = "scikit-learn"
    policies = OPENMP
    losses: ClassVar[Mapping[str, Any]] = {
        "log_loss": {},
        "squared_error": {},
        "absolute_error": {},
        "quantile": {"quantile": QUANTILE},
        "poisson": {},
        "gamma": {},
    }

    def __init__(self) -> None:
        self.lib: Any = import_module("sklearn.ensemble")
        self.limits: Any = import_module("threadpoolctl").threadpool_limits

    def fit(self, X: np.ndarray, y: np.ndarray, work: Work) -> Any:
        kind = "Regressor" if work.task == "regression" else "Classifier"
        model = getattr(self.lib, "HistGradientBoosting" + kind)(
            loss=work.loss,
            **self.losses[work.loss],
            max_iter=work.trees,
            learning_rate=LEARNING_RATE,
            max_leaf_nodes=LEAVES,
            min_samples_leaf=MIN_ROWS,
            max_bins=BINS,
            early_stopping=False,
            random_state=work.seed,
        )
        with self.limits(limits=work.threads, user_api="openmp"):
            return model.fit(X, y)

    def predict(self, model: Any, X: np.ndarray, work: Work) -> np.ndarray:
        return estimator_predict(model, X, work)

    def one_row(self, model: Any, work: Work) -> OneRow:
        method = model.predict if work.task == "regression" else model.predict_proba
        return cast(OneRow, method)


class ClassicScikitLearn(Peer):
    """scikit-learn's older ensembles of exact trees, for losses its newer one does not offer."""

    name = "scikit-learn-exact"
    package = "scikit-learn"
    kinds = frozenset({"fit"})
    losses: ClassVar[Mapping[str, Any]] = {"exponential": {}, "adaboost": {}, "log_loss": {}}
    ways: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        **USUAL,
        "exact": {"max_depth": DEPTH, **ANY_LEAVES},
    }

    @classmethod
    def offers(cls, way: str, loss: str) -> bool:
        return super().offers(way, loss) and (way == "exact") == (loss == "log_loss")

    def __init__(self) -> None:
        self.lib: Any = import_module("sklearn.ensemble")

    def fit(self, X: np.ndarray, y: np.ndarray, work: Work) -> Any:
        if work.loss == "adaboost":
            stumps = self.lib.AdaBoostClassifier(n_estimators=work.trees, random_state=work.seed)
            return stumps.fit(X, y)
        model = self.lib.GradientBoostingClassifier(
            loss=work.loss,
            n_estimators=work.trees,
            learning_rate=LEARNING_RATE,
            min_samples_leaf=MIN_ROWS,
            random_state=work.seed,
            **{"max_leaf_nodes": LEAVES, "max_depth": None, **self.ways[work.way]},
        )
        return model.fit(X, y)

    def predict(self, model: Any, X: np.ndarray, work: Work) -> np.ndarray:
        return estimator_predict(model, X, work)


class Perpetual(Peer):
    """Perpetual: it chooses its tree sizes, so only its one-row predict is compared (100 trees)."""

    name = "perpetual"
    package = "perpetual"
    kinds = frozenset({"one-row"})
    losses: ClassVar[Mapping[str, Any]] = {"log_loss": "LogLoss", "squared_error": "SquaredLoss"}

    def __init__(self) -> None:
        self.lib: Any = import_module("perpetual")

    def fit(self, X: np.ndarray, y: np.ndarray, work: Work) -> Any:
        model = self.lib.PerpetualBooster(
            objective=self.losses[work.loss],
            budget=1.0,
            iteration_limit=work.trees,
            num_threads=work.threads,
        )
        model.fit(X.astype(np.float64), y.astype(np.float64))
        return model

    def predict(self, model: Any, X: np.ndarray, work: Work) -> np.ndarray:
        return estimator_predict(model, X.astype(np.float64), work)

    def one_row(self, model: Any, work: Work) -> OneRow:
        method = model.predict if work.task == "regression" else model.predict_proba
        return cast(OneRow, method)


OURS = Stagewise.name
PEERS: dict[str, type[Peer]] = {
    peer.name: peer
    for peer in (
        Stagewise,
        VectorStagewise,
        LightGBM,
        QuantisedLightGBM,
        XGBoost,
        DepthwiseXGBoost,
        VectorXGBoost,
        CatBoost,
        ScikitLearn,
        ClassicScikitLearn,
        Perpetual,
        *FORESTS,
    )
}

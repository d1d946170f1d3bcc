"""Poisson models of claims with an exposure, each library in its documented way.

Each function returns the fitted model's expected claims of the policies to measure. Stagewise: a
column of X. LightGBM: `init_score`, the logarithm, which predictions do not have. XGBoost:
`base_margin`. CatBoost: `baseline` of a Pool. Without early stopping all training rows are fitted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from policies import CATEGORICAL, FEATURES, Parts

Vector = npt.NDArray[np.float64]
SETTINGS = ("defaults", "100 trees", "early stopping")
MOST_ROUNDS, PATIENCE = 2000, 50


def stagewise(parts: Parts, setting: str) -> tuple[Vector, Any]:
    """Return the predictions and the number of rounds of Stagewise."""
    from stagewise import GradientBoostingRegressor

    columns = [*FEATURES, "Exposure"]
    own: dict[str, Any] = {
        "defaults": {},
        "100 trees": {"n_estimators": 100},
        "early stopping": {
            "n_estimators": MOST_ROUNDS,
            "learning_rate": 0.1,
            "n_iter_no_change": PATIENCE,
        },
    }[setting]
    model = GradientBoostingRegressor(loss="poisson", **own)
    if setting == "early stopping":
        held = {"X_val": parts.stop[columns], "y_val": parts.stop["ClaimNb"]}
        model.fit(parts.fit[columns], parts.fit["ClaimNb"], exposure="Exposure", **held)
    else:
        model.fit(parts.train[columns], parts.train["ClaimNb"], exposure="Exposure")
    return model.predict(parts.test[columns]), model.n_iter_


def lightgbm(parts: Parts, setting: str) -> tuple[Vector, Any]:
    """Return the predictions and the number of rounds of LightGBM."""
    import lightgbm as lgb

    own: dict[str, Any] = {"objective": "poisson", "verbose": -1}
    if setting == "early stopping":
        own |= {"n_estimators": MOST_ROUNDS}
    rows = parts.fit if setting == "early stopping" else parts.train
    # The score starts from init_score alone, so the mean rate is a part of it.
    rate = rows["ClaimNb"].sum() / rows["Exposure"].sum()
    scores = [np.log(rate * part["Exposure"]) for part in (rows, parts.stop)]
    held: dict[str, Any] = {}
    if setting == "early stopping":
        held = {
            "eval_set": [(parts.stop[FEATURES], parts.stop["ClaimNb"])],
            "eval_init_score": [scores[1]],
            "callbacks": [lgb.early_stopping(PATIENCE, verbose=False)],
        }
    model = lgb.LGBMRegressor(**own)
    model.fit(rows[FEATURES], rows["ClaimNb"], init_score=scores[0], **held)
    raw = model.predict(parts.test[FEATURES], raw_score=True)
    predicted = np.exp(raw) * rate * parts.test["Exposure"].to_numpy()
    return predicted, model.best_iteration_ or model.n_estimators


def xgboost(parts: Parts, setting: str) -> tuple[Vector, Any]:
    """Return the predictions and the number of rounds of XGBoost."""
    import xgboost as xgb

    own: dict[str, Any] = {"objective": "count:poisson"}
    own |= {"enable_categorical": True, "tree_method": "hist"}
    if setting != "defaults":
        own |= {"max_leaves": 31, "max_depth": 0, "grow_policy": "lossguide", "learning_rate": 0.1}
        own |= {"n_estimators": 100}
    if setting == "early stopping":
        own |= {"n_estimators": MOST_ROUNDS}
        own |= {"early_stopping_rounds": PATIENCE}
    rows = parts.fit if setting == "early stopping" else parts.train
    rate = rows["ClaimNb"].sum() / rows["Exposure"].sum()
    margin = [np.log(rate * part["Exposure"]) for part in (rows, parts.stop, parts.test)]
    held: dict[str, Any] = {}
    if setting == "early stopping":
        held = {
            "eval_set": [(parts.stop[FEATURES], parts.stop["ClaimNb"])],
            "base_margin_eval_set": [margin[1]],
            "verbose": False,
        }
    model = xgb.XGBRegressor(**own)
    model.fit(rows[FEATURES], rows["ClaimNb"], base_margin=margin[0], **held)
    rounds = model.get_booster().num_boosted_rounds()
    rounds = model.best_iteration + 1 if setting == "early stopping" else rounds
    return model.predict(parts.test[FEATURES], base_margin=margin[2]), rounds


def catboost(parts: Parts, setting: str) -> tuple[Vector, Any]:
    """Return the predictions and the number of rounds of CatBoost."""
    from catboost import CatBoostRegressor, Pool

    own: dict[str, Any] = {"loss_function": "Poisson", "verbose": False}
    own |= {"allow_writing_files": False}
    if setting != "defaults":
        own |= {"grow_policy": "Lossguide", "max_leaves": 31, "learning_rate": 0.1}
        own |= {"iterations": 100}
    if setting == "early stopping":
        own |= {"iterations": MOST_ROUNDS}
        own |= {"early_stopping_rounds": PATIENCE}

    def pool(part: Any) -> Any:
        X = part[FEATURES].astype(dict.fromkeys(CATEGORICAL, str))
        baseline = np.log(rate * part["Exposure"].to_numpy())
        return Pool(X, part["ClaimNb"], cat_features=CATEGORICAL, baseline=baseline)

    rows = parts.fit if setting == "early stopping" else parts.train
    rate = rows["ClaimNb"].sum() / rows["Exposure"].sum()
    model = CatBoostRegressor(**own)
    model.fit(pool(rows), eval_set=pool(parts.stop) if setting == "early stopping" else None)
    return model.predict(pool(parts.test), prediction_type="Exponent"), model.tree_count_


LIBRARIES: dict[str, Callable[[Parts, str], tuple[Vector, Any]]] = {
    "Stagewise": stagewise,
    "LightGBM": lightgbm,
    "XGBoost": xgboost,
    "CatBoost": catboost,
}

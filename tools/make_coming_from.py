"""Writes docs/coming-from.md from the table of names in `stagewise.validation.foreign_names`."""

from __future__ import annotations

import sys
from pathlib import Path

from stagewise import GradientBoostingRegressor
from stagewise.validation import parameters
from stagewise.validation.foreign_calls import FOREIGN_ATTRIBUTES, FUNCTIONS, PREDICT_ARGUMENTS
from stagewise.validation.foreign_hints import words_of
from stagewise.validation.foreign_losses import (
    ESTIMATORS,
    FOREIGN_LOSSES,
    OTHER_LOSSES,
    SHARE_LOSSES,
)
from stagewise.validation.foreign_names import FOREIGN_NAMES, ForeignName

PAGE = Path(__file__).parents[1] / "docs" / "coming-from.md"

RULES = {**parameters.RULES, **GradientBoostingRegressor._rules}  # noqa: SLF001

HEAD = """\
# Coming from LightGBM, XGBoost, CatBoost or scikit-learn

The estimators have scikit-learn's interface, and parameters have scikit-learn's names where it has
one. A name of another library is an error that gives ours: `num_leaves is the name of LightGBM;
here it is max_leaf_nodes.` A message about several names ends with the call to paste, so a
dictionary of parameters is translated by `GradientBoostingRegressor(**parameters)`. Callbacks of
LightGBM and XGBoost are errors with the parameter here. `tools/make_coming_from.py` writes this
page from the tables behind these messages.

Attributes and arguments of `predict` that other libraries have are errors of the same kind.
Packages around scikit-learn's interface work: [shap](explain.md#the-package-shap), Optuna and the
searches of scikit-learn ([tuning](guide/tuning.md)), `CalibratedClassifierCV`,
`permutation_importance`, `PartialDependenceDisplay`, stacking, and MAPIE for prediction intervals.

<!-- setup
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
X = pd.DataFrame({"age": rng.normal(size=300), "city": rng.integers(0, 9, 300)})
X["job"] = rng.integers(0, 5, 300)
X = X.astype({"city": "category", "job": "category"})
y = (X["age"] + rng.normal(size=300) > 0).astype(int)
X_val, y_val, X, y = X[200:], y[200:], X[:200], y[:200]
import stagewise
-->
"""

CALLS = "Attributes of fitted models, and arguments of `predict`:"

NAMES = """\
## Functions and classes

| elsewhere | of | here |
|---|---|---|"""

LOSSES = """\
## Values of objective and loss_function

The names are compared in any case, and the same table makes the errors for `loss="mae"` and
`objective="mae"`. Names such as `huber`, `fair`, `quantile`, `mape`, `poisson`, `gamma` and
`tweedie` are the same here. LightGBM's `alpha` of `objective="huber"` is
`loss=stagewise.losses.Huber(delta=...)`, in units of y; scikit-learn's `alpha` of `loss="huber"` is
`quantile`. `tweedie_variance_power=1.3` is `loss=stagewise.losses.Tweedie(power=1.3)`.

| elsewhere | estimator | `loss` here |
|---|---|---|"""

OTHERS = """\
| elsewhere | what to use here |
|---|---|"""

TAIL = """\
Parameters that are not listed have the same name here, or do not exist. Some of the same name take
other values than elsewhere; a value that is not allowed is an error with the allowed ones. The
largest differences:

| parameter | elsewhere | here |
|---|---|---|
| `max_depth` | XGBoost: trees grow level by level, and 0 is no limit; LightGBM: -1 is no limit | \
`grow_policy="depth_wise", max_leaf_nodes=None` give the trees of XGBoost; None is no limit |
| `subsample` | LightGBM: draws no rows without `subsample_freq=1` | rows are drawn in every round |
| `min_samples_leaf` | scikit-learn: also a fraction of the rows | a number of rows, at least 1 |
| `min_samples_split` | scikit-learn: also a fraction of the rows | a number of rows, at least 2 |
| `grow_policy` | CatBoost: `"SymmetricTree"`, `"Depthwise"`, `"Lossguide"`; XGBoost: \
`"depthwise"`, `"lossguide"` | `"symmetric"`, `"depth_wise"`, `"best_first"` |
| `verbose` | CatBoost: every how many rounds a line is printed; LightGBM: -1 prints nothing | \
0, 1 or 2, False or True; 0 prints nothing |
| `eval_metric` | a name, or a list | also a scorer of scikit-learn, a function or a `Metric`; \
the first one decides when to stop |
| `eval_set` of `fit` | CatBoost: keeps the best round | a tuple, a list, or a mapping of names; \
the first set stops the fit, as with `early_stopping_rounds` in LightGBM and XGBoost (which takes \
the last set), unless `early_stopping=False` |

What was measured is in these attributes:

| elsewhere | here |
|---|---|
| `evals_result_` (LightGBM), `evals_result()` (XGBoost), `get_evals_result()` (CatBoost) | \
`evals_result_`: {set: {metric: [values]}}; the training loss is always there |
| `best_score_` (LightGBM, CatBoost); `best_score` (XGBoost): one number | `best_score_`: \
{set: {metric: value}} at the last round that is kept |
| `best_iteration_` (LightGBM): a number of rounds; `best_iteration` (XGBoost), `best_iteration_` \
(CatBoost): counted from 0 | `best_iteration_`, `n_iter_`: the number of rounds that are kept |
| `feature_importances_` (LightGBM): numbers of splits; (XGBoost): mean gains | \
`feature_importances_`: shares of the gain; other kinds: `stagewise.inspection.importance` |

The trees of a model, and custom losses:

| elsewhere | here |
|---|---|
| `booster_.trees_to_dataframe()` (LightGBM), `get_booster().trees_to_dataframe()` (XGBoost) | \
`stagewise.trees_to_frame(model)` |
| `booster_.dump_model()` (LightGBM), `get_dump(dump_format="json")` (XGBoost), \
`save_model(format="json")` (CatBoost) | `stagewise.export_json(model)` |
| `booster_.refit(X, y, decay_rate=0.9)` (LightGBM) | `model.refit(X, y, decay=0.9)` |
| `objective=` a function (y_true, y_pred) → (gradient, hessian) (LightGBM, XGBoost) | `loss=` the \
same function; weights are multiplied by the fit, and a file needs `stagewise.register_loss` |
"""

SIDES = {
    "LightGBM": (
        """\
model = lightgbm.LGBMClassifier(
    n_estimators=500,
    num_leaves=31,
    learning_rate=0.05,
    subsample=0.8,
    subsample_freq=1,
    colsample_bytree=0.7,
    reg_lambda=1.0,
)
model.fit(
    X,
    y,
    eval_set=[(X_val, y_val)],
    eval_metric="auc",
    callbacks=[lightgbm.early_stopping(20)],
)""",
        """\
model = stagewise.GradientBoostingClassifier(
    n_estimators=500,
    max_leaf_nodes=31,
    learning_rate=0.05,
    subsample=0.8,
    max_features=stagewise.FeatureSampling(per_tree=0.7),
    l2_regularization=1.0,
    n_iter_no_change=20,
    early_stopping=True,
    eval_metric="auc",
)
model.fit(X, y, eval_set=[(X_val, y_val)])""",
    ),
    "XGBoost": (
        """\
model = xgboost.XGBRegressor(
    n_estimators=300,
    max_depth=6,
    eta=0.1,
    min_child_weight=1,
    gamma=0.5,
    reg_lambda=1.0,
    colsample_bynode=0.7,
    objective="reg:absoluteerror",
)
model.fit(X, y)""",
        """\
model = stagewise.GradientBoostingRegressor(
    n_estimators=300,
    max_depth=6,
    grow_policy="depth_wise",
    max_leaf_nodes=None,
    learning_rate=0.1,
    min_hessian=1,
    min_gain=0.25,
    l2_regularization=1.0,
    max_features=0.7,
    loss="absolute_error",
)
model.fit(X, y)""",
    ),
    "CatBoost": (
        """\
model = catboost.CatBoostClassifier(
    iterations=500,
    depth=6,
    l2_leaf_reg=3,
    random_seed=0,
    cat_features=["city", "job"],
)
model.fit(
    X,
    y,
    eval_set=(X_val, y_val),
    early_stopping_rounds=20,
)""",
        """\
model = stagewise.GradientBoostingClassifier(
    n_estimators=500,
    max_depth=6,
    grow_policy="symmetric",
    max_leaf_nodes=64,
    l2_regularization=3,
    random_state=0,
    categorical_features=["city", "job"],
    category_encoding="target",
    n_iter_no_change=20,
)
model.fit(X, y, X_val=X_val, y_val=y_val)""",
    ),
    "scikit-learn": (
        """\
model = HistGradientBoostingRegressor(
    max_iter=200,
    max_leaf_nodes=31,
    learning_rate=0.1,
    early_stopping=True,
    validation_fraction=0.1,
    n_iter_no_change=10,
    categorical_features="from_dtype",
)
model.fit(X, y)""",
        """\
model = stagewise.GradientBoostingRegressor(
    n_estimators=200,
    max_leaf_nodes=31,
    learning_rate=0.1,
    early_stopping=True,
    validation_fraction=0.1,
    n_iter_no_change=10,
    categorical_features="from_dtype",
)
model.fit(X, y)""",
    ),
}


def programs_of(theirs: str, ours: str) -> list[str]:
    """Return two programs, one below the other; the tests run ours."""
    return ["```py", theirs, "```", "", "becomes", "", "```python", ours, "```"]


def page() -> str:
    """Return the text of the page."""
    lines = [HEAD]
    for library, programs in SIDES.items():
        lines += [f"## {library}", "", *programs_of(*programs), ""]
        lines += [f"| {library} | here |", "|---|---|"]
        for name, foreign in FOREIGN_NAMES.items():
            if library in foreign.libraries:
                ours = f"`{foreign.ours}`" if foreign.ours else ""
                words = words_of(RULES.get(foreign.ours)) if ours and not foreign.note else ""
                parts = [ours, f"`{foreign.usage}`" if foreign.usage else words[2:], foreign.note]
                parts.append("; ".join(values_of(foreign)))
                lines.append(f"| `{name}` | {': '.join(filter(None, parts))} |")
        lines += ["", CALLS, "", f"| {library} | here |", "|---|---|", *calls_of(library), ""]
    lines += [NAMES, *functions(), ""]
    lines += [LOSSES, *losses(), "", TAIL]
    return "\n".join(lines)


def values_of(foreign: ForeignName) -> list[str]:
    """Return what replaces the values of a parameter."""
    return [
        f'`"{value}"` is {f"`{ours}`" if ours else "the default"}'.replace("{task}", "…")
        for value, ours in foreign.values
    ]


def functions() -> list[str]:
    """Return the rows of functions and classes of modules."""
    return [f"| `{name}` | {whose} | {ours} |" for name, (whose, ours) in FUNCTIONS.items()]


def losses() -> list[str]:
    """Return the rows of values of objectives."""
    theirs: dict[tuple[str, str], list[str]] = {}
    for name, loss in (*FOREIGN_LOSSES.items(), *SHARE_LOSSES.items()):
        theirs.setdefault((loss.task, loss.ours), []).append(f"`{name}`")
    rows = [
        f'| {", ".join(names)} | `{ESTIMATORS[task][0]}` | `"{ours}"` |'
        for (task, ours), names in theirs.items()
    ]
    others: dict[str, list[str]] = {}
    for name, remedy in OTHER_LOSSES.items():
        others.setdefault(remedy, []).append(f"`{name}`")
    return [*rows, "", OTHERS, *(f"| {', '.join(own)} | {a} |" for a, own in others.items())]


def calls_of(library: str) -> list[str]:
    """Return the rows of attributes and of arguments of predict."""
    calls = {call.theirs or name: call for name, call in FOREIGN_ATTRIBUTES.items()}
    calls |= {f"predict(X, {name}=…)": call for name, call in PREDICT_ARGUMENTS.items()}
    rows = []
    for theirs, call in calls.items():
        if library in call.libraries:
            rows.append(
                f"| `{theirs}` | {': '.join(filter(None, [f'`{call.ours}`', call.note]))} |"
            )
            rows += [f"| `{method}` | `{ours}` |" for method, ours in call.methods]
    return rows


if __name__ == "__main__":
    PAGE.write_text(page())
    sys.stdout.write(f"{PAGE.name} written\n")

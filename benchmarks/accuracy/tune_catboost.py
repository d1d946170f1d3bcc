"""Tune CatBoost by trials of Optuna, for the contender "catboost-tuned" (`make accuracy-tuned`).

Every trial fits four fifths of the training rows and is scored on the fifth that all contenders
with early stopping hold out. The best parameters and their number of rounds are fitted to all
training rows by `contenders.py`. The search space is that of TabArena. Each table and split has a
file in results/catboost_tuned/; one that is there is not tuned again.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

from contenders import Job, catboost_pool, tuned_file
from run import MOST_ROWS
from tables import read_table, table_names

TRIALS, ROUNDS, PATIENCE = 50, 2000, 50


def suggest(trial: Any) -> dict[str, Any]:
    """Return the parameters of a trial."""
    return {
        "learning_rate": trial.suggest_float("learning_rate", 5e-3, 0.1, log=True),
        "bootstrap_type": "Bernoulli",
        "subsample": trial.suggest_float("subsample", 0.7, 1.0),
        "grow_policy": trial.suggest_categorical("grow_policy", ["SymmetricTree", "Depthwise"]),
        "depth": trial.suggest_int("depth", 4, 8),
        "colsample_bylevel": trial.suggest_float("colsample_bylevel", 0.85, 1.0),
        "l2_leaf_reg": trial.suggest_float("l2_leaf_reg", 1e-4, 5.0, log=True),
        "leaf_estimation_iterations": trial.suggest_int(
            "leaf_estimation_iterations", 1, 20, log=True
        ),
        "one_hot_max_size": trial.suggest_int("one_hot_max_size", 8, 100, log=True),
        "model_size_reg": trial.suggest_float("model_size_reg", 0.1, 1.5, log=True),
        "max_ctr_complexity": trial.suggest_int("max_ctr_complexity", 2, 5),
        "boosting_type": "Plain",
        "max_bin": 254,
    }


def tune(job: Job, trials: int) -> dict[str, Any]:
    """Return the parameters with the least loss of the held-out fifth."""
    import catboost
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    (X, y), (X_val, y_val) = job.hold_out()
    train, held = catboost_pool(job, X, y), catboost_pool(job, X_val, y_val)
    regression = job.task == "regression"
    kind: Any = catboost.CatBoostRegressor if regression else catboost.CatBoostClassifier
    settings = {"allow_writing_files": False, "logging_level": "Silent"}

    def score(trial: Any) -> float:
        model = kind(
            iterations=ROUNDS, thread_count=job.threads, random_seed=0, **settings, **suggest(trial)
        )
        model.fit(train, eval_set=held, early_stopping_rounds=PATIENCE)
        trial.set_user_attr("iterations", model.best_iteration_ + 1)
        return float(next(iter(model.best_score_["validation"].values())))

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(score, n_trials=trials)
    best = study.best_trial
    found = suggest(optuna.trial.FixedTrial(best.params))
    return {**found, "iterations": best.user_attrs["iterations"], "random_seed": 0}


def main() -> None:
    """Tune the tables that have no file yet, the smallest first."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with tables and their index.json")
    parser.add_argument("--only", nargs="+", help="names of tables")
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in args.only or table_names(args.data):
        for split in range(args.splits):
            path = tuned_file(name, split)
            if path.exists():
                continue
            table = read_table(args.data, name, MOST_ROWS)
            rows, _ = table.split(split)
            job = Job(
                name, split, table.task, table.X.iloc[rows], table.y[rows], args.threads, split
            )
            found = {"trials": args.trials, "parameters": tune(job, args.trials)}
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(found, indent=1) + "\n")
            print(f"{name}/{split}", flush=True)


if __name__ == "__main__":
    main()

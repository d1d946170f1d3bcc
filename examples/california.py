"""California housing with Huber's loss (Elements of Statistical Learning, section 10.14.1).

Needs the table as a parquet or CSV file, which does not ship:

    python examples/california.py path/to/california.parquet name_of_the_price_column
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from stagewise import GradientBoostingRegressor
from stagewise.inspection import importance

path = Path(sys.argv[1]) if len(sys.argv) > 2 else None
if path is None or not path.exists():
    print(
        f"There is no table {path}." if path else "Pass the path of the table.", __doc__, sep="\n"
    )
else:
    table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    X = table.drop(columns=sys.argv[2]).select_dtypes("number")
    y = table[sys.argv[2]]
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
    model = GradientBoostingRegressor(
        loss="huber",
        response="gradient",
        max_leaf_nodes=6,
        learning_rate=0.1,
        n_estimators=800,
        max_features=None,
        l2_regularization=0,
    ).fit(X_train, y_train)
    errors = [np.abs(y_test - p).mean() for p in model.staged_predict(X_test)]
    for rounds in (1, 10, 100, 400, 800):
        print(f"{rounds:4d} rounds: absolute test error {errors[rounds - 1]:.3f}")
    print(importance(model))  # the square root of the improvements, the largest = 100

"""Costs of patients (medical_cost.parquet), by losses that are written as formulas.

Columns: charges (dollars), and the features.

    python examples/formula_loss.py medical_cost.parquet
"""

import sys

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from stagewise import GradientBoostingRegressor
from stagewise.losses import Loss

if len(sys.argv) < 2:
    sys.exit(__doc__)
table = pd.read_parquet(sys.argv[1])
X, y = table.drop(columns="charges"), table["charges"]
X, X_test, y, y_test = train_test_split(X, y, random_state=0)

losses = {
    "squared error": Loss.from_formula("(y - f)**2 / 2"),
    "ratios: half the gamma deviance": Loss.from_formula("y*exp(-f) + f", y="positive"),
    "smooth absolute error": Loss.from_formula("c**2 * log(cosh((y - f)/c))", c=1000.0),
    "too low costs three times as much": Loss.from_formula("3*max(y - f, 0)**2 + max(f - y, 0)**2"),
}
for name, loss in losses.items():
    model = GradientBoostingRegressor(loss=loss).fit(X, y)
    found = model.predict(X_test)
    print(f"{name}: {loss.convexity}")
    print("  gradient", loss.derived()["gradient"])
    print("  prediction", loss.derived()["prediction"])
    print(
        f"  median error {np.median(np.abs(found - y_test)):.0f} dollars, mean {np.mean(found):.0f}"
        f" (observed {y_test.mean():.0f}), too low {np.mean(found < y_test):.0%}"
    )

"""Intervals that contain nine of ten new prices of houses (kc_house_sales.parquet).

Columns: price, grade, and other features; id and date are left out.

    python examples/prediction_intervals.py kc_house_sales.parquet
"""

import sys

import pandas as pd
from sklearn.model_selection import train_test_split

from stagewise import Conformal, GradientBoostingRegressor
from stagewise.inspection import coverage

if len(sys.argv) < 2:
    sys.exit(__doc__)
table = pd.read_parquet(sys.argv[1])
X = table.drop(columns=["price", "id", "date"]).assign(large=table["grade"] > 8)
X, X_test, y, y_test = train_test_split(X, table["price"] / 1000, random_state=0)
large = X_test["large"].to_numpy()

levels = {"loss": "quantile", "quantile": [0.05, 0.5, 0.95]}
ways = {
    "one width for all houses": {"conformal": "split"},
    "a width for houses of high grades": {"conformal": Conformal(method="split", groups="large")},
    "a width for each house": {"conformal": "split", **levels},
}
for name, options in ways.items():
    model = GradientBoostingRegressor(early_stopping=True, **options).fit(X, y)
    low, high = model.predict_interval(X_test, coverage=0.9).T
    inside = (low <= y_test) & (y_test <= high)
    print(
        f"{name}: {inside.mean():.1%} inside ({inside[large].mean():.1%} of high grades), "
        f"mean width {(high - low).mean():.0f} thousand dollars"
    )
ax = coverage(model, X_test, y_test).plot()  # of several nominal coverages
ax.figure.savefig("prediction_intervals.png")

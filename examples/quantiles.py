"""Prices of houses (kc_house_sales.parquet): five quantiles, and a predicted distribution.

Columns: price, and the features; id and date are left out.

    python examples/quantiles.py kc_house_sales.parquet
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from stagewise import GradientBoostingRegressor
from stagewise.metrics.probabilistic import coverage, pinball

if len(sys.argv) < 2:
    sys.exit(__doc__)
table = pd.read_parquet(sys.argv[1])
X = table.drop(columns=["price", "id", "date"])
X, X_test, y, y_test = train_test_split(X, table["price"] / 1000, random_state=0)
levels = [0.05, 0.25, 0.5, 0.75, 0.95]
free = GradientBoostingRegressor(loss="quantile", quantile=levels, early_stopping=True).fit(X, y)
family = GradientBoostingRegressor(loss="log_normal", early_stopping=True).fit(X, y)
prices = family.predict_dist(X_test)  # a distribution for every house
fans = {"five quantiles": free.predict(X_test), "log-normal": prices.quantile(levels)}
fig, axes = plt.subplots(1, 2, sharey=True, figsize=(9, 4), layout="constrained")
for ax, (name, fan) in zip(axes, fans.items(), strict=True):
    inside, loss = coverage(y_test, fan[:, [0, -1]]), pinball(y_test, fan, levels)
    print(f"{name}: pinball {loss:.2f}, 90 % interval: {inside:.1%} inside")
    order = np.argsort(fan[:, 2])[:: max(1, len(fan) // 300)]  # houses by their median
    ax.plot(y_test.to_numpy()[order], ".", color="grey", ms=3)
    for ends in ([0, 4], [1, 3]):
        ax.fill_between(range(len(order)), *fan[order][:, ends].T, color="C0", alpha=0.3)
    ax.plot(fan[order, 2], color="C1")
    ax.set(title=name, xlabel="houses, by predicted median", ylabel="1000 dollars", yscale="log")
predicted, observed = 1 - prices.cdf(1000).mean(), (y_test > 1000).mean()
print(f"shares above a million: predicted {predicted:.1%}, observed {observed:.1%}")
fig.savefig("quantiles.png")

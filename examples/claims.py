"""Claims with exposure (freMTPL2.parquet, or simulated): the distribution of their counts."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from stagewise import GradientBoostingRegressor
from stagewise.metrics.probabilistic import coverage


def simulated(n: int = 6000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    ages, bonus = rng.integers(18, 90, n), rng.integers(50, 150, n)
    table = pd.DataFrame({"DrivAge": ages, "BonusMalus": bonus, "Exposure": rng.uniform(0.1, 1, n)})
    rate = 0.3 * np.exp(0.02 * (bonus - 50)) * rng.gamma(1.0, 1.0, n)
    return table.assign(ClaimNb=rng.poisson(rate * table["Exposure"]))


is_file = len(sys.argv) > 1 and Path(sys.argv[1]).is_file()
table = pd.read_parquet(sys.argv[1]) if is_file else simulated()
others = ["ClaimNb", "Exposure", "IDpol", "ClaimAmount", "ClaimCountSev"]
X = table.drop(columns=[name for name in others if name in table])
X = X.astype(dict.fromkeys(X.select_dtypes(["object", "string"]).columns, "category"))
y, exposure = table["ClaimNb"].to_numpy(float), table["Exposure"].to_numpy(float)
order = np.random.default_rng(0).permutation(len(y))
train, test = order[: 4 * len(y) // 5], order[4 * len(y) // 5 :]
for loss in ("poisson", "negative_binomial", "zero_inflated_poisson", "hurdle_poisson"):
    model = GradientBoostingRegressor(loss=loss, n_estimators=60)
    model.fit(X.iloc[train], y[train], exposure=exposure[train])
    found = model.predict_dist(X.iloc[test], exposure=exposure[test])
    print(
        f"{loss}: log-likelihood {found.log_density(y[test]).mean():.4f}, "
        f"no claim {found.density(0).mean():.3f} (observed {(y[test] == 0).mean():.3f}), "
        f"in the 90 % interval {coverage(y[test], found.interval(0.9)):.3f}"
    )

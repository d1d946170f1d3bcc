"""The distribution of claims with exposure: Poisson, negative binomial and zero-inflated.

    python examples/claims.py freMTPL2.parquet

The file has the policies of freMTPL2, with the columns ClaimNb and Exposure. Without a file the
table is simulated.
"""

import sys

import numpy as np
import pandas as pd

from stagewise import GradientBoostingRegressor
from stagewise.metrics.probabilistic import coverage

NOT_FEATURES = ["ClaimNb", "Exposure", "IDpol", "ClaimAmount", "ClaimCountSev"]


def simulated(n: int = 6000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "BonusMalus": rng.integers(50, 150, n),
            "DrivAge": rng.integers(18, 90, n),
            "Exposure": rng.uniform(0.1, 1.0, n),
        }
    )
    rate = 0.3 * np.exp(0.02 * (table["BonusMalus"] - 50)) * rng.gamma(1.0, 1.0, n)
    return table.assign(ClaimNb=rng.poisson(rate * table["Exposure"]))


def main() -> None:
    table = pd.read_parquet(sys.argv[1]) if len(sys.argv) > 1 else simulated()
    X = table.drop(columns=[name for name in NOT_FEATURES if name in table])
    text = X.select_dtypes(["object", "string"]).columns
    X = X.astype(dict.fromkeys(text, "category"))
    y, exposure = table["ClaimNb"].to_numpy(float), table["Exposure"].to_numpy(float)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[: 4 * len(y) // 5], order[4 * len(y) // 5 :]
    for loss in ("poisson", "negative_binomial", "zero_inflated_poisson", "hurdle_poisson"):
        model = GradientBoostingRegressor(loss=loss, n_estimators=60)
        model.fit(X.iloc[train], y[train], exposure=exposure[train])
        found = model.predict_dist(X.iloc[test], exposure=exposure[test])
        inside = coverage(y[test], found.interval(0.9))
        print(
            f"{loss}: log-likelihood {found.log_density(y[test]).mean():.4f}, "
            f"no claim {found.density(0).mean():.3f} (observed {(y[test] == 0).mean():.3f}), "
            f"in the 90 % interval {inside:.3f}"
        )


if __name__ == "__main__":
    main()

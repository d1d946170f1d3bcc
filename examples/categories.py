"""Categorical columns: categories are values; codes, their order and the library do not matter."""

import numpy as np
import pandas as pd
import polars as pl

from stagewise import GradientBoostingRegressor

rng = np.random.default_rng(0)
price = {"Oslo": 5.0, "Riga": 2.0, "Wien": 3.5, "Lima": 1.5}
city = rng.choice(list(price), 1000)
area = rng.uniform(20, 120, 1000)
y = area * np.array([price[name] for name in city]) + rng.normal(0, 10, 1000)

X = pd.DataFrame({"area": area, "city": pd.Categorical(city)})
model = GradientBoostingRegressor().fit(X, y)
print("categories:", model.model_.features[1].categories.values)

# Text instead of a category type, another library, another column order: the same predictions.
new = pl.DataFrame({"city": ["Oslo", "Lima"], "area": [60.0, 60.0]})
print("60 m² in Oslo and Lima:", model.predict(new).round())

# A city that no training row had: missing (with a warning), an error, or an empty category.
model.set_params(handle_unknown="prior")
print("60 m² in Rome:", model.predict(pl.DataFrame({"city": ["Rome"], "area": [60.0]})).round())

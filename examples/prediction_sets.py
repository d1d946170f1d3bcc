"""Sets that contain the type of nine of ten new forests (covertype.parquet).

Columns: Cover_Type (the class), and the features.

    python examples/prediction_sets.py covertype.parquet
"""

import sys

import pandas as pd
from sklearn.model_selection import train_test_split

from stagewise import Conformal, GradientBoostingClassifier

if len(sys.argv) < 2:
    sys.exit(__doc__)
table = pd.read_parquet(sys.argv[1])
X, y = table.drop(columns="Cover_Type"), table["Cover_Type"]
n = min(len(table) // 2, 10_000)  # some rows, so that the fit is short
X, X_test, y, y_test = train_test_split(X, y, train_size=n, test_size=n, random_state=0)

ways = {
    "smallest sets": Conformal(method="split"),
    "a threshold for each class": Conformal(method="split", per_class=True),
}
for way, conformal in ways.items():
    model = GradientBoostingClassifier(conformal=conformal, early_stopping=True).fit(X, y)
    sets = pd.DataFrame(model.predict_set(X_test, coverage=0.9), columns=model.classes_)
    own = model.classes_.searchsorted(y_test)
    inside = pd.Series(sets.to_numpy()[range(len(own)), own])
    by_class = inside.groupby(y_test.to_numpy()).mean()
    print(f"{way}: {inside.mean():.1%} have the type, {sets.sum(axis=1).mean():.2f} types per set")
    print("  by type:", ", ".join(f"{name} {share:.0%}" for name, share in by_class.items()))
print("the first sets:", [sets.columns[row].tolist() for row in sets.head(5).to_numpy()])

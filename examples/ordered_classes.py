"""Grades of wines (wine_quality.parquet): ordered classes, beside classes without an order.

Columns: quality (3 to 9), and the features.

    python examples/ordered_classes.py wine_quality.parquet
"""

import sys

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from stagewise import GradientBoostingClassifier
from stagewise.metrics.ordinal import rank_mae, ranked_probability_score

if len(sys.argv) < 2:
    sys.exit(__doc__)
table = pd.read_parquet(sys.argv[1])
X, y = table.drop(columns="quality"), table["quality"]
X, X_test, y, y_test = train_test_split(X, y, random_state=0)

for loss in ("log_loss", "cumulative_logit"):
    model = GradientBoostingClassifier(loss=loss, early_stopping=True).fit(X, y)
    p, code = model.predict_proba(X_test), model.classes_.searchsorted(y_test)
    print(
        f"{loss}: {len(model.model_.ensemble.terms)} trees, "
        f"log loss {-np.log(p[range(len(code)), code]).mean():.3f}, "
        f"ranked probability score {ranked_probability_score(code, p, None):.4f}, "
        f"mean error {rank_mae(code, p, None):.3f} grades"
    )

print("thresholds of the score between the grades:", np.round(model.thresholds_, 2))
ranks = np.arange(len(model.classes_))
median = model.predict(X_test, cost=np.abs(ranks[:, None] - ranks))
print(f"mean error of the median grade: {np.abs(median - y_test).mean():.3f}")
chances = pd.Series(model.predict_proba(X_test[:1])[0], model.classes_).round(2)
print(f"one wine, score {model.decision_function(X_test[:1])[0]:.2f}: {chances.to_dict()}")

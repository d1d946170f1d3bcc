"""Services of customers (telco_churn.parquet): six labels of a row in one model.

Columns: the six services ("Yes", "No", "No internet service"), and the features.

    python examples/several_labels.py telco_churn.parquet
"""

import sys

import pandas as pd
from sklearn.model_selection import train_test_split

from stagewise import GradientBoostingClassifier
from stagewise.inspection import importance, scores

if len(sys.argv) < 2:
    sys.exit(__doc__)
table = pd.read_parquet(sys.argv[1])
table = table[table["InternetService"] != "No"]
services = ["OnlineSecurity", "OnlineBackup", "DeviceProtection", "TechSupport"]
services += ["StreamingTV", "StreamingMovies"]
X, labels = table.drop(columns=services), table[services] == "Yes"
X, X_test, Y, Y_test = train_test_split(X, labels, random_state=0)

for leaves in ("constant", "vector"):  # a tree for each label, or one tree for all labels
    model = GradientBoostingClassifier(leaves=leaves, early_stopping=True).fit(X, Y)
    found = scores(model, X_test, Y_test)  # of the labels together, and of each
    print(
        f"leaves={leaves!r}: {len(model.model_.ensemble.terms)} trees, wrong labels "
        f"{found['hamming_loss'].value:.3f} (baseline {found['hamming_loss'].baseline:.3f})"
    )

reasons = importance(model).table()  # a column for each label
for k, name in enumerate(services):
    auc, main = found[f"auc_{name}"], max(reasons, key=lambda row: row[name])["feature"]
    chance = model.predict_proba(X_test[:1])[k][0, 1]
    print(
        f"{name}: AUC {auc.value:.3f} ({auc.low:.3f} to {auc.high:.3f}), mostly by {main}; "
        f"probability for one customer {chance:.2f}"
    )

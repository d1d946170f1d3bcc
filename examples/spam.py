"""Spam by gradient boosting (Elements of Statistical Learning, section 10.8).

Needs the spambase table as a parquet file, which does not ship:

    python examples/spam.py path/to/spam.parquet [name of the class column]
"""

import sys
from pathlib import Path

import pandas as pd
from sklearn.model_selection import train_test_split

from stagewise import GradientBoostingClassifier
from stagewise.inspection import importance

path = Path(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].endswith(".parquet") else None
if path is None or not path.exists():
    print(
        f"There is no table {path}." if path else "Pass the path of the table.", __doc__, sep="\n"
    )
else:
    table = pd.read_parquet(path)
    target = sys.argv[2] if len(sys.argv) > 2 else table.columns[-1]
    X, y = table.drop(columns=target), table[target]
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=1536, random_state=0, stratify=y
    )
    model = GradientBoostingClassifier(
        n_estimators=2_000,
        max_leaf_nodes=5,
        learning_rate=0.1,
        early_stopping="cv",
        max_features=None,
        l2_regularization=0,
    )
    model.fit(X_train, y_train)
    print(f"{model.n_iter_} rounds, {1 - model.score(X_test, y_test):.1%} of test mail wrong")
    for row in importance(model).table(top=8):  # square roots of improvements, the largest = 100
        print(f"{row['feature']:>20}: {row['importance']:3.0f}")

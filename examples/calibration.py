"""Credit risks (german_credit.parquet): probabilities before and after calibration.

Columns: class ("good", "bad"), and the features.

    python examples/calibration.py german_credit.parquet
"""

import sys

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.model_selection import train_test_split

from stagewise import GradientBoostingClassifier
from stagewise.inspection import calibration, scores

if len(sys.argv) < 2:
    sys.exit(__doc__)
table = pd.read_parquet(sys.argv[1])
X, y = table.drop(columns="class"), table["class"]
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
print(f"share of bad credits: {(y_test == 'bad').mean():.2f}")

fig, axes = plt.subplots(1, 2, sharey=True, figsize=(9, 4), layout="constrained")
for ax, kind in zip(axes, (None, "temperature"), strict=True):
    # To accept a bad credit costs five times as much as to refuse a good one.
    model = GradientBoostingClassifier(class_weight={"bad": 5, "good": 1}, calibration=kind)
    model.fit(X, y)  # folds choose the rounds, and their held-out rows are for the map
    found = calibration(model, X_test, y_test, pos_label="bad", n_bins=8)
    print(
        f"calibration={kind!r}: mean probability {model.predict_proba(X_test)[:, 0].mean():.2f}, "
        f"calibration error {found.error:.3f}, "
        f"log loss {scores(model, X_test, y_test)['log_loss'].value:.3f}"
    )
    found.plot(ax)
    ax.set_title(f"calibration={kind!r}")
fig.savefig("calibration.png")
print("calibration.png: observed shares by predicted probability")

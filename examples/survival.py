"""Survival of patients with breast cancer (surv_gbsg2.parquet): risks and times of relapses.

Columns: time (days), cens (1: relapse, 0: the patient was observed until then), and the features.

    python examples/survival.py surv_gbsg2.parquet
"""

import sys

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from stagewise import GradientBoostingSurvival
from stagewise.inspection import scores

if len(sys.argv) < 2:
    sys.exit(__doc__)
table = pd.read_parquet(sys.argv[1])
train, test = train_test_split(table, test_size=0.3, random_state=0, stratify=table["cens"])
X, X_test = (part.drop(columns=["time", "cens"]) for part in (train, test))
y, y_test = ((part["time"], part["cens"]) for part in (train, test))

model = GradientBoostingSurvival().fit(X, y)  # Cox's model; folds choose the number of rounds
print(scores(model, X_test, y_test))  # C-indices and Brier score, with limits and baselines

risk = model.predict(X_test)  # the log hazard ratio: larger means earlier
order = np.argsort(risk)
three = X_test.iloc[order[[0, len(order) // 2, -1]]]  # least, median and largest risk
curves = model.predict_survival_function(three)
names = ["least risk", "median risk", "largest risk"]
for name, chance, median in zip(names, curves.at(1000), curves.median(), strict=True):
    print(f"{name}: P(no relapse in 1000 days) {chance:.2f}, median time {median:.0f} days")

ax = curves.plot(labels=names)
ax.set(xlabel="days", ylabel="probability of no relapse")
ax.figure.savefig("survival.png")
print("survival.png: the curves of these three patients")

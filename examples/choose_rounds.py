"""Choose the number of rounds by held-out rows, cross-validation, or out-of-bag rows."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from stagewise import GradientBoostingClassifier

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)


def test_loss(model):
    """Return the mean negative log probability of the true class."""
    return -np.log(model.predict_proba(X_test)[np.arange(len(y_test)), y_test]).mean()


for how in (False, True, "cv"):
    model = GradientBoostingClassifier(n_estimators=300, early_stopping=how).fit(X_train, y_train)
    print(f"early_stopping={how!s:5s} {model.n_iter_:3d} rounds, test loss {test_loss(model):.3f}")
print(f"out-of-fold accuracy {np.mean(model.oof_prediction_.argmax(axis=1) == y_train):.3f}")

bagged = GradientBoostingClassifier(n_estimators=300, subsample=0.5, oob_score=True)
rounds = bagged.fit(X_train, y_train).oob_best_iteration_
bagged.set_params(n_estimators=rounds, oob_score=False).fit(X_train, y_train)
print(f"out-of-bag            {rounds:3d} rounds, test loss {test_loss(bagged):.3f}")

"""Fit, evaluate and save a model."""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import stagewise
from stagewise import GradientBoostingClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

model = GradientBoostingClassifier(n_estimators=500, early_stopping=True).fit(X_train, y_train)
print(f"{model.n_iter_} rounds, accuracy {model.score(X_test, y_test):.3f}")

model.save("cancer.stgw")
again = stagewise.load("cancer.stgw")
assert (again.predict_proba(X_test) == model.predict_proba(X_test)).all()
print("fingerprint", again.fingerprint()[:16])

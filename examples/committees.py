"""Bagging, cross-validation committees, and the theory of averaging."""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor

from stagewise import BaggingRegressor, GradientBoostingRegressor
from stagewise.averaging import ambiguity, majority_vote_accuracy, variance_of_average

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

tree = DecisionTreeRegressor(random_state=0).fit(X_train, y_train)
print(f"one large tree       R² {tree.score(X_test, y_test):5.2f}")

bagged = BaggingRegressor(n_estimators=300, early_stopping=True).fit(X_train, y_train)
print(
    f"{len(bagged.estimators_)} bagged trees      R² {bagged.score(X_test, y_test):5.2f}, "
    f"out of bag {bagged.oob_score_:.2f}"
)

# Every estimator learns from four folds and stops by the fifth.
boosted = GradientBoostingRegressor(n_estimators=500, max_leaf_nodes=4)
folds = BaggingRegressor(boosted, sampling="folds", cv=5).fit(X_train, y_train)
rounds = [estimator.n_iter_ for estimator in folds.estimators_]
print(f"five boosted models  R² {folds.score(X_test, y_test):5.2f}, rounds {rounds}")

predicted = np.stack([estimator.predict(X_test) for estimator in bagged.estimators_])
parts = ambiguity(predicted, y_test)
print(f"error {parts.ensemble:.0f} = average {parts.average:.0f} - ambiguity {parts.ambiguity:.0f}")

print(f"majority of 15 voters, each right in 60 %: {majority_vote_accuracy(15, 0.6):.1%}")
print(f"average of 50, correlation 0.3: variance {variance_of_average(0.3, 1.0, 50):.3f} of one")

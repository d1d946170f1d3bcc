"""Describe a table and inspect a model of it."""

from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from stagewise import GradientBoostingRegressor
from stagewise.inspection import (
    decision_path,
    describe,
    importance,
    interactions,
    partial_dependence,
    permutation_importance,
)

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
print(describe(X, y).hints_text())

X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = GradientBoostingRegressor(n_estimators=60).fit(X_train, y_train)

print(importance(model))
for row in permutation_importance(model, X_test, y_test, loss="absolute_error").table(top=3):
    print(f"without {row['feature']}: {row['importance']:.1f} ± {row['error']:.1f} worse")

for row in partial_dependence(model, X_train, "bmi", grid_resolution=5).table():
    print(f"bmi {row['bmi']:.1f}: {row['dependence']:.0f}")

strongest = interactions(model, X_train, ["bmi", "bp", "s5"]).table()[0]
print(f"{strongest['features']} interact: H = {strongest['h']:.2f}")

print(decision_path(model, X_test.iloc[[0]]).text(top=2))

print(f"the report: {model.report(X_test, y_test, 'report.html')}")

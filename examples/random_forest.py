"""A random forest: out-of-bag error, features per node, and importances."""

from sklearn.model_selection import train_test_split

from stagewise import ExtraTreesRegressor, RandomForestRegressor
from stagewise.datasets import make_friedman1

X, y = make_friedman1(1500, seed=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=500, random_state=0)

forest = RandomForestRegressor(n_estimators=300).fit(X_train, y_train)
print(forest.recipe())
print(f"{forest.fit_report_['max_features']} of {X.shape[1]} features per node")
print(f"R² {forest.score(X_test, y_test):.3f}, out of bag {forest.oob_score_:.3f}\n")

print("trees  out-of-bag loss")
for n in (10, 30, 100, 300):
    print(f"{n:5d}  {forest.oob_loss_[n - 1]:.2f}")

print("\nfeatures per node      R²")
for number in (1, 3, 6, 10):
    other = RandomForestRegressor(n_estimators=300, max_features=number).fit(X_train, y_train)
    print(f"{number:17d}   {other.score(X_test, y_test):.3f}")
extra = ExtraTreesRegressor(n_estimators=300).fit(X_train, y_train)
print(f"      extra trees   {extra.score(X_test, y_test):.3f}\n")

# Friedman's function has five features with influence and five without.
print("features with a significant importance:", forest.select_features(X_train, y_train))

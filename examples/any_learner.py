"""Boost any regressor: splines, nearest neighbours, a neural network, a boosted model."""

from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from stagewise import GradientBoostingRegressor, StagewiseRegressor

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

learners = {
    "splines": make_pipeline(StandardScaler(), SplineTransformer(4), Ridge(10)),
    "neighbours": make_pipeline(StandardScaler(), KNeighborsRegressor(25)),
    "a boosted model": GradientBoostingRegressor(n_estimators=5, max_depth=1),
}
for name, learner in learners.items():
    model = StagewiseRegressor(
        "huber", learner=learner, response="gradient", n_estimators=200, early_stopping=True
    )
    model.fit(X_train, y_train)
    print(f"{name:15s} {model.n_iter_:3d} rounds, R² {model.score(X_test, y_test):.2f}")
print(model.recipe())

"""Linear regression with tests, stepwise selection, and component-wise boosting."""

from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from stagewise import LinearRegression, StagewiseLinearRegressor, StepwiseRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True)
X, X_new, y, y_new = train_test_split(X, y, random_state=0)

whole = LinearRegression().fit(X, y)
print(whole.summary())
low, high = whole.predict_interval(X_new, confidence_level=0.9).T
inside = ((y_new >= low) & (y_new <= high)).mean()
print(f"\n{inside:.0%} of new rows are in their 90 % intervals")

short = StepwiseRegressor(direction="both", criterion="bic").fit(X, y)
print(f"\nchosen by BIC: {', '.join(short.selected_features_)}")

boosted = StagewiseLinearRegressor(step_size=0.01, early_stopping="cv").fit(X, y)
print(f"boosted: {boosted.recipe()}, {boosted.n_iter_} kept")

for name, model in (("whole", whole), ("chosen", short), ("boosted", boosted)):
    print(f"{name}: R² of new rows {model.score(X_new, y_new):.3f}")

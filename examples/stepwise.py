"""Selection of features: forward, backward, until the RSS is flat, and the best subset."""

from sklearn.datasets import load_diabetes

from stagewise import StepwiseRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True)

print("criterion='bic'")
for direction in ("forward", "backward", "best_subset"):
    model = StepwiseRegressor(direction=direction, criterion="bic").fit(X, y)
    print(f"  {direction}: {', '.join(model.selected_features_)}; BIC {model.bic_:.1f}")

print("criterion='rss': features enter until the RSS is flat")
flat = StepwiseRegressor(criterion="rss", tol=0.01).fit(X, y)
for feature, rss in zip(flat.path_["feature"], flat.path_["rss"], strict=True):
    print(f"  {feature or 'intercept'}: RSS {rss:,.0f}")

print("n_features_to_select=5: the same number of features")
for direction in ("forward", "backward", "best_subset"):
    five = StepwiseRegressor(direction=direction, n_features_to_select=5).fit(X, y)
    rss = five.path_["rss"][five.path_["selected"]][0]
    print(f"  {direction}: {', '.join(five.selected_features_)}; RSS {rss:,.0f}")

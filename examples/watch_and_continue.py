"""Monitor a fit, stop it, and continue it later: the result equals one long fit."""

from sklearn.datasets import load_diabetes

from stagewise import GradientBoostingRegressor

X, y = load_diabetes(return_X_y=True)
X_val, y_val, X, y = X[:100], y[:100], X[100:], y[100:]


def report(progress):
    """Print every tenth round; returning True would stop the fit."""
    if progress.round % 10 == 0:
        print(progress.round, f"train {progress.train_loss:.0f} valid {progress.valid_loss:.0f}")


watched = GradientBoostingRegressor(n_estimators=40, callbacks=report, n_iter_no_change=40)
watched.fit(X, y, X_val=X_val, y_val=y_val)
print("best round", watched.best_iteration_)

half = GradientBoostingRegressor(n_estimators=20, warm_start=True).fit(X, y)
half.set_params(n_estimators=40).fit(X, y)
whole = GradientBoostingRegressor(n_estimators=40).fit(X, y)
assert half.fingerprint() == whole.fingerprint()
print("continued == uninterrupted:", whole.fingerprint()[:16])

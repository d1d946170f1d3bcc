"""A custom loss: log-cosh, quadratic near zero and linear for large residuals."""

import numpy as np
from sklearn.datasets import load_diabetes

from stagewise import GradientBoostingRegressor
from stagewise.losses import Loss


class LogCosh(Loss):
    """L(y, F) = log cosh(F - y)."""

    hessian_bound = 1.0

    def loss(self, y, score):
        r = np.abs(score - y)
        return r + np.log1p(np.exp(-2 * r)) - np.log(2)

    def derivatives(self, y, score):
        t = np.tanh(score - y)
        return t, 1 - t**2


X, y = load_diabetes(return_X_y=True)
y = (y - y.mean()) / y.std()
model = GradientBoostingRegressor(loss=LogCosh(), n_estimators=50).fit(X, y)
print(f"log-cosh loss {model.train_loss_[0]:.3f} -> {model.train_loss_[-1]:.3f}")

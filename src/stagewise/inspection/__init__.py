"""What can be learned from a fitted model: every function reads the model, and data where it must.

Nothing here knows how models are trained.
"""

from stagewise.inspection.shap import ShapValues, shap_values

__all__ = ["ShapValues", "shap_values"]

"""Trees as text, SVG drawings, tables of rules, and for the package shap."""

from stagewise.export.rules import rules
from stagewise.export.shap_model import export_shap
from stagewise.export.svg import export_svg
from stagewise.export.text import export_text

__all__ = ["export_shap", "export_svg", "export_text", "rules"]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)

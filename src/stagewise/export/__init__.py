"""Trees as text, SVG drawings, rules, data frames, JSON, and for the packages shap and dtreeviz."""

from stagewise.export.dtreeviz_tree import export_dtreeviz
from stagewise.export.frame import trees_to_frame
from stagewise.export.json_text import export_json
from stagewise.export.rules import rules
from stagewise.export.shap_model import export_shap
from stagewise.export.svg import export_svg
from stagewise.export.text import export_text

__all__ = [
    "export_dtreeviz",
    "export_json",
    "export_shap",
    "export_svg",
    "export_text",
    "rules",
    "trees_to_frame",
]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)

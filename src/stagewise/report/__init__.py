"""Fitted models for people: what is in them as facts, and the facts as text, tables, pictures."""

from stagewise.report.rules import rules
from stagewise.report.svg import export_svg
from stagewise.report.text import export_text

__all__ = ["export_svg", "export_text", "rules"]

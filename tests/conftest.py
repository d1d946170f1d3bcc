"""What every test shares."""

from __future__ import annotations

from hypothesis import settings

# The same examples on every run: a failure is then about a change, and stays until it is mended.
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")

"""Slow, simple NumPy versions of the algorithms of the native core, for comparison in tests."""

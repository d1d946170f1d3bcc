"""Slow, obvious NumPy versions of what the native core does, for the tests to hold it to."""

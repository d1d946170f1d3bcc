"""The errors and warnings that are Stagewise's own.

The errors are ``ValueError`` s, so code that catches what scikit-learn raises catches these too.
They exist so that a caller can tell *which* value was wrong: a file, or a parameter. Errors about
the data are plain ``ValueError`` and ``TypeError``; nothing in this file may import the package.
"""

__all__ = ["InvalidParameterError", "ModelFormatError", "UnknownCategoryWarning"]


class ModelFormatError(ValueError):
    """A model file is damaged, is not a model at all, or is from a newer version."""


class InvalidParameterError(ValueError):
    """A parameter has a value, or a type, that the estimator cannot work with."""


class UnknownCategoryWarning(UserWarning):
    """A categorical column holds values that no training row held; they are taken as missing."""

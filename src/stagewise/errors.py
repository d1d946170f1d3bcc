"""The exception and warning classes of Stagewise.

The exceptions are subclasses of ``ValueError``, as scikit-learn's are. They distinguish errors of
model files and of parameters; errors of the data are plain ``ValueError`` and ``TypeError``. This
module must not import the package.
"""

__all__ = [
    "ColumnWarning",
    "InvalidParameterError",
    "ModelFormatError",
    "UnknownCategoryWarning",
    "UnknownLossError",
]


class ModelFormatError(ValueError):
    """A model file is damaged, is not a model file, or is from a newer version."""


class InvalidParameterError(ValueError):
    """A parameter has an invalid value or type."""


class UnknownLossError(InvalidParameterError):
    """There is no loss of this name."""


class ColumnWarning(UserWarning):
    """A column is probably something else: an identifier, dates as text, or the exposure."""


class UnknownCategoryWarning(UserWarning):
    """A categorical column has unknown categories, which are treated as missing values."""

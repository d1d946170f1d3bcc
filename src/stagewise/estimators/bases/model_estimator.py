"""The base class of estimators whose model can be saved to a file.

An estimator is its parameters and one `Model`. Predictions and explanations read the model only, so
they are the same for a fitted, a loaded and an unpickled estimator. Facts about the fit, such as
`fit_report_`, are kept by pickles, not by files.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError

from stagewise.errors import ModelFormatError
from stagewise.estimators.bases.estimator import LibraryEstimator
from stagewise.estimators.parameters.saved_parameters import CUSTOM_LOSS, plain_parameters
from stagewise.losses import CLASSIFICATION_LOSSES, RANKING_LOSSES, REGRESSION_LOSSES, Loss
from stagewise.losses.registration import is_registered, not_registered, registered_name
from stagewise.metrics import metric_names
from stagewise.model.file.format import write_model
from stagewise.model.model import Model
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import all_parameters, default_parameters

__all__ = ["ModelEstimator"]


class ModelEstimator(LibraryEstimator):
    """Base class of the estimators whose model can be saved to a file."""

    model_: Model
    seed_: int
    _start: Any = None
    _passed_loss: Loss | None = None
    """The loss of the fit if it is not a name of this library; the model has the name only."""
    _several_targets = False
    """Whether y may have more than one column."""

    @abstractmethod
    def _adopt(self, model: Model) -> None:
        """Set every fitted attribute from a model."""

    def _adopt_columns(self, model: Model) -> None:
        """Set the attributes that every estimator has."""
        self.model_ = model
        self.n_features_in_ = model.features.n
        names = model.features.names
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if model.targets is not None:
            self.target_names_ = np.array(model.targets, dtype=object)
        elif hasattr(self, "target_names_"):
            del self.target_names_
        if model.class_targets is not None:
            self.classes_: Any = list(model.class_targets)
        elif model.classes is not None:
            self.classes_ = model.classes

    @classmethod
    def _check_model(cls, model: Model) -> None:
        """Raise ModelFormatError unless an estimator of this class could have fitted the model."""
        if model.class_targets is not None:
            if not cls._several_targets:
                raise ModelFormatError(
                    f"a {cls.__name__} does not have several targets of classes."
                )
            cls._check_targets(model)
            return
        losses: Any = REGRESSION_LOSSES if model.classes is None else CLASSIFICATION_LOSSES
        losses = RANKING_LOSSES if model.task == "ranking" else losses
        known = model.loss in losses
        if not known and not is_registered(model.loss):
            raise ModelFormatError(not_registered(model.loss))
        n_outputs, n_classes = (
            model.ensemble.n_outputs,
            0 if model.classes is None else len(model.classes),
        )
        if known and n_classes > 1 and losses[model.loss](n_classes).n_outputs != n_outputs:
            raise ModelFormatError(
                f"a classification with {n_classes} classes by the loss {model.loss!r} does not "
                f"have {n_outputs} scores."
            )
        if model.classes is None and n_outputs > 1 and not cls._several_targets:
            raise ModelFormatError(f"a {cls.__name__} does not have {n_outputs} targets.")

    @classmethod
    def _check_targets(cls, model: Model) -> None:
        """Raise ModelFormatError unless the scores are those of several targets of classes."""
        raise ModelFormatError(f"a {cls.__name__} does not have several targets of classes.")

    @classmethod
    def _from_model(cls, model: Model, params: Mapping[str, Any], notes: Mapping[str, Any]) -> Self:
        """Return a fitted estimator with these parameters and this model.

        `notes` are the other entries of the file, as `_notes` returns them.
        """
        cls._check_model(model)
        estimator = cls(**params)
        if is_registered(model.loss):
            estimator._passed_loss = estimator._registered_loss(model)
        estimator._adopt(model)
        estimator.seed_ = notes.get("seed", 0)
        return estimator

    def _registered_loss(self, model: Model) -> Loss:
        """Return the custom loss of a model that was read from a file."""
        make = getattr(self, "_make_loss", None)
        loss: Loss | None = None if make is None else make(model.classes)
        if loss is None or loss.name != model.loss:
            raise ModelFormatError(
                f"the model has the loss {model.loss!r}, which the parameters of the "
                f"{type(self).__name__} in the file do not have."
            )
        n_outputs = model.ensemble.n_outputs
        several = model.classes is None and loss.n_outputs == 1
        if not several and n_outputs != loss.n_outputs:
            raise ModelFormatError(
                f"the model has {n_outputs} scores per row, but the loss {model.loss!r} that is "
                f"registered has {loss.n_outputs}."
            )
        return loss

    def _notes(self) -> dict[str, Any]:
        """Return the entries of a file besides the model."""
        return {
            "class": self._public_class().__name__,
            "params": self._plain_params(),
            "seed": self.seed_,
        }

    @classmethod
    def _public_class(cls) -> type[Self]:
        """Return the class that a file names: for a user's subclass, the library's class."""
        return next(kind for kind in cls.__mro__ if kind.__module__.startswith("stagewise."))

    def _fitted(self) -> Model:
        model: Model | None = self.__dict__.get("model_")
        if model is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            )
        return model

    def fingerprint(self) -> str:
        """Return a hash of the model: equal for equal models, on every machine.

        With an estimator as `init` of another library, on this machine.
        """
        own, start = self._fitted().fingerprint(), self._start
        return own if start is None else start.fingerprint(own)

    def save(self, path: str | PathLike[str], *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the model to a file, atomically; `stagewise.load` reads it back.

        The file holds no code and no pickle, so callbacks are not part of it. Nor are folds that
        were passed as lists or by a splitter of one's own: a warning names the folds that the
        loaded estimator has instead. Of a RandomState the file holds the seed that was drawn.

        Parameters
        ----------
        path : str or path
            The file to write; by convention its name ends in .stgw.
        notes : mapping of str, or None
            Further entries of the file, such as the name of the target;
            `stagewise.model.file.format.read_model` returns them.
        """
        model = self._fitted()
        if self._passed_loss is not None:  # it may have been registered after the fit
            model = replace(model, loss=registered_name(self._passed_loss) or model.loss)
        if model.loss == "custom":
            raise ValueError(CUSTOM_LOSS)
        if self._start is not None:
            kind = type(self._start.estimator).__name__
            raise ValueError(
                f"A model that starts from an estimator ({kind}) cannot be saved to a file, which "
                "holds no code. Pickle the estimator instead (joblib.dump), or set init='mean'."
            )
        own = self._notes()
        given: Mapping[Any, Any] = notes or {}
        for name in given:
            if not isinstance(name, str) or name in own:
                raise ValueError(
                    f"A note cannot be called {short_repr(name)}. Its name must be text, and not "
                    f"one of {', '.join(map(repr, own))}."
                )
        write_model(path, model, {**own, **given})

    def _plain_params(self) -> dict[str, Any]:
        """Return the parameters as a file holds them."""
        params = all_parameters(self)
        params = {name: params[name] for name in default_parameters(self._public_class())}
        if "callbacks" in params:
            params["callbacks"] = None
        if callable(params.get("oob_score")):
            params["oob_score"] = True
        if "eval_metric" in params:
            params["eval_metric"] = metric_names(params["eval_metric"])
        if not isinstance(params.get("random_state"), (int, np.integer, type(None))):
            params["random_state"] = self.seed_
        return plain_parameters(params)

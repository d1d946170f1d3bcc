"""The method `fit`: it makes a specification, training data, a model and a report."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from stagewise.boosting.progress import PassDisplay
from stagewise.cluster.peers import ALONE, Peers
from stagewise.datasets.dataset import Dataset
from stagewise.errors import InvalidParameterError, UnknownLossError
from stagewise.estimators.bases.first_rank import fit_on_first_rank
from stagewise.estimators.bases.predictions.one_class import warn_if_one_class
from stagewise.estimators.bases.predictions.scores import refuse_offset
from stagewise.estimators.bases.predictions.unseen_rows import FinishedFit, predict_out_of_fold
from stagewise.estimators.parameters.make_specs import choose_seed, input_spec
from stagewise.losses import Loss, MultiTargetLoss
from stagewise.losses.registration import custom_loss
from stagewise.model.model import Model
from stagewise.training.fit_report import counts_by_name, fit_report, limit_reason, log_fit
from stagewise.training.fit_warnings import warn_if_no_split, warn_of_columns, warn_of_far_targets
from stagewise.training.reading.feature_reader import FeatureReader
from stagewise.training.reading.offset_reader import check_offsets, with_offsets
from stagewise.training.reading.row_set import RowSet
from stagewise.training.reading.target_reader import ClassReader, TargetReader
from stagewise.training.reading.training_data import (
    FitArguments,
    TableReader,
    TrainingData,
    read_training_data,
)
from stagewise.training.results import FitResult
from stagewise.training.specs import FitContext, HoldOutSpec
from stagewise.training.start_model import StartLearner
from stagewise.training.stored.checkpoint import Checkpoints
from stagewise.training.stored.hold_out import DividedRows
from stagewise.training.stored.needs_memory import NeedsRowsInMemoryError, rows_in_memory
from stagewise.training.stored.read_dataset import (
    check_dataset_arguments,
    read_training_dataset,
)
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.parameters import check_parameters
from stagewise.workers import make_workers

__all__ = ["ANY_CLASSES", "FitMixin"]

ANY_CLASSES = np.arange(2)
"""Two classes, for the loss before y is known."""


class FitMixin:
    """Estimators whose `fit` reads a table and trains the model of a specification."""

    n_jobs: Any
    n_iter_: int
    model_: Model
    seed_: int
    held_out_rows_: npt.NDArray[np.intp]
    _takes_offset: bool
    _passed_loss: Loss | None
    _several_scores = False
    """Whether several scores may describe one target: quantiles, or a distribution."""

    if TYPE_CHECKING:  # defined by the other bases of an estimator

        def _predict_scores(self, model: Any, score: Any) -> Any: ...

    # ---- defined by each kind of model -------------------------------------------------------

    @abstractmethod
    def _hold_out(self, params: dict[str, Any]) -> HoldOutSpec:
        """Return which rows are held out; parameters have been checked."""

    @abstractmethod
    def _spec(self, params: dict[str, Any], hold_out: HoldOutSpec) -> Any:
        """Return the specification of the fit; no parameter is "auto"."""

    @abstractmethod
    def _train(
        self, spec: Any, loss: Loss, data: TrainingData, context: FitContext, previous: Model | None
    ) -> FitResult:
        """Return the fitted model."""

    @abstractmethod
    def _set_fitted(
        self, result: Any, data: TrainingData, params: dict[str, Any]
    ) -> dict[str, Any]:
        """Set the attributes of the result; return further entries of the report."""

    @abstractmethod
    def _check_arguments(self, params: dict[str, Any], arguments: FitArguments) -> None:
        """Raise unless the arguments of `fit` can be combined with the parameters."""

    @abstractmethod
    def _target_reader(self) -> TargetReader:
        """Return the reader of y."""

    @abstractmethod
    def _make_loss(self, classes: Any) -> Loss:
        """Return the loss to minimise."""

    @abstractmethod
    def _check_data(
        self, params: dict[str, Any], data: TrainingData, loss: Loss, previous: Model | None
    ) -> None:
        """Raise unless the data fit the parameters and the model that is continued."""

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters, checked."""
        return check_parameters(self)

    def _checked_parameters(self) -> dict[str, Any]:
        """Return the parameters, checked; an unknown loss is named before anything else."""
        try:
            params = self._parameters()
        except InvalidParameterError as first:
            try:
                self._make_loss(ANY_CLASSES)
            except UnknownLossError:
                raise
            except Exception:  # by the parameter that is wrong
                raise first from None
            raise
        self._make_loss(ANY_CLASSES)
        return params

    def _resolve(
        self, params: dict[str, Any], data: TrainingData | None = None, loss: Loss | None = None
    ) -> dict[str, Any]:
        """Return the parameters with a value for every "auto"."""
        return params

    def _start_learner(
        self,
        params: dict[str, Any],
        data: TrainingData,
        loss: Loss,
        arguments: FitArguments,
        previous: Model | None,
    ) -> StartLearner | None:
        """Return what learns F before the first round; None: it is a constant."""
        return None

    def _previous_model(self, params: dict[str, Any]) -> Model | None:
        """Return the model to continue; None: fit a new one."""
        return None

    def _learn_from_unseen_rows(self, params: dict[str, Any], fit: FinishedFit) -> dict[str, Any]:
        """Learn from rows that were not trained on; return further entries of the report."""
        return {}

    def _table_reader(self, params: dict[str, Any], previous: Model | None) -> TableReader:
        """Return the reader of X."""
        known = None if previous is None else previous.features
        return FeatureReader(input_spec(params), type(self).__name__, known)

    # ---- fitting -------------------------------------------------------------------------------

    @suggests_arguments
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        groups: Any = None,
        eval_set: Any = None,
        offset: Any = None,
        exposure: Any = None,
        offset_val: Any = None,
        exposure_val: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix of shape (n_rows, n_features), or Dataset
            Numbers, and categories in the columns that `categorical_features` selects. NaN, None,
            NA and NaT are missing values, as are the `missing_values`; ±inf are ordinary values.
        y : array-like of shape (n_rows,)
            The target; for `GradientBoostingRegressor`, forests and single trees also several
            targets, shape (n_rows, n_targets). A `Dataset` has its own target and weights.
        sample_weight : array-like of shape (n_rows,) or None
            Whole numbers are counts: a row of weight 2 is the row twice, a row of weight 0 is left
            out. Otherwise only the ratios of the weights matter. A row that is held out, or drawn
            at random, is one row, whatever its weight.
        X_val, y_val, sample_weight_val
            Validation rows. They decide when the fit stops, unless early_stopping=False.
        groups : array-like of shape (n_rows,) or None
            For early_stopping="cv" and n_estimators="auto": rows of one group are always in the
            same fold. For sampling="group": a round uses all rows of a group, or none.
        eval_set : list of (X, y) or (X, y, weight), mapping of names to these, or None
            Sets of rows whose loss and `eval_metric` are measured after every round; see
            `evals_result_`. Without names they are "valid_0", "valid_1", …; the training rows
            themselves are "train". A set is also a mapping with the keys X, y and sample_weight.
            Without `X_val`, the first of them (other than the training rows) decides when the fit
            stops, unless early_stopping=False or folds decide.
        offset : array-like of shape (n_rows,) or (n_rows, n_outputs), number, str or None
            Scores that are added to those of the model, in its fit and in predictions: with the
            identity link in units of y, otherwise before the link. Text is the name of a column of
            X, which then is no feature. Only for gradient boosting and stagewise models.
        exposure : array-like of shape (n_rows,), number, str or None
            For losses with a log link: positive numbers that multiply the prediction, such as the
            years that a count of claims belongs to. It is the offset log(exposure). Both add.
        offset_val, exposure_val
            Those of the validation rows; a column is read from `X_val` without them.

        Returns
        -------
        self
        """
        arguments = FitArguments(
            X,
            y,
            sample_weight,
            X_val,
            y_val,
            sample_weight_val,
            groups,
            eval_set,
            offset,
            exposure,
            offset_val,
            exposure_val,
        )
        self._fit(arguments)
        log_fit(self, self.fit_report_["seconds"])
        return self

    def _fit(
        self,
        arguments: FitArguments,
        peers: Peers = ALONE,
        checkpoints: Checkpoints | None = None,
    ) -> Self:
        """Fit the model; see `fit`. With several `peers`, each of them has some of the rows."""
        if not isinstance(arguments.X, Dataset):
            return self._fit_rows(arguments, None, peers)
        seed = choose_seed(self._parameters()["random_state"])
        try:
            return self._fit_rows(arguments, seed, peers, checkpoints)
        except NeedsRowsInMemoryError as error:
            needs = error.anew()  # without the frames, which have the rows that were read
        read = rows_in_memory(arguments, needs, peers)
        if checkpoints is not None:
            checkpoints.rows_are_stored()
        if peers.size == 1:
            assert read is not None
            self._fit_rows(read, seed)
        else:
            fit_on_first_rank(self, read, peers)
        self.fit_report_["rows_in_memory"] = needs.what
        return self

    def _fit_rows(
        self,
        arguments: FitArguments,
        seed: int | None = None,
        peers: Peers = ALONE,
        checkpoints: Checkpoints | None = None,
    ) -> Self:
        """Fit the model; `seed` is that of a new model, None: `random_state` has it."""
        begin = time.perf_counter()
        params = self._checked_parameters()
        self._check_arguments(params, arguments)
        self._check_offsets(arguments)
        hold_out, previous = self._hold_out(params), self._previous_model(params)
        if previous is not None:
            seed = self.seed_
        elif seed is None:
            seed = choose_seed(params["random_state"])
        context = FitContext(make_workers(self.n_jobs), seed, begin, peers, checkpoints)
        readers = self._table_reader(params, previous), self._target_reader()
        if isinstance(arguments.X, Dataset):
            data = self._read_dataset(arguments, readers, params, hold_out, context)
        else:
            data = read_training_data(
                arguments,
                *readers,
                hold_out,
                seed,
                sample_groups=params.get("sampling") == "group",
            )
        if previous is None:
            warn_of_columns(data.features, data.train)
        loss = self._loss_of(data)
        data = with_offsets(data, arguments, loss)
        holds_out = bool(data.fold_sizes) or data.valid is not None
        is_limited = params.get("n_estimators") == "auto" and holds_out
        params = self._resolve(params, data, loss)
        self._check_data(params, data, loss, previous)
        data = replace(data, start=self._start_learner(params, data, loss, arguments, previous))
        spec = self._spec(params, hold_out)
        result = self._train(spec, loss, data, context, previous)
        if previous is None:
            warn_if_no_split(result, data, params, starts=data.start is not None)
            warn_of_far_targets(result.model, data.train)
        self.seed_ = seed
        self._adopt(result.model)
        passed = custom_loss(getattr(self, "loss", None))
        self._passed_loss = None if passed is None else self._make_loss(data.classes)
        details = result.report() | self._set_fitted(result, data, params)
        if is_limited and not result.stop_reason:
            details["stop_reason"] = limit_reason(params["n_estimators"])
        self._set_oof_prediction(result, data)
        self._set_held_out_rows(data)
        finished = FinishedFit(result, data, arguments, seed)
        if previous is None:
            warn_if_one_class(self, finished, params)
        details |= self._learn_from_unseen_rows(params, finished)
        details["missing_value_counts"] = counts_by_name(data.features, data.missing)
        details["unknown_category_counts"] = counts_by_name(data.features, data.unknown)
        self.fit_report_ = fit_report(details, self, context.workers, begin)
        return self

    def _check_offsets(self, arguments: FitArguments) -> None:
        """Raise unless the offsets of the rows can be used."""
        for name in ("offset", "exposure"):
            if getattr(arguments, name) is not None and not self._takes_offset:
                refuse_offset(self, name)
        check_offsets(arguments)

    def _targets_loss(self, targets: tuple[npt.NDArray[Any], ...]) -> Any:
        """Return the loss of several targets of these classes."""
        raise NotImplementedError

    def _loss_of(self, data: TrainingData) -> Loss:
        """Return the loss of one target, or of several."""
        if data.class_targets is not None:
            found: Loss = self._targets_loss(data.class_targets)
            return found
        loss = self._make_loss(data.classes)
        if loss.location is not None and loss.n_outputs > 1 and not self._several_scores:
            raise InvalidParameterError(
                f"{type(self).__name__} predicts one number per row, and loss={loss.name!r} has "
                f"{loss.n_outputs} scores. Use GradientBoostingRegressor."
            )
        several = data.train.n_targets > 1 or data.target_names is not None
        return MultiTargetLoss(loss, data.train.n_targets) if several else loss

    def _read_dataset(
        self,
        arguments: FitArguments,
        readers: tuple[TableReader, TargetReader],
        params: dict[str, Any],
        hold_out: HoldOutSpec,
        context: FitContext,
    ) -> TrainingData:
        """Return the rows of a dataset; raise NeedsRowsInMemoryError if they must be in memory."""
        check_dataset_arguments(arguments)
        if arguments.groups is not None:
            raise NeedsRowsInMemoryError("groups", "leave groups out")
        if arguments.eval_sets:
            raise NeedsRowsInMemoryError("eval_set", "pass X_val instead")
        if arguments.X_val is not None and not hold_out.uses_passed_rows:
            raise NeedsRowsInMemoryError("X_val with early_stopping=False", "leave X_val out")
        if arguments.row_offset:
            name = "exposure" if arguments.exposure is not None else "offset"
            raise NeedsRowsInMemoryError(name, f"leave {name} out")
        check = self._dataset_check(params, hold_out, has_validation=arguments.X_val is not None)
        verbose = params.get("verbose", 0)
        shown = {"X": arguments.X.with_progress(PassDisplay(verbose).show)}
        if arguments.X_val is not None:
            held = PassDisplay(verbose, "validation rows")
            shown["X_val"] = arguments.X_val.with_progress(held.show)
        arguments = replace(arguments, **shown)
        table_reader, target_reader = readers
        assert isinstance(table_reader, FeatureReader)
        seed, peers = context.seed, context.peers
        of_classes = isinstance(target_reader, ClassReader)
        check_target = None if of_classes else self._make_loss(None).check
        return read_training_dataset(
            arguments, table_reader, target_reader, hold_out, seed, check, check_target, peers
        )

    def _dataset_check(
        self, params: dict[str, Any], hold_out: HoldOutSpec, *, has_validation: bool
    ) -> Callable[[DividedRows], None]:
        """Return a function that raises NeedsRowsInMemoryError if the fit needs rows in memory."""
        raise NeedsRowsInMemoryError(type(self).__name__, "use gradient boosting")

    @abstractmethod
    def _adopt(self, model: Any) -> None:
        """Set every fitted attribute from a model."""

    def _set_held_out_rows(self, data: TrainingData) -> None:
        """Set the indices of the rows of X that a fraction holds out, if there are any."""
        self.__dict__.pop("held_out_rows_", None)
        held = data.valid
        if not isinstance(held, RowSet) or held.columns is not data.train.columns:
            return  # there are none, or they are other rows than those of X
        if held.rows is not None:
            self.held_out_rows_ = held.rows.astype(np.intp)

    def _set_evals(self, result: FitResult) -> None:
        """Set what was measured after every round, and at the round that is kept."""
        self.evals_result_ = result.evals
        self.best_score_ = result.best_scores(self.n_iter_)

    def _set_oof_prediction(self, result: FitResult, data: TrainingData) -> None:
        """Set the predictions of the rows that folds held out; NaN elsewhere."""
        if result.oof_scores is None:
            self.__dict__.pop("oof_prediction_", None)
            return
        predicted = predict_out_of_fold(self, result, data)
        self.oof_prediction_ = data.train.spread(predicted, data.n_rows)

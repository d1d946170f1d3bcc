"""A Dask cluster that reads files and fits a model: ``stagewise train --cluster``.

Workers read the row groups of Parquet files, or whole CSV files, with the types that this process
has found, so the rows and their order are those of a fit by one process.
"""

from __future__ import annotations

import argparse
import importlib.util
from concurrent.futures import CancelledError
from dataclasses import replace
from functools import partial
from typing import Any

from stagewise.cli.errors import InputError
from stagewise.cluster.exchange import EpochError
from stagewise.datasets import Dataset
from stagewise.training.stored.checkpoint import Checkpoints

__all__ = ["Cluster"]

SECONDS_TO_CONNECT = 10


class Cluster:
    """A connection to the scheduler of a cluster.

    Parameters
    ----------
    args : argparse.Namespace
        The arguments of the command: the address and the files of TLS.
    """

    def __init__(self, args: argparse.Namespace) -> None:
        if importlib.util.find_spec("distributed") is None:
            raise InputError("--cluster needs Dask; install it with: pip install 'stagewise[dask]'")
        self.address = args.cluster
        self._client = _connect(args)
        try:
            if not self._client.scheduler_info(n_workers=-1)["workers"]:
                raise InputError(
                    f"The cluster at {self.address!r} has no worker; start one with: dask worker "
                    f"{self.address}"
                )
        except BaseException:
            self.close()
            raise

    def check(self, estimator: Any, method: str, *, has_validation: bool) -> None:
        """Raise if clusters have no such estimator, or do not support its parameters."""
        model = _cluster_class(estimator, method)(**estimator.get_params(deep=False))
        model._refuse_unsupported(has_validation=has_validation)  # noqa: SLF001

    def fit(
        self,
        estimator: Any,
        train: Dataset,
        valid: Dataset | None,
        checkpoints: Checkpoints | None,
    ) -> Any:
        """Return the estimator, fitted by the workers; this process keeps its rounds."""
        from distributed import KilledWorker

        parameters = estimator.get_params(deep=False)
        if "verbose" in parameters:  # it would print to the logs of the workers
            parameters["verbose"] = 0
        fitted = _cluster_class(estimator)(**parameters)
        try:
            fitted._fit_partitions(  # noqa: SLF001
                self._client,
                _partitions(train),
                None if valid is None else _partitions(valid),
                checkpoints,
            )
        except FileNotFoundError as error:
            raise InputError(
                f"A worker cannot read a file: {error} All workers need the files under the same "
                "paths, on a file system that they share."
            ) from error
        except ConnectionError as error:
            raise InputError(
                f"The connection to the scheduler at {self.address!r} was lost; check that it runs."
            ) from error
        except CancelledError as error:
            raise InputError("The tasks of the fit were cancelled on the cluster.") from error
        except MemoryError as error:
            raise InputError(str(error) or "A worker has not enough memory.") from error
        except (EpochError, KilledWorker) as error:
            raise InputError(
                f"The cluster has lost too many workers: {error}; check their logs and memory."
            ) from error
        return fitted.to_local()

    def close(self) -> None:
        """Disconnect."""
        self._client.close()


def _cluster_class(estimator: Any, method: str = "") -> Any:
    import stagewise.dask

    kind = getattr(stagewise.dask, type(estimator).__name__, None)
    if kind is None:
        raise InputError(
            f"--method {method} is not available with --cluster; use --method boosting, or train "
            "without --cluster."
        )
    return kind


def _partitions(dataset: Dataset) -> Any:
    """Return one delayed table for each row group or CSV file, in row order."""
    import dask

    from stagewise.dask.partition_fit import Roles
    from stagewise.dask.partitions import Partitions

    source: Any = dataset.source
    tables = []
    for part in source.parts:
        if part.n_rows:
            # Workers have other working directories.
            file = replace(part.file, path=part.file.path.absolute())
            only = replace(source, parts=(replace(part, file=file),))
            tables.append(dask.delayed(partial(Dataset.to_table, replace(dataset, source=only)))())
    assert dataset.target is not None
    return Partitions(tables, Roles(dataset.target, dataset.weight))


def _connect(args: argparse.Namespace) -> Any:
    """Return a client of the scheduler."""
    from distributed import Client

    if not args.cluster.startswith(("tcp://", "tls://")):
        raise InputError(
            f"--cluster takes the address of a scheduler, such as tcp://host:8786 or "
            f"tls://host:8786, not {args.cluster!r}."
        )
    try:
        return Client(
            args.cluster,
            security=_security(args),
            timeout=SECONDS_TO_CONNECT,
        )
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".") if str(error) else repr(error)
        raise InputError(
            f"There is no connection to the scheduler at {args.cluster!r}: {reason}; check the "
            "address, and that the scheduler runs."
        ) from error


def _security(args: argparse.Namespace) -> Any:
    """Return the certificates of the command line, or of Dask's configuration, for tls://."""
    from distributed import Security

    if not args.cluster.startswith("tls://"):
        return None
    options = {
        "tls_ca_file": ("--tls-ca-file", args.tls_ca_file),
        "tls_client_cert": ("--tls-cert", args.tls_cert),
        "tls_client_key": ("--tls-key", args.tls_key),
    }
    given = {}
    for name, (option, path) in options.items():
        if path is None:
            continue
        if not path.is_file():
            raise InputError(f"{option}: there is no file {str(path)!r}; check the path.")
        given[name] = str(path)
    security = Security(require_encryption=True, **given)
    if security.tls_ca_file is None or security.tls_client_cert is None:
        raise InputError(
            "--cluster tls://… needs certificates: pass --tls-ca-file, --tls-cert and --tls-key, "
            "or set them in the configuration of Dask (distributed.comm.tls)."
        )
    return security

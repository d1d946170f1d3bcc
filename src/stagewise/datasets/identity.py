"""What identifies the contents of a file without reading all of it."""

from __future__ import annotations

import hashlib
from typing import Any

from stagewise.datasets.file_list import DataFile

__all__ = ["file_identity"]

FOOTER_TAIL = 8
"""The last bytes of a Parquet file: the length of the footer, and a mark."""


def file_identity(file: DataFile) -> dict[str, Any]:
    """Return name and size of a file, and the digest of the footer of a Parquet file.

    The footer has the sizes, the checksums and the ranges of the values. Of other files, the time
    of the last change takes its place.
    """
    facts: dict[str, Any] = {"name": file.name, "size": file.size}
    with file.path.open("rb") as opened:
        opened.seek(-min(FOOTER_TAIL, file.size), 2)
        tail = opened.read()
        if not tail.endswith(b"PAR1"):
            return facts | {"changed_at": file.changed_at}
        length = min(int.from_bytes(tail[:4], "little") + FOOTER_TAIL, file.size)
        opened.seek(-length, 2)
        return facts | {"footer": hashlib.sha256(opened.read()).hexdigest()}

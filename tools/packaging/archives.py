"""Compare the files of a wheel or a source archive with those of the repository.

    python tools/packaging/archives.py dist/*

Prints each archive with its size. Fails if a file is missing, if there is a file that does not
belong there, or if an archive is larger than `LIMIT`.
"""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 5_000_000
"""The largest size of an archive in bytes."""
CORE = re.compile(r"stagewise/_native\.[\w.-]*(?:so|pyd)")
METADATA = re.compile(r"stagewise-[^/]+\.dist-info/.+")
LIBRARY = re.compile(r"stagewise\.libs/.+")
"""A shared library that the repair of a wheel has added."""
SINGLE_FILES = ("CHANGELOG.md", "CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml")


def files_below(folder: Path) -> set[str]:
    """Return the files below a folder, without caches, as paths relative to its parent."""
    return {
        path.relative_to(folder.parent).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def wheel_faults(wheel: Path, with_core: bool = True) -> list[str]:
    """Return what is missing in a wheel and what does not belong there.

    Parameters
    ----------
    wheel : Path
        The wheel.
    with_core : bool
        Whether the wheel must have the compiled core. A wheel without it is built in a second.
    """
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    cores = {name for name in names if CORE.fullmatch(name)}
    others = {name for name in names if METADATA.fullmatch(name) or LIBRARY.fullmatch(name)}
    faults = _differences(names - cores - others, files_below(ROOT / "src" / "stagewise"))
    if len(cores) != with_core:
        faults.append(f"{len(cores)} compiled cores instead of {int(with_core)}")
    return faults


def source_faults(source: Path) -> list[str]:
    """Return what is missing in a source archive and what does not belong there."""
    with tarfile.open(source) as archive:
        names = {member.name.split("/", 1)[1] for member in archive if member.isfile()}
    package = files_below(ROOT / "src")
    return _differences(
        names - {"PKG-INFO"}, {*SINGLE_FILES, *package, *files_below(ROOT / "native")}
    )


def _differences(names: set[str], expected: set[str]) -> list[str]:
    missing = [f"missing: {name}" for name in sorted(expected - names)]
    return missing + [f"does not belong there: {name}" for name in sorted(names - expected)]


def main(paths: list[str]) -> int:
    """Print the archives and their faults; return 1 if there is a fault."""
    faulty = False
    for path in map(Path, paths):
        size = path.stat().st_size
        faults = wheel_faults(path) if path.suffix == ".whl" else source_faults(path)
        if size > LIMIT:
            faults.append(f"{size} bytes, more than {LIMIT}")
        print(f"{path.name}: {size / 1e6:.2f} MB")
        for fault in faults:
            print(f"  {fault}")
        faulty |= bool(faults)
    return int(faulty)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

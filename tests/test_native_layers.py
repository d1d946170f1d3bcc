"""The folders of the native core include each other in one direction only."""

from __future__ import annotations

import re
from pathlib import Path

NATIVE = Path(__file__).parents[1] / "native"
LAYERS = [
    {"core"},
    {"kernels/api", "encoding"},
    {"kernels/elementary"},
    {"kernels/distributions"},
    {"kernels"},
    {"binning", "gradients"},
    {"grow/nodes"},
    {"grow/finders"},
    {"grow/finders/packed_sums", "grow/finders/sorted_rows"},
    {"grow/search", "grow/leaves"},
    {"grow", "predict"},
    {"chunks", "forest", "shap", "boosting"},
    {"bindings"},
]
"""The folders, lowest first: a folder includes itself and folders of lower layers only."""
LAYER = {folder: number for number, layer in enumerate(LAYERS) for folder in layer}


def test_every_folder_has_a_layer() -> None:
    folders = {path.parent.relative_to(NATIVE).as_posix() for path in NATIVE.rglob("*.?pp")}
    assert folders == set(LAYER)


def test_no_file_includes_a_file_of_a_higher_layer() -> None:
    for path in NATIVE.rglob("*.?pp"):
        folder = path.parent.relative_to(NATIVE).as_posix()
        for name in re.findall(r'#include "([^"]+)"', path.read_text(encoding="utf-8")):
            included = Path(name).parent.as_posix()
            assert included == folder or LAYER[included] < LAYER[folder], (path.name, name)

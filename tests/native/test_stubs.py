"""The committed stub of the native module equals the generated one."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_stub_is_up_to_date() -> None:
    generated = load(ROOT / "native/bindings/make_stubs.py").make_stub()
    committed = (ROOT / "src/stagewise/_native.pyi").read_text()
    assert generated == committed, "run `make stubs`"


def test_the_stub_has_precise_types() -> None:
    committed = (ROOT / "src/stagewise/_native.pyi").read_text()
    vague = ("Any", "-> object", "-> tuple:", "-> list:", ": Sequence,", ": dict,", "NDArray,")
    assert [word for word in vague if word in committed] == []

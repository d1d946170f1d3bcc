"""Saving and loading under failures: full disks, kills, and files that are not models."""

from __future__ import annotations

import errno
import os
import pickle
import stat
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from model_samples import ESTIMATOR, make_model
from stagewise.errors import ModelFormatError
from stagewise.model.file.format import encode, read_model, write_model

OLD, NEW = make_model(seed=1), make_model(seed=2)
OLD_BYTES, NEW_BYTES = encode(OLD), encode(NEW)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Return a file with the old model, alone in its directory."""
    path = tmp_path / "model.stgw"
    write_model(path, OLD)
    return path


def assert_only_the_old_model_is_there(path: Path) -> None:
    assert path.read_bytes() == OLD_BYTES
    assert list(path.parent.iterdir()) == [path]


def run_python(program: str, *arguments: str) -> str:
    """Run a program in a new Python process with the same modules; return its output."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment["OPENBLAS_NUM_THREADS"] = "1"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_saving_replaces_the_old_model_and_leaves_nothing_else(saved: Path) -> None:
    write_model(saved, NEW)
    assert saved.read_bytes() == NEW_BYTES
    assert list(saved.parent.iterdir()) == [saved]


@pytest.mark.skipif(sys.platform == "win32", reason="limits on file sizes are a POSIX matter")
def test_a_disk_too_small_for_the_new_model_leaves_the_old_one(saved: Path) -> None:
    program = """
        import resource, sys
        from model_samples import make_model
        from stagewise.model.file.format import write_model
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            write_model(sys.argv[1], make_model(seed=2))
        except OSError as error:
            print(error)
        """
    printed = run_python(program, str(saved))
    assert "nothing was changed: File too large" in printed
    assert str(saved) in printed
    assert_only_the_old_model_is_there(saved)


@pytest.mark.parametrize("step", ["replace", "fsync"])
def test_a_system_call_that_fails_leaves_the_old_model(
    saved: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*arguments: Any) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="nothing was changed") as caught:
        write_model(saved, NEW)
    assert caught.value.errno == errno.EIO
    assert caught.value.filename == str(saved)
    assert_only_the_old_model_is_there(saved)


def test_an_interrupt_while_saving_leaves_the_old_model(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_model(saved, NEW)
    assert_only_the_old_model_is_there(saved)


def test_a_directory_that_cannot_be_synced_is_no_failure(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync

    def only_files(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", only_files)
    write_model(saved, NEW)
    assert saved.read_bytes() == NEW_BYTES


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks and kills")
def test_a_kill_while_saving_leaves_the_old_model_or_the_new_one(saved: Path) -> None:
    # Children of one process that has all imports save without pause until killed.
    program = """
        import os, random, signal, sys, time
        from pathlib import Path
        from model_samples import make_model
        from stagewise.model.file.format import read_model, write_model

        path, wait = Path(sys.argv[1]), random.Random(0)
        models = [make_model(n_rounds=60, n_splits=30, seed=seed) for seed in (1, 2)]
        prints = [model.fingerprint() for model in models]
        write_model(path, models[0])
        left_over = 0
        for _ in range(20):
            child = os.fork()
            if child == 0:
                while True:
                    for model in models:
                        write_model(path, model)
            time.sleep(0.01 + 0.05 * wait.random())
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            print(prints.index(read_model(path)[0].fingerprint()))
            for other in path.parent.iterdir():
                if other != path:
                    assert other.name.startswith(".model.stgw.") and other.suffix == ".tmp", other
                    other.unlink()
        """
    found = run_python(program, str(saved)).split()
    assert len(found) == 20
    assert set(found) <= {"0", "1"}


def test_a_new_file_gets_default_permissions_and_an_old_one_keeps_its_own(saved: Path) -> None:
    plain = saved.with_name("plain")
    plain.touch()
    assert stat.S_IMODE(saved.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    saved.chmod(0o640)
    write_model(saved, NEW)
    assert stat.S_IMODE(saved.stat().st_mode) == 0o640


def test_saving_through_a_link_changes_the_file_and_keeps_the_link(saved: Path) -> None:
    link = saved.with_name("link.stgw")
    link.symlink_to(saved)
    write_model(link, NEW)
    assert link.is_symlink()
    assert saved.read_bytes() == NEW_BYTES


def test_a_protected_file_is_not_replaced(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved.chmod(0o444)
    # The tests may run with all permissions (root).
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="protected"):
        write_model(saved, NEW)
    assert_only_the_old_model_is_there(saved)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names")
def test_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a file"):
        write_model(tmp_path / "pipe", OLD)
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("name", ["größe 身長 🌲.stgw", "no extension", "x" * 250, "é" * 120])
def test_a_path_may_be_any_text_or_path(tmp_path: Path, name: str) -> None:
    write_model(str(tmp_path / name), OLD, ESTIMATOR)
    for path in (tmp_path / name, str(tmp_path / name)):
        model, estimator = read_model(path)
        assert encode(model) == OLD_BYTES
        assert estimator == ESTIMATOR


def test_a_relative_path_is_taken_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_model("model.stgw", OLD)
    assert (tmp_path / "model.stgw").read_bytes() == OLD_BYTES
    assert encode(read_model("model.stgw")[0]) == OLD_BYTES


def test_saving_into_a_directory_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "models" / "model.stgw"
    with pytest.raises(FileNotFoundError, match="directory does not exist") as caught:
        write_model(path, OLD)
    assert caught.value.filename == str(path)


def test_saving_over_a_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="a directory of that name"):
        write_model(tmp_path, OLD)
    assert list(tmp_path.iterdir()) == []


class Trap:
    """Creates a file when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path(self.path),)


def test_loading_a_pickle_is_refused_and_runs_nothing(tmp_path: Path) -> None:
    sprung = tmp_path / "sprung"
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(Trap(str(sprung))))
    with pytest.raises(ModelFormatError, match=r"not a Stagewise model: .* written by save"):
        read_model(tmp_path / "model.pkl")
    assert not sprung.exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"a,b,c\n1,2,3\n", "not a Stagewise model"),
        (b"\x93NUMPY\x01\x00", "not a Stagewise model"),
        (b"\xef\xbb\xbf", "not a Stagewise model"),
        (OLD_BYTES[:5], "cut short"),
        (OLD_BYTES[:20], "cut short"),
        (OLD_BYTES[:40], "cut short"),
        (OLD_BYTES[:-1], "cut short"),
        (OLD_BYTES.replace(b"\r\n", b"\n"), "not a Stagewise model"),
    ],
)
def test_loading_an_incomplete_model_names_the_reason(
    tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "thing"
    path.write_bytes(content)
    with pytest.raises(ModelFormatError, match=words) as caught:
        read_model(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).count("\n") == 0


def test_loading_a_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="not a file"):
        read_model(tmp_path)


def test_loading_a_file_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    words = rf"the folder '{tmp_path}' has no such file: '.*missing\.stgw'$"
    with pytest.raises(FileNotFoundError, match=words):
        read_model(tmp_path / "missing.stgw")
    (tmp_path / "misssing.stgw").touch()
    with pytest.raises(FileNotFoundError, match=r"\(Did you mean 'misssing\.stgw'\?\)"):
        read_model(tmp_path / "missing.stgw")
    with pytest.raises(FileNotFoundError, match=rf"there is no folder '{tmp_path}/none'"):
        read_model(tmp_path / "none" / "missing.stgw")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a file without end")
def test_an_endless_file_is_refused_at_its_beginning() -> None:
    with pytest.raises(ModelFormatError, match="not a Stagewise model"):
        read_model("/dev/zero")

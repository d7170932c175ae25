"""Compiled kernels on disk: found by content, whole, private, and of no harm where they fail."""

from __future__ import annotations

import errno
import importlib
import json
import os
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from numba.core.registry import cpu_target

from motionloom import kernel_cache
from motionloom.kernels import compile_listed, compiled_signatures, kernel, kernels

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="nothing is compiled"
)


def write_module(folder, factor):
    (folder / "callee.py").write_text(
        "from motionloom.kernels import kernel\n"
        f"FACTOR = {factor}\n\n"
        "@kernel\ndef add(value):\n    return value + FACTOR\n"
    )
    (folder / "caller.py").write_text(
        "from motionloom.kernels import kernel\nfrom callee import add\n\n"
        "@kernel\ndef twice(value):\n    return add(add(value))\n"
    )


@pytest.fixture
def called(monkeypatch):
    """A function: result of the caller as in a new process, and how many kernels were compiled."""
    from numba.core.event import install_recorder

    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def call(folder, cache):
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache))
        monkeypatch.syspath_prepend(folder)
        forget()
        with install_recorder("numba:compile") as recorder:
            result = importlib.import_module("caller").twice(1.0)
        return result, sum(event.is_end for _, event in recorder.buffer)

    yield call
    forget()


def forget():
    for name in ("caller", "callee"):
        sys.modules.pop(name, None)
    for name in ("caller.twice", "callee.add"):
        kernels.pop(name, None)


def test_a_kernel_is_compiled_again_when_a_constant_of_its_callee_changes(tmp_path, called):
    cache = tmp_path / "cache"
    write_module(tmp_path, 1.0)
    assert called(tmp_path, cache) == (3.0, 2)
    assert called(tmp_path, cache) == (3.0, 0)
    write_module(tmp_path, 10.0)
    assert called(tmp_path, cache) == (21.0, 2)
    write_module(tmp_path, 1.0)  # the older form is still there, and right again
    assert called(tmp_path, cache) == (3.0, 0)


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: data[:-20] + bytes([data[-20] ^ 1]) + data[-19:],
    ],
    ids=["cut off", "empty", "one bit"],
)
def test_a_damaged_cache_file_is_compiled_again(tmp_path, called, suffix, damage):
    cache = tmp_path / "cache"
    write_module(tmp_path, 1.0)
    called(tmp_path, cache)
    damaged = sorted(cache.glob(f"*/*.{suffix}"))
    assert len(damaged) == 2
    for path in damaged:
        path.write_bytes(damage(path.read_bytes()))
    assert called(tmp_path, cache) == (3.0, 2)
    assert called(tmp_path, cache) == (3.0, 0)


def test_a_cache_that_cannot_be_written_is_not_an_error(tmp_path, called, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    (tmp_path / "file").touch()
    write_module(tmp_path, 1.0)
    assert called(tmp_path, tmp_path / "file" / "cache") == (3.0, 2)


def test_a_full_disk_is_not_an_error(tmp_path, called, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(kernel_cache.Locator, "ensure_cache_path", full)
    write_module(tmp_path, 1.0)
    result, _ = called(tmp_path, tmp_path / "cache")
    assert result == 3.0


@pytest.mark.skipif(os.name == "nt", reason="no users")
def test_a_cache_to_which_others_write_is_not_used(tmp_path, called, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    cache = tmp_path / "cache"
    write_module(tmp_path, 1.0)
    assert called(tmp_path, cache) == (3.0, 2)
    assert cache.stat().st_mode & 0o077 == 0
    cache.chmod(0o777)
    assert called(tmp_path, cache) == (3.0, 2)
    assert called(tmp_path, cache) == (3.0, 0)  # from the user's own
    monkeypatch.setattr(os, "geteuid", lambda: 12345)  # as root, only other people's
    cache.chmod(0o700)
    assert kernel_cache.is_trusted(cache) == (cache.stat().st_uid == 0)


def test_a_cache_that_can_only_be_read_is_copied_from(tmp_path, called, monkeypatch):
    """As in a container image; without any place to write, to a temporary folder."""
    write_module(tmp_path, 1.0)
    image = tmp_path / "image"
    assert called(tmp_path, image) == (3.0, 2)
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != image and access(path, mode))
    own = tmp_path / "own"
    monkeypatch.setenv("XDG_CACHE_HOME", str(own))
    assert called(tmp_path, image) == (3.0, 0)
    assert len(list((own / "motionloom" / "kernels").iterdir())) == 2
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    shutil.rmtree(own)
    assert called(tmp_path, image) == (3.0, 0)
    assert not list((own / "motionloom" / "kernels").iterdir())


@pytest.fixture
def built(tmp_path, called, monkeypatch):
    """A function that puts compiled kernels where a wheel has them, for a target and its needs."""
    write_module(tmp_path, 2.0)
    called(tmp_path, tmp_path / "builder")
    folder = (tmp_path / "builder").rename(tmp_path / "compiled")
    monkeypatch.setattr(kernel_cache, "BUILT", folder)

    def build(needs):
        target = cpu_target.target_context.codegen().magic_tuple()
        (folder / "target.json").write_text(json.dumps({"target": target, "needs": needs}))
        kernel_cache.built_target.cache_clear()
        return folder

    yield build
    kernel_cache.built_target.cache_clear()


def test_kernels_of_the_wheel_are_not_compiled_again(tmp_path, called, built):
    built([])
    assert called(tmp_path, tmp_path / "cache") == (5.0, 0)


def test_kernels_of_the_wheel_are_not_used_on_a_processor_that_lacks_a_feature(
    tmp_path, called, built
):
    built(["no such feature"])
    assert called(tmp_path, tmp_path / "cache") == (5.0, 2)


def test_kernels_of_the_wheel_are_not_used_if_they_are_damaged(tmp_path, called, built):
    for file in built([]).glob("*/*.nbc"):
        file.write_bytes(file.read_bytes()[:-9] + b"\0" * 9)
    assert called(tmp_path, tmp_path / "cache") == (5.0, 2)


def test_kernels_of_the_wheel_are_not_used_if_their_source_changes(tmp_path, called, built):
    built([])
    write_module(tmp_path, 3.0)
    assert called(tmp_path, tmp_path / "cache") == (7.0, 2)


@pytest.mark.parametrize("text", ["", "[]", '{"target": 3, "needs": []}', '{"target": []}'])
def test_a_damaged_target_is_ignored(tmp_path, called, built, text):
    (built([]) / "target.json").write_text(text)
    assert called(tmp_path, tmp_path / "cache") == (5.0, 2)


def test_compiling_is_announced_once(tmp_path, called, caplog, monkeypatch):
    monkeypatch.setattr(kernel_cache._one_writer, "next_line", 0.0)
    write_module(tmp_path, 2.0)
    called(tmp_path, tmp_path / "cache")
    called(tmp_path, tmp_path / "cache")
    assert caplog.messages == ["compiling kernels, only once on this computer: 0 %"]


def test_kernels_that_nobody_has_used_for_long_are_removed(tmp_path):
    ours = [tmp_path / f"motionloom.a._{name}-{32 * 'a'}" for name in ("old", "used", "new")]
    for folder in (*ours, tmp_path / "librosa_0123"):
        folder.mkdir()
        os.utime(folder, (0, 0))
    os.utime(ours[2])
    kernel_cache.opened_folder(tmp_path, ours[1].name)  # by any installation
    kernel_cache.remove_unused(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([*ours[1:], tmp_path / "librosa_0123"])


@pytest.mark.slow
def test_processes_that_compile_at_the_same_time_leave_a_whole_cache(tmp_path, called):
    """Each for other types, so that every process adds to the index of the same kernel."""
    write_module(tmp_path, 1.0)
    cache = tmp_path / "cache"
    kinds = {"np.float32(1)": np.float32(1), "1.0": 1.0, "1": 1, "np.int8(1)": np.int8(1)}
    surroundings = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    program = "import sys, numpy as np, caller; assert caller.twice({}) == 3"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program.format(kind)], cwd=tmp_path, env=surroundings
        )
        for kind in kinds
    ]
    assert [process.wait() for process in started] == [0] * len(kinds)
    assert called(tmp_path, cache) == (3.0, 0)
    caller = sys.modules["caller"]
    for item in kinds.values():
        assert caller.twice(item) == 3
    assert len(list(cache.glob("caller.twice-*/*.nbc"))) == len(kinds)


def test_sources_in_an_archive_are_cached(tmp_path, called):
    write_module(tmp_path, 1.0)
    with zipfile.ZipFile(tmp_path / "packed.whl", "w") as archive:
        for name in ("caller.py", "callee.py"):
            archive.write(tmp_path / name, name)
            (tmp_path / name).unlink()
    assert called(tmp_path / "packed.whl", tmp_path / "cache") == (3.0, 2)
    assert called(tmp_path / "packed.whl", tmp_path / "cache") == (3.0, 0)


UNFROZEN = {"a": 1}


def test_a_kernel_depends_only_on_what_numba_can_freeze():
    from numba.core.errors import TypingError

    @kernel
    def broken(value):
        return value + len(UNFROZEN)

    del kernels[f"{broken.__module__}.{broken.__qualname__}"]
    with pytest.raises(TypingError, match="UNFROZEN"):
        broken(1.0)


def test_warming_up_compiles_kernels_that_are_not_cached(tmp_path, monkeypatch, called):
    write_module(tmp_path, 1.0)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    compile_listed("caller.twice (float64,)")
    assert "caller.twice (float64,)" in compiled_signatures()
    assert called(tmp_path, tmp_path / "cache") == (3.0, 0)


def test_kernels_load_no_scipy():
    program = (
        "import sys\n"
        "import numpy as np\n"
        "from motionloom.kernels import kernel\n"
        "@kernel\ndef total(x):\n    return x.sum()\n"
        "total(np.ones(3))\n"
        "assert 'scipy.linalg' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.slow
def test_kernels_load_scipy_for_linear_algebra():
    program = (
        "import sys\n"
        "import numpy as np\n"
        "from motionloom.kernels import kernel\n"
        "@kernel\ndef covariance(x):\n    return np.cov(x) + np.dot(x, x.T)\n"
        "x = np.arange(6.0).reshape(2, 3) ** 2\n"
        "np.testing.assert_allclose(covariance(x), np.cov(x) + x @ x.T)\n"
        "assert 'scipy.linalg' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)

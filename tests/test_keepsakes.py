"""Things that people made of a library's motions and find again by name."""

import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput, LibraryError
from motionloom.store.artifacts.named import forget, keep, kept, kept_names


@pytest.fixture
def lib(tmp_path):
    return ml.Library.create(tmp_path / "takes.loom")


def files(lib):
    return sorted(path.name for path in (lib.path / "kept").iterdir())


def test_what_is_kept_comes_back_in_another_process_the_same(lib):
    arrays = {
        "weights": np.random.default_rng(1).normal(size=(4, 3)),
        "names": np.array(["a", "b"]),
    }
    keep(lib, "parametric", "kick", {"by": ["turn"], "delta": 0.1}, arrays)
    found = kept(ml.Library(lib.path), "parametric", "kick")
    assert found.about == {"by": ["turn"], "delta": 0.1}
    assert found.arrays.keys() == arrays.keys()
    np.testing.assert_array_equal(found.arrays["weights"], arrays["weights"])


def test_a_name_given_again_replaces_what_it_named(lib):
    keep(lib, "parametric", "kick", {"try": 1}, {"x": np.zeros(3)})
    keep(lib, "parametric", "kick", {"try": 2}, {"x": np.ones(3)})
    assert kept(lib, "parametric", "kick").about == {"try": 2}
    assert len(files(lib)) == 1


def test_kinds_have_names_of_their_own(lib):
    keep(lib, "parametric", "kick", {}, {})
    keep(lib, "choreography", "kick", {}, {})
    forget(lib, "choreography", "kick")
    assert kept_names(lib, "parametric") == ("kick",)
    assert kept_names(lib, "choreography") == ()
    assert len(files(lib)) == 1


def test_adding_motions_does_not_sweep_it_away(lib):
    keep(lib, "parametric", "kick", {"a": 1}, {"x": np.zeros(3)})
    before = lib.digest()
    lib.add_motion(ml.demo.clip("walk"), name="walk")
    assert lib.digest() != before
    assert kept(lib, "parametric", "kick").about == {"a": 1}


def test_what_is_not_there_is_told_with_what_is(lib):
    with pytest.raises(LibraryError, match="no parametric is called 'punch'; it has none"):
        kept(lib, "parametric", "punch")
    keep(lib, "parametric", "kick", {}, {})
    with pytest.raises(LibraryError, match="no parametric is called 'punch'; it has kick"):
        kept(lib, "parametric", "punch")
    forget(lib, "parametric", "punch")


def test_a_damaged_file_is_told(lib):
    keep(lib, "parametric", "kick", {}, {"x": np.zeros(300)})
    path = lib.path / "kept" / files(lib)[0]
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(LibraryError, match="make the parametric 'kick' again"):
        kept(lib, "parametric", "kick")
    path.unlink()
    with pytest.raises(LibraryError, match="damaged or gone"):
        kept(lib, "parametric", "kick")


@pytest.mark.parametrize("name", ["", "../kick", "a/b", ".hidden", "kick\n", "x" * 81])
def test_a_name_that_is_no_file_name_is_refused(lib, name):
    with pytest.raises(InvalidInput, match="a name to keep something by"):
        keep(lib, "parametric", name, {}, {})

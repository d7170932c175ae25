"""Every odd BVH file is read rightly or refused clearly; none is read wrongly in silence."""

from __future__ import annotations

import numpy as np
import pytest
from odd_bvh import CORPUS
from odd_bvh_model import Odd, Reading

import motionloom as ml

CM = 0.01
TOLERANCE_M = 1e-4


@pytest.fixture(params=CORPUS, ids=repr)
def odd(request) -> Odd:
    return request.param


def loaded(odd: Odd, folder, **options):
    """The motion, or the error that refused it."""
    file = folder / f"{odd.name}.bvh"
    file.write_bytes(odd.data)
    try:
        return ml.load(file, unit="cm", up="y", keep_carrier=True, **odd.options, **options)
    except ml.MotionFormatError as error:
        return error


def test_it_is_read_correctly_or_refused_clearly(odd, tmp_path):
    whole = loaded(odd, tmp_path)
    strict = loaded(odd, tmp_path, strict=True)
    if isinstance(whole, ml.MotionFormatError):
        assert odd.verdict != "read", f"refused: {whole}"
        check_refusal(odd, whole)
        assert isinstance(strict, ml.MotionFormatError), (
            "strict reads a file that is refused otherwise"
        )
        return
    assert odd.verdict != "refuse", f"read as {whole!r}, repairs {whole.repairs}"
    if odd.reading is not None:
        check_reading(whole, odd.reading)
    if odd.repair is not None:
        assert bool(whole.repairs) == odd.repair, whole.repairs
    check_strict(odd, whole, strict)
    body = ml.load(tmp_path / f"{odd.name}.bvh", unit="cm", up="y", **odd.options)
    check_hips_as_root(body, whole)


def check_hips_as_root(body: ml.Motion, whole: ml.Motion) -> None:
    """No position changes where the hips are made the root."""
    points = [whole.skeleton.point_names.index(name) for name in body.skeleton.point_names]
    wanted = whole.positions(end_sites=True)[:, points]
    tolerance = TOLERANCE_M + 2e-6 * np.abs(wanted).max(initial=0.0)
    np.testing.assert_allclose(body.positions(end_sites=True), wanted, rtol=0.0, atol=tolerance)
    carrier = body.origin.carrier
    above = () if carrier is None else carrier.names + carrier.left_out
    assert set(above) | set(body.skeleton.point_names) == set(whole.skeleton.point_names)


def check_strict(odd: Odd, tolerant: ml.Motion, strict: ml.Motion | ml.MotionFormatError) -> None:
    """Strict reading refuses exactly what would be repaired."""
    if tolerant.repairs:
        assert isinstance(strict, ml.MotionFormatError), tolerant.repairs
        assert f"{odd.name}.bvh" in str(strict)
    else:
        assert not isinstance(strict, ml.MotionFormatError), f"no repair, yet: {strict}"
        np.testing.assert_array_equal(strict.positions(), tolerant.positions())


def test_the_corpus_is_large_and_asks_for_all_three_verdicts():
    verdicts = [odd.verdict for odd in CORPUS]
    assert len(CORPUS) >= 80
    assert min(map(verdicts.count, ("read", "refuse", "either"))) >= 20


def check_refusal(odd: Odd, error: ml.MotionFormatError) -> None:
    message = str(error)
    place = f"{error.path}:{error.line}" if error.line is not None else error.path
    assert message == f"{place}: {error.problem}"
    assert error.path.endswith(f"{odd.name}.bvh")
    assert len(error.problem) < 600, "a message is for people"
    if odd.lines:
        assert error.line in odd.lines, message
    for word in odd.words:
        assert word.lower() in message.lower()


def check_reading(motion: ml.Motion, wanted: Reading) -> None:
    assert len(motion) == wanted.frames
    assert motion.fps == pytest.approx(wanted.fps, rel=wanted.fps_tolerance)
    if wanted.names is not None:
        assert motion.skeleton.names == wanted.names
    assert tuple(motion.skeleton.parents) == wanted.parents
    frames = list(range(wanted.frames) if wanted.compare is None else wanted.compare)
    compare(motion.positions()[frames], wanted.positions[frames])
    assert np.isfinite(motion.positions(end_sites=True)).all()
    if wanted.ends is not None:
        ends = motion.positions(end_sites=True)[:, len(motion.skeleton) :]
        assert ends.shape == wanted.ends.shape
        compare(ends[frames], wanted.ends[frames])


def compare(result: np.ndarray, wanted_units: np.ndarray) -> None:
    wanted = wanted_units * CM
    # Single precision has seven digits: a hundred meters away they no longer reach 0.1 mm.
    tolerance = TOLERANCE_M + 2e-6 * np.abs(wanted).max(initial=0.0)
    np.testing.assert_allclose(result, wanted, rtol=0.0, atol=tolerance)

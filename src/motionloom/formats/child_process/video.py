"""Script that estimates the pose of a person in a film in a separate process.

It does not import motionloom. See `motionloom.formats.child_process` and
`motionloom.formats.video`. PyAV decodes the film. Two networks of MediaPipe Pose, run by LiteRT,
find the person (a detector) and 33 landmarks on the body (run on a square around the person, which
follows from the landmarks of the frame before). Landmarks are not smoothed here.
"""

from __future__ import annotations

import os

import numpy as np

_LONGEST = 300.0  # seconds of film that are read
_FASTEST = 30.0  # frames per second that are estimated; faster films are thinned out
_LARGEST = 40_000_000  # pixels of a frame
_LONG_SIDE = 640  # pixels to which frames are reduced
_DETECTOR, _LANDMARKER = 224, 256  # pixels of the networks' inputs
_PERSON = 0.5  # least probability of a detection, and of the landmarks
_OVERLAP = 0.3  # boxes that overlap more are one person
_SECOND = 0.3  # share of the first person's size at which a second one counts
_MARGIN = 1.25  # of the square around a person
_LOOK = 1.0  # seconds between looks for other people
_GAP = 0.5  # seconds without a frame after which the pose is unknown
_CENTER, _TOP = 33, 34  # landmarks that give the square of the next frame
_POINTS = 33
_KERNEL = 3  # cells around a landmark in its heat map


class UnreadableVideo(Exception):
    """Error that states why a film cannot be read."""


REFUSED = UnreadableVideo


def read(request: dict) -> dict:
    """Estimate the landmarks of a film and save them as arrays.

    The request has the keys path, detector, landmarks, fps, partial and output.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tracker = Tracker(request["detector"], request["landmarks"])
    rows: list[np.ndarray] = []
    facts: dict = {}
    for time, image in frames(request["path"], request["fps"], request["partial"], facts):
        rows.append(tracker.row(time, image))
    if len(rows) < 2:
        raise UnreadableVideo("the film has fewer than two frames")
    table = np.array(rows, np.float32)
    if not np.isfinite(table[:, 0]).any():
        raise UnreadableVideo(
            "no person was found in the film. The whole body must be visible, at least a quarter "
            "of the picture high"
        )
    world, image, seen = np.split(table, [3 * _POINTS, 5 * _POINTS], axis=1)
    np.savez(
        request["output"],
        world=world.reshape(-1, _POINTS, 3),
        image=image.reshape(-1, _POINTS, 2),
        visibility=seen,
    )
    return {**facts, "people": int(max(tracker.people))}


# --- decoding -------------------------------------------------------------------------------------


def frames(path: str, fps: float | None, partial: bool, facts: dict):
    """Yield times and RGB images of a film at an even rate, and put its data into `facts`.

    An image is None where the film has a gap.
    """
    import av

    with open(path, "rb") as file, av.open(file, "r", format=_container(file)) as container:
        if not container.streams.video:
            raise UnreadableVideo("the file has no picture, only sound or data")
        stream = container.streams.video[0]
        context = stream.codec_context
        if not 0 < context.width * context.height <= _LARGEST:
            raise UnreadableVideo(
                f"a frame has {context.width} x {context.height} pixels; at most "
                f"{_LARGEST // 1_000_000} million are read"
            )
        seconds = float(container.duration or 0) / av.time_base
        if seconds > _LONGEST and not partial:
            raise UnreadableVideo(_too_long(seconds))
        context.thread_count = 1
        native = float(stream.average_rate or 0) or 30.0
        if not 1.0 <= native <= 1000.0:
            native = 30.0
        native = fps or native
        rate = native / max(1, int(np.ceil(native / _FASTEST - 0.2)))
        facts.update(fps=rate, native=native, seconds=seconds)
        yield from _even(_decoded(container, stream, fps, facts), rate, partial)


def _container(file) -> str:
    """Return the container by its first bytes, so that a playlist cannot name other files."""
    start = file.read(64)
    file.seek(0)
    if start[4:8] in (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip"):
        return "mp4"
    if start[:4] == b"\x1a\x45\xdf\xa3":
        return "matroska"
    if start[:4] == b"RIFF" and start[8:12] == b"AVI ":
        return "avi"
    raise UnreadableVideo(
        "the file is not a film in an MP4, MOV, WebM, Matroska or AVI container"
        if start
        else "the file is empty"
    )


def _too_long(seconds: float) -> str:
    return (
        f"the film is {seconds / 60.0:.0f} minutes long; at most {_LONGEST / 60.0:.0f} minutes are "
        "read. Cut out the action, or read only the start with --partial (partial=True)"
    )


def _decoded(container, stream, fps, facts: dict):
    """Yield times and images of all frames that can be decoded."""
    import av

    count = broken = 0
    start = None
    try:
        for packet in container.demux(stream):
            try:
                pictures = packet.decode()
            except av.error.InvalidDataError:
                broken += 1
                if broken > 100 and not count:
                    break
                continue
            for picture in pictures:
                if fps is not None or picture.time is None:
                    time = count / facts["native"]
                else:
                    start = picture.time if start is None else start
                    time = picture.time - start
                count += 1
                yield time, _image(picture)
    except (av.error.FFmpegError, ValueError):
        if not count:
            raise UnreadableVideo(_broken(stream)) from None
        broken += 1
    if not count:
        raise UnreadableVideo(_broken(stream))
    facts["broken"] = broken


def _broken(stream) -> str:
    name = stream.codec_context.name or "unknown"
    return (
        f"no frame can be decoded (codec {name}). Convert the film, for example with "
        "ffmpeg -i FILE -c:v libx264 OUT.mp4"
    )


def _image(picture) -> np.ndarray:
    """Return a frame (H, W, 3) upright, and at most `_LONG_SIDE` pixels wide and high."""
    scale = min(1.0, _LONG_SIDE / max(picture.width, picture.height))
    size = {k: max(2, round(v * scale)) for k, v in zip(("width", "height"),
            (picture.width, picture.height), strict=True)}  # fmt: skip
    image = picture.to_ndarray(format="rgb24", interpolation="AREA", **size)
    return np.rot90(image, round(getattr(picture, "rotation", 0) / 90.0) % 4)


def _even(decoded, rate: float, partial: bool):
    """Yield one frame for each step of the clock."""
    number, last = 0, None
    for time, image in decoded:
        if time > _LONGEST:
            if partial:
                return
            raise UnreadableVideo(_too_long(time))
        while number / rate <= time + 0.25 / rate:
            late = last is not None and time - number / rate > _GAP
            yield number / rate, None if late else image
            number += 1
        last = time


# --- the networks ---------------------------------------------------------------------------------


class Tracker:
    """A person who is followed through the frames of a film."""

    def __init__(self, detector: str, landmarks: str) -> None:
        self.detector = Network(detector)
        self.landmarks = Network(landmarks)
        self.anchors = _anchors()
        self.square: np.ndarray | None = None  # center x, y, side in pixels, angle
        self.people = [0]
        self.looked = -np.inf

    def row(self, time: float, image: np.ndarray | None) -> np.ndarray:
        """Return world landmarks, image landmarks and visibilities of a frame in one row."""
        nothing = np.full(6 * _POINTS, np.nan)
        if image is None:
            self.square = None
            return nothing
        if self.square is None or time - self.looked >= _LOOK:
            squares = self._detect(image)
            self.looked = time
            self.people.append(_crowd(squares))
            if self.square is None and len(squares):
                self.square = squares[0]
        if self.square is None:
            return nothing
        landmarks = self._estimate(image, self.square)
        if landmarks is None:  # lost; look again, in the same frame
            squares = self._detect(image)
            landmarks = self._estimate(image, squares[0]) if len(squares) else None
        if landmarks is None:
            self.square = None
            return nothing
        return landmarks

    def _detect(self, image: np.ndarray) -> np.ndarray:
        """Return the squares (P, 4) of all people, the largest first."""
        height, width = image.shape[:2]
        side = float(max(height, width))
        whole = np.array([0.5 * width, 0.5 * height, side, 0.0])
        boxes, scores = self.detector(2.0 * _cut(image, whole, _DETECTOR) - 1.0)
        if boxes.shape[-1] == 1:
            boxes, scores = scores, boxes
        chance = _sigmoid(scores.reshape(-1))
        good = chance > _PERSON
        raw = boxes.reshape(-1, 12)[good] / _DETECTOR
        raw[:, [0, 1]] += self.anchors[good]
        raw[:, 4:] += np.tile(self.anchors[good], 4)
        people = _merged(raw, chance[good])
        corner = np.array([0.5 * (width - side), 0.5 * (height - side)])
        squares = [
            _square(corner + side * person[4:6], corner + side * person[6:8]) for person in people
        ]
        return np.array(sorted(squares, key=lambda square: -square[2])).reshape(-1, 4)

    def _estimate(self, image: np.ndarray, square: np.ndarray) -> np.ndarray | None:
        outputs = self.landmarks(_cut(image, square, _LANDMARKER))
        by_size = {output.size: output for output in outputs}
        if by_size[1].item() < _PERSON:
            return None
        points = by_size[39 * 5].reshape(39, 5)
        flat = _refined(points[:, :2] / _LANDMARKER, by_size[64 * 64 * 39].reshape(64, 64, 39))
        cosine, sine = np.cos(square[3]), np.sin(square[3])
        turn = np.array([[cosine, -sine], [sine, cosine]])
        pixels = square[:2] + square[2] * (flat - 0.5) @ turn.T
        world = by_size[39 * 3].reshape(39, 3).astype(np.float64)
        world[:, :2] = world[:, :2] @ turn.T
        self.square = _square(pixels[_CENTER], pixels[_TOP])  # of the next frame
        if not np.isfinite(self.square).all() or self.square[2] < 8.0:
            return None
        height, width = image.shape[:2]
        inside = np.all((pixels > 0.0) & (pixels < [width, height]), axis=1)
        seen = _sigmoid(points[:, 3]) * _sigmoid(points[:, 4]) * np.where(inside, 1.0, 0.3)
        placed = (pixels - [0.5 * width, 0.5 * height]) / max(width, height)
        return np.concatenate([world[:_POINTS].ravel(), placed[:_POINTS].ravel(), seen[:_POINTS]])


class Network:
    """A TensorFlow Lite network with one input."""

    def __init__(self, path: str) -> None:
        from ai_edge_litert.interpreter import Interpreter

        with open(path, "rb") as file:
            self.run = Interpreter(model_content=file.read(), num_threads=1)
        self.run.allocate_tensors()
        self.input = self.run.get_input_details()[0]["index"]
        self.outputs = [each["index"] for each in self.run.get_output_details()]

    def __call__(self, image: np.ndarray) -> list[np.ndarray]:
        """Return the outputs for an image (H, W, 3)."""
        self.run.set_tensor(self.input, image[None].astype(np.float32))
        self.run.invoke()
        return [self.run.get_tensor(index) for index in self.outputs]


def _anchors() -> np.ndarray:
    """Return the centers (2254, 2) of the detector's cells."""
    rows = []
    for cells, repeats in ((28, 2), (14, 2), (7, 6)):
        middle = (np.arange(cells) + 0.5) / cells
        x, y = np.meshgrid(middle, middle)
        rows.append(np.repeat(np.stack([x.ravel(), y.ravel()], axis=1), repeats, axis=0))
    return np.concatenate(rows)


def _merged(raw: np.ndarray, chance: np.ndarray) -> list[np.ndarray]:
    """Return one row per person, the weighted mean of the overlapping boxes."""
    people = []
    order = np.argsort(-chance)
    while len(order):
        low, high = raw[order, :2] - 0.5 * raw[order, 2:4], raw[order, :2] + 0.5 * raw[order, 2:4]
        common = np.minimum(high, high[0]) - np.maximum(low, low[0])
        shared = np.prod(np.maximum(common, 0.0), axis=1)
        area = np.prod(high - low, axis=1)
        same = shared > _OVERLAP * (area + area[0] - shared)
        same[0] = True
        people.append(np.average(raw[order[same]], axis=0, weights=chance[order[same]]))
        order = order[~same]
    return people


def _square(center: np.ndarray, top: np.ndarray) -> np.ndarray:
    """Return the square around a person: center, side and angle."""
    away = top - center
    angle = np.arctan2(away[0], -away[1])
    return np.array([*center, 2.0 * _MARGIN * np.hypot(*away), angle])


def _crowd(squares: np.ndarray) -> int:
    """Return the number of people who are not much smaller than the first."""
    return int(np.sum(squares[:, 2] > _SECOND * squares[0, 2])) if len(squares) else 0


def _cut(image: np.ndarray, square: np.ndarray, size: int) -> np.ndarray:
    """Return a turned square of an image as (size, size, 3) between 0 and 1, black outside."""
    steps = (np.arange(size) + 0.5) / size - 0.5
    cosine, sine = np.cos(square[3]) * square[2], np.sin(square[3]) * square[2]
    x = square[0] + cosine * steps[None, :] - sine * steps[:, None] - 0.5
    y = square[1] + sine * steps[None, :] + cosine * steps[:, None] - 0.5
    height, width = image.shape[:2]
    inside = (x > -1.0) & (y > -1.0) & (x < width) & (y < height)
    x, y = np.clip(x, 0.0, width - 1.001), np.clip(y, 0.0, height - 1.001)
    left, top = x.astype(np.intp), y.astype(np.intp)
    x, y = (x - left).astype(np.float32)[..., None], (y - top).astype(np.float32)[..., None]
    flat = np.ascontiguousarray(image).reshape(-1, 3)
    first = top * width + left
    above = flat[first] * (1 - x) + flat[first + 1] * x
    below = flat[first + width] * (1 - x) + flat[first + width + 1] * x
    return (above * (1 - y) + below * y) * (inside[..., None] / np.float32(255.0))


def _refined(points: np.ndarray, heat: np.ndarray) -> np.ndarray:
    """Return landmarks (39, 2) moved to the center of the heat around them."""
    out = points.copy()
    cells = heat.shape[0]
    for number, (x, y) in enumerate(points):
        column, row = int(x * cells), int(y * cells)
        if not (0 <= column < cells and 0 <= row < cells):
            continue
        left, top = max(0, column - _KERNEL), max(0, row - _KERNEL)
        part = _sigmoid(
            heat[top : row + _KERNEL + 1, left : column + _KERNEL + 1, number].astype(np.float64)
        )
        if part.max() < 0.5:
            continue
        rows, columns = np.mgrid[top : top + part.shape[0], left : left + part.shape[1]]
        out[number] = (np.sum(columns * part), np.sum(rows * part)) / part.sum() / cells
    return out


def _sigmoid(values: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-np.clip(values, -60.0, 60.0)))

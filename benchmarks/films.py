"""Films of motions with exact truth: the neutral body, filmed by a pinhole camera.

A small software renderer draws the skinned body (`motionloom.character`) with clothes, a floor with
a shadow, and a background, and PyAV encodes the pictures. Camera, distance, lens, body shape,
clothes, background, light, shutter and frame rate are parts of `Shot`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.character import body_mesh
from motionloom.character.skinned_mesh import vertex_normals
from motionloom.files import atomic_write
from motionloom.kernels import kernel
from motionloom.motion import Motion
from motionloom.motion.skeleton import Skeleton

Array = NDArray[np.float64]
Picture = NDArray[np.uint8]

_CLOTHES = (
    ((0.25, 0.33, 0.52), (0.20, 0.20, 0.24)),
    ((0.70, 0.24, 0.20), (0.22, 0.26, 0.38)),
    ((0.85, 0.84, 0.80), (0.35, 0.30, 0.24)),
    ((0.22, 0.45, 0.32), (0.55, 0.53, 0.48)),
    ((0.13, 0.13, 0.15), (0.30, 0.31, 0.34)),
)
_SKINS = ((0.86, 0.67, 0.55), (0.62, 0.44, 0.33), (0.38, 0.26, 0.20), (0.94, 0.78, 0.68))
_HAIR = (0.13, 0.10, 0.08)
_SHOES = (0.12, 0.12, 0.13)
_NEAR = 0.1  # meters; nothing closer to the camera is drawn


@dataclass(frozen=True)
class Shot:
    """How a motion is filmed.

    Attributes
    ----------
    yaw : float
        Side from which the camera looks, in radians: 0 is the front, pi / 2 the performer's left.
    pitch : float
        Angle by which the camera looks down, in radians.
    view : float
        Angle of view across the longer side of the picture, in radians.
    fill : float
        Share of the picture's height that a standing person fills.
    size : tuple of int
        Width and height in pixels.
    fps : float
    shutter : float
        Share of the frame's time in which the shutter is open; 0 gives no motion blur.
    build : float
        Width of the body relative to the neutral one.
    seed : int
        Chooses clothes, skin, background and light.
    detail : {"high", "low"}
        Detail of the body.
    """

    yaw: float = 0.0
    pitch: float = 0.08
    view: float = 1.0
    fill: float = 0.55
    size: tuple[int, int] = (480, 360)
    fps: float = 30.0
    shutter: float = 0.5
    build: float = 1.0
    seed: int = 0
    detail: str = "high"


@dataclass(frozen=True)
class Camera:
    """A pinhole camera: position, axes (right, down, ahead) as rows, and focal length in pixels."""

    position: Array
    axes: Array
    focal: float

    def seen(self, points: Array) -> Array:
        """Return points in the camera's axes."""
        return (points - self.position) @ self.axes.T


def write_film(motion: Motion, shot: Shot, path: Path) -> Camera:
    """Film a motion and return the camera."""
    import av

    motion = motion.resample(shot.fps) if abs(motion.fps - shot.fps) > 1e-6 else motion
    studio = _Studio(motion, shot)
    with atomic_write(path) as scratch, av.open(str(scratch), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=round(shot.fps))
        stream.width, stream.height = shot.size
        stream.pix_fmt = "yuv420p"
        stream.options = {"crf": "23", "preset": "veryfast", "threads": "1"}
        for frame in range(len(motion)):
            picture = av.VideoFrame.from_ndarray(studio.picture(frame), format="rgb24")
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    return studio.camera


def camera_of(motion: Motion, shot: Shot) -> Camera:
    """Return the camera that keeps the whole motion in the picture."""
    positions = motion.positions().astype(np.float64)
    facing = float(motion.headings()[: max(1, len(motion) // 3)].mean())
    turn = facing + shot.yaw
    ahead = -np.array([np.sin(turn) * np.cos(shot.pitch), np.sin(shot.pitch),
                       np.cos(turn) * np.cos(shot.pitch)])  # fmt: skip
    right = np.cross(ahead, (0.0, 1.0, 0.0))
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(ahead, right), ahead])
    width, height = shot.size
    focal = 0.5 * max(width, height) / np.tan(0.5 * shot.view)
    low, high = positions.min(axis=(0, 1)), positions.max(axis=(0, 1))
    middle = 0.5 * (low + high)
    flat = (positions - middle).reshape(-1, 3) @ axes.T
    away = focal * 1.75 / (shot.fill * height)
    room = 0.9  # of the picture; the whole motion stays inside, which may need more distance
    for axis, extent in ((0, width), (1, height)):
        needed = np.abs(flat[:, axis]) * 2.0 * focal / (room * extent) - flat[:, 2]
        away = max(away, float(needed.max()) + 0.1)
    return Camera(middle - away * ahead, axes, focal)


class _Studio:
    """Body, camera, light and background of a film."""

    def __init__(self, motion: Motion, shot: Shot) -> None:
        self.motion, self.shot = motion, shot
        rng = np.random.default_rng(shot.seed)
        self.camera = camera_of(motion, shot)
        self.mesh = body_mesh(motion.skeleton, detail=shot.detail, example=motion)
        self.colors = _painted(self.mesh, motion.skeleton, rng)
        side = rng.uniform(-1.0, 1.0)
        toward = -self.camera.axes[2] * 0.8 + self.camera.axes[0] * side + (0.0, 1.3, 0.0)
        self.light = toward / np.linalg.norm(toward)
        self.strength = rng.uniform(0.5, 0.8)
        self.floor = float(np.quantile(motion.positions()[..., 1].min(axis=1), 0.05)) - 0.02
        self.background = self._background(rng)

    def picture(self, frame: int) -> Picture:
        """Return a frame as RGB (H, W, 3)."""
        shot, motion = self.shot, self.motion
        steps = 3 if shot.shutter else 1
        total = np.zeros((shot.size[1], shot.size[0], 3), np.float32)
        now = self._vertices(frame)
        after = self._vertices(min(frame + 1, len(motion) - 1))
        for step in range(steps):
            share = shot.shutter * step / steps
            total += self._drawn((1.0 - share) * now + share * after)
        return np.clip(255.0 * total / steps, 0.0, 255.0).astype(np.uint8)

    def _vertices(self, frame: int) -> Array:
        vertices = np.asarray(self.mesh.posed(self.motion, frame), np.float64)
        if self.shot.build != 1.0:
            normals = vertex_normals(vertices, self.mesh.triangles)
            vertices = vertices + (0.09 * (self.shot.build - 1.0)) * normals
        return vertices

    def _drawn(self, vertices: Array) -> NDArray[np.float32]:
        image = self.background.copy()
        width, height = self.shot.size
        depth = np.full((height, width), np.inf, np.float32)
        normals = vertex_normals(vertices, self.mesh.triangles).astype(np.float64)
        shade = 0.45 + self.strength * np.maximum(normals @ self.light, 0.0)
        shade += 0.12 * np.maximum(-normals @ self.light, 0.0)
        colors = (self.colors * shade[:, None]).astype(np.float32)
        triangles = self.mesh.triangles.astype(np.int64)
        shadow = vertices - ((vertices[:, 1:2] - self.floor) / self.light[1]) * self.light
        flat = self._projected(shadow)
        dark = np.full((len(vertices), 3), -1.0, np.float32)
        _fill(image, depth, flat, triangles, dark)
        depth[:] = np.inf
        _fill(image, depth, self._projected(vertices), triangles, colors)
        return image

    def _projected(self, points: Array) -> NDArray[np.float32]:
        seen = self.camera.seen(points)
        width, height = self.shot.size
        deep = np.maximum(seen[:, 2], 1e-6)
        out = np.empty((len(seen), 3), np.float32)
        out[:, 0] = 0.5 * width + self.camera.focal * seen[:, 0] / deep
        out[:, 1] = 0.5 * height + self.camera.focal * seen[:, 1] / deep
        out[:, 2] = seen[:, 2]
        return out

    def _background(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return a wall with a pattern above the horizon's floor with boards."""
        width, height = self.shot.size
        x, y = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
        off = [(x - 0.5 * width) / self.camera.focal, (y - 0.5 * height) / self.camera.focal]
        rays = np.stack([*off, np.ones_like(x)], axis=2) @ self.camera.axes
        way = (self.floor - self.camera.position[1]) / np.minimum(rays[..., 1], -1e-6)
        hit = self.camera.position + rays * np.minimum(way, 1e3)[..., None]
        on_floor = (rays[..., 1] < 0.0) & (way < 14.0)
        wall = rng.uniform(0.35, 0.85, 3)
        boards = rng.uniform(0.25, 0.6, 3)
        stripes = 0.06 * np.sign(
            np.sin(2.0 * np.pi * x / rng.uniform(25.0, 90.0) + rng.uniform(0, 6))
        )
        blotches = _noise((height, width), rng) * rng.uniform(0.02, 0.14)
        kind = rng.integers(3)
        pattern = blotches + (stripes if kind == 1 else 0.0)
        image = np.broadcast_to(wall, (height, width, 3)) + pattern[..., None]
        board = 0.05 * np.sign(np.sin(2.0 * np.pi * hit[..., 0] / 0.35))
        image = np.where(
            on_floor[..., None], boards + board[..., None] + 0.3 * pattern[..., None], image
        )
        if kind == 2:  # furniture
            for _ in range(4):
                left, top = rng.integers(0, width), rng.integers(height // 4, height // 2)
                part = image[top : top + height // 4, left : left + width // 8]
                part[:] = rng.uniform(0.1, 0.8, 3)
        return np.clip(image, 0.02, 1.0).astype(np.float32)


def _noise(shape: tuple[int, int], rng: np.random.Generator) -> Array:
    """Return smooth noise with deviation 1."""
    from scipy.ndimage import gaussian_filter

    noise = gaussian_filter(rng.normal(size=shape), 6.0) + 0.2 * rng.normal(size=shape) / 12.0
    return noise / noise.std()


def _painted(mesh, skeleton: Skeleton, rng: np.random.Generator) -> Array:
    """Return the color (V, 3) of each vertex: shirt, trousers, shoes, skin, hair and face."""
    shirt, trousers = _CLOTHES[rng.integers(len(_CLOTHES))]
    skin = _SKINS[rng.integers(len(_SKINS))]
    colors = np.tile(np.array(shirt), (len(mesh.vertices), 1))
    strongest = mesh.joints[np.arange(len(mesh.joints)), mesh.weights.argmax(axis=1)]
    index = {name: number for number, name in enumerate(skeleton.names)}
    names = {index[name]: role for role, name in skeleton.roles.items() if name in index}
    current = ["hips"] * (int(mesh.joints.max()) + 1)
    for joint in range(len(current)):
        parent = int(skeleton.parents[joint]) if joint < len(skeleton.parents) else joint
        role = names.get(joint)
        inherited = current[parent] if 0 <= parent < joint else "hips"
        current[joint] = role or inherited
    for joint, role in enumerate(current):
        mine = strongest == joint
        if any(word in role for word in ("hip", "knee")) and role != "hips":
            colors[mine] = trousers
        elif any(word in role for word in ("ankle", "toe", "foot")):
            colors[mine] = _SHOES
        elif any(word in role for word in ("head", "neck", "wrist", "hand", "elbow")):
            colors[mine] = skin
    head = skeleton.roles.get("head")
    if head is not None:
        mine = np.flatnonzero([current[joint] == "head" for joint in strongest])
        if len(mine):
            where = mesh.vertices[mine] - mesh.vertices[mine].mean(axis=0)
            reach = np.abs(where).max(axis=0)
            up, ahead, left = where[:, 1] / reach[1], where[:, 2] / reach[2], where[:, 0] / reach[0]
            hair = (up > 0.55) | ((ahead < 0.1) & (up > -0.25))
            eyes = (ahead > 0.5) & (np.abs(up - 0.12) < 0.09) & (np.abs(np.abs(left) - 0.42) < 0.2)
            mouth = (ahead > 0.5) & (np.abs(up + 0.5) < 0.07) & (np.abs(left) < 0.3)
            colors[mine[hair]] = _HAIR
            colors[mine[eyes]] = (0.15, 0.1, 0.1)
            colors[mine[mouth]] = (0.55, 0.25, 0.22)
    return colors


@kernel
def _fill(image, depth, points, triangles, colors):
    """Draw triangles of projected points (x, y, depth); a negative color darkens the picture."""
    height, width = depth.shape
    for face in range(triangles.shape[0]):
        a, b, c = triangles[face, 0], triangles[face, 1], triangles[face, 2]
        if points[a, 2] < _NEAR or points[b, 2] < _NEAR or points[c, 2] < _NEAR:
            continue
        ax, ay = points[a, 0], points[a, 1]
        bx, by = points[b, 0], points[b, 1]
        cx, cy = points[c, 0], points[c, 1]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if area == 0.0:
            continue
        left = max(int(min(ax, bx, cx) - 0.5), 0)
        right = min(int(max(ax, bx, cx) + 0.5), width - 1)
        top = max(int(min(ay, by, cy) - 0.5), 0)
        bottom = min(int(max(ay, by, cy) + 0.5), height - 1)
        for row in range(top, bottom + 1):
            for column in range(left, right + 1):
                x, y = column + 0.5, row + 0.5
                first = ((bx - x) * (cy - y) - (by - y) * (cx - x)) / area
                second = ((cx - x) * (ay - y) - (cy - y) * (ax - x)) / area
                third = 1.0 - first - second
                if first < 0.0 or second < 0.0 or third < 0.0:
                    continue
                deep = first * points[a, 2] + second * points[b, 2] + third * points[c, 2]
                if deep >= depth[row, column]:
                    continue
                if colors[a, 0] < 0.0:
                    if depth[row, column] == np.inf:
                        for k in range(3):
                            image[row, column, k] *= 0.7
                    depth[row, column] = deep
                    continue
                depth[row, column] = deep
                for k in range(3):
                    image[row, column, k] = (
                        first * colors[a, k] + second * colors[b, k] + third * colors[c, k]
                    )

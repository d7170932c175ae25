"""Draw the six loops of the README, one per job: ``python docs/pictures/jobs.py [NAME...]``.

jobs-find.gif, jobs-say.gif, jobs-kick.gif, jobs-walk.gif, jobs-dance.gif, jobs-play.gif: motions of
the built-in corpus on the neutral body, all of one size and style.
"""

import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import motionloom as ml
from motionloom.dance.music import load_music
from motionloom.demo.tunes import write_tune
from motionloom.motion.smoothing import gaussian_smooth
from motionloom.motion_graph import motion_graph
from motionloom.motion_matching import MatchingSettings, matching_database
from motionloom.plots.figures import drawing as ink
from motionloom.plots.figures.drawing import body_figure, floor_direction
from motionloom.plots.figures.stick_figure import stick_figure

HERE = Path(__file__).parent
WIDTH, HEIGHT, FPS, SMOOTH, COLORS = 300, 232, 12.5, 2, 40
TEXT, FAINT, GREEN, RED = "#2b323c", "#8a93a1", "#0b8a4a", "#d33a2c"
WALKS = ("walk", "walk_slow", "walk_left", "walk_right", "walk_left_tight", "walk_right_tight")


@dataclass(frozen=True)
class View:
    """An orthographic camera at any tilt, with the attributes that strokes need."""

    direction: float = 0.0  # direction of travel, in radians about +Y from +Z
    aside: float = 32.0  # degrees from the right of the image toward the viewer
    down: float = 12.0  # degrees

    @property
    def axes(self):
        aside, down = np.radians([self.aside, self.down])
        right = floor_direction(self.direction + aside)
        near = floor_direction(self.direction + aside - np.pi / 2)
        above = np.array([0.0, 1.0, 0.0])
        return np.stack(
            [
                right,
                np.cos(down) * above - np.sin(down) * near,
                np.cos(down) * near + np.sin(down) * above,
            ]
        )

    def project(self, points):
        return np.asarray(points, np.float64) @ self.axes.T


@dataclass
class Stage:
    """Bodies on a floor, drawn one picture at a time."""

    view: View
    meters: float  # width of the picture
    raised: float = 0.85  # height of the middle of the picture above the floor, in meters
    figures: dict = field(default_factory=dict)

    def draw(self, motions, frame, center, *, floor=(), balls=(), pale=()):
        """Draw all `motions` at `frame`, seen around the floor point `center` (3,).

        `floor` lists lines on it, each (points (N, 3), color, width in meters). `balls` lists
        (position, filled). `pale` lists the indices of motions that are half transparent.
        """
        size = (WIDTH * SMOOTH, HEIGHT * SMOOTH)
        scale = size[0] / self.meters
        image = Image.new("RGB", size, ink.PAPER)
        pen = ImageDraw.Draw(image)
        origin = self.view.project(center)[:2] + [0.0, self.raised]
        place = lambda p: np.array(size) / 2 + (p - origin) * [scale, -scale]  # noqa: E731
        figure = self.figure(motions[0])[0]
        radius = 0.62 * self.meters
        pen.polygon([tuple(p) for p in place(ink.disc(figure, self.view, center, radius))],
                    fill=ink.FLOOR)  # fmt: skip
        _lines(pen, place, scale, ink.grid_strokes(figure, self.view, center, radius, step=0.5))
        for points, color, wide in floor:
            seen = place(self.view.project(points)[:, :2])
            pen.line([tuple(p) for p in seen], fill=color, width=round(wide * scale), joint="curve")
        nearness = [self.view.project(motion.root[frame])[2] for motion in motions]
        for motion in motions:
            sticks = self.figure(motion)[0]
            pose = sticks.positions(motion[frame])[0]
            _lines(pen, place, scale, ink.shadow_strokes(sticks, pose, self.view))
        for n in np.argsort(nearness):
            seen = self.figure(motions[n])[1].triangles(motions[n], frame, self.view)
            shade = seen.colors if n not in pale else 0.45 * seen.colors + 0.55 * 0.93
            inks = np.rint(255 * shade).astype(int)
            corners = place(seen.corners).reshape(len(inks), 6).tolist()
            for corner, shaded in zip(corners, inks, strict=True):
                pen.polygon(corner, fill=tuple(shaded), outline=tuple(shaded))
        for where, filled in balls:
            at, r = place(self.view.project(where)[:2]), 7 * SMOOTH
            pen.ellipse([*(at - r), *(at + r)], fill=GREEN if filled else None, outline=GREEN,
                        width=2 * SMOOTH)  # fmt: skip
        return image.reduce(SMOOTH)

    def figure(self, motion):
        """Stick figure (for floor and shadow) and body of a motion, cached."""
        if id(motion) not in self.figures:
            self.figures[id(motion)] = (
                stick_figure(motion),
                body_figure(motion, detail="low"),
                motion,
            )
        return self.figures[id(motion)]


def find():
    """A kick and the three nearest kicks of other performers, synchronized with it."""
    with tempfile.TemporaryDirectory() as folder:
        lib = ml.Library.create(f"{folder}/takes.loom")
        for performer in range(4):
            lib.add_motion(ml.demo.clip("take_strikes", performer=performer))
        hits = lib.search("take_strikes_p0:225-300", max=30)
        best = {hit.motion: hit for hit in reversed(hits)}  # the nearest match of each take
        shown = sorted(best.values(), key=lambda hit: hit.distance)
        frames = np.arange(0, 75, 30 / FPS)
        motions = []
        for n, hit in enumerate(shown):
            clip = lib[hit.motion][hit.start_frame : hit.end_frame]
            clip = clip.resample(clip.fps * 75 / len(clip))[:75]  # synchronized with the query
            turned = clip.transform(yaw=-clip.headings()[0])
            x, _, z = turned.root[0]
            motions.append(turned.transform(shift=(1.1 * (n - 1.5) - x, 0.0, -z)))
    stage = Stage(View(aside=104.0, down=14.0), 4.6, 0.78)
    for frame in (min(int(f), min(map(len, motions)) - 1) for f in frames):
        picture = stage.draw(motions, frame, np.zeros(3), pale=(1, 2, 3) if frame < 6 else ())
        pen = ImageDraw.Draw(picture)
        _write(pen, (10, 8), "$ motionloom search takes.loom take:225-300", 11)
        for n, hit in enumerate(shown):
            across = stage.view.project([1.1 * (n - 1.5), 0.0, 0.0])[0]
            at = (WIDTH / 2 + WIDTH / stage.meters * across, HEIGHT - 12)
            text = "query" if n == 0 else f"{hit.distance:.2f} m"
            _write(pen, at, text, 11, RED if n == 0 else FAINT, anchor="ms")
        yield picture


def say():
    """A script, acted."""
    script = "walk 2 s, punch with the left hand, jump up, sit down"
    with tempfile.TemporaryDirectory() as folder:
        lib = ml.Library.create(f"{folder}/takes.loom")
        for name in ("walk", "punch_mid_left", "jump_up", "sit_stand", "take_locomotion"):
            lib.add_motion(ml.demo.clip(name), name=name)
        acted = lib.act(script)
        lib.close()
    motion = acted.motion.resample(FPS)
    stage = Stage(View(float(motion.headings()[0])), 3.5, 1.1)
    centers = _followed(motion)
    for frame in range(len(motion)):
        picture = stage.draw([motion], frame, centers[frame])
        x, line = 10, 0
        pen = ImageDraw.Draw(picture)
        for n, row in enumerate(acted.plan):
            text = row.phrase + ("," if n < len(acted.plan) - 1 else "")
            now = row.start <= frame / FPS < row.end or (
                n == len(acted.plan) - 1 and frame / FPS >= row.start
            )
            font = ImageFont.load_default(13)
            if x + font.getlength(text) > WIDTH - 10:
                x, line = 10, line + 1
            pen.text((x, 8 + 17 * line), text, fill=RED if now else FAINT, font=font)
            x += font.getlength(text + " ")
        yield picture


def kick():
    """One parametric kick with four targets in turn."""
    kinds = ("front_low", "front_mid", "front_high", "inside_mid", "outside_mid", "outside_high",
             "side_low", "side_mid")  # fmt: skip
    targets = [(0.1, 0.45, 0.85), (-0.05, 1.15, 0.75), (-0.6, 0.7, 0.4), (0.1, 0.85, 0.8)]
    with tempfile.TemporaryDirectory() as folder:
        lib = ml.Library.create(f"{folder}/kicks.loom")
        for kind in kinds:
            for performer in (0, 1):
                lib.add_motion(ml.demo.clip(f"kick_{kind}_right", performer=performer))
        family = lib.family(
            "kick_front_mid_right_p0:0-70", expansion=ml.Expansion(join_distance=0.2)
        )
        motion = lib.parametrize(family, by=ml.at("right_ankle", frame=33), samples=400)
        results = [motion.reach(_nearest(motion.accessible, target)) for target in targets]
    stage = Stage(View(aside=40.0), 2.9, 0.92)
    for n, result in enumerate(results):
        part = result.motion[8:54].resample(FPS)
        hit = (result.frames[0] - 8) / result.motion.fps
        for frame in range(len(part)):
            met = frame / FPS >= hit - 0.5 / FPS
            center = np.array([-0.1, 0.0, 0.25])
            picture = stage.draw([part], frame, center, balls=[(result.target, met)])
            pen = ImageDraw.Draw(picture)
            where = ",".join(f"{x:.2f}" for x in result.target)
            _write(pen, (10, 8), f"--at {where}", 13)
            _write(pen, (10, 26), f"{100 * result.error:.1f} cm off" if met else "", 13, GREEN)
            for dot in range(len(results)):
                pen.ellipse([WIDTH - 60 + 12 * dot, 12, WIDTH - 54 + 12 * dot, 18],
                            fill=GREEN if dot < n + met else None, outline=FAINT)  # fmt: skip
            yield picture


def walk():
    """A walk along a path drawn on the floor."""
    graph = motion_graph([ml.demo.clip(name) for name in WALKS])
    s = np.linspace(0.0, 1.0, 200)
    path = np.stack([1.1 * np.sin(2 * np.pi * s), 5.6 * s], axis=1)
    walked = graph.walk(path=path, seed=1)
    motion = walked.resample(FPS)
    stage = Stage(View(aside=16.0, down=26.0), 6.6, 0.55)
    center = np.array([0.0, 0.0, 2.8])
    line = np.column_stack([path[:, 0], np.full(len(path), 0.0), path[:, 1]])
    for frame in range(len(motion)):
        trail = motion.root[: frame + 1] * [1, 0, 1]
        floor = [(line, "#c9ced6", 0.10)] + [(trail, ink.PATH_COLOR, 0.03)] * (frame > 0)
        picture = stage.draw([motion], frame, center, floor=floor)
        _write(ImageDraw.Draw(picture), (10, 8), "$ motionloom walk takes.loom --path path.csv", 11)
        yield picture


def dance():
    """A dance to a tune, with its beats passing below."""
    with tempfile.TemporaryDirectory() as folder:
        lib = ml.Library.create(f"{folder}/dances.loom")
        for seed in (0, 1, 2):
            lib.add_motion(ml.demo.clip("dance_groove", seed=seed), name=f"groove_{seed}")
        song = Path(folder) / "song.mid"
        write_tune(song, tempo_bpm=112)
        music = load_music(song)
        whole = lib.choreography(meter=4).dance(song, seed=1)
        lib.close()
    motion = whole.resample(FPS)
    first = np.searchsorted(np.arange(len(motion)) / FPS, music.beats[4])
    last = np.searchsorted(np.arange(len(motion)) / FPS, music.beats[12])
    stage = Stage(View(float(np.median(motion.headings()[first:last])), aside=62.0), 3.3, 0.83)
    center = motion.root[first:last].mean(axis=0) * [1, 0, 1]
    for frame in range(first, last):
        picture = stage.draw([motion], frame, center)
        pen, now, y = ImageDraw.Draw(picture), frame / FPS, HEIGHT - 22
        pen.rectangle([0, y - 14, WIDTH, HEIGHT], fill="white")
        pen.line([(0, y), (WIDTH, y)], fill="#c9ced6", width=2)
        for n, beat in enumerate(music.beats):
            x = WIDTH / 2 + 75 * (beat - now)
            r = 8 if n % 4 == 0 else 5
            on = abs(beat - now) < 0.55 / FPS
            if -9 < x < WIDTH + 9:
                r += 3 * on
                pen.ellipse([x - r, y - r, x + r, y + r], fill=RED if on else ink.PATH_COLOR)
        pen.line([(WIDTH / 2, y - 13), (WIDTH / 2, y + 13)], fill=TEXT, width=1)
        _write(pen, (10, 8), "$ motionloom dance takes.loom song.mid", 11)
        yield picture


def play():
    """Motion matching, steered by a stick."""
    kinds = (*WALKS, "walk_fast", "jog", "jog_left", "jog_right", "take_locomotion")
    database = matching_database([ml.demo.clip(kind) for kind in kinds], MatchingSettings())
    player = database.player(velocity=(0.0, 1.3))
    player.read(30)
    sticks = [(0.0, 1.3, 1.6), (1.3, 0.0, 1.6), (0.0, 2.3, 1.6), (-1.3, 0.0, 1.6), (0.0, 0.0, 1.2)]
    parts, wish = [], []
    for x, z, seconds in sticks:
        player.steer(velocity=(x, z))
        part = player.record(seconds=seconds)
        parts.append(part)
        wish += [(x, z)] * len(part)
    whole = _joined(parts)
    motion = whole.resample(FPS)
    stage = Stage(View(aside=60.0, down=28.0), 6.8, 0.75)
    path = motion.root * [1.0, 0.0, 1.0]
    center = 0.5 * (path.min(axis=0) + path.max(axis=0))
    for frame in range(len(motion)):
        x, z = wish[min(round(frame / FPS * whole.fps), len(wish) - 1)]
        root = motion.root[frame] * [1, 0, 1]
        ahead = np.array([root, root + 0.7 * np.array([x, 0.0, z])])
        trail = motion.root[max(0, frame - 25) : frame + 1] * [1, 0, 1]
        floor = [(trail, ink.PATH_COLOR, 0.03)] * (len(trail) > 1)
        floor += [(ahead, RED, 0.05), (_head(*ahead), RED, 0.05)] * bool(x or z)
        picture = stage.draw([motion], frame, center, floor=floor)
        pen = ImageDraw.Draw(picture)
        flat = stage.view.project([x, 0.0, z])[:2] * [1.0, 2.0]
        middle, at = np.array([WIDTH - 36.0, HEIGHT - 36.0]), 10.0 * flat * [1, -1]
        pen.ellipse([*(middle - 26), *(middle + 26)], outline=FAINT, width=2, fill="white")
        pen.line([*middle, *(middle + at)], fill=FAINT, width=5)
        pen.ellipse([*(middle + at - 10), *(middle + at + 10)], fill=RED)
        speed = float(np.hypot(x, z))
        _write(pen, (10, HEIGHT - 24), f"{speed:.1f} m/s" if speed else "stop", 13)
        yield picture


def _joined(parts):
    """Join consecutive recordings of one player into one motion."""
    return replace(
        parts[0],
        rotations=np.concatenate([part.rotations for part in parts]),
        root=np.concatenate([part.root for part in parts]),
    )


def _head(tail, tip):
    """Two barbs of an arrow on the floor."""
    along = (tip - tail) / max(np.linalg.norm(tip - tail), 1e-9)
    side = np.array([along[2], 0.0, -along[0]])
    return np.array([tip - 0.14 * along + 0.1 * side, tip, tip - 0.14 * along - 0.1 * side])


def _followed(motion, seconds=0.8):
    """Floor points (T, 3) at which a camera looks: the smoothed path."""
    return gaussian_smooth(motion.root * [1.0, 0.0, 1.0], seconds * motion.fps)


def _nearest(places, target):
    return places[np.argmin(np.linalg.norm(places - np.array(target), axis=1))]


def _lines(pen, place, scale, strokes):
    inks = [tuple(c) for c in np.rint(255 * strokes.colors).astype(int)]
    for ends, wide, fill in zip(strokes.ends, strokes.widths, inks, strict=True):
        pen.line([tuple(p) for p in place(ends)], fill=fill, width=max(round(wide * scale), 1))


def _write(pen, at, text, size, fill=TEXT, **options):
    pen.text(at, text, fill=fill, font=ImageFont.load_default(size), **options)


def save(pictures, path):
    """Write a looping GIF with one palette, and return its size in kB."""
    pictures = list(pictures)
    some = pictures[:: max(len(pictures) // 12, 1)]
    together = Image.new("RGB", (WIDTH, len(some) * HEIGHT))
    for n, picture in enumerate(some):
        together.paste(picture, (0, n * HEIGHT))
    drawn = together.quantize(COLORS, method=Image.Quantize.MAXCOVERAGE).getpalette()
    fixed = [ink.PAPER, ink.FLOOR, ink.GRID, ink.SHADOW, ink.PATH_COLOR, TEXT, FAINT, GREEN, RED]
    exact = np.rint(255 * np.array([ink.rgb(each) for each in fixed])).astype(int).ravel().tolist()
    colors = Image.new("P", (1, 1))
    colors.putpalette(exact + drawn[: 3 * COLORS])
    shots = [each.quantize(palette=colors, dither=Image.Dither.NONE) for each in pictures]
    shots[0].save(
        path,
        save_all=True,
        append_images=shots[1:],
        duration=round(1000 / FPS),
        loop=0,
        optimize=True,
    )
    return round(path.stat().st_size / 1000), len(pictures)


def main(names):
    jobs = {job.__name__: job for job in (find, say, kick, walk, dance, play)}
    for name in names or jobs:
        kilobytes, frames = save(jobs[name](), HERE / f"jobs-{name}.gif")
        print(f"jobs-{name}.gif: {kilobytes} kB, {frames} pictures", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

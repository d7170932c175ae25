"""Draw words.png, an acted script with its phrases: ``python docs/pictures/words.py``."""

import tempfile
from pathlib import Path

from PIL import Image, ImageChops, ImageDraw, ImageFont

import motionloom as ml
from motionloom.plots import write_strip

HERE = Path(__file__).parent
SCRIPT = "walk 2 s, punch with the left hand while walking 3 s, jump up, sit down"
CLIPS = ("walk", "punch_mid_left", "jump_up", "sit_stand", "take_locomotion")
POSES, PER_ROW = 3, 2  # figures of each phrase, phrases
HEIGHT, GAP, BELOW = 300, 26, 74


def main():
    with tempfile.TemporaryDirectory() as folder:
        library = ml.Library.create(f"{folder}/takes.loom")
        for name in CLIPS:
            library.add_motion(ml.demo.clip(name), name=name)
        acted = library.act(SCRIPT)
        parts = []
        for row in acted.plan:
            first, last = (round(second * acted.motion.fps) for second in (row.start, row.end))
            path = write_strip(
                acted.motion[first:last], f"{folder}/part.png", frames=POSES, layout="stages",
                body=True,
            )  # fmt: skip
            parts.append((row, _cropped(Image.open(path).convert("RGB"))))
        library.close()
    _in_rows(parts).quantize(200).save(HERE / "words.png", optimize=True)


def _cropped(drawn):
    box = ImageChops.difference(drawn, Image.new("RGB", drawn.size, "white")).getbbox()
    left, top, right, bottom = box
    part = drawn.crop((left, round(top + 0.14 * (bottom - top)), right, bottom))  # no title
    return part.resize((round(part.width * HEIGHT / part.height), HEIGHT), Image.LANCZOS)


def _in_rows(parts):
    """Phrases in rows, each with its words and segments below it."""
    rows = [parts[n : n + PER_ROW] for n in range(0, len(parts), PER_ROW)]
    width = max(sum(part.width + GAP for _, part in row) for row in rows) + GAP
    tall = HEIGHT + GAP + BELOW
    whole = Image.new("RGB", (width, tall * len(rows)), "white")
    draw = ImageDraw.Draw(whole)
    large, small = (ImageFont.load_default(size) for size in (22, 16))
    for n, row in enumerate(rows):
        x, y = GAP, n * tall
        for planned, part in row:
            whole.paste(part, (x, y + GAP // 2))
            line = y + HEIGHT + 20
            draw.line([(x, line), (x + part.width, line)], fill="#888888", width=2)
            draw.text((x, line + 6), planned.phrase, fill="black", font=large)
            source = f"{planned.start:.1f}-{planned.end:.1f} s: {planned}"
            draw.text((x, line + 36), source, fill="#555555", font=small)
            x += part.width + GAP
    return whole


if __name__ == "__main__":
    main()

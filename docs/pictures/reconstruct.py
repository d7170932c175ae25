"""Draw reconstruct.png: ``python docs/pictures/reconstruct.py``."""

import tempfile
from pathlib import Path

import motionloom as ml
from motionloom.evaluation.reconstruction import joint_errors
from motionloom.plots.figures.filmstrip import write_match_strip
from motionloom.reconstruction import tracked

HERE = Path(__file__).parent
CLIPS = ("walk", "kick_front_high_right", "kick_front_mid_right", "jump_up", "dance_groove")


def main():
    with tempfile.TemporaryDirectory() as folder:
        lib = ml.Library.create(f"{folder}/takes.loom")
        for clip in CLIPS:
            for performer in (0, 1, 2):
                lib.add_motion(ml.demo.clip(clip, performer=performer))
        kick = ml.demo.clip("kick_front_high_right", performer=3)
        body = lib.reconstruct(tracked(kick, noise=0.001), skeleton=kick.skeleton)
        off = joint_errors(kick, body)[0].mean()
        rows = [
            ("captured kick", kick),
            (f"reconstructed from wrists, ankles, head and hips: mean error {off:.1f} cm", body),
        ]
        write_match_strip(rows, HERE / "reconstruct.png")


if __name__ == "__main__":
    main()

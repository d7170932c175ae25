"""Draw all pictures of the documentation: ``make pictures``, or ``docs/pictures/make_all.py``.

Runs every script of this folder; scripts that need captured data are skipped with a message.
"""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
WITH_DATA = {
    "blender.py": "Blender: MOTIONLOOM_BLENDER=/path/to/python/with/bpy blender.py",
    "evaluation.py": "results of the evaluation: evaluation.py RESULTS.json (evaluate --json)",
    "clips.py": "a library of labeled clips and their table: clips.py LIBRARY LABELS.csv",
    "dance_seams.py": "captured dances: dance_seams.py CMU BANDAI",
    "scale.py": "reports of python -m benchmarks scale: scale.py RESULTS",
    "study.py": "a library of captured takes: study.py LIBRARY",
}


def main():
    failed = []
    scripts = sorted(set(HERE.glob("*.py")) - {Path(__file__)})
    for script in scripts:
        if script.name in WITH_DATA:
            print(f"{script.name}: skipped because it needs {WITH_DATA[script.name]}")
            continue
        print(script.name, flush=True)
        done = subprocess.run(
            [sys.executable, str(script)], env={**os.environ, "MPLBACKEND": "Agg"}
        )
        if done.returncode:
            failed.append(script.name)
    print(
        f"{len(scripts) - len(WITH_DATA) - len(failed)} scripts ran, {len(failed)} failed", *failed
    )
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()

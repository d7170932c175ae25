"""Makes every picture of the docs anew: ``make pictures``, or ``python docs/pictures/make_all.py``.

Each script beside this one makes the pictures that it names. Those that need something special are
passed over with a word, and the last line says how many were made.
"""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
WITH_DATA = {
    "clips.py": "a library of labelled clips and their table: clips.py LIBRARY LABELS.csv",
    "study.py": "a library of captured takes: study.py LIBRARY",
}


def main():
    failed = []
    scripts = sorted(set(HERE.glob("*.py")) - {Path(__file__)})
    for script in scripts:
        if script.name in WITH_DATA:
            print(f"{script.name}: passed over, it needs {WITH_DATA[script.name]}")
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

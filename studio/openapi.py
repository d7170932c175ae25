"""Write the studio's OpenAPI document, from which the page's TypeScript types are generated."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from motionloom.studio.server.app import create_app

if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(create_app(None).openapi(), indent=1), encoding="utf-8")

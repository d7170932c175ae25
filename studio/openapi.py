"""The studio's OpenAPI document, reduced to what TypeScript types are generated from.

``npm run types`` writes ``src/net/schema.d.ts`` from it. Names of functions and descriptions are
left out, so that the types change only when the interface does.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from motionloom import Library
from motionloom.studio.server.app import create_app

_OPERATION_NOTES = ("operationId", "summary", "tags")


def document() -> dict[str, Any]:
    """Paths and schemas of the studio's HTTP interface."""
    with tempfile.TemporaryDirectory() as folder:
        library = Library.create(Path(folder) / "empty.loom")
        full = create_app(library).openapi()
        library.close()
    for operations in full["paths"].values():
        for operation in operations.values():
            for key in _OPERATION_NOTES:
                operation.pop(key, None)
            operation["responses"].pop("422", None)  # FastAPI's own, differs between versions
    schemas = full.get("components", {}).get("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    return _without_descriptions({**full, "info": {"title": "motionloom studio", "version": "0"}})


def _without_descriptions(node: Any) -> Any:
    if isinstance(node, dict):
        return {
            key: _without_descriptions(value)
            for key, value in node.items()
            if not (key == "description" and isinstance(value, str))
        }
    return [_without_descriptions(one) for one in node] if isinstance(node, list) else node


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(document(), indent=1), encoding="utf-8")

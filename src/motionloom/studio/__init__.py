"""Browser studio: an HTTP server for one library, its page, and its stage in notebooks.

`routes` holds the HTTP requests by subject, `live` the websocket for interactive requests,
`app_state` the state shared by all windows, and `serving` starts the server. `widget` shows the
page's stage in a notebook, without a server. The page is written in TypeScript (folder ``studio``
of the repository) and built into ``static`` with the package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from motionloom.lazy_names import lazy_names

if TYPE_CHECKING:
    from motionloom.studio.app import create_app as create_app
    from motionloom.studio.serving import serve as serve

# Public name -> its module. Loaded on first use: the widget needs no server.
_HOMES = {"create_app": "app", "serve": "serving"}

__all__ = ["create_app", "serve"]
__getattr__ = lazy_names(__name__, _HOMES)

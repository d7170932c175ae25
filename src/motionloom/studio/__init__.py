"""Browser studio: an HTTP server for one library, and the page that uses it.

`routes` holds the HTTP requests by subject, `live` the websocket for interactive requests,
`app_state` the state shared by all windows, and `serving` starts the server. The page is written
in TypeScript (folder ``studio`` of the repository) and built into ``static`` with the package.
"""

from motionloom.studio.app import create_app
from motionloom.studio.serving import serve

__all__ = ["create_app", "serve"]

"""Browser studio: the HTTP server for a library, the web page, and a stage for notebooks.

`server` is the HTTP server, `routes` handles requests by topic, `live` is the websocket for
interactive requests, and `state` is shared by all windows. `widget` shows the stage in a notebook,
without a server. The page is written in TypeScript (in the repository's ``studio`` folder) and
built into ``static`` when the package is built.
"""

from typing import TYPE_CHECKING

from motionloom.lazy_names import imported_on_use

if TYPE_CHECKING:
    from motionloom.studio.server.announcement import running_studios as running_studios
    from motionloom.studio.server.app import create_app as create_app
    from motionloom.studio.server.serving import serve as serve

__getattr__, __dir__ = imported_on_use(__name__)

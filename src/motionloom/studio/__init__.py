"""Browser studio: an HTTP server for a library, its web page, and the stage for notebooks.

`server` is the HTTP server, `routes` handles requests by topic, `live` is the websocket for
interactive requests, and `state` is shared by all windows. `widget` shows the stage in a notebook,
without a server. The page is written in TypeScript (folder ``studio`` of the repository) and built
into ``static`` together with the package.
"""

from typing import TYPE_CHECKING

from motionloom.lazy_names import imported_on_use

if TYPE_CHECKING:
    from motionloom.studio.server.app import create_app as create_app
    from motionloom.studio.server.serving import serve as serve

__getattr__, __dir__ = imported_on_use(__name__)

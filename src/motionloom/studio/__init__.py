"""Browser studio: an HTTP server for one library, its page, and its stage in notebooks.

`server` is the HTTP server, `routes` its requests by subject, `live` the websocket for interactive
requests, and `state` what all windows share. `widget` shows the page's stage in a notebook, without
a server. The page is written in TypeScript (folder ``studio`` of the repository) and built into
``static`` with the package.
"""

from typing import TYPE_CHECKING

from motionloom.lazy_names import imported_on_use

if TYPE_CHECKING:
    from motionloom.studio.server.app import create_app as create_app
    from motionloom.studio.server.serving import serve as serve

__getattr__, __dir__ = imported_on_use(__name__)

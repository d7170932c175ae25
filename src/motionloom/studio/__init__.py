"""The browser studio: a server for one library, and the page that talks to it.

`wire` packs arrays for the page, `workshop` holds what is open, `routes` are the requests by
job, `live` answers drags and plays what is steered, `security` says who may ask, and
`serving` starts it all. The page itself is TypeScript (folder ``studio`` of the repository),
built into ``static`` when the package is.
"""

from motionloom.studio.app import create_app
from motionloom.studio.serving import serve

__all__ = ["create_app", "serve"]

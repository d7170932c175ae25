"""The requests, by job. Each module has one `router`; `ROUTERS` lists them."""

from motionloom.studio.routes import dance, library, motions

ROUTERS = (dance.router, library.router, motions.router)

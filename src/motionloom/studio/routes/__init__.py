"""The requests, by job. Each module has one `router`; `ROUTERS` lists them."""

from motionloom.studio.routes import library, motions

ROUTERS = (library.router, motions.router)

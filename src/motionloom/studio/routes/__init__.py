"""The requests, by job. Each module has one `router`; `ROUTERS` lists them."""

from motionloom.studio.routes import dance, library, motions, parametric

ROUTERS = (dance.router, library.router, motions.router, parametric.router)
